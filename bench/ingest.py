"""Ingest: the live path into SQLite, tape and events and what is kept to search them, a commit per batch.

The floor is `executemany` of the same rows in the same batches, ready-made, and nothing else.
"""

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fed
from measure import Figure, Section, quotients, rate, show
from native import claude
from onetape.stores import sqlite, tables
from onetape.stores.migrations import migrate

TIMES = 9
GOAL = 0.5
Rows = list[tuple[str, list[tuple[Any, ...]]]]
"""What one batch puts into which table."""


def run() -> Section:
    about = "What an agent says, as chunks of its pipe, until it is committed, against `executemany` of the same rows in the same batches."
    return Section("Ingest", about, [_ratio("a long reply", claude.reply(50_000)), _ratio("many tools", claude.tools(3_000))])


def _ratio(name: str, source: bytes) -> Figure:
    chunks = fed.chunked(source)
    batches = _rows(chunks)
    count = sum(len(rows) for batch in batches for table, rows in batch if table.startswith(("tape", "events")))
    floors, ours = [], []
    for _ in range(TIMES):
        floors.append(_floor(batches))
        ours.append(_ours(chunks))
    return Figure(name, f"{rate(count, ours)} rows", f"{rate(count, floors)} rows", quotients(floors, ours), GOAL, at_least=True)


def _rows(chunks: list[bytes]) -> list[Rows]:
    with _noting() as batches, tempfile.TemporaryDirectory(prefix="onetape-bench-") as directory:
        store = sqlite.Sqlite(Path(directory))
        fed.feed(store, chunks)
        store.close()
        return batches


@contextmanager
def _noting() -> Iterator[list[Rows]]:
    """Notes whatever is put into tables; each batch begins with its tape. The index of words is filled from their table."""
    batches: list[Rows] = [[]]
    put = tables.put

    def noting(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
        if table.startswith("tape"):
            batches.append([])
        batches[-1].append((table, [tuple(map(_plain, row)) for row in rows]))
        if table == "passages":
            batches[-1].append(("search (rowid, words)", [(place, words) for place, *_, words in rows]))
        put(connection, table, rows)

    tables.put = noting
    try:
        yield batches
    finally:
        tables.put = put


def _plain(value: Any) -> Any:
    """As a program that does not know that sqlite3 takes a bytearray faster would hand it over."""
    return bytes(value) if isinstance(value, bytearray) else value


def _ours(chunks: list[bytes]) -> float:
    with fed.store() as store:
        begin = time.perf_counter()
        fed.feed(store, chunks)
        return time.perf_counter() - begin


def _floor(batches: list[Rows]) -> float:
    with tempfile.TemporaryDirectory(prefix="onetape-bench-") as directory:
        connection = sqlite3.connect(Path(directory, "floor.db"), isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        migrate(connection, "floor")
        begin = time.perf_counter()
        for batch in batches:
            connection.execute("BEGIN IMMEDIATE")
            for table, rows in batch:
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            connection.execute("COMMIT")
        spent = time.perf_counter() - begin
        connection.close()
        return spent


if __name__ == "__main__":
    show(run())
