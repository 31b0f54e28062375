"""The log in one SQLite file (WAL): many readers, one writing thread, what is committed survives a SIGKILL.

Other processes may use the same file: a command that lists sessions, a second
one that runs one without a daemon. Numbers are therefore taken inside the
transaction that uses them.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from onetape.errors import StoreFailed
from onetape.ledger import Bill
from onetape.projection import Passage, Turn
from onetape.schema import Usage
from onetape.spacing import GAP, spaced
from onetape.stores import tables
from onetape.stores.migrations import migrate
from onetape.stores.store import (
    BEGINS,
    DRAFT,
    ENDS,
    Batch,
    Hit,
    Logged,
    Pending,
    SessionRow,
    Sought,
    Source,
    Stored,
    bounded,
    with_raw,
)
from onetape.stores.tables import SHIFT, decode_ask, decode_row
from onetape.stores.writer import Writer
from onetape.summary import Ask
from onetape.tape import Record

TAPE_PAGE = 256


class _Summary(msgspec.Struct):
    directory: str | None = None


class _Place(msgspec.Struct):
    """A session's row where only its directory is wanted."""

    summary: _Summary


_encode = msgspec.json.Encoder().encode
_decode_place = msgspec.json.Decoder(_Place).decode
_decode_usage = msgspec.json.Decoder(Usage).decode

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # with a WAL a killed process loses nothing; only a power cut may take the last moments
    "PRAGMA busy_timeout = 30000",
    "PRAGMA wal_autocheckpoint = 16000",  # by then the writer's second thread should long have done it
)


