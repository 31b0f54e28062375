"""Streams that fail on demand, so that a client can be shown to survive it. Only a replay has them."""

import asyncio
from itertools import count

from msgspec import Struct

from onetape.server.asgi import Send
from onetape.server.sse import EventStream, Frames, Socket, Streams

_FRAME = b"\n\n"


class Faults(Struct, frozen=True):
    drop_every: int | None = None
    """After so many events a connection is lost."""
    stall_every: int = 25
    stall_seconds: float = 0.0
    """So long it then says nothing at all, no heartbeat either."""

    def streams(self) -> Streams:
        return _FaultyStreams(self) if self.drop_every or self.stall_seconds else Streams()


class _FaultyStreams(Streams):
    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self._faults = faults

    def stream(self, frames: Frames, socket: Socket | None = None) -> EventStream:
        return _FaultyStream(frames, self, self._faults)


class _FaultyStream(EventStream):
    def __init__(self, frames: Frames, streams: Streams, faults: Faults) -> None:
        super().__init__(frames, streams, streams.socket())
        self._faults = faults
        self._events = count(1)

    async def _pump(self, send: Send) -> None:
        async for chunk in self._frames:
            for frame in chunk.split(_FRAME)[:-1]:
                await self._write(send, frame + _FRAME)
                number = next(self._events)
                if self._faults.drop_every and number % self._faults.drop_every == 0:
                    self._is_cut_off = True
                    return
                if self._faults.stall_seconds and number % self._faults.stall_every == 0:
                    await self._stall()

    async def _stall(self) -> None:
        self._writes += 1  # as if the reader's socket were full: nothing is written meanwhile
        await asyncio.sleep(self._faults.stall_seconds)
        self._writes -= 1
