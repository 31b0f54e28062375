"""The live path without a process: a session whose agent's bytes are at hand, into a store of its own."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from msgspec import Raw

from onetape import tape
from onetape.agents import registry
from onetape.drivers.lines import Lines, said, spoken
from onetape.session import Session
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import SessionRow, Store
from onetape.tail import Tail
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber

CHUNK = 1 << 16
"""What a pipe holds."""
AGENT = "claude"
SESSION = "s"


class Fed:
    """A driver that hears what it is given, once it has been greeted."""

    replies = False
    pid = None

    def __init__(self, chunks: Iterable[bytes], clock: Callable[[], float]) -> None:
        self._chunks = chunks
        self._clock = clock
        self._greeting: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def start(self) -> None: ...

    async def stop(self, polite_seconds: float = 3.0) -> None: ...

    async def send(self, message: Any) -> Record:
        self._greeting.set_result(message["request_id"])
        return Record(self._clock(), "send", Raw(msgspec.json.encode(message)))

    async def heard(self) -> AsyncIterator[list[Record]]:
        greeted = {"type": "control_response", "response": {"subtype": "success", "request_id": await self._greeting, "response": {}}}
        yield [said(self._clock(), msgspec.json.encode(greeted))]
        lines = Lines()
        for chunk in self._chunks:
            now = self._clock()
            if records := [said(now, line) for line in spoken(lines.cut(chunk))]:  # else it is the middle of a long line
                yield records
        yield [tape.record(self._clock(), "exit", 0)]


def feed(store: Store, chunks: Iterable[bytes]) -> None:
    """A whole session, until all of it is committed."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_feed(store, chunks))


async def _feed(store: Store, chunks: Iterable[bytes]) -> None:
    begin = time.monotonic()

    def clock() -> float:
        return time.monotonic() - begin

    async def start(resume: str | None) -> Any:
        return Fed(chunks, clock)

    agent = registry.find(AGENT)
    head = Head(agent.name, dialect=agent.translators[0].dialect, session_id=SESSION, key="bench")
    row = SessionRow(SESSION, agent.name)
    store.create(row)
    session = Session(row, head, Transcriber(agent, head), store, clock, start, Tail())
    await session.open()
    await session.over()
    await session.committed()


def chunked(source: bytes) -> list[bytes]:
    return [source[at : at + CHUNK] for at in range(0, len(source), CHUNK)]


@contextmanager
def store() -> Iterator[Sqlite]:
    with tempfile.TemporaryDirectory(prefix="onetape-bench-") as directory:
        made = Sqlite(Path(directory))
        try:
            yield made
        finally:
            made.close()
