"""Growth: what one more event, a page and a new reader cost in a session that is long already, and what it holds in memory.

The floor is the same session when it had a thousand events.
"""

import asyncio
import os
import time
from collections.abc import Iterator

import fed
from measure import Figure, Section, Spread, quotients, show, spread
from native import claude
from onetape.sessions import Sessions
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import PAGE
from served import resident

SIZES = (1_000, 100_000, 1_000_000)
WINDOW = 20_000
"""Events over which the cost of one is measured; in so many parts."""
PARTS = 5
TIMES = 30
GOAL, MEMORY_GOAL = 1.3, 30.0


class Long:
    """A session of a million deltas; at each size it notes the time that the next ones take."""

    def __init__(self) -> None:
        self.costs: dict[int, list[float]] = {}
        self.memory: dict[int, int] = {}

    def chunks(self) -> Iterator[bytes]:
        """Turns of a thousand deltas and a tool, for ever the same but for their numbers."""
        told, part = 0, b"".join(fed.chunked(claude.turn(0, 1_000)))
        per_turn = part.count(b"\n")
        for size in SIZES:
            while told < size:
                yield from fed.chunked(part)
                told += per_turn
            self.memory[size] = resident(os.getpid())
            self.costs[size] = []
            for _ in range(PARTS):
                begin, before = time.process_time(), told
                while told < before + WINDOW // PARTS:
                    yield from fed.chunked(part)
                    told += per_turn
                self.costs[size].append((time.process_time() - begin) / (told - before))


def run() -> Section:
    about = f"In a session of {SIZES[1]:,} and {SIZES[2]:,} events, against the same session at {SIZES[0]:,}: the processor's time"
    about += " for one more event, a page at the end, a reader that opens at the end, and memory."
    long = Long()
    with fed.store() as store:
        fed.feed(store, long.chunks())
        figures = [_cost(long, size) for size in SIZES[1:]]
        for name, read in (("a page at the end", _page), ("a reader opens at the end", _open)):
            base, times = _times(read, store, SIZES[0]), {size: _times(read, store, size) for size in SIZES[1:]}
            figures += [_figure(f"{name}, {size:,}", times[size], base) for size in SIZES[1:]]
    return Section("Growth", about, [*figures, _memory(long)])


def _memory(long: Long) -> Figure:
    first, last = long.memory[SIZES[0]] / 1e6, long.memory[SIZES[-1]] / 1e6
    grown = Spread(last - first, last - first, last - first)
    return Figure("memory, grown by", f"{last:.0f} MB", f"{first:.0f} MB", grown, MEMORY_GOAL, unit=" MB")


def _cost(long: Long, size: int) -> Figure:
    return _figure(f"one more event, {size:,}", long.costs[size], long.costs[SIZES[0]])


def _figure(name: str, ours: list[float], base: list[float]) -> Figure:
    mine, floor = (f"{spread(seconds).median * 1e6:.1f} µs" for seconds in (ours, base))
    return Figure(name, mine, floor, quotients(sorted(ours), sorted(base)), GOAL)


def _times(read: object, store: Sqlite, size: int) -> list[float]:
    return asyncio.run(_measured(read, store, size))


async def _measured(read: object, store: Sqlite, size: int) -> list[float]:
    sessions, times = Sessions(store), []
    for _ in range(TIMES):
        begin = time.perf_counter()
        await read(sessions, store, size)  # type: ignore[operator]
        times.append(time.perf_counter() - begin)
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
