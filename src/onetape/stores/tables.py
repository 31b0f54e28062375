"""What one transaction of the writing thread does to the tables.

Functions of a connection, each called within a transaction that somebody else began and
ends (writer.py). Numbers are taken here, where nobody else can take the same.
"""

import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, repeat
from typing import Any

import msgspec

from onetape.errors import Exists, Missing, StoreFailed
from onetape.projection import Rows
from onetape.stores.store import CUT_OFF, Batch, SessionRow, Stored
from onetape.summary import Ask
from onetape.tape import Record

SHIFT = 32
"""A place is a session's number and, in the lower 32 bits, the record's or event's own."""
TOGETHER = 512
"""How many rows one statement takes at most."""

_encode = msgspec.json.Encoder().encode
decode_row = msgspec.json.Decoder(SessionRow).decode
decode_ask = msgspec.json.Decoder(Ask).decode


def columns(row: SessionRow) -> tuple[Any, ...]:
    summary = row.summary
    told = (row.session_id, row.agent, row.title, summary.title, summary.directory, summary.native_session_id)
    words = "\n".join(text for text in told if text).casefold()
    return row.agent, summary.native_session_id, row.created_at, summary.ended, row.owner, words, _encode(row), row.session_id


def create(connection: sqlite3.Connection, row: SessionRow) -> None:
    if connection.execute("SELECT 1 FROM sessions WHERE session_id = ?", (row.session_id,)).fetchone():
        raise Exists(f"there is a session {row.session_id} already")
    names = "agent, native_session_id, created_at, ended, owner, words, row, session_id"
    connection.execute(f"INSERT INTO sessions ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", columns(row))


def _find(connection: sqlite3.Connection, session_id: str) -> int:
    found = connection.execute("SELECT number FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if found is None:
        raise Missing(f"there is no session {session_id}")
    number: int = found[0]
    return number


def _update(connection: sqlite3.Connection, columns: tuple[Any, ...]) -> None:
    names = "agent = ?, native_session_id = ?, created_at = ?, ended = ?, owner = ?, words = ?, row = ?"
    connection.execute(f"UPDATE sessions SET {names} WHERE session_id = ?", columns)


def append(connection: sqlite3.Connection, batch: Batch, row: tuple[Any, ...] | None) -> None:
    if batch.is_cut_off:
        raise StoreFailed(CUT_OFF)
    number = _find(connection, batch.session_id)
    base = number << SHIFT
    _record(connection, list(enumerate(batch.tape, base + batch.number)))
    _insert(connection, number, batch.events)
    _note_asks(connection, number, batch.rows.asks)
    _index(connection, base, batch.rows)
    if row is not None:
        _update(connection, row)


def _record(connection: sqlite3.Connection, told: list[tuple[int, Record]]) -> None:
    """Onto the tape. A bytearray, here as for events: for bytes, as for None, Python first looks for somebody who would adapt them, which
    takes longer than the rest."""
    plain = [(place, record.t, record.dir, bytearray(record.payload)) for place, record in told if not _has_more(record)]
    put(connection, "tape (place, t, dir, payload)", plain)
    if len(plain) < len(told):
        others = [(place, record.t, record.dir, bytearray(record.payload), _more(record)) for place, record in told if _has_more(record)]
        put(connection, "tape", others)


def _insert(connection: sqlite3.Connection, number: int, events: list[Stored]) -> None:
    if not events:
        return
    base = number << SHIFT
    put(connection, "events", [(base + event.sequence, event.cause, bytearray(event.body)) for event in events])
    _log(connection, number, events[0].sequence, events[-1].sequence)


def _log(connection: sqlite3.Connection, number: int, first: int, last: int) -> None:
    """These events stand at the end of the whole log; its row has the place of the last one."""
    place = position(connection) + last - first + 1
    connection.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (place, number, first, last))


def _index(connection: sqlite3.Connection, base: int, rows: Rows) -> None:
    """For search and for the ledger."""
    if rows.passages:
        told = [(base + p.sequence, p.time, p.kind, p.item_id, p.tool, p.paths, p.words) for p in rows.passages]
        put(connection, "passages", told)
        # One statement: the index writes its segment at the end of each that takes many rows.
        span = told[0][0], told[-1][0]
        connection.execute("INSERT INTO search (rowid, words) SELECT place, words FROM passages WHERE place BETWEEN ? AND ?", span)
    if rows.turns:
        billed = [(base + turn.sequence, turn.time, turn.mark, _encode(turn.usage)) for turn in rows.turns]
        put(connection, "turns", billed)


