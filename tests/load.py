"""Many sessions and many readers on one daemon, for as long as is wanted: nothing is lost, and memory stays flat.

    python tests/load.py [--sessions 200] [--readers 500] [--seconds 600]

Every session is an agent of its own that streams twenty words a second; the readers are spread over them. At the end
each reader has each event of its session exactly once, and every transcript is what its tape says.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from onetape import tasks
from onetape.stores.sqlite import Sqlite
from rig import Daemon, Reader, prove, until

WORDS_A_SECOND = 20
AT_ONCE = 8
"""Sessions that are made at the same time."""
EVERY_SECONDS = 10.0
WARM_UP = 12
"""Looks at the memory that do not count: until then the newest frames that are kept for each session's readers reach their bound."""
MOST_GROWTH = 30e6


class Load:
    def __init__(self, data: Path, sessions: int, readers: int) -> None:
        self._data = data
        self._daemon = Daemon(data)
        self._names = [f"load-{number}" for number in range(sessions)]
        self.readers: dict[str, list[Reader]] = {name: [] for name in self._names}
        for number in range(readers):
            name = self._names[number % sessions]
            self.readers[name].append(Reader(self._daemon, f"/v1/sessions/{name}/events/sse", keeps=False))
        self.memory: list[int] = []
        """While all sessions stream; at the end whole answers are told and indexed at once, which is another matter."""
        self._are_streaming = True
        self.events = 0

    async def run(self, message: str) -> None:
        await self._daemon.start()
        try:
            await self._make()
            reading = [tasks.start(reader.read(), "reader") for readers in self.readers.values() for reader in readers]
            watching = tasks.start(self._watch(), "memory")
            await self._stream(message)
            watching.cancel()
            await self._daemon.end()
            await self._check()
            for task in reading:
                task.cancel()
        finally:
            await self._daemon.end(signal.SIGKILL)

    async def _make(self) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def make(name: str) -> None:
            async with room:
                answer = await http.post(f"/v1/sessions/{name}", json={"agent": "mock"})
                assert answer.is_success and answer.json()["healthy"], answer.text

        async with self._daemon.client() as http:
            await asyncio.gather(*map(make, self._names))

    async def _stream(self, message: str) -> None:
        """Until every session has said all of it."""
        async with self._daemon.client() as http:
            for name in self._names:
                answer = await http.post(f"/v1/sessions/{name}/messages", json={"message": message})
                assert answer.status_code == 204, answer.text
            while any(running := [told["status"] != "idle" for told in (await http.get("/v1/sessions")).json()["sessions"]]):
                self._are_streaming = all(running)
                await asyncio.sleep(0.2)

    async def _watch(self) -> None:
        began = time.monotonic()
        while True:
            memory = _resident(self._daemon.pid)
            if self._are_streaming:
                self.memory.append(memory)
            frames = sum(reader.last for readers in self.readers.values() for reader in readers)
            print(f"{time.monotonic() - began:5.0f} s: {memory / 1e6:.0f} MB, {frames:,} frames read", flush=True)
            await asyncio.sleep(EVERY_SECONDS)

    async def _check(self) -> None:
        store = Sqlite(self._data)
        for name, readers in self.readers.items():
            stored = len(prove(store, name))
            self.events += stored
            # The daemon lets its readers see the end before it goes.
            await until(lambda count=stored, those=readers: all(reader.last == count for reader in those))  # type: ignore[misc]
        store.close()

    @property
    def growth(self) -> int:
        settled = self.memory[WARM_UP:]
        return max(settled) - settled[0] if settled else 0


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--readers", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=600)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        load = Load(Path(data), told.sessions, told.readers)
        asyncio.run(load.run(f"slow {told.seconds * WORDS_A_SECOND}"))
    frames = sum(reader.last for readers in load.readers.values() for reader in readers)
    print(f"{told.sessions} sessions, {load.events:,} events; {told.readers} readers, {frames:,} frames, each once")
    print(f"memory grew by {load.growth / 1e6:.1f} MB")
    return int(load.growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
