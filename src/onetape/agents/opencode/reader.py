"""The reader of OpenCode's histories: opens databases and files, and makes a tape of their rows or objects.

    opencode.db              all sessions, since SQLite (WAL: opened read-only, never written)
    storage/…                one JSON file per session, message and part, before that
    project/*/storage/…      the same in the first layout (both known from the migrations in 1.18.33)
    an `opencode export`     one JSON document: one session, without its subagents

A database holds many sessions, so each has a path below it: `…/opencode.db/ses_…`.
What the records mean is the translators' to say.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Raw

from onetape import tape
from onetape.agents.agent import Histories, is_document, stamp_of
from onetape.clock import LAST, written
from onetape.errors import Refused
from onetape.tape import Record

MAGIC = b"SQLite format 3\x00"
_SESSION_COLUMNS = ("id", "parent_id", "directory", "title", "version", "model", "time_created", "time_updated")


DAMAGED = (sqlite3.Error, UnicodeDecodeError)
"""What reading a database may end in: a schema may be no text any more."""


class Exported(msgspec.Struct):
    info: Raw
    messages: list["ExportedMessage"]


class ExportedMessage(msgspec.Struct):
    info: Raw
    parts: list[Raw]


class Row(NamedTuple):
    time: float
    """In milliseconds, as OpenCode counts."""
    order: int
    """Sessions before messages before parts."""
    id: str
    payload: bytes


class Reader(Histories):
    changes_in_place = True

    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        data = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
        named = env.get("OPENCODE_DB")
        yield from [data / named] if named and named != ":memory:" else sorted(data.glob("opencode*.db"))
        yield from sorted(data.glob("storage/session/*/ses_*.json"))
        yield from sorted(data.glob("project/*/storage/session/info/ses_*.json"))

    def recognises(self, path: Path) -> bool:
        if (database := _database(path)) is not None:
            return _is_ours(database)
        if not is_document(path, b'"ses_'):
            return False
        try:
            match msgspec.json.decode(path.read_bytes()):
                case {"info": {"id": str(id)}, "messages": [*_]} | {"id": str(id), "title": str(), "time": {}}:
                    return id.startswith("ses_")
                case _:
                    return False
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False

    def sessions(self, path: Path) -> Iterable[Path]:
        if _database(path) != path:
            return [path]
        try:
            return [path / session for session in sessions_of(path)]
        except DAMAGED as error:
            raise OSError(f"a database that cannot be read: {error}") from None

    def stamp(self, path: Path) -> str:
        database = _database(path)
        return stamp_of(path) if database is None else stamp_of(database, database.with_name(database.name + "-wal"))

    def read(self, path: Path, *, growing: bool = False) -> Iterator[Record]:
        database = _database(path)
        if database is not None:
            try:
                return _read_database(database, path.name if path != database else None)
            except DAMAGED as error:
                raise Refused(f"{database} is no database of OpenCode: {error}") from None
        try:
            document = path.read_bytes()
            match msgspec.json.decode(document):
                case {"info": {"id": str()}, "messages": [*_]}:
                    return _read_export(document)
                case {"id": str(), "time": {}}:
                    return _read_files(path, document)
                case _:
                    raise Refused(f"{path} is no session of OpenCode")
        except (OSError, msgspec.DecodeError) as error:
            raise Refused(f"{path} is no session of OpenCode: {error}") from None


# --- the database -----------------------------------------------------------


def _database(path: Path) -> Path | None:
    """The database that this path is, or is a session in."""
    for candidate in (path, path.parent):
        if candidate.is_file():
            with candidate.open("rb") as file:
                return candidate if file.read(len(MAGIC)) == MAGIC else None
    return None


def _is_ours(database: Path) -> bool:
    try:
        _connect(database).close()
    except DAMAGED as error:
        if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB):
            return False  # without our tables, or no database: somebody else's
        raise OSError(f"a database that cannot be read: {error}") from None
    return True


def _connect(database: Path) -> sqlite3.Connection:
    # A copy without its -wal file, or one in a directory that is read-only, opens only as immutable.
    modes = ("mode=ro", "mode=ro&immutable=1")
    for mode in modes:
        connection = sqlite3.connect(f"file:{quote(str(database))}?{mode}", uri=True)
        try:
            for table in ("session", "message", "part"):
                connection.execute(f"select id from {table} limit 1").fetchone()
        except DAMAGED:
            connection.close()
            if mode == modes[-1]:
                raise
        else:
            connection.row_factory = sqlite3.Row
            return connection
    raise AssertionError  # the last mode returns or raises


def sessions_of(database: Path) -> list[str]:
    """Root sessions, newest first."""
    with closing(_connect(database)) as connection:
        rows = connection.execute("select id from session where parent_id is null order by time_created desc")
        return [row["id"] for row in rows if isinstance(row["id"], str)]


def _read_database(database: Path, session: str | None) -> Iterator[Record]:
    session = session or _only(sessions_of(database), database)
    with closing(_connect(database)) as connection:
        connection.execute("begin")  # one moment of it, while OpenCode goes on
        family = connection.execute(
            "with recursive family(id) as (select ? union select session.id from session join family on session.parent_id = family.id)"
            " select session.* from session join family using (id) order by time_created",
            [session],
        ).fetchall()
        if not family:
            raise Refused(f"{database} has no session {session}")
        root = next((row for row in family if row["id"] == session), None)
        if root is None:
            raise Refused(f"{database} is damaged: it lists {session} and does not have it")
        ids = [row["id"] for row in family]
        marks = ", ".join("?" * len(ids))
        messages = connection.execute(f"select * from message where session_id in ({marks})", ids).fetchall()
        parts = connection.execute(f"select * from part where session_id in ({marks})", ids).fetchall()
    born = {row["id"]: row["time_created"] for row in messages}
    made = {row["id"]: row["time_created"] for row in family}
    rows = [Row(row["time_created"], 0, row["id"], _session_row(row)) for row in family]
    rows += [Row(row["time_created"], 1, row["id"], _data_row("message", row)) for row in messages]
    for row in parts:
        message = born.get(row["message_id"], 0)
        rows.append(Row(_part_time(row["time_created"], message, made[row["session_id"]]), 2, row["id"], _data_row("part", row)))
    return _taped("database", _session_facts(root), rows)


def _only(sessions: list[str], database: Path) -> str:
    if len(sessions) != 1:
        raise Refused(f"{database} has {len(sessions)} sessions: name one, as in {database}/{sessions[0] if sessions else 'ses_…'}")
    return sessions[0]


def _session_row(row: sqlite3.Row) -> bytes:
    told: dict[str, Any] = {"table": "session"} | {name: _column(row, name) for name in _SESSION_COLUMNS}
    if isinstance(told["model"], str):
        told["model"] = Raw(told["model"].encode())
    return msgspec.json.encode(told)


def _data_row(table: str, row: sqlite3.Row) -> bytes:
    columns: dict[str, Any] = {"table": table} | {name: row[name] for name in row.keys() if name != "data"}  # noqa: SIM118
    return msgspec.json.encode(columns | {"data": Raw(row["data"].encode())})


def _session_facts(row: sqlite3.Row) -> dict[str, Any]:
    told = {"id": row["id"], "version": _column(row, "version"), "directory": _column(row, "directory")}
    return told | {"time": {"created": row["time_created"]}}


def _column(row: sqlite3.Row, name: str) -> Any:
    return row[name] if name in row.keys() else None  # noqa: SIM118


# --- exports and files ------------------------------------------------------


def _read_export(document: bytes) -> Iterator[Record]:
    told = msgspec.json.decode(document, type=Exported)
    info = msgspec.json.decode(told.info)
    made = last = _created(info)
    rows = [Row(made, 0, info["id"], _line(told.info))]
    for message in told.messages:
        said = list(_message_rows(message.info, message.parts, made, last))
        last = said[0].time
        rows += said
    return _taped("export", info, rows)


def _read_files(path: Path, document: bytes) -> Iterator[Record]:
    """`session/<project>/<id>.json` beside `message/<session>/` and `part/<message>/`, of older versions `session/info/<id>.json`."""
    is_first_layout = path.parent.name == "info"
    storage = path.parent.parent if is_first_layout else path.parent.parent.parent
    rows: list[Row] = []
    for session, told in _family(path, document):
        made = _created(msgspec.json.decode(told))
        rows.append(Row(made, 0, session, _line(Raw(told))))
        for file in (storage / "message" / session).glob("msg_*.json"):
            parts = storage / "part" / session / file.stem if is_first_layout else storage / "part" / file.stem
            rows += _message_rows(Raw(file.read_bytes()), [Raw(part.read_bytes()) for part in parts.glob("prt_*.json")], made)
    return _taped("export", msgspec.json.decode(document), rows)


def _family(path: Path, document: bytes) -> Iterator[tuple[str, bytes]]:
    """The session and its subagents', whose files lie beside it."""
    yield path.stem, document
    children: dict[str, list[tuple[str, bytes]]] = {}
    for file in path.parent.glob("ses_*.json"):
        told = file.read_bytes()
        if isinstance(parent := msgspec.json.decode(told).get("parentID"), str):
            children.setdefault(parent, []).append((file.stem, told))
    waiting = children.get(path.stem, [])
    while waiting:
        session, told = waiting.pop()
        yield session, told
        waiting += children.get(session, [])


