"""Kills the daemon at random moments under load, starts it again, and looks what is left.

    python tests/kill.py [--rounds 50] [--seed 1]

Each round: eight sessions of the mock agent stream, ask and hang; readers follow each of them and the whole log; a
SIGKILL at a moment that the seed decides. After the next start every transcript is whole and honest, the stored tape
gives the stored events byte for byte, whatever was acknowledged is there, readers that came back by sequence have
each event exactly once, and no process of a session is left.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import tempfile
import time
from pathlib import Path

import httpx
import msgspec

from onetape import tasks
from onetape.recovery import DIED
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import SessionRow
from patience import PATIENCE
from rig import Daemon, Reader, prove, strays, until

SESSIONS = 8
WORDS = ("slow 400", "big 40000", "permission", "question", "demo", "hang", "image", "command", "slow 5", "big 500", "end", "crash")
EARLY = 0.25
"""How many of the kills come while the sessions are still being made."""
LATEST = 1.5
"""Seconds after which a kill comes at the latest."""


def _is_over(answer: httpx.Response) -> bool:
    """The session is over, or its agent is just about to go."""
    return answer.status_code == 409 or (answer.status_code == 500 and answer.json()["type"].endswith(":agent_process_exited"))


class Told:
    """What one session was told, and how much of it the daemon acknowledged."""

    def __init__(self, words: list[str], resumes: str | None) -> None:
        self.words = words
        self.resumes = resumes
        self.acknowledged = 0


class Trial:
    def __init__(self, data: Path, seed: int) -> None:
        self._daemon = Daemon(data)
        self._random = random.Random(seed)
        self._store = Sqlite(data)
        self._told: dict[str, Told] = {}
        self._readers: dict[str, list[Reader]] = {}
        self._whole = Reader(self._daemon, "/v1/events/sse", keeps=False)
        self._reading: list[asyncio.Task[None]] = []
        self._finished: list[str] = []
        """Sessions of earlier rounds that can be gone on with."""
        self._checked: set[str] = set()
        self._streaming = asyncio.Event()
        self.events = 0
        self.seconds_to_end = 0.0
        """The last daemon's, which was only asked to."""

    async def run(self, rounds: int) -> None:
        self._follow(self._whole)
        try:
            await self._daemon.start()
            for number in range(1, rounds + 1):
                await self._round(number)
            self.seconds_to_end = await self._daemon.end()
        finally:
            for reading in self._reading:
                reading.cancel()
            await self._daemon.end(signal.SIGKILL)
            self._store.close()

    async def _round(self, number: int) -> None:
        """From a daemon at rest to one that was killed, started and checked."""
        is_early, moment = self._random.random() < EARLY, self._random.uniform(0.0, LATEST)
        self._streaming.clear()
        load = tasks.start(self._load(number), f"round {number}")
        if not is_early:
            await asyncio.wait_for(self._streaming.wait(), PATIENCE)
        await asyncio.wait({load}, timeout=moment)
        await self._daemon.end(signal.SIGKILL)
        load.cancel()
        await asyncio.wait({load})
        before = self.events
        await self._daemon.start()
        await self._check()
        when = "of its beginning" if is_early else "of streaming"
        print(f"round {number}: killed after {moment:.2f} s {when}; {self.events - before} events, each once", flush=True)

    # --- load ---------------------------------------------------------------

    async def _load(self, number: int) -> None:
        async with self._daemon.client() as http:
            with contextlib.suppress(httpx.HTTPError):
                await asyncio.gather(*(self._session(http, f"round-{number}-{at}") for at in range(SESSIONS)))
                self._streaming.set()
                await asyncio.Event().wait()  # the rest of the round is streaming

    async def _session(self, http: httpx.AsyncClient, name: str) -> None:
        old = self._finished.pop() if self._finished and self._random.random() < 0.3 else None
        words = self._random.choices(WORDS, k=3)
        if old is None:
            answer = await http.post(f"/v1/sessions/{name}", json={"agent": "mock"})
        else:
            answer = await http.post(f"/v1/sessions/{old}/resume")
            name = answer.json()["sessionId"]
        assert answer.is_success and answer.json()["healthy"], answer.text
        told = self._told[name] = Told(words, old)
        readers = self._readers[name] = [Reader(self._daemon, f"/v1/sessions/{name}/events/sse") for _ in range(2)]
        for reader in readers:
            self._follow(reader)
        for word in words:
            answer = await http.post(f"/v1/sessions/{name}/messages", json={"message": word})
            if _is_over(answer):
                return  # it has crashed or ended, as it was told
            assert answer.status_code == 204, answer.text
            told.acknowledged += 1

    def _follow(self, reader: Reader) -> None:
        self._reading.append(tasks.start(reader.read(), "reader"))

    # --- checks -------------------------------------------------------------

    async def _check(self) -> None:
        await until(lambda: all(row.summary.ended for row in self._store.sessions()))
        rows = {row.session_id: row for row in self._store.sessions()}
        assert self._told.keys() <= rows.keys(), "an acknowledged session is gone"
        assert not strays({row.key for row in rows.values()})
        assert self._store.pending() == []
        for id in rows.keys() - self._checked:
            await self._check_session(rows[id])
        await until(lambda: self._whole.last == self._store.position())

    async def _check_session(self, row: SessionRow) -> None:
        stored = prove(self._store, row.session_id)
        readers = self._readers.pop(row.session_id, [])
        await until(lambda: all(len(reader.bodies) >= len(stored) for reader in readers))
        assert all(reader.bodies == stored for reader in readers), f"a reader of {row.session_id} saw something else"
        assert _is_honest(row), (row.session_id, row.summary.error)
        if (told := self._told.pop(row.session_id, None)) is not None:
            self._check_told(row, told)
        if row.summary.native_session_id is not None:
            self._finished.append(row.session_id)
        self._checked.add(row.session_id)
        self.events += len(stored)

    def _check_told(self, row: SessionRow, told: Told) -> None:
        """What was acknowledged is there, and in order; what still waited for a turn died with it."""
        assert row.resumed_from == told.resumes
        records = self._store.tape(row.session_id)
        said = [msgspec.json.decode(record.payload)["text"] for record in records if record.dir == "cmd"]
        assert said == told.words[: len(said)] and len(said) >= min(told.acknowledged, 1), (said, told.words)


def _is_honest(row: SessionRow) -> bool:
    """Nobody drives it, nothing waits, and it ended as it was told to, or because its daemon died."""
    ends = (None, DIED, "mock: fatal: crashed as asked")
    return row.summary.ended and row.owner is None and not row.queued and row.summary.error in ends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as data:
        trial = Trial(Path(data), told.seed)
        asyncio.run(trial.run(told.rounds))
    print(f"{told.rounds} kills, {trial.events} events, nothing lost, {time.monotonic() - began:.0f} s")
    print(f"asked to, the last daemon ended within {trial.seconds_to_end:.1f} s")


if __name__ == "__main__":
    main()
