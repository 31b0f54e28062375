"""One history into the log: its original records are the tape, and nothing depends on the file from then on.

What was kept is never destroyed. A file that grew adds its new records; one that
was rewritten but still holds everything replaces the old reading at once; one that
lost something leaves the old reading alone and, where it also says something new,
stands beside it. A reading that was cut off goes on where it stopped, because it is
compared with what is there, record by record.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onetape import __version__, tape
from onetape.archive.finding import Found
from onetape.archive.writing import Writing, supersede
from onetape.clock import seconds_of
from onetape.errors import Refused
from onetape.stores.store import SessionRow, Source, Store
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber, head_of

Outcome: TypeAlias = Literal["new", "grown", "rewritten", "beside", "unchanged", "shrunk", "known", "ran here", "runs here"]

LOOKED_AT = 64
"""How many records may pass before the agent's own name of the session is told."""
SLACK_SECONDS = 2.0
"""An agent writes its last lines a moment after it said them."""


class Reading(Struct):
    """A history as it is to be taped."""

    head: Head
    records: Iterator[Record]
    native_session_id: str | None
    resumed_from: str | None = None

    @property
    def session_id(self) -> str:
        return str(self.head.session_id)


def bring_in(store: Store, found: Found) -> Source:
    """Imports a session, or what is new of it; what came of it."""
    path, stamp = str(found.path), found.stamp
    known = store.source(path)
    if known is not None and known.stamp == stamp:
        return replace(known, outcome="unchanged")
    outcome, session_id = _brought(store, found)
    source = Source(path, stamp, session_id, outcome)
    if outcome != "runs here":
        store.keep_source(source)
    return source


def _brought(store: Store, found: Found) -> tuple[Outcome, str]:
    reading = _opened(found)
    alive = [row for row in _same(store, found, reading) if row.origin == "live"]
    if alive:
        if any(row.owner is not None for row in alive):
            return "runs here", alive[-1].session_id
        cutoff = max(row.summary.updated_at for row in alive) / 1000 + SLACK_SECONDS - seconds_of(reading.head.started)
        if not any(record.dir == "recv" and record.t > cutoff for record in _read(found)):
            return "ran here", alive[-1].session_id
        reading = _after(reading, cutoff, alive[-1].session_id)
    row = store.session(reading.session_id)
    return (_write_new if row is None else _write_more)(store, found, reading)


def _same(store: Store, found: Found, reading: Reading) -> list[SessionRow]:
    return store.by_native_id(found.agent.name, reading.native_session_id) if reading.native_session_id else []


# --- reading ----------------------------------------------------------------


def _read(found: Found) -> Iterator[Record]:
    return found.agent.history.read(found.path)  # type: ignore[union-attr]


def _opened(found: Found) -> Reading:
    records = _read(found)
    leading = list(islice(records, LOOKED_AT))
    if not leading:
        raise Refused(f"{found.path} holds nothing")
    head = head_of(leading[0])
    native = _native_id(found, head, leading)
    session_id = head.session_id or "sess_" + tape.hash_of((native or str(found.path)).encode())[:16]
    head = replace(head, session_id=session_id)
    return Reading(head, chain([tape.record(0.0, "head", head)], leading[1:], records), native)


def _native_id(found: Found, head: Head, leading: list[Record]) -> str | None:
    transcriber = Transcriber(found.agent, head, leading)
    told = (event.native_session_id for record in leading for event in transcriber.take(record))
    return next((native for native in told if native is not None), None)


def _after(reading: Reading, cutoff: float, live: str) -> Reading:
    """The same with what was run here silenced: on the tape, and told by the session that ran it."""
    head = replace(reading.head, session_id=f"{reading.session_id}-after-{live}", resumed_from=live)
    records = islice(reading.records, 1, None)
    silenced = (replace(record, note=f"ran here as {live}") if record.t <= cutoff and not record.silent else record for record in records)
    return Reading(head, chain([tape.record(0.0, "head", head)], silenced), reading.native_session_id, live)


