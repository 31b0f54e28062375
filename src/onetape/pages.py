"""The log in pages of ready frames, for readers that are behind.

Readers that come by one place share what is read there. A page ends at the same place whoever
reads it, so that they meet at its end, wherever they began; what one has read is kept for a while for
those who come after him, as long as nobody but this process can change it.
"""

import asyncio
from collections.abc import Hashable

from msgspec import Struct

from onetape import tasks
from onetape.stores.store import PAGE, PAGE_BYTES, Store, Stored
from onetape.tail import framed

KEPT = 1 << 23
"""How many bytes are kept, of all sessions together."""


class Page(Struct, frozen=True):
    last: int
    frames: bytes
    is_whole: bool
    """False: the log ended here."""


class Pages:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._reading: dict[tuple[Hashable, int], asyncio.Task[Page | None]] = {}
        self._kept: dict[tuple[Hashable, int], Page] = {}
        """The oldest first."""
        self._size = 0

    async def after(self, session_id: str, after: int, *, owner: Hashable | None) -> Page | None:
        """The next page; None at the log's end. `owner`: in whose name it is kept, if it may be."""
        name = owner or session_id, after
        if (kept := self._kept.get(name)) is not None:
            return kept
        if name not in self._reading:
            task = self._reading[name] = tasks.start(asyncio.to_thread(self.read, session_id, after), "read the log")
            task.add_done_callback(lambda done: self._have_read(name, done, keep=owner is not None))
        return await asyncio.shield(self._reading[name])

    def read(self, session_id: str, after: int, *, raw: bool = False) -> Page | None:
        limit = PAGE - after % PAGE
        page = self._store.page(session_id, after, limit, raw)
        return Page(page[-1].sequence, framed(page), len(page) == limit or _size(page) >= PAGE_BYTES) if page else None

    def forget(self, owner: Hashable) -> None:
        for name in [name for name in self._kept if name[0] is owner]:
            self._size -= len(self._kept.pop(name).frames)

    def _have_read(self, name: tuple[Hashable, int], done: "asyncio.Task[Page | None]", *, keep: bool) -> None:
        del self._reading[name]
        if keep and not done.cancelled() and done.exception() is None and (page := done.result()) is not None and page.is_whole:
            self._kept[name] = page
            self._size += len(page.frames)
            while self._size > KEPT:
                self._size -= len(self._kept.pop(next(iter(self._kept))).frames)


def _size(page: list[Stored]) -> int:
    return sum(len(stored.body) for stored in page)