def put(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Many rows by one statement: SQLite takes them all without Python's lock, while the next batch is translated. `executemany` would
    want the lock back after each. A statement takes twice as many as the next smaller one, so that few are kept prepared: what is left
    over of it is filled up with nothing."""
    for at in range(0, len(rows), TOGETHER):
        some = rows[at : at + TOGETHER]
        width, count = len(some[0]), 1 << (len(some) - 1).bit_length()
        values = [*chain.from_iterable(some), *repeat(None, (count - len(some)) * width)]
        connection.execute(_insertion(table, count, width), values)


@cache
def _insertion(table: str, count: int, width: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} SELECT * FROM (VALUES {', '.join([row] * count)}) WHERE column1 IS NOT NULL"


def position(connection: sqlite3.Connection) -> int:
    """Also of what was deleted since: a place is never given twice."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'log'").fetchone()
    return found[0] if found else 0


def _note_asks(connection: sqlite3.Connection, number: int, asks: Iterable[Ask]) -> None:
    for ask in asks:
        if ask.status != "requested":
            found = connection.execute("SELECT ask FROM asks WHERE session = ? AND ask_id = ?", (number, ask.ask_id)).fetchone()
            ask = ask.resolving(decode_ask(found[0]) if found else None)
        connection.execute("INSERT OR REPLACE INTO asks VALUES (?, ?, ?, ?)", (number, ask.ask_id, ask.status, _encode(ask)))


def change(connection: sqlite3.Connection, session_id: str, edit: Callable[[SessionRow], None]) -> SessionRow:
    found = connection.execute("SELECT row FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if found is None:
        raise Missing(f"there is no session {session_id}")
    row = decode_row(found[0])
    edit(row)
    _update(connection, columns(row))
    return row


def supersede(connection: sqlite3.Connection, session_id: str, draft_id: str) -> None:
    old, new = _find(connection, session_id), _find(connection, draft_id)
    _take_over(connection, old, new)
    delete(connection, session_id)

    def rename(row: SessionRow) -> None:
        row.session_id = session_id

    connection.execute("UPDATE sessions SET session_id = ? WHERE session_id = ?", (session_id, draft_id))
    change(connection, session_id, rename)


def _take_over(connection: sqlite3.Connection, old: int, new: int) -> None:
    """Who reads the whole log is told what is new, and nothing twice: what stayed the same stands where it stood."""
    base = new << SHIFT
    span = base, base + (1 << SHIFT)
    count = connection.execute("SELECT max(place) FROM events WHERE place > ? AND place < ?", span).fetchone()[0] or base
    differs = connection.execute(
        "SELECT n.place FROM events n LEFT JOIN events o ON o.place = n.place - ?"
        " WHERE n.place > ? AND n.place < ? AND o.body IS NOT n.body ORDER BY n.place LIMIT 1",
        (base - (old << SHIFT), *span),
    ).fetchone()
    same, last = (differs[0] - 1 if differs else count) - base, count - base
    connection.execute("DELETE FROM log WHERE session = ? OR (session = ? AND first > ?)", (new, old, same))
    connection.execute(
        "UPDATE log SET session = ?, position = position - max(0, last - ?), last = min(last, ?) WHERE session = ?", (new, same, same, old)
    )
    if last > same:
        _log(connection, new, same + 1, last)


def delete(connection: sqlite3.Connection, session_id: str) -> None:
    number = _find(connection, session_id)
    span = number << SHIFT, (number + 1) << SHIFT
    # The index is told what it must forget: it keeps no copy of the words.
    connection.execute(
        "INSERT INTO search (search, rowid, words) SELECT 'delete', place, words FROM passages WHERE place > ? AND place < ?", span
    )
    for table in ("events", "tape", "passages", "turns"):
        connection.execute(f"DELETE FROM {table} WHERE place > ? AND place < ?", span)
    for table in ("log", "asks"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))
    connection.execute("DELETE FROM sessions WHERE number = ?", (number,))


def _has_more(record: Record) -> bool:
    return not (record.encoding is record.stream is record.note is record.signal is None)  # nearly never


def _more(record: Record) -> bytes:
    return _encode({name: value for name in ("encoding", "stream", "note", "signal") if (value := getattr(record, name)) is not None})
