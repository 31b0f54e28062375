"""How a process and a session ended: from an exit code, a signal and the last words on stderr."""

import re
from collections import deque
from typing import Any

from msgspec import UNSET

from onetape.schema import EndedData, Party, Stderr, TurnStatus

# Exit codes of a process that somebody stopped: by signal, or by a handler that exits as a shell would.
STOPPED = frozenset({-2, 130, -15, 143})
STOP_SIGNALS = frozenset({"SIGINT", "SIGTERM", "INT", "TERM", 2, 15})

KEPT_HEAD, KEPT_TAIL = 20, 50
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>])")


def unstyled(text: str) -> str:
    """Text without the escape sequences that colour it on a terminal."""
    return _ESCAPES.sub("", text)


class LastWords:
    """What a process wrote to stderr: bounded, the first and the last lines."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=KEPT_TAIL)
        self._total = 0

    def add(self, line: str) -> None:
        for text in unstyled(line).split("\n"):
            self._total += 1
            if len(self._head) < KEPT_HEAD:
                self._head.append(text)
            else:
                self._tail.append(text)

    def skip(self, count: int) -> None:
        self._total += count

    @property
    def last(self) -> str | None:
        """The last line that says something."""
        return next((line.strip() for line in [*reversed(self._tail), *reversed(self._head)] if line.strip()), None)

    def data(self) -> Stderr | None:
        if not self._total:
            return None
        if self._total <= KEPT_HEAD + KEPT_TAIL:
            return Stderr(truncated=False, head="\n".join([*self._head, *self._tail]), total_lines=self._total)
        return Stderr(truncated=True, head="\n".join(self._head), tail="\n".join(self._tail), total_lines=self._total)


class Ending:
    """The state of the process behind a session, and the verdict on it."""

    def __init__(self) -> None:
        self.stderr = LastWords()
        self.signalled = False
        self.exited = False
        self.code: int | None = None
        self.was_in_turn = False
        """Whether the process left an open turn behind."""

    def signal(self, name: Any) -> None:
        self.signalled = self.signalled or (isinstance(name, str | int) and name in STOP_SIGNALS)

    def exit(self, code: int | None, in_turn: bool) -> None:
        self.exited, self.code, self.was_in_turn = True, code, in_turn

    @property
    def stopped(self) -> bool:
        return self.code in STOPPED or (self.exited and self.signalled)

    @property
    def message(self) -> str:
        return self.stderr.last or (f"exit code {self.code}" if self.code is not None else "the recording ends in mid-turn")

    def verdict(self, last_turn: TurnStatus | None, chatty: bool) -> EndedData:
        """`chatty`: this agent writes to stderr in good days too, so words there prove nothing."""
        if self.stopped:
            return EndedData("terminated", "daemon")
        repeats = self.code == 1 and last_turn in ("failed", "interrupted") and (chatty or self.stderr.last is None)
        if not self.was_in_turn and (self.code in (0, None) or repeats):
            return EndedData("completed", "agent")
        return self.error()

    def error(self, message: str | None = None, by: Party = "agent") -> EndedData:
        return EndedData(
            "error",
            by,
            message=message or self.message,
            exit_code=UNSET if self.code is None else self.code,
            stderr=self.stderr.data() or UNSET,
        )
