"""Our ends of a child's pipes: never blocking, read when asked, written as fast as it listens."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from io import FileIO

CHUNK = 1 << 18
# What may wait for an agent that does not read. It must hold a message with pictures: an agent that is blocked
# on its own output reads nothing before we have read that, and we do not while we wait here.
UNSENT = 1 << 25


class Inlet:
    """What the child writes. Nothing is read before somebody asks, so a flood stops at the pipe's own size."""

    def __init__(self, pipe: FileIO, news: Callable[[], None]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._news = news
        self.is_over = False

    def read(self) -> bytes:
        """What is there; nothing where there is nothing now, or never will be."""
        if self.is_over:
            return b""
        try:
            chunk = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return b""
        self.is_over = not chunk
        return chunk

    def watch(self) -> None:
        """Rings once, when there is something to read."""
        if not self.is_over:
            asyncio.get_running_loop().add_reader(self._pipe.fileno(), self._ready)

    def close(self) -> None:
        if not self._pipe.closed:
            self._unwatch()
            self._pipe.close()
        self.is_over = True

    def _ready(self) -> None:
        self._unwatch()
        self._news()

    def _unwatch(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pipe.fileno())


class Outlet:
    """What the child reads. What it has not read yet waits here, up to a limit."""

    def __init__(self, pipe: FileIO) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._unsent = bytearray()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_closing = False

    @property
    def is_open(self) -> bool:
        return not (self._pipe.closed or self._is_closing)

    async def write(self, line: bytes) -> bool:
        """Takes a line as soon as there is room; whether somebody may still read it."""
        await self._has_room.wait()
        if not self.is_open:
            return False
        is_first = not self._unsent
        self._unsent += line
        if is_first:
            self._push()
        return not self._pipe.closed

    def close(self) -> None:
        """After what waits has been read: an end in the middle of a line would be read as half a message."""
        self._is_closing = True
        if not self._unsent:
            self.abandon()

    def abandon(self) -> None:
        """At once: nobody reads any more."""
        self._unsent.clear()
        self._has_room.set()
        if not self._pipe.closed:
            asyncio.get_running_loop().remove_writer(self._pipe.fileno())
            with contextlib.suppress(OSError):
                self._pipe.close()

    def _push(self) -> None:
        try:
            while self._unsent:
                written = os.write(self._pipe.fileno(), self._unsent[:CHUNK])
                del self._unsent[:written]
        except BlockingIOError:
            asyncio.get_running_loop().add_writer(self._pipe.fileno(), self._push)
            self._measure()
        except OSError:  # the other end is gone
            self.abandon()
        else:
            self._emptied()

    def _measure(self) -> None:
        if len(self._unsent) < UNSENT:
            self._has_room.set()
        else:
            self._has_room.clear()

    def _emptied(self) -> None:
        asyncio.get_running_loop().remove_writer(self._pipe.fileno())
        self._has_room.set()
        if self._is_closing:
            self.abandon()
