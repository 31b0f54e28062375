"""The bell and the short way: the end of a session's log in memory, for those who follow it.

The log is the truth. This only wakes who waits for more, and keeps the last
events as ready frames, so that a hundred readers at the end cost one encoding and
no query. To a reader at the end who keeps up the frames are handed as they are
committed, without waking anybody. Who is further behind reads the log.
"""

import asyncio
from collections import deque
from itertools import takewhile
from typing import Protocol

from msgspec import Struct

from onetape.stores.store import Stored

KEPT = 1 << 18
"""How many bytes are kept while somebody follows: what a few wake-ups bring. Hundreds of sessions may each keep as much."""
ASKED = 8
"""How many cuts of it are kept: readers that keep up are at the end, or a commit or two behind."""


def frame(id: int, body: bytes) -> bytes:
    """One event as server-sent event."""
    return b"id: %d\ndata: %b\n\n" % (id, body)


def framed(events: list[Stored]) -> bytes:
    return b"".join([frame(event.sequence, event.body) for event in events])


class Outlet(Protocol):
    """Where a reader can be handed frames at once."""

    @property
    def is_open(self) -> bool: ...

    def push(self, frames: bytes) -> bool:
        """False: he has not yet read what he was handed before."""
        ...


class _Block(Struct, frozen=True):
    """What was committed together: the events from `first` to `last`."""

    first: int
    last: int
    frames: bytes

    def after(self, sequence: int) -> bytes:
        """The frames of those that follow this one. An event is one line, so that an id's line cannot stand within another."""
        return self.frames if sequence < self.first else self.frames[self.frames.index(b"id: %d\n" % (sequence + 1)) :]


class _Pushed(Struct):
    """A reader at the end, and how far he got."""

    after: int
    has_left: asyncio.Event


class Tail:
    def __init__(self, whole: "Tail | None" = None) -> None:
        self._whole = whole
        """That of all sessions together, which rings whenever this one does."""
        self.followers = 0
        self.is_gone = False
        """The session was deleted: nothing more will come."""
        self._blocks: deque[_Block] = deque()
        self._kept = 0
        self._last: int | None = None
        self._asked: dict[int, tuple[int, bytes] | None] = {}
        """What was given since the last commit, by place: readers at the end ask for the same, one after the other."""
        self._bell = asyncio.Event()
        self._pushed: dict[Outlet, _Pushed] = {}

    def add(self, events: list[Stored]) -> None:
        """These are committed."""
        if not events:
            return
        if not self.followers or (self._blocks and self._blocks[-1].last + 1 != events[0].sequence):
            self._forget()  # without a gap or not at all
        self._asked.clear()
        self._last = events[-1].sequence
        if self.followers:
            block = _Block(events[0].sequence, events[-1].sequence, framed(events))
            self._keep(block)
            self._push(block)
        self.ring()

    def stale(self) -> None:
        """Somebody else wrote: only the log knows how it goes on."""
        self._forget()
        self._asked.clear()
        self._leave_to_log()
        self._last = None
        self.ring()

    def ring(self) -> None:
        self._bell.set()
        self._bell = asyncio.Event()
        if self._whole is not None:
            self._whole.ring()

    def end(self) -> None:
        self.is_gone = True
        self._leave_to_log()
        self.ring()

    @property
    def bell(self) -> asyncio.Event:
        """The next ring. Who takes it before he reads misses nothing."""
        return self._bell

    def is_at_end(self, after: int) -> bool:
        """Whether nothing was committed after this one; False also where this does not know."""
        return self._last is not None and after >= self._last

    async def pushed(self, after: int, outlet: Outlet) -> int:
        """For a reader at the end: hands him what is committed from now on, until he falls behind. How far he then is."""
        reader = self._pushed[outlet] = _Pushed(after, asyncio.Event())
        try:
            await reader.has_left.wait()
        finally:
            del self._pushed[outlet]
        return reader.after

    def _push(self, block: _Block) -> None:
        for outlet, reader in self._pushed.items():
            if reader.has_left.is_set() or reader.after >= block.last:
                continue  # he has not had his turn yet to see that he is behind, or has read the log further than this
            if reader.after + 1 >= block.first and outlet.push(block.after(reader.after)):
                reader.after = block.last
            else:
                reader.has_left.set()

    def _leave_to_log(self) -> None:
        for reader in self._pushed.values():
            reader.has_left.set()

    def frames(self, after: int) -> tuple[int, bytes] | None:
        """All frames after this one and how far they go; None where they are no longer here."""
        if after not in self._asked:
            if len(self._asked) == ASKED:
                self._asked.clear()
            self._asked[after] = self._frames(after)
        return self._asked[after]

    def _frames(self, after: int) -> tuple[int, bytes] | None:
        fresh = list(takewhile(lambda block: block.last > after, reversed(self._blocks)))
        if not fresh or fresh[-1].first > after + 1:
            return None
        return fresh[0].last, b"".join([block.after(after) for block in reversed(fresh)])

    def _forget(self) -> None:
        self._blocks.clear()
        self._kept = 0

    def _keep(self, block: _Block) -> None:
        self._blocks.append(block)
        self._kept += len(block.frames)
        while self._kept > KEPT and len(self._blocks) > 1:
            self._kept -= len(self._blocks.popleft().frames)
