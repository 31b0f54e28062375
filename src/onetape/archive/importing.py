"""One history into the log: its original records are the tape, and nothing depends on the file from then on.

What was kept is never destroyed. A history that grew adds its new records; one that
was rewritten but still says everything replaces the old reading at once; one that
lost something leaves the old readings alone and, where it also says something new,
stands beside them, and goes on growing there. A reading that was cut off goes on
where it stopped, because it is compared with what is there, record by record.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onetape import __version__, tape
from onetape.archive.finding import Found
from onetape.archive.writing import Writing, supersede
from onetape.clock import seconds_of
from onetape.errors import Refused
from onetape.projection import Projection
from onetape.schema import Event
from onetape.stores.store import SessionRow, Source, Store, events
from onetape.summary import Summary
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber, head_of, transcribe

Outcome: TypeAlias = Literal["new", "grown", "rewritten", "beside", "unchanged", "shrunk", "known", "ran here", "runs here"]

LOOKED_AT = 64
"""How many records may pass before the agent's own name of the session is told."""
SLACK_SECONDS = 2.0
"""An agent writes its last lines a moment after it said them."""

_event = msgspec.json.Decoder(Event)


class Reading(Struct, frozen=True):
    """A history as it is to be taped, under one of our session ids."""

    found: Found
    head: Head
    native_session_id: str | None
    ran_here: tuple[str, float] | None = None
    """The session that ran here, and how far into this history: until then it is silent here, and told by that one."""
    begun: list[Iterator[Record]] = []
    """The reading by which it was recognised: whoever reads it first goes on with that one."""

    @property
    def session_id(self) -> str:
        return str(self.head.session_id)

    def records(self) -> Iterator[Record]:
        """From the beginning, each time. The file may have grown meanwhile."""
        told: Iterator[Record] = islice(self.begun.pop() if self.begun else _read(self.found), 1, None)
        if self.ran_here is not None:
            live, until = self.ran_here
            told = (replace(one, note=f"ran here as {live}") if one.t <= until and not one.silent else one for one in told)
        return chain([tape.record(0.0, "head", self.head)], told)

    def after(self, live: str, until: float) -> "Reading":
        """What was added elsewhere to a session that ran here."""
        head = replace(self.head, session_id=f"{self.session_id}-after-{live}", resumed_from=live)
        return replace(self, head=head, ran_here=(live, until))

    def beside(self, number: int) -> "Reading":
        """The same under the name that it has beside what was kept before it was rewritten."""
        if number == 1:
            return self
        return replace(self, head=replace(self.head, session_id=f"{self.session_id}-{number}", resumed_from=self.session_id))