def _message_rows(message: Raw, parts: list[Raw], session_made: float, last: float = 0.0) -> Iterator[Row]:
    """A message and its parts. What lacks its time or its id is the translator's to complain of: it stays where it is, after the `last`."""
    info = msgspec.json.decode(message)
    created = _created(info, last)
    yield Row(created, 1, _id(info), _line(message))
    for part in parts:
        id = _id(msgspec.json.decode(part))
        yield Row(_part_time(_time_of(id, created), created, session_made), 2, id, _line(part))


def _created(info: Any, else_: float = 0.0) -> float:
    time = info.get("time") if isinstance(info, dict) else None
    created = time.get("created") if isinstance(time, dict) else None
    return float(created) if isinstance(created, int | float) and 0 <= created <= LAST else else_


def _id(told: Any) -> str:
    id = told.get("id") if isinstance(told, dict) else None
    return id if isinstance(id, str) else ""


def _part_time(part: float, message: float, session: float) -> float:
    """When a part was told. It never precedes its message, whatever the clock said; of a message that is older
    than its session, which a fork copied, it is the part that is new: it stays with its message, before the next one."""
    return message if message < session else max(part, message)


def _time_of(id: str, message_created: float) -> float:
    """When a part was made: its id begins with 36 bits of the milliseconds and a counter of 12."""
    try:
        later = ((int(id[4:16], 16) >> 12) - int(message_created)) % (1 << 36)
    except ValueError:
        return message_created
    return message_created + (later if later < 1 << 35 else 0)


def _line(document: Raw) -> bytes:
    """The same document without line breaks: a record of a tape is a line."""
    return msgspec.json.format(bytes(document), indent=-1)


# --- the tape ---------------------------------------------------------------


def _taped(dialect: str, session: dict[str, Any], rows: list[Row]) -> Iterator[Record]:
    start = _created(session)
    head = tape.head(
        agent="opencode", version=session.get("version"), dialect=dialect, cwd=session.get("directory"), started=written(start),
        # The same for the same session, whichever form of it is read.
        session_id="sess_" + tape.hash_of(session["id"].encode())[:16],
    )  # fmt: skip
    yield tape.record(0.0, "head", head)
    # The session itself is first also where it is a fork, whose messages are older than it.
    for row in sorted(rows, key=lambda row: (row.id != session["id"], row.time, row.order, row.id)):
        yield Record(max(0.0, (row.time - start) / 1000), "recv", Raw(row.payload))
