"""A dict that forgets its oldest entries, so that a session of any length needs constant memory."""

from itertools import islice
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        dict.__setitem__(self, key, value)  # not super(): this is on the way of every item
        if len(self) > self._limit:
            forget_oldest(self, self._limit)


def forget_oldest(entries: dict[K, V], limit: int) -> None:
    """All but so many of the newest."""
    for key in [*islice(entries, max(0, len(entries) - limit))]:
        del entries[key]