# --- writing ----------------------------------------------------------------


def _write_new(store: Store, found: Found, reading: Reading) -> tuple[Outcome, str]:
    row = _row(found, reading)
    store.create(row)
    writing = Writing(store, found.agent, reading.head, row)
    writing.add(reading.records)
    writing.finish()
    return "new", row.session_id


def _row(found: Found, reading: Reading) -> SessionRow:
    head = reading.head
    return SessionRow(
        reading.session_id, found.agent.name, origin="imported", created_at=int(seconds_of(head.started) * 1000), version=head.version,
        resumed_from=reading.resumed_from, key=head.key or "", translator=f"{head.dialect} {__version__}",
    )  # fmt: skip


def _write_more(store: Store, found: Found, reading: Reading) -> tuple[Outcome, str]:
    row = store.session(reading.session_id)
    assert row is not None
    if (kept_as := row.translator.partition(" ")[0]) != reading.head.dialect:
        return _write_otherwise(store, found, reading, kept_as)
    writing = Writing(store, found.agent, reading.head, row)
    kept = store.tape(row.session_id)
    for record in reading.records:
        old = next(kept, None)
        if old is None:
            if writing.sequence != row.summary.event_count:
                break  # what was told at the end then is not the end any more
            writing.add(chain([record], reading.records))
            writing.finish()
            return "grown", row.session_id
        if old != record:
            break
        writing.pass_over(record)
    else:
        if next(kept, None) is not None:
            return "shrunk", row.session_id
        if writing.sequence + writing.left_to_say() == row.summary.event_count:
            return "unchanged", row.session_id
    return _write_again(store, found, row)


def _write_otherwise(store: Store, found: Found, reading: Reading, kept_as: str) -> tuple[Outcome, str]:
    """The same session in another form, an export beside a database: the one that the agent names first tells more."""
    ranks = [translator.dialect for translator in found.agent.translators]
    if kept_as in ranks and ranks.index(kept_as) < ranks.index(str(reading.head.dialect)):
        return "known", reading.session_id
    _supersede(store, found, reading)
    return "rewritten", reading.session_id


def _write_again(store: Store, found: Found, row: SessionRow) -> tuple[Outcome, str]:
    """The file is not what it was. What it lost is kept, and what it says instead too."""
    lost, is_new = _compared(store.tape(row.session_id), _opened(found).records)
    if lost and not is_new:
        return "shrunk", row.session_id
    reading = _opened(found)
    if row.resumed_from is not None and row.session_id != reading.session_id:
        raise Refused(f"{found.path} was rewritten after a part of it ran here: what was kept stays as it is")
    if lost:
        reading.head = replace(reading.head, session_id=_free_name(store, row.session_id))
        reading.resumed_from = row.session_id
        reading.records = chain([tape.record(0.0, "head", reading.head)], islice(reading.records, 1, None))
        return "beside", _write_new(store, found, reading)[1]
    _supersede(store, found, reading)
    return "rewritten", row.session_id


def _supersede(store: Store, found: Found, reading: Reading) -> None:
    old = store.session(reading.session_id)
    row = _row(found, reading)
    row.title = old.title if old else None
    supersede(store, found.agent, reading.head, row, reading.records)


def _compared(old: Iterable[Record], new: Iterable[Record]) -> tuple[bool, bool]:
    """Whether something that was kept is missing now, and whether something is there that was not."""
    before = {tape.hash_of(bytes(record.payload)) for record in old if record.dir == "recv"}
    now = {tape.hash_of(bytes(record.payload)) for record in new if record.dir == "recv"}
    return bool(before - now), bool(now - before)


def _free_name(store: Store, session_id: str) -> str:
    number = 2
    while store.session(f"{session_id}-{number}") is not None:
        number += 1
    return f"{session_id}-{number}"
