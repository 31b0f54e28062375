"""How much is done for what crosses the daemon, counted and not timed: commits per batch, statements per commit, queries per page,
writes per wake-up. A change that makes any of them grow with readers, sessions or length fails here, on any machine."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from onetape.following import Following
from onetape.projection import Passage, Rows
from onetape.server.sse import Streams
from onetape.session import Session
from onetape.sessions import Sessions
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import PAGE, Batch, SessionRow, Sought, Stored
from onetape.stores.tables import TOGETHER
from onetape.tail import Tail
from test_sessions import mock, turn
from test_stores import batch, row

READERS = 100


@contextmanager
def statements(connection: sqlite3.Connection) -> Iterator[list[str]]:
    """What is executed on it meanwhile, each by its first words."""
    seen: list[str] = []
    connection.set_trace_callback(lambda statement: seen.append(" ".join(statement[:60].split()[:3])))
    try:
        yield seen
    finally:
        connection.set_trace_callback(None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    made = Sqlite(tmp_path)
    yield made
    made.close()


# --- commits ----------------------------------------------------------------


def test_one_commit_for_what_was_heard_together(store: Sqlite, monkeypatch: pytest.MonkeyPatch) -> None:
    heard, hear = [0], Session._hear

    async def counting(self: Session, records: Any) -> None:
        heard[0] += 1
        await hear(self, records)

    monkeypatch.setattr(Session, "_hear", counting)

    async def whole() -> list[str]:
        sessions = Sessions(store)
        id = await mock(sessions)
        heard[0] = 0
        with statements(store._writer._connection) as seen:
            await turn(sessions, id, "big 3000")
        await sessions.close()
        return seen

    seen = asyncio.run(whole())
    said = 2  # the client's command, and the message itself
    assert 0 < seen.count("COMMIT") <= heard[0] + said
    assert heard[0] < 1000, "lines are heard by the pipeful"


def test_sessions_that_wait_share_a_commit(store: Sqlite) -> None:
    names = [f"s{number}" for number in range(50)]
    for name in names:
        store.create(row(name))
    goes_on = Event()
    blocked: Future[Any] = store._writer.submit(lambda connection: goes_on.wait())
    waiting = [store.append(batch(name, 1)) for name in names]
    with statements(store._writer._connection) as seen:
        goes_on.set()
        for each in (blocked, *waiting):
            each.result()
    assert seen.count("COMMIT") <= 2, "that of the one who kept them waiting, and theirs"


def test_a_batch_takes_few_statements(store: Sqlite) -> None:
    store.create(row("s"))
    count = 3000
    with statements(store._writer._connection) as seen:
        store.append(batch("s", *range(1, count + 1))).result()
    most = -(-count // TOGETHER)
    assert seen.count("INSERT INTO events") <= most and seen.count("INSERT INTO tape") <= most
    others = [statement for statement in seen if statement not in ("INSERT INTO events", "INSERT INTO tape")]
    assert len(others) <= 6, others


def test_the_index_of_words_is_written_once_a_batch(store: Sqlite) -> None:
    store.create(row("s"))
    passages = [Passage(number, 0, "message", None, None, "", f"word{number}") for number in range(1, 601)]
    with statements(store._writer._connection) as seen:
        store.append(Batch("s", rows=Rows(passages=passages))).result()
    assert seen.count("INSERT INTO search") == 1 and seen.count("INSERT INTO passages") == -(-600 // TOGETHER)
    assert [hit.passage.sequence for hit in store.search(Sought("word600"))] == [600]


# --- queries ----------------------------------------------------------------


@pytest.mark.parametrize("raw", [False, True])
def test_a_page_is_two_queries_wherever_it_is(store: Sqlite, raw: bool) -> None:
    store.create(row("s"))
    store.append(batch("s", *range(1, 5001))).result()
    for after in (0, 2500, 4900, 5000):
        with statements(store._reader) as seen:
            store.page("s", after, PAGE, raw)
        assert len(seen) == 2, "whose it is, and what it holds"


class Read(Memory):
    """A session of so many pages, and how often one of them was asked for."""

    def __init__(self, pages: int) -> None:
        super().__init__()
        self.queries = 0
        self.create(SessionRow("s", "mock"))
        self.append(Batch("s", events=[Stored(sequence, b"{}") for sequence in range(1, pages * PAGE + 1)])).result()

    def page(self, *arguments: Any) -> list[Stored]:
        self.queries += 1
        return super().page(*arguments)


async def read_to_the_end(following: Following, after: int, count: int) -> None:
    frames = following.frames("s", after)
    while after < count:
        after += (await anext(frames)).count(b"\ndata: ")
    await frames.aclose()


@pytest.mark.parametrize("apart", [0, 3])
def test_readers_that_are_behind_share_the_pages(apart: int) -> None:
    """Also where each begins somewhere else: they meet at a page's end."""
    pages = 20
    store = Read(pages)

    async def whole() -> int:
        following = Following(store, {"s": SimpleNamespace(tail=Tail(), check_log=lambda: None)})  # type: ignore[dict-item]
        await asyncio.gather(*(read_to_the_end(following, apart * reader, pages * PAGE) for reader in range(READERS)))
        return len(following._pages._kept)

    assert asyncio.run(whole()) == 0, "nothing is kept for nobody"
    assert store.queries <= pages + (READERS if apart else 1)


def test_pages_that_others_may_change_are_not_kept() -> None:
    store = Read(1)

    async def whole() -> None:
        following = Following(store, {})
        first = following.frames("s")
        assert b"{}" in await anext(first)
        second = following.frames("s")
        await anext(second)
        store.create(SessionRow("~s", "mock"))
        store.append(Batch("~s", events=[Stored(sequence, b"[]") for sequence in range(1, PAGE + 1)])).result()
        store.supersede("s", "~s")
        third = following.frames("s")
        assert b"[]" in await anext(third)
        for frames in (first, second, third):
            await frames.aclose()
        await following.close()

    asyncio.run(whole())


# --- writes -----------------------------------------------------------------


class Transport:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def is_closing(self) -> bool:
        return False

    def write(self, chunk: bytes) -> None:
        self.written.append(chunk)


def test_one_write_per_reader_and_commit_of_the_same_bytes() -> None:
    async def whole() -> None:
        tail, streams, transports = Tail(), Streams(), [Transport() for _ in range(READERS)]
        tail.followers = READERS
        following = []
        for transport in transports:
            socket = streams.socket()
            socket._connection = SimpleNamespace(flow=SimpleNamespace(write_paused=False), transport=transport)  # type: ignore[assignment]
            following.append(asyncio.ensure_future(tail.pushed(0, socket)))
        await asyncio.sleep(0)
        for first in (1, 51, 101):
            tail.add([Stored(sequence, b"{}") for sequence in range(first, first + 50)])
        assert all(len(transport.written) == 3 for transport in transports)
        for chunks in zip(*(transport.written for transport in transports), strict=True):
            assert len(set(map(id, chunks))) == 1, "framed once for all"
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)

    asyncio.run(whole())
