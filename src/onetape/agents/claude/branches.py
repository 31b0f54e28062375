"""Which lines of Claude Code's history were rewound, and so are no part of the conversation.

Lines are linked by `parentUuid`, and a file only grows: after a rewind the next
prompt hangs on an earlier line, and what followed that line is left behind.

Not every fork is a rewind. Parallel tool results hang on their own calls, retries
and hooks hang beside the answer that they belong to, and a compaction's summary
hangs beside what it keeps (2.1.197). A resumed program drops calls without results
(2.1.197), and a client's control request is written with the next prompt, where it
hangs on the line that was last when it came. So only a prompt can leave lines
behind, and only what was said before it.
"""

from array import array
from typing import Any

from msgspec import Struct

_ROOT = -1
_OTHER, _SPOKEN, _PASSAGE = range(3)


class Segment(Struct, frozen=True):
    """Lines from `start` to the next segment's start; they go on from the line `after` (-1: from nothing)."""

    start: int
    after: int


class Branches:
    """Told every line of the file in order, says of each whether it is on the live branch.

    Keeps 17 bytes per line, so that a history of any length can be read.
    Calls say nothing by themselves: whoever goes back leaves words behind with them.
    """

    def __init__(self) -> None:
        self._ids = array("q")
        self._parents = array("q")
        self._kinds = array("b")
        self._segments = [Segment(0, _ROOT)]
        self._is_linked = False
        self._last_said = ""
        self._missing: dict[int, list[int]] = {}
        self.early: dict[int, int] = {}
        """Lines that are written before the one that they follow, and where that one is."""

    def see(self, native: Any) -> None:
        """The next line, whatever it is."""
        line = native if isinstance(native, dict) else {}
        id, parent, at = _key(line.get("uuid")), _key(line.get("parentUuid")), len(self._ids)
        self._is_linked = self._is_linked or parent != 0
        if parent and self._before(at, parent) is None:
            self._missing.setdefault(parent, []).append(at)
        if id in self._missing:
            self.early |= dict.fromkeys(self._missing.pop(id), at)
        is_prompt = _is_prompt(line)
        time, kind = str(line.get("timestamp") or ""), _SPOKEN if is_prompt else _kind(line)
        if id and is_prompt and not "" < time < self._last_said:
            after = self._goes_on_from(parent)
            # A compaction writes the messages that it keeps again, as they were (2.1.197): no second thoughts of the user's.
            if after is not None and _SPOKEN in self._kinds[after + 1 : at] and id not in self._ids:
                self._segments.append(Segment(at, after))
        self._ids.append(id)
        self._parents.append(parent)
        self._kinds.append(kind)
        if kind == _SPOKEN:
            self._last_said = max(self._last_said, time)

    def _goes_on_from(self, parent: int) -> int | None:
        """The line that a prompt goes on from; None if it is not in this file.

        On a resume, hooks, caveats and reminders are written between the two.
        """
        end = len(self._ids)
        while parent:
            at = self._before(end, parent)
            if at is None or self._kinds[at] != _PASSAGE:
                return at
            end, parent = at, self._parents[at]
        return _ROOT if self._is_linked else None  # where no line is linked, none was rewound

    def _before(self, end: int, id: int) -> int | None:
        if end and self._ids[end - 1] == id:  # nearly always
            return end - 1
        return next((at for at in range(end - 2, -1, -1) if self._ids[at] == id), None)

    def live(self) -> "Live":
        """The lines that lead to the last one."""
        spans: list[tuple[int, int]] = []
        end = len(self._ids)
        for segment in reversed(self._segments):
            if segment.start < end:
                spans.append((segment.start, end))
                end = segment.after + 1
        return Live(spans)


class Live(Struct, frozen=True):
    spans: list[tuple[int, int]]

    def __contains__(self, at: object) -> bool:
        for start, end in self.spans:  # noqa: SIM110 - no generator: every line is asked for
            if isinstance(at, int) and start <= at < end:
                return True
        return False


def _key(uuid: Any) -> int:
    """A number that tells the lines of one file apart; 0 for none."""
    return hash(uuid) or 1 if isinstance(uuid, str) else 0


# Their keys are looked at one by one: a pattern that does not match takes as long as seven calls, and most of these do not.


def _kind(line: dict[str, Any]) -> int:
    """Of a line that is no prompt."""
    if line.get("isSidechain") is True or line.get("isCompactSummary") is True:
        return _OTHER
    if line.get("type") == "assistant":
        message = line.get("message")
        blocks = message.get("content") if isinstance(message, dict) else None
        return _OTHER if isinstance(blocks, list) and all(map(_is_call, blocks)) else _SPOKEN
    return _PASSAGE if line.get("type") == "attachment" or line.get("isMeta") is True else _OTHER


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use"


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _is_prompt(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    if kind != "user":
        is_user = kind == "system" and line.get("subtype") == "local_command"
    else:
        message = line.get("message")
        blocks = message.get("content") if isinstance(message, dict) else None
        is_user = not (isinstance(blocks, list) and any(map(_is_result, blocks)))
    return is_user and True not in (line.get("isSidechain"), line.get("isCompactSummary"), line.get("isMeta"))