class Importer:
    """Brings in one session after the other. While the last records of one are committed, the next history is looked through."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ahead: tuple[Found, str, Reading] | None = None

    def bring_in(self, found: Found, next: Found | None = None) -> Source:
        """Imports a session, or what is new of it; what came of it. `next`: the one that will follow."""
        path, stamp = str(found.path), found.stamp
        known = self._store.source(path)
        if known is not None and known.stamp == stamp:
            return replace(known, outcome="unchanged")
        ahead, self._ahead = self._ahead, None
        reading = ahead[2] if ahead is not None and ahead[:2] == (found, stamp) else _opened(found)
        outcome, session_id = _brought(self._store, reading, lambda: self._look_ahead(next))
        source = Source(path, stamp, session_id, outcome)
        if outcome != "runs here":
            self._store.keep_source(source)
        return source

    def _look_ahead(self, next: Found | None) -> None:
        with contextlib.suppress(Exception):  # what is wrong with it is told when it is its turn
            if next is not None and ((known := self._store.source(str(next.path))) is None or known.stamp != next.stamp):
                self._ahead = next, next.stamp, _opened(next)


def bring_in(store: Store, found: Found) -> Source:
    """A single one."""
    return Importer(store).bring_in(found)


def _brought(store: Store, reading: Reading, meanwhile: Callable[[], None]) -> tuple[Outcome, str]:
    found = reading.found
    alive = [row for row in _same(store, found, reading) if row.origin == "live"]
    if alive:
        if any(row.owner is not None for row in alive):
            return "runs here", alive[-1].session_id
        cutoff = max(row.summary.updated_at for row in alive) / 1000 + SLACK_SECONDS - seconds_of(reading.head.started)
        if not any(record.dir == "recv" and record.t > cutoff for record in _read(found)):
            return "ran here", alive[-1].session_id
        reading = reading.after(alive[-1].session_id, cutoff)
    number = 1
    while store.session(reading.beside(number).session_id) is not None:
        number += 1
    if number == 1:
        return _write_new(store, reading, meanwhile), reading.session_id
    # A history that was rewritten grows where its newest reading is; one that was put back, where the older one is.
    for kept in range(number - 1, 0, -1):
        if (outcome := _write_more(store, reading.beside(kept))) is not None:
            return outcome, reading.beside(kept).session_id
    _write_new(store, reading.beside(number), meanwhile)
    return "beside", reading.beside(number).session_id


def _same(store: Store, found: Found, reading: Reading) -> list[SessionRow]:
    return store.by_native_id(found.agent.name, reading.native_session_id) if reading.native_session_id else []


# --- reading ----------------------------------------------------------------


def _read(found: Found) -> Iterator[Record]:
    return found.agent.history.read(found.path, growing=True)  # type: ignore[union-attr]


def _opened(found: Found) -> Reading:
    records = _read(found)
    leading = list(islice(records, LOOKED_AT))
    if not leading:
        raise Refused(f"{found.path} holds nothing")
    head = head_of(leading[0])
    native = _native_id(found, head, leading)
    session_id = head.session_id or "sess_" + tape.hash_of((native or str(found.path)).encode())[:16]
    return Reading(found, replace(head, session_id=session_id), native, begun=[chain(leading, records)])


def _native_id(found: Found, head: Head, leading: list[Record]) -> str | None:
    transcriber = Transcriber(found.agent, head, leading)
    told = (event.native_session_id for record in leading for event in transcriber.take(record))
    return next((native for native in told if native is not None), None)


# --- writing ----------------------------------------------------------------


def _write_new(store: Store, reading: Reading, meanwhile: Callable[[], None]) -> Outcome:
    row = _row(reading)
    store.create(row)
    writing = Writing(store, reading.found.agent, reading.head, row)
    writing.add(reading.records())
    writing.finish(meanwhile)
    return "new"


def _row(reading: Reading) -> SessionRow:
    head = reading.head
    return SessionRow(
        reading.session_id, reading.found.agent.name, origin="imported", created_at=int(seconds_of(head.started) * 1000),
        version=head.version, resumed_from=head.resumed_from, key=head.key or "", translator=f"{head.dialect} {__version__}",
    )  # fmt: skip


def _write_more(store: Store, reading: Reading) -> Outcome | None:
    """Onto what is kept under this name; None where that says something that the history does not say any more, and vice versa."""
    row = store.session(reading.session_id)
    assert row is not None
    if (kept_as := row.translator.partition(" ")[0]) != reading.head.dialect:
        return _write_otherwise(store, reading, kept_as)
    writing = Writing(store, reading.found.agent, reading.head, row)
    kept, records = store.tape(row.session_id), reading.records()
    for record in records:
        old = next(kept, None)
        if old is None:
            if writing.sequence != row.summary.event_count:
                break  # what was told at the end then is not the end any more
            writing.add(chain([record], records))
            writing.finish()
            return "grown"
        if old != record:
            break
        writing.pass_over(record)
    else:
        if next(kept, None) is not None:
            return "shrunk"
        if writing.sequence + writing.left_to_say() == row.summary.event_count:
            return "unchanged"
    return _write_again(store, reading)


def _write_otherwise(store: Store, reading: Reading, kept_as: str) -> Outcome:
    """The same session in another form, an export beside a database: the one that the agent names first tells more."""
    ranks = [translator.dialect for translator in reading.found.agent.translators]
    if kept_as in ranks and ranks.index(kept_as) < ranks.index(str(reading.head.dialect)):
        return "known"
    _supersede(store, reading)
    return "rewritten"


def _write_again(store: Store, reading: Reading) -> Outcome | None:
    """The history is not what it was. What it lost is kept, and what it says instead too."""
    changes_in_place = reading.found.agent.history.changes_in_place  # type: ignore[union-attr]
    lost, is_new = (_compared_words if changes_in_place else _compared_lines)(store, reading)
    if lost:
        return None if is_new else "shrunk"
    _supersede(store, reading)
    return "grown" if changes_in_place and is_new else "rewritten"


def _supersede(store: Store, reading: Reading) -> None:
    old, row = store.session(reading.session_id), _row(reading)
    row.title = old.title if old else None
    supersede(store, reading.found.agent, reading.head, row, reading.records())


# --- comparing: is something that was kept missing now, and is something there that was not? ---


def _compared_lines(store: Store, reading: Reading) -> tuple[bool, bool]:
    before = {tape.hash_of(bytes(record.payload)) for record in store.tape(reading.session_id) if record.dir == "recv"}
    now = {tape.hash_of(bytes(record.payload)) for record in reading.records() if record.dir == "recv"}
    return bool(before - now), bool(now - before)


def _compared_words(store: Store, reading: Reading) -> tuple[bool, bool]:
    """Of an agent that changes its records in place: their states pass, what a reader could read must stay. Words may have grown."""
    before = _words(map(_event.decode, events(store, reading.session_id)))
    now = _words(transcribe(reading.records(), reading.found.agent, session_id=reading.session_id))
    added = now - before
    return any(not any(word.startswith(old) for word in added) for old in before - now), bool(added)


def _words(told: Iterable[Event]) -> set[str]:
    """All that can be found in a transcript, but for what says how things stand."""
    projection = Projection(Summary())
    return {passage.words for event in told for passage in projection.see([event]).passages if passage.kind != "status"}
