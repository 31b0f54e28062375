"""Tape time to event time: seconds since the tape began into RFC 3339, UTC, milliseconds rounded half up."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
LAST = 253_402_300_799_999  # the last millisecond of the year 9999


class Clock:
    def __init__(self, started: str | None) -> None:
        self._base = _microseconds(started)
        self._minute, self._prefix = -1, ""
        self._t, self._text = -1.0, ""
        """The last time that was asked for: bare lines have one, and so has a burst of lines."""

    def at(self, t: float) -> str:
        if t != self._t:
            self._t, self._text = t, self._format(t)
        return self._text

    def _format(self, t: float) -> str:
        try:
            # Whole microseconds first: 1.0005 s is 1000.4999… ms as a float, and would be rounded down.
            total = max(0, min(LAST, (self._base + round(t * 1e6) + 500) // 1000))
        except OverflowError:  # a stranger's tape may say 1e999
            total = LAST if t > 0 else 0
        minute, rest = divmod(total, 60_000)
        if minute != self._minute:
            self._minute = minute
            self._prefix = (_EPOCH + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:")
        second, millisecond = divmod(rest, 1000)
        return f"{self._prefix}{second:02d}.{millisecond:03d}Z"


@lru_cache(maxsize=16)
def milliseconds(time: str) -> int:
    """An event's time as milliseconds since 1970. What was heard together has one time."""
    return (datetime.fromisoformat(time) - _EPOCH) // _MILLISECOND


def seconds_of(started: str | None) -> float:
    """When a tape began, as seconds since 1970."""
    return _microseconds(started) / 1e6


def moment(stamp: Any) -> datetime | None:
    """A time as an agent writes it; one that names no zone is UTC, wherever it is read."""
    try:
        told = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        return None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def written(milliseconds: float) -> str:
    """Milliseconds since 1970 as a tape's head tells them; what no clock shows is its beginning."""
    told = milliseconds if 0 <= milliseconds <= LAST else 0
    return datetime.fromtimestamp(told / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _microseconds(started: str | None) -> int:
    return ((moment(started) or _EPOCH) - _EPOCH) // timedelta(microseconds=1)
