"""A fork's lines that are its parent's: where they begin and where they end.

Until 0.169.0 a fork's file begins with its own first line and then repeats the
parent's, with the parent's first line among them and new timestamps; nothing marks
their end. Thread and turn ids are UUIDs of version 7, which begin with the time: a
turn younger than the thread is its own. Where turns have no ids, the first line
written well after the file was begun is: the repeated ones are written in one go.
0.169.0 repeats nothing, or says where a subagent's own history starts.
"""

from datetime import datetime
from typing import Any

from onetape.clock import moment

# Repeated lines are written within moments of the file's first; a user takes longer to say something.
_ONE_GO = 2.0


class Inheritance:
    def __init__(self) -> None:
        self._is_inherited = False
        self._born: str | None = None
        self._began: datetime | None = None
        self._starts_at: int | None = None

    def own(self, meta: dict[str, Any]) -> None:
        """The file's first line."""
        self._born = meta["id"]
        self._began = moment(meta.get("timestamp"))
        start = meta.get("subagent_history_start_ordinal")
        self._starts_at = start if isinstance(start, int) else None

    def begin(self, meta: dict[str, Any], thread: str) -> None:
        """A further first line: the parent's, unless the thread itself was taken up again."""
        self._is_inherited = meta["id"] != thread

    def covers(self, line: dict[str, Any]) -> bool:
        """Whether this line is the parent's."""
        if self._starts_at is not None and isinstance(ordinal := line.get("ordinal"), int):
            return ordinal < self._starts_at
        if self._is_inherited and self._is_own(line):
            self._is_inherited = False
        return self._is_inherited

    def _is_own(self, line: dict[str, Any]) -> bool:
        turn = line["payload"].get("turn_id")
        if isinstance(turn, str) and self._born is not None and _is_timed(turn) and _is_timed(self._born):
            return turn[:13] >= self._born[:13]
        written = moment(line.get("timestamp"))
        if written is None or self._began is None:
            return False
        return (written - self._began).total_seconds() > _ONE_GO


def _is_timed(id: str) -> bool:
    """A UUID of version 7."""
    return len(id) == 36 and id[14] == "7"