class Sqlite:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / "onetape.db"
        _make_private(directory)
        _make_file(self._file)
        connection = self._connect()
        try:
            migrate(connection, str(self._file))
        except sqlite3.Error as error:
            raise StoreFailed(f"the log {self._file} cannot be opened: {error}") from None
        self._writer = Writer(connection, self._connect())
        self._readers = threading.local()
        self._opened: list[sqlite3.Connection] = []

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False, cached_statements=128)
            for setting in _SETTINGS:
                connection.execute(setting)
        except sqlite3.Error as error:
            raise StoreFailed(f"the log {self._file} cannot be opened: {error}") from None
        return connection

    @property
    def _reader(self) -> sqlite3.Connection:
        """This thread's own: readers never wait for each other or for the writer."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            connection = self._readers.connection = self._connect()
            connection.execute("PRAGMA query_only = 1")
            self._opened.append(connection)
        return connection

    # --- writing ------------------------------------------------------------

    def create(self, row: SessionRow) -> None:
        self._writer.submit(lambda connection: tables.create(connection, row)).result()

    def append(self, batch: Batch) -> "Future[None]":
        # Encoded now: the row goes on changing while the batch waits for its turn.
        row = None if batch.row is None else tables.columns(batch.row)
        return self._writer.submit(lambda connection: tables.append(connection, batch, row))

    def change(self, session_id: str, edit: Callable[[SessionRow], None]) -> SessionRow:
        changed: SessionRow = self._writer.submit(lambda connection: tables.change(connection, session_id, edit)).result()
        return changed

    def supersede(self, session_id: str, draft_id: str) -> None:
        self._writer.submit(lambda connection: tables.supersede(connection, session_id, draft_id)).result()

    def delete(self, session_id: str) -> None:
        self._writer.submit(lambda connection: tables.delete(connection, session_id)).result()

    def keep_source(self, source: Source) -> None:
        columns = source.path, source.stamp, source.session_id, source.outcome
        self._writer.submit(lambda connection: connection.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", columns)).result()

    # --- reading ------------------------------------------------------------

    def session(self, session_id: str) -> SessionRow | None:
        found = self._reader.execute("SELECT row FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
        return decode_row(found[0]) if found else None

    def sessions(
        self, *, agent: str | None = None, q: str | None = None, limit: int | None = None, before: str | None = None
    ) -> list[SessionRow]:
        wanted: list[tuple[str, Any]] = [("substr(session_id, 1, 1) <> ?", DRAFT)]
        if agent is not None:
            wanted.append(("agent = ?", agent))
        if q is not None:
            wanted.append(("instr(words, ?) > 0", q.casefold()))
        if before is not None:
            wanted.append(("(created_at, number) < (SELECT created_at, number FROM sessions WHERE session_id = ?)", before))
        where = " AND ".join(test for test, _ in wanted)
        query = f"SELECT row FROM sessions WHERE {where} ORDER BY created_at DESC, number DESC LIMIT ?"
        found = self._reader.execute(query, (*(value for _, value in wanted), -1 if limit is None else limit))
        return [decode_row(row) for (row,) in found]

    def owned(self) -> list[SessionRow]:
        found = self._reader.execute("SELECT row FROM sessions WHERE owner IS NOT NULL AND NOT ended ORDER BY number")
        return [decode_row(row) for (row,) in found]

    def by_native_id(self, agent: str, native_session_id: str) -> list[SessionRow]:
        query = "SELECT row FROM sessions WHERE native_session_id = ? AND agent = ? ORDER BY created_at, number"
        return [decode_row(row) for (row,) in self._reader.execute(query, (native_session_id, agent))]

    def page(self, session_id: str, after: int, limit: int, raw: bool = False) -> list[Stored]:
        number = self._number(session_id)
        if number is None:
            return []
        base = number << SHIFT
        span = (base + max(0, after), base + (1 << SHIFT) - 1, limit)
        if raw:
            query = (
                "SELECT e.place, e.body, e.cause, t.payload FROM events e LEFT JOIN tape t ON t.place = (e.place >> 32 << 32) + e.cause"
                " WHERE e.place > ? AND e.place <= ? ORDER BY e.place LIMIT ?"
            )
            found = self._reader.execute(query, span)
            return bounded(Stored(place - base, with_raw(body, payload), cause) for place, body, cause, payload in found)
        query = "SELECT place, body, cause FROM events WHERE place > ? AND place <= ? ORDER BY place LIMIT ?"
        return bounded(Stored(place - base, body, cause) for place, body, cause in self._reader.execute(query, span))

    def tape(self, session_id: str, after: int = 0) -> Iterator[Record]:
        number = self._number(session_id)
        if number is None:
            return
        last, end = (number << SHIFT) + after, (number + 1) << SHIFT
        query = "SELECT place, t, dir, payload, extra FROM tape WHERE place > ? AND place < ? ORDER BY place LIMIT ?"
        while page := self._reader.execute(query, (last, end, TAPE_PAGE)).fetchall():
            yield from (_read(*columns) for _, *columns in page)
            last = page[-1][0]

    def log(self, after: int, limit: int) -> list[Logged]:
        query = (
            "SELECT l.position, l.session, l.first, l.last, s.session_id FROM log l JOIN sessions s ON s.number = l.session"
            f" WHERE l.position > ? AND substr(s.session_id, 1, 1) <> '{DRAFT}' ORDER BY l.position"
        )
        logged: list[Logged] = []
        for position, session, first, last, session_id in self._reader.execute(query, (after,)):
            first = max(first, last - (position - after) + 1)
            base = session << SHIFT
            read = self._reader.execute(
                "SELECT place, body FROM events WHERE place BETWEEN ? AND ? ORDER BY place LIMIT ?",
                (base + first, base + last, limit - len(logged)),
            )
            logged += [Logged(position - (last - (place - base)), session_id, body) for place, body in read]
            if len(logged) >= limit:
                break
        return logged

    def position(self) -> int:
        return tables.position(self._reader)

    def written(self, after: int) -> set[str]:
        query = "SELECT DISTINCT s.session_id FROM log l JOIN sessions s ON s.number = l.session WHERE l.position > ?"
        return {session_id for (session_id,) in self._reader.execute(query, (after,))}

    def pending(self) -> list[Pending]:
        query = (
            "SELECT s.session_id, s.agent, a.ask FROM asks a JOIN sessions s ON s.number = a.session"
            " WHERE a.status = 'requested' AND NOT s.ended AND json_extract(CAST(s.row AS TEXT), '$.origin') = 'live'"
            " ORDER BY s.created_at, s.number"
        )
        found = [Pending(session_id, agent, decode_ask(ask)) for session_id, agent, ask in self._reader.execute(query)]
        return sorted(found, key=lambda pending: pending.ask.requested_at)

    def ask(self, session_id: str, ask_id: str) -> Ask | None:
        query = "SELECT a.ask FROM asks a JOIN sessions s ON s.number = a.session WHERE s.session_id = ? AND a.ask_id = ?"
        found = self._reader.execute(query, (session_id, ask_id)).fetchone()
        return decode_ask(found[0]) if found else None

    def search(self, sought: Sought) -> list[Hit]:
        wanted: list[tuple[str, Any]] = [("search MATCH ?", literally(sought.words))]
        if not wanted[0][1]:
            return []
        for test, value in (
            ("s.agent = ?", sought.agent), ("p.kind = ?", sought.kind), ("p.tool = ? COLLATE NOCASE", sought.tool),
            ("instr(p.paths, ?) > 0", sought.path), ("p.time >= ?", sought.since),
        ):  # fmt: skip
            if value is not None:
                wanted.append((test, value))
        query = (
            "SELECT s.session_id, s.agent, p.place, p.time, p.kind, p.item_id, p.tool, p.paths,"
            f" snippet(search, 0, '{BEGINS}', '{ENDS}', '…', 24)"
            " FROM search JOIN passages p ON p.place = search.rowid JOIN sessions s ON s.number = p.place >> 32"
            f" WHERE {' AND '.join(test for test, _ in wanted)} AND substr(s.session_id, 1, 1) <> '{DRAFT}' ORDER BY rank LIMIT ? OFFSET ?"
        )
        return [_hit(*columns) for columns in self._reader.execute(query, (*(value for _, value in wanted), sought.limit, sought.skip))]

    def billed(self, since: int | None = None, until: int | None = None) -> Iterator[Bill]:
        query = (
            "SELECT s.session_id, s.agent, s.row, t.place, t.time, t.mark, t.usage FROM turns t JOIN sessions s ON s.number = t.place >> 32"
            f" WHERE t.time >= ? AND t.time < ? AND substr(s.session_id, 1, 1) <> '{DRAFT}'"
            # A copy, as a fork has them, is counted where it stood first.
            " AND NOT EXISTS (SELECT 1 FROM turns o JOIN sessions f ON f.number = o.place >> 32 WHERE o.mark = t.mark"
            " AND f.agent = s.agent AND (f.created_at, o.place) < (s.created_at, t.place))"
            " ORDER BY s.created_at, t.place"
        )
        for session_id, agent, row, place, time, mark, usage in self._reader.execute(query, (since or 0, until or 1 << 62)):
            turn = Turn(place & ((1 << SHIFT) - 1), time, _decode_usage(usage), mark)
            yield Bill(session_id, agent, _decode_place(row).summary.directory, turn)

    def source(self, path: str) -> Source | None:
        found = self._reader.execute("SELECT path, stamp, session_id, outcome FROM sources WHERE path = ?", (path,)).fetchone()
        return Source(*found) if found else None

    def _number(self, session_id: str) -> int | None:
        found = self._reader.execute("SELECT number FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
        return found[0] if found else None

    # --- blobs --------------------------------------------------------------

    def keep_blob(self, name: str, content: bytes) -> None:
        file = self._directory / "blobs" / name
        if file.exists():
            return  # its name is its content's hash
        _make_private(file.parent)
        part = file.with_name(f"{name}.{os.getpid()}.{threading.get_ident()}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as writing:
                writing.write(content)
            part.replace(file)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise StoreFailed(f"an image of the transcript cannot be kept: {error.strerror or error}") from None

    def blob(self, name: str) -> bytes | None:
        file = self._directory / "blobs" / name
        return file.read_bytes() if file.parent == self._directory / "blobs" and file.is_file() else None

    def close(self) -> None:
        self._writer.close()
        for connection in self._opened:
            connection.close()
        self._opened.clear()


# --- files ------------------------------------------------------------------


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreFailed(f"the data directory {directory} cannot be made: {error.strerror or error}") from None


def _make_file(file: Path) -> None:
    """Made before SQLite would: its other files get this one's mode."""
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreFailed(f"the log {file} cannot be opened: {error.strerror or error}") from None


# --- search -----------------------------------------------------------------


def literally(words: str) -> str:
    """A query for these words, each as it is: quoted, so that nothing in them is syntax."""
    return " ".join(f'"{spaced(word)}"' for word in words.replace('"', " ").replace("\0", " ").split())


def _hit(
    session_id: str, agent: str, place: int, time: int, kind: str, item_id: str | None, tool: str | None, paths: str, snippet: str,
) -> Hit:  # fmt: skip
    passage = Passage(place & ((1 << SHIFT) - 1), time, kind, item_id, tool, paths, "")
    return Hit(session_id, agent, passage, snippet.replace(GAP, ""))


# --- tape records as rows ---------------------------------------------------


def _read(t: float, dir: str, payload: bytes, extra: bytes | None) -> Record:
    return Record(t, dir, Raw(payload), **(msgspec.json.decode(extra) if extra else {}))
