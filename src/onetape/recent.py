"""A dict that forgets its oldest entries, so that a session of any length needs constant memory."""

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
            forget_oldest(self)


def forget_oldest(entries: dict[K, V]) -> None:
    del entries[next(iter(entries))]
