"""What can be heard of an agent, each kind as a source that is asked in turn: its wire, its logs, a push from elsewhere."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import Raw

from onetape.drivers.lines import Lines, said, spoken
from onetape.drivers.pipes import Inlet
from onetape.tape import Record, quoted

FIRST, LAST = 20, 50
LONGEST = 1 << 16


class Source(Protocol):
    def take(self, now: float) -> list[Record]:
        """What there is at the moment. Never waits."""
        ...

    def watch(self) -> None:
        """Rings the bell when there is more."""
        ...

    def is_over(self, *, exited: bool) -> bool:
        """Whether nothing more can come, asked when nothing came."""
        ...

    def last(self, now: float) -> list[Record]:
        """What was kept back until the end."""
        ...

    def close(self) -> None: ...


class Wire:
    """Stdout as the wire: every line of it, of any length."""

    def __init__(self, inlet: Inlet) -> None:
        self._inlet = inlet
        self._lines = Lines()
        self.watch = inlet.watch
        self.close = inlet.close

    def take(self, now: float) -> list[Record]:
        return [said(now, line) for line in spoken(self._lines.cut(self._inlet.read()))]

    def is_over(self, *, exited: bool) -> bool:
        return exited or self._inlet.is_over

    def last(self, now: float) -> list[Record]:
        return [said(now, line) for line in spoken(self._lines.rest())]


class Log:
    """Stderr, or what a server prints: the first lines at once, the last ones at the end, the others only counted."""

    def __init__(self, inlet: Inlet, dir: str, stream: str | None = None) -> None:
        self._inlet = inlet
        self._dir = dir
        self._stream = stream
        self._lines = Lines(LONGEST)
        self._total = 0
        self._tail: deque[Record] = deque(maxlen=LAST)
        self.watch = inlet.watch
        self.close = inlet.close

    def take(self, now: float) -> list[Record]:
        return self._bounded(now, self._lines.cut(self._inlet.read()))

    def is_over(self, *, exited: bool) -> bool:
        return exited or self._inlet.is_over

    def last(self, now: float) -> list[Record]:
        first = self._bounded(now, self._lines.rest())
        tail = [msgspec.structs.replace(kept, t=now) for kept in self._tail]  # a tape's times never run backwards
        self._tail.clear()
        return [*first, *self._left_out(now, self._total - FIRST - LAST), *tail]

    def _bounded(self, now: float, lines: list[bytes]) -> list[Record]:
        lines = spoken(lines)
        live = max(0, FIRST - self._total)
        self._total += len(lines)
        self._tail.extend(self._record(now, line) for line in lines[live:][-LAST:])
        return [self._record(now, line) for line in lines[:live]]

    def _record(self, now: float, line: bytes) -> Record:
        """Always a string, whatever the line looks like."""
        return quoted(Record(now, self._dir, Raw(_shortened(line)), stream=self._stream))

    def _left_out(self, now: float, count: int) -> list[Record]:
        note = f"{self._stream or self._dir}: {count} lines left out"
        return [Record(now, self._dir, Raw(str(count).encode()), stream=self._stream, note=note)] if count > 0 else []


def _shortened(line: bytes) -> bytes:
    return line if len(line) <= LONGEST else line[:LONGEST].decode(errors="ignore").encode()


class Inbox:
    """What others push: one batch waits here, and who comes next waits for it to be taken."""

    def __init__(self, news: Callable[[], None]) -> None:
        self._news = news
        self._batch: list[Record] = []
        self._taken = asyncio.Event()
        self._taken.set()
        self._is_closed = False

    async def put(self, batch: list[Record]) -> None:
        if not batch:
            return
        while self._batch and not self._is_closed:
            self._taken.clear()
            await self._taken.wait()
        if not self._is_closed:
            self._batch = batch
            self._news()

    def take(self, now: float) -> list[Record]:
        batch, self._batch = self._batch, []
        self._taken.set()
        return batch

    def watch(self) -> None:
        """It rings by itself."""

    def is_over(self, *, exited: bool) -> bool:
        return self._is_closed

    def last(self, now: float) -> list[Record]:
        return self.take(now)

    def close(self) -> None:
        """Takes no more; what waits can still be taken."""
        self._is_closed = True
        self._taken.set()
        self._news()
