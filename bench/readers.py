"""Readers of one stream, in a process of their own.

    python readers.py PORT COUNT GET-PATH POST-PATH MARK

Connects so many, waits until each has heard something, hands in a message, and reads until each has seen MARK.
Prints what it took: the seconds from the message to the last reader's mark, the frames that each got, and of frames with a time of
writing in them how long they were on their way.
"""

import asyncio
import re
import sys
import time
from typing import Any

import msgspec
import uvloop
from msgspec import Struct

BUFFER = bytearray(1 << 18)
"""One for all: what it holds is looked at before the next one reads."""
WRITTEN = re.compile(rb"@(\d+)@")
OVERLAP = 64
END = 1 << 14
FRAME = b"\ndata: "


class Told(Struct):
    seconds: float
    frames: list[int]
    delays: list[float]
    """p50, p90, p99 in milliseconds; empty where no frame tells its time."""


class Reader(asyncio.BufferedProtocol):
    def __init__(self, request: bytes, mark: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.connected, self.done = loop.create_future(), loop.create_future()
        self.frames = 0
        self.delays: list[int] = []
        self._request = request
        self._mark = mark
        self._last = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def get_buffer(self, sizehint: int) -> bytearray:
        return BUFFER

    def buffer_updated(self, size: int) -> None:
        if not self.connected.done() and b"\n\n" in BUFFER[:size]:
            self.connected.set_result(None)
        if size < 1 << 12:
            now = time.monotonic_ns()
            self.delays += [now - int(written) for written in WRITTEN.findall(BUFFER, 0, size)]
        # A frame may be cut anywhere: each chunk is looked at together with the end of the one before it.
        first = BUFFER[: min(size, OVERLAP)]
        seam = self._last + first
        self.frames += BUFFER.count(FRAME, 0, size) + seam.count(FRAME) - self._last.count(FRAME) - first.count(FRAME)
        # It stands in the last frame, so that only the end of what came need be looked through.
        if not self.done.done() and (self._mark in seam or BUFFER.find(self._mark, max(0, size - END), size) >= 0):
            self.done.set_result(time.perf_counter())
        self._last = (self._last + BUFFER[max(0, size - OVERLAP) : size])[-OVERLAP:]

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError("a stream ended before its mark"))


async def read(port: int, count: int, get: str, post: str, mark: bytes) -> Told:
    loop = asyncio.get_running_loop()
    request = f"GET {get} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
    made = [await loop.create_connection(lambda: Reader(request, mark), "127.0.0.1", port) for _ in range(count)]
    readers = [reader for _, reader in made]
    await asyncio.gather(*(reader.connected for reader in readers))
    begin = time.perf_counter()
    await _post(port, post)
    ends = await asyncio.gather(*(reader.done for reader in readers))
    return Told(max(ends) - begin, [reader.frames for reader in readers], _percentiles([d for reader in readers for d in reader.delays]))


async def _post(port: int, path: str) -> None:
    body = b'{"message":"go"}'
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    status = await reader.readline()
    assert b" 204 " in status, status
    writer.close()


def _percentiles(nanoseconds: list[int]) -> list[float]:
    ordered = sorted(nanoseconds)
    return [ordered[len(ordered) * percent // 100] / 1e6 for percent in (50, 90, 99)] if ordered else []


if __name__ == "__main__":
    port, count, get, post, mark = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.stdout.buffer.write(msgspec.json.encode(runner.run(read(int(port), int(count), get, post, mark.encode()))))
