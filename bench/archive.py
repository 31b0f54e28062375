"""The archive: histories on disk into the log, and words found again.

    python bench/archive.py BYTES     a corpus of this size, e.g. 1000000000

The floor of the import reads and decodes the same lines and inserts the same rows and search rows in the same batches;
that of a search is the bare FTS5 query on the same index. Memory is that of a process which imports and does nothing else.
"""

import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

import served
from measure import Figure, Section, Spread, in_turns, milliseconds, quotients, show
from native.histories import history
from onetape.agents import registry
from onetape.archive.finding import Search
from onetape.archive.importing import Importer
from onetape.stores.migrations import migrate
from onetape.stores.sqlite import Sqlite, literally
from onetape.stores.store import Batch, Sought

HERE = Path(__file__).parent
SIZE = 16_000_000
PER_FILE = 2_000_000
TIMES = 3
SEARCHES = 25
GOALS = {"import": 0.5, "memory": 30.0, "search": 5.0}
SOUGHT = {"a word that is everywhere": "module", "a rare phrase": "module_17", "two words": "request module_5"}
Rows = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]


class _Noting(Sqlite):
    """Remembers the rows of each batch."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.rows: list[Rows] = []

    def append(self, batch: Batch) -> "Future[None]":
        base = (hash(batch.session_id) & 0x7FFFFFF) << 32
        self.rows.append(
            (
                [(base + batch.number + at, record.t, record.dir, bytes(record.payload), None) for at, record in enumerate(batch.tape)],
                [(base + event.sequence, event.cause, event.body) for event in batch.events],
                [(base + p.sequence, p.time, p.kind, p.item_id, p.tool, p.paths, p.words) for p in batch.rows.passages],
            )
        )
        return super().append(batch)


def run(size: int = SIZE) -> Section:
    about = "Histories on disk into the log, against a program that reads and decodes the same lines and inserts the same rows"
    about += " and search rows in the same batches; and searches, against the bare FTS5 query on the same index."
    with tempfile.TemporaryDirectory(prefix="onetape-bench-") as name:
        files = _corpus(Path(name, "histories"), size)
        figures = [_import(files, Path(name), size), _memory(files, Path(name), size), *_searches(files, Path(name))]
        return Section("Import and search", about, figures)


def _corpus(directory: Path, size: int) -> list[Path]:
    directory.mkdir()
    files = [directory / f"{number}.jsonl" for number in range(max(1, size // PER_FILE))]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(history(number, PER_FILE)))
    return files


# --- import -----------------------------------------------------------------


def _import(files: list[Path], directory: Path, size: int) -> Figure:
    noting = _Noting(_fresh(directory))
    _bring_in(noting, files)
    floors, ours = in_turns(lambda: _floor(files, noting.rows, _fresh(directory)), lambda: _ours(files, _fresh(directory)), TIMES)
    megabytes = size / 1e6
    rates = [f"{megabytes / sorted(seconds)[TIMES // 2]:.1f} MB/s" for seconds in (ours, floors)]
    name, value = f"import, {megabytes:,.0f} MB", quotients(floors, ours)
    return Figure(name, rates[0], rates[1], value, GOALS["import"], at_least=True)


def _fresh(directory: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=directory))


def _bring_in(store: Sqlite, files: list[Path]) -> None:
    importer, sessions = Importer(store), list(Search([registry.find("claude")]).named(files))
    for found, next in zip(sessions, [*sessions[1:], None], strict=True):
        assert importer.bring_in(found, next).outcome == "new"
    store.close()


def _ours(files: list[Path], directory: Path) -> None:
    _bring_in(Sqlite(directory), files)


def _floor(files: list[Path], rows: list[Rows], directory: Path) -> None:
    connection = sqlite3.connect(directory / "floor.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    migrate(connection, "floor")
    decode = msgspec.json.Decoder().decode
    for file in files:
        for line in file.read_bytes().splitlines():
            decode(line)
    for tape, events, passages in rows:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO tape VALUES (?, ?, ?, ?, ?)", tape)
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", events)
        connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?)", passages)
        connection.executemany("INSERT INTO search (rowid, words) VALUES (?, ?)", [(place, words) for place, *_, words in passages])
        connection.execute("COMMIT")
    connection.close()


def _memory(files: list[Path], directory: Path, size: int) -> Figure:
    """How much more a process needs at its peak that imports all of them than one that imports the first few."""
    few = files[: max(1, len(files) // 8)]
    first, last = (_peak(some, _fresh(directory)) / 1e6 for some in (few, files))
    grown = Spread(last - first, last - first, last - first)
    name = f"memory at its peak, {size / 1e6:,.0f} MB against an eighth of it, grown by"
    return Figure(name, f"{last:.0f} MB", f"{first:.0f} MB", grown, GOALS["memory"], unit=" MB")


def _peak(files: list[Path], directory: Path) -> int:
    script = "import sys, archive; archive.import_alone(sys.argv[1], sys.argv[2:])"
    told = subprocess.run([sys.executable, "-c", script, directory, *files], cwd=HERE, stdout=subprocess.PIPE, check=True)
    return int(told.stdout)


def import_alone(directory: str, files: list[str]) -> None:
    _ours([*map(Path, files)], Path(directory))
    print(served.peak())


# --- search -----------------------------------------------------------------


def _searches(files: list[Path], directory: Path) -> list[Figure]:
    here = _fresh(directory)
    _bring_in(Sqlite(here), files)
    store = Sqlite(here)
    connection = sqlite3.connect(here / "onetape.db")
    count = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    try:
        return [_search(f"search, {name}, {count:,} events", words, store, connection) for name, words in SOUGHT.items()]
    finally:
        connection.close()
        store.close()


def _search(name: str, words: str, store: Sqlite, connection: sqlite3.Connection) -> Figure:
    def bare() -> None:
        connection.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rank LIMIT 20", (literally(words),)).fetchall()

    def ours() -> None:
        assert store.search(Sought(words))

    floors, mine = in_turns(bare, ours, SEARCHES)
    return Figure(name, milliseconds(mine), milliseconds(floors), quotients(mine, floors), GOALS["search"])


if __name__ == "__main__":
    begin = time.monotonic()
    show(run(int(sys.argv[1]) if len(sys.argv) > 1 else SIZE))
    print(f"{time.monotonic() - begin:.0f} s")
