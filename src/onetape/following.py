"""Committed events for whoever wants them: what there is, then what comes, without gap or double.

Of a session that this process drives its tail tells what is new. Of all others, ended,
imported or driven by another process, the log is looked at a few times a second, as
long as somebody follows one.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping

from onetape import tasks
from onetape.errors import Missing
from onetape.pages import Pages
from onetape.session import Session
from onetape.stores.store import PAGE, Store, Stored
from onetape.tail import Outlet, Tail, frame

POLL_SECONDS = 0.2
"""How often the log is looked at for what other processes wrote, while somebody follows such a session."""


class Following:
    def __init__(self, store: Store, live: Mapping[str, Session]) -> None:
        self._store = store
        self._live = live
        self._watched: dict[str, Tail] = {}
        """Tails of sessions that this process does not drive, while somebody follows them."""
        self.whole = Tail()
        """Of the whole log."""
        self._watcher: asyncio.Task[None] | None = None
        self._pages = Pages(store)

    async def events(self, session_id: str, after: int = 0, *, raw: bool = False) -> AsyncGenerator[list[Stored], None]:
        live = self._live.get(session_id)
        with self._tail(session_id) as tail:
            while True:
                bell = tail.bell
                page = await asyncio.to_thread(self._store.page, session_id, after, PAGE, raw)
                if page:
                    yield page
                    after = page[-1].sequence
                    continue
                if tail.is_gone:
                    return
                if live is not None:
                    live.check_log()
                await bell.wait()

    async def frames(
        self, session_id: str, after: int = 0, *, raw: bool = False, outlet: Outlet | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The same as server-sent events; readers share the bytes. At the end they go to the outlet, where there is one."""
        with self._tail(session_id) as tail:
            while True:
                bell = tail.bell
                near = None if raw else tail.frames(after)
                if near is None and not tail.is_at_end(after):
                    near = await self._read(session_id, after, tail, raw)
                if near is not None:
                    after, frames = near
                    yield frames
                elif tail.is_gone:
                    return
                elif outlet is not None and outlet.is_open and not raw and tail.is_at_end(after):
                    after = await tail.pushed(after, outlet)
                else:
                    await bell.wait()

    async def _read(self, session_id: str, after: int, tail: Tail, raw: bool) -> tuple[int, bytes] | None:
        """From the log."""
        if raw:
            page = await asyncio.to_thread(self._pages.read, session_id, after, raw=True)
        else:
            # What others may write anew, as they do with sessions that nobody drives, is read each time.
            is_ours = tail.followers > 1 and session_id in self._live
            page = await self._pages.after(session_id, after, owner=tail if is_ours else None)
        return None if page is None else (page.last, page.frames)

    async def all_frames(self, after: int = 0) -> AsyncGenerator[bytes, None]:
        """Every session's events as server-sent events; the ids are places in the whole log."""
        self.whole.followers += 1
        self._watch()
        try:
            while True:
                bell = self.whole.bell
                logged = await asyncio.to_thread(self._store.log, after, PAGE)
                if logged:
                    yield b"".join([frame(told.position, told.body) for told in logged])
                    after = logged[-1].position
                else:
                    await bell.wait()
        finally:
            self.whole.followers -= 1

    def deleted(self, session_id: str) -> None:
        """Whoever follows it is told that nothing more will come."""
        if (tail := self._watched.get(session_id)) is not None:
            tail.end()

    async def close(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])

    @contextlib.contextmanager
    def _tail(self, session_id: str) -> Iterator[Tail]:
        live = self._live.get(session_id)
        if live is None:
            if self._store.session(session_id) is None:
                raise Missing(f"there is no session {session_id}")
            self._watch()
        tail = live.tail if live is not None else self._watched.setdefault(session_id, Tail())
        tail.followers += 1
        try:
            yield tail
        finally:
            tail.followers -= 1
            if not tail.followers:
                self._pages.forget(tail)
                if self._watched.get(session_id) is tail:
                    del self._watched[session_id]

    def _watch(self) -> None:
        if self._watcher is None or self._watcher.done():
            self._watcher = tasks.start(self._look(), "watch the log")

    async def _look(self) -> None:
        """Rings for what other processes wrote: their bells are not heard here."""
        position: int | None = None
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if not self._watched and not self.whole.followers:
                return
            now = await asyncio.to_thread(self._store.position)
            if now != position:
                written = None if position is None else await asyncio.to_thread(self._store.written, position)
                self._ring(written)
                position = now

    def _ring(self, written: set[str] | None) -> None:
        """Only for those of which there is something new; for all where that is not known."""
        self.whole.ring()
        for session_id, tail in list(self._watched.items()):
            if written is None or session_id in written:
                tail.ring()
