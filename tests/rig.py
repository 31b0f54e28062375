"""A real daemon in a process of its own, and readers that come back: for kills, loads and broken disks.

The readers are plain sockets: hundreds of them must cost less than the daemon that they measure.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx

import onetape
from onetape import promises
from onetape.drivers.census import everyone
from onetape.stores.store import Store, events
from patience import PATIENCE

TOKEN = "a token for rigs"
START = [sys.executable, "-m", "onetape", "server", "--log-level", "warning"]


class Daemon:
    """`onetape server` on loopback, on one data directory and one port through all its lives."""

    def __init__(self, data: Path, argv: list[str] = START) -> None:
        self.data = data
        self.port = 0
        self._argv = argv
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Until it says that it serves."""
        self.data.mkdir(exist_ok=True)
        env = {**os.environ, "ONETAPE_DATA_DIR": str(self.data), "ONETAPE_TOKEN": TOKEN}
        self._process = await asyncio.create_subprocess_exec(
            *self._argv, "--port", str(self.port), env=env, cwd=self.data, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        said = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE)
        self.port = int(said.rpartition(b":")[2])

    async def end(self, number: int = signal.SIGTERM) -> float:
        """How long it took."""
        assert self._process is not None
        now = asyncio.get_running_loop().time
        began = now()
        if self._process.returncode is None:
            self._process.send_signal(number)
        await asyncio.wait_for(self._process.wait(), PATIENCE)
        return now() - began

    def client(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_keepalive_connections=0)  # a kept connection to a daemon that was killed fails the next request
        return httpx.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE, limits=limits)


@contextlib.asynccontextmanager
async def running(data: Path, argv: list[str] = START) -> AsyncIterator[Daemon]:
    daemon = Daemon(data, argv)
    await daemon.start()
    try:
        yield daemon
    finally:
        await daemon.end(signal.SIGKILL)


class Reader:
    """Follows a stream of events through every death of the daemon, by the last id that it has."""

    def __init__(self, daemon: Daemon, path: str, *, keeps: bool = True) -> None:
        """`keeps` the events; else they are only counted."""
        self._daemon = daemon
        self._path = path
        self.last = 0
        self.bodies: list[bytes] = []
        self._keeps = keeps
        self.connections = 0

    async def read(self) -> None:
        """For ever: whoever started this ends it."""
        while True:
            with contextlib.suppress(OSError, EOFError):
                await self._connected()
            await asyncio.sleep(0.02)

    async def _connected(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._daemon.port, limit=1 << 24)
        try:
            writer.write(self._request())
            if b" 200 " in await reader.readline():
                self.connections += 1
                await reader.readuntil(b"\r\n\r\n")
                while size := int(await reader.readline() or b"0", 16):
                    self._take((await reader.readexactly(size + 2))[:-2])
        finally:
            writer.close()

    def _request(self) -> bytes:
        head = f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1:{self._daemon.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        return f"{head}Last-Event-ID: {self.last}\r\n\r\n".encode()

    def _take(self, chunk: bytes) -> None:
        for frame in chunk.split(b"\n\n"):
            if frame.startswith(b"id: "):
                id, _, data = frame.partition(b"\n")
                assert int(id[4:]) == self.last + 1, f"{self._path}: {id.decode()} after {self.last}"
                self.last += 1
                if self._keeps:
                    self.bodies.append(data[6:])


async def until(reached: Callable[[], bool], seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while not reached():
            await asyncio.sleep(0.02)


def prove(store: Store, session_id: str) -> list[bytes]:
    """The promises hold, and the stored tape gives the stored events, byte for byte; the events."""
    stored = list(events(store, session_id))
    again = [onetape.to_json(event) for event in onetape.transcribe(store.tape(session_id))]
    assert stored == again, session_id
    faults = [fault for fault in promises.check(promises.decode(stored)) if not fault.is_warning]
    assert not faults, (session_id, faults)
    row = store.session(session_id)
    assert row is not None and row.summary.event_count == len(stored), session_id
    return stored


def strays(keys: set[str]) -> list[int]:
    """The processes of these sessions that are alive."""
    return [seen.pid for seen in everyone() if seen.mark in keys]
