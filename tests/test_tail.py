"""Whoever follows a session has each event once, in order, whenever he comes and goes, and whatever the tail still holds."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from onetape import tail
from onetape.following import Following
from onetape.stores.memory import Memory
from onetape.stores.store import Batch, SessionRow, Stored
from onetape.tail import Tail


async def at_once(work: Callable[..., Any], *arguments: Any) -> Any:
    """In place of a thread: another one may have its turn before it is done, and the order is the same every time."""
    await asyncio.sleep(0)
    return work(*arguments)


class Slow:
    """A reader's socket that now and then takes nothing."""

    is_open = True

    def __init__(self, patience: int, take: Callable[[bytes], None]) -> None:
        self._patience = patience
        self._take = take
        self._pushes = 0

    def push(self, frames: bytes) -> bool:
        self._pushes += 1
        if self._pushes % self._patience == 0:
            return False
        self._take(frames)
        return True


class Room:
    """A session's log, its tail, and those who follow it."""

    def __init__(self) -> None:
        self.store = Memory()
        self.store.create(SessionRow("s", "mock"))
        self.tail = Tail()
        self.following = Following(self.store, {"s": SimpleNamespace(tail=self.tail, check_log=lambda: None)})  # type: ignore[dict-item]
        self.last = 0
        self.unshown: list[list[Stored]] = []
        self.seen: list[tuple[int, list[int]]] = []
        self.readers: list[asyncio.Task[None]] = []

    def commit(self, count: int) -> None:
        events = [Stored(sequence, b"." * (sequence % 40)) for sequence in range(self.last + 1, self.last + count + 1)]
        self.store.append(Batch("s", events=events)).result()
        self.last += count
        self.unshown.append(events)

    def show(self, count: int) -> None:
        for _ in range(min(count, len(self.unshown))):
            self.tail.add(self.unshown.pop(0))

    def join(self, behind: int, patience: int = 0) -> None:
        """`patience`: frames are pushed to this one, and of so many he refuses one."""
        after, seen = max(0, self.last - behind), list[int]()
        self.seen.append((after, seen))
        self.readers.append(asyncio.ensure_future(self._read(after, seen, patience)))

    def join_pushed(self, number: int) -> None:
        self.join(number % 3, 2 + number % 5)

    async def _read(self, after: int, seen: list[int], patience: int) -> None:
        def take(block: bytes) -> None:
            for line in block.split(b"\n"):
                if line.startswith(b"id: "):
                    seen.append(int(line[4:]))
                    assert seen[-1] == after + len(seen)

        async for block in self.following.frames("s", after, outlet=Slow(patience, take) if patience else None):
            take(block)

    def stale(self, number: int) -> None:
        self.tail.stale()

    async def leave(self, which: int) -> None:
        if self.readers:
            reader = self.readers.pop(which % len(self.readers))
            self.seen.pop(which % len(self.seen))
            reader.cancel()
            await asyncio.wait([reader])


ACTS = ["commit", "show", "join", "join_pushed", "leave", "wait", "stale"]
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(1, 12)), min_size=5, max_size=60)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_each_event_once(steps: list[tuple[str, int]]) -> None:
    async def scenario() -> None:
        room = Room()
        for act, number in steps:
            match act:
                case "leave":
                    await room.leave(number)
                case "wait":
                    for _ in range(number):
                        await asyncio.sleep(0)
                case _:
                    getattr(room, act)(number)
        room.show(len(room.unshown))
        for _ in range(10 + 4 * room.last):
            await asyncio.sleep(0)
        for after, seen in room.seen:
            assert seen == list(range(after + 1, room.last + 1))
        for reader in list(room.readers):
            await room.leave(0)
            assert reader.cancelled(), "it stopped by itself"
        assert room.tail.followers == 0

    with patch.object(asyncio, "to_thread", at_once), patch.object(tail, "KEPT", 300):
        asyncio.run(scenario())


def test_a_gap_is_never_bridged() -> None:
    held = Tail()
    held.followers = 1
    held.add([Stored(1, b"a"), Stored(2, b"b")])
    held.add([Stored(5, b"e")])
    assert held.frames(2) is None and held.frames(0) is None, "the log knows what is missing here"
    assert held.frames(4) == (5, b"id: 5\ndata: e\n\n")


def test_nobody_is_pushed_over_a_gap() -> None:
    async def scenario() -> int:
        held = Tail()
        held.followers = 1
        held.add([Stored(1, b"a")])
        pushed = asyncio.ensure_future(held.pushed(1, Slow(99, lambda _: None)))
        await asyncio.sleep(0)
        held.add([Stored(4, b"d")])
        return await pushed

    assert asyncio.run(scenario()) == 1


def test_frames_begin_anywhere_within_a_block() -> None:
    held = Tail()
    held.followers = 1
    held.add([Stored(sequence, b"{}") for sequence in range(9, 13)])
    held.add([Stored(13, b"{}")])
    for after in range(8, 13):
        frames = held.frames(after)
        assert frames is not None and frames[0] == 13
        assert [int(line[4:]) for line in frames[1].split(b"\n") if line.startswith(b"id: ")] == list(range(after + 1, 14))
    assert held.frames(13) is None and held.frames(7) is None
