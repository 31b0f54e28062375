"""Proof and renewal: every transcript is a function of its tape, so it can be checked, and derived again.

`verify` compares byte by byte and changes nothing. `reconvert` writes what today's
translator makes of a tape in the place of what an older one made, all at once.
"""

from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from onetape import __version__, promises
from onetape.agents import registry
from onetape.archive.writing import supersede
from onetape.errors import Conflict
from onetape.schema import to_json
from onetape.stores.store import SessionRow, Store, events
from onetape.tape import Head
from onetape.transcribe import head_of, transcribe


class Proof(Struct, frozen=True):
    """What came of checking one session."""

    session_id: str
    events: int
    sequence: int | None = None
    """The first event that is not what the tape says; None: all are."""
    problem: str | None = None

    @property
    def holds(self) -> bool:
        return self.problem is None


def verify(store: Store, row: SessionRow) -> Proof:
    """Whether the stored events are, byte for byte, what the tape says, and keep the promises."""
    agent, count = registry.find(row.agent), 0
    derived = transcribe(store.tape(row.session_id), agent, session_id=row.session_id)
    is_open = row.owner is not None and not row.summary.ended
    for stored, event in zip_longest(events(store, row.session_id), derived):
        if stored is None and is_open:
            break  # what closes a tape that goes on has not happened yet
        if stored is None or event is None:
            problem = "the tape has more to say" if stored is None else "the tape says nothing of this"
            return Proof(row.session_id, count, count + 1, problem)
        if stored != to_json(event):
            return Proof(row.session_id, count, count + 1, "not what the tape says")
        count += 1
    return _kept_promises(store, row, count)


def _kept_promises(store: Store, row: SessionRow, count: int) -> Proof:
    for fault in promises.check(promises.decode(events(store, row.session_id))):
        if not fault.is_warning and (row.summary.ended or row.origin == "imported"):
            return Proof(row.session_id, count, fault.sequence, f"{fault.rule}: {fault.message}")
    return Proof(row.session_id, count)


def reconvert(store: Store, row: SessionRow) -> bool:
    """Derives a session's transcript again; whether that changed anything. Sessions that run are left alone."""
    if row.owner is not None and not row.summary.ended:
        raise Conflict(f"session {row.session_id} is running: it can be derived again when it is over")
    if verify(store, row).holds:
        return False
    records = store.tape(row.session_id)
    first = next(records, None)
    head = head_of(first) if first is not None and first.dir == "head" else Head(key=row.key or None)
    head = replace(head, session_id=row.session_id)
    fresh = replace(row, summary=row.summary.before_all(), translator=_translator(row))
    supersede(store, registry.find(row.agent), head, fresh, store.tape(row.session_id))
    return True


def _translator(row: SessionRow) -> str:
    return f"{row.translator.partition(' ')[0]} {__version__}"
