"""Growth: what one more event, a page and a new reader cost in a session that is long already, and what it holds in memory.

The floor is a session of a thousand events.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from threading import Thread

import fed
from measure import Figure, Section, Spread, quotients, show, spread
from native import claude
from onetape.sessions import Sessions
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import PAGE
from served import resident

SIZES = (1_000, 100_000, 1_000_000)
WINDOW = 2_100
"""Events over which the cost of one is measured, so many times: few, since a session of a thousand grows by them."""
PARTS = 15
TIMES = 30
GOAL, MEMORY_GOAL = 1.3, 30.0


class Long:
    """A session that has so many deltas, and then tells what the next ones cost whenever it is asked."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.costs: list[float] = []
        self.memory: list[int] = []
        """At a thousand events, and when it is as long as it shall be."""
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._told: SimpleQueue[None] = SimpleQueue()

    @contextmanager
    def running(self) -> Iterator[Sqlite]:
        """In a thread, which waits between two measurements."""
        with fed.store() as store:
            thread = Thread(target=fed.feed, args=(store, self._chunks()))
            thread.start()
            self._told.get()
            yield store
            self._wanted.put(False)
            thread.join()

    def measure(self) -> None:
        self._wanted.put(True)
        self._told.get()

    def _chunks(self) -> Iterator[bytes]:
        """Turns of a thousand deltas and a tool, for ever the same but for their numbers."""
        part = b"".join(fed.chunked(claude.turn(0, 1_000)))
        chunks, per_turn, told = fed.chunked(part), part.count(b"\n"), 0
        for size in (SIZES[0], self.size):
            while told < size:
                yield from chunks
                told += per_turn
            self.memory.append(resident(os.getpid()))
        self._told.put(None)
        while self._wanted.get():
            begin, turns = time.process_time(), WINDOW // per_turn
            for _ in range(turns):
                yield from chunks
            self.costs.append((time.process_time() - begin) / (turns * per_turn))
            self._told.put(None)


def run() -> Section:
    about = f"In a session of {SIZES[1]:,} and {SIZES[2]:,} events, against one of {SIZES[0]:,}: the processor's time"
    about += " for one more event, a page at the end, a reader that opens at the end, and memory."
    sessions = [Long(size) for size in SIZES]
    with ExitStack() as stack:
        stores = [stack.enter_context(session.running()) for session in sessions]
        for _ in range(PARTS):
            for session in sessions:  # in turns, so that all see the same machine
                session.measure()
        figures = [_cost(session, sessions[0]) for session in sessions[1:]]
        for name, read in (("a page at the end", _page), ("a reader opens at the end", _open)):
            times = asyncio.run(_measured(read, stores[-1]))
            figures += [_figure(f"{name}, {size:,}", times[size], times[SIZES[0]]) for size in SIZES[1:]]
    return Section("Growth", about, [*figures, _memory(sessions[-1])])


def _memory(long: Long) -> Figure:
    first, last = (resident / 1e6 for resident in long.memory)
    grown = Spread(last - first, last - first, last - first)
    return Figure("memory, grown by", f"{last:.0f} MB", f"{first:.0f} MB", grown, MEMORY_GOAL, unit=" MB")


def _cost(long: Long, short: Long) -> Figure:
    return _figure(f"one more event, {long.size:,}", long.costs, short.costs)


def _figure(name: str, ours: list[float], base: list[float]) -> Figure:
    mine, floor = (f"{spread(seconds).median * 1e6:.1f} µs" for seconds in (ours, base))
    return Figure(name, mine, floor, quotients(ours, base), GOAL)


async def _measured(read: Callable[[Sessions, Sqlite, int], Awaitable[None]], store: Sqlite) -> dict[int, list[float]]:
    sessions, times = Sessions(store), {size: list[float]() for size in SIZES}
    for _ in range(TIMES):
        for size in SIZES:
            begin = time.perf_counter()
            await read(sessions, store, size)
            times[size].append(time.perf_counter() - begin)
    await sessions.close()
    return times


async def _page(sessions: Sessions, store: Sqlite, size: int) -> None:
    assert len(store.page(fed.SESSION, size - PAGE, PAGE)) == PAGE


async def _open(sessions: Sessions, store: Sqlite, size: int) -> None:
    """The first frames of a reader that was here before and comes back."""
    frames = sessions.follow_frames(fed.SESSION, size - 10)
    assert await anext(frames)
    await frames.aclose()


if __name__ == "__main__":
    show(run())
