"""Server-sent events, the hot path: ready bytes in, one write per commit and reader out.

A stream pulls its frames. A reader that stalls stops its own pull, and costs its socket's buffer and nothing else;
one that goes away is noticed at once, also where nothing happens that could be sent to it. At the end of a log
frames are pushed: straight to the reader's socket, the same bytes to all of them, no task woken and nothing copied.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from litestar import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onetape import tasks
from onetape.recent import Recent
from onetape.server.asgi import Receive, Scope, Send
from onetape.server.security import RAW_SEND

HEARTBEAT_SECONDS = 10.0
HEARTBEAT = b": heartbeat\n\n"
CHUNKS = 4
"""How many of what was sent last are kept: many readers are sent the same, some of them a little later than others."""

Frames = AsyncGenerator[bytes, None]

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy that collects answers first would hold back the news
]


CONNECTION = "onetape.connection"
"""Where a request's scope has its connection."""


class Connection(HttpToolsProtocol):
    """The server's own, which also tells the application of the connection that a request came by."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[literal-required]


class Socket:
    """A reader's socket, past the server's own way of writing to it: that one puts every chunk together anew for every reader."""

    def __init__(self, chunked: Callable[[bytes], bytes]) -> None:
        self._chunked = chunked
        self._connection: Connection | None = None

    def open(self, scope: Scope) -> None:
        """Where there is one: other servers, and tests without any, have none."""
        self._connection = scope.get(CONNECTION)

    def close(self) -> None:
        self._connection = None

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    async def drained(self) -> None:
        if self._connection is not None:
            await self._connection.flow.drain()

    def push(self, frames: bytes) -> bool:
        connection = self._connection
        if connection is None or connection.flow.write_paused or connection.transport.is_closing():
            return False
        connection.transport.write(self._chunked(frames))
        return True


class Streams:
    """All streams of a server, so that it can end them when it ends."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self._chunks: Recent[bytes, bytes] = Recent(CHUNKS)

    def socket(self) -> Socket:
        return Socket(self._chunked)

    def _chunked(self, frames: bytes) -> bytes:
        """As a chunk of an HTTP answer; made once for all who are sent the same."""
        if (chunk := self._chunks.get(frames)) is None:
            chunk = self._chunks[frames] = b"%x\r\n%b\r\n" % (len(frames), frames)
        return chunk

    def __len__(self) -> int:
        return len(self._open)

    def stream(self, frames: Frames, socket: Socket | None = None) -> "EventStream":
        """`socket`: that the frames may go to as well; opened when the answer begins."""
        return EventStream(frames, self, socket or self.socket())

    def begin(self, task: "asyncio.Task[None]") -> None:
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        if self._is_closing:
            task.cancel()

    def close(self) -> None:
        self._is_closing = True
        for task in self._open:
            task.cancel()


class EventStream(Response[bytes]):
    """A response. It ends with its frames, with its reader, or with the server."""

    def __init__(self, frames: Frames, streams: Streams, socket: Socket) -> None:
        super().__init__(b"", media_type="text/event-stream")
        self._frames = frames
        self._socket = socket
        self._streams = streams
        self._writes = 0
        self._is_cut_off = False
        """It ends without an end, as when a connection is lost."""
        self._next_beat: asyncio.TimerHandle | None = None

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        return self.run

    async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        send = scope.get(RAW_SEND, send)
        self._socket.open(scope)
        pump = tasks.start(self._pump(send), "stream")
        gone = tasks.start(_disconnected(receive), "stream's reader")
        self._streams.begin(pump)
        self._beat(send)  # at once: clients wait for a first byte to know that they are connected
        try:
            await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._rest()
            self._socket.close()
            pump.cancel()
            gone.cancel()
            await asyncio.wait({pump, gone})
        if not self._is_cut_off:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        async with aclosing(self._frames) as frames:
            async for chunk in frames:
                await self._write(send, chunk)

    async def _write(self, send: Send, body: bytes) -> None:
        self._writes += 1
        try:
            await self._socket.drained()
            if not self._socket.push(body):
                await send({"type": "http.response.body", "body": body, "more_body": True})
        finally:
            self._writes -= 1

    def _beat(self, send: Send) -> None:
        """Every few seconds a sign of life, unless the reader stalls: then there is enough for it to read."""
        self._next_beat = asyncio.get_running_loop().call_later(HEARTBEAT_SECONDS, self._beat, send)
        if not self._writes:
            tasks.start(self._write(send, HEARTBEAT), "heartbeat")

    def _rest(self) -> None:
        if self._next_beat is not None:
            self._next_beat.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
