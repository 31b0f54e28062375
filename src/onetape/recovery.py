"""What a daemon that died left behind: its sessions are ended honestly, from their tapes.

The state of a session is not stored, and need not be: the transcript is a function
of the tape, so the tape is read again, and what was open is closed as it would have
been if the death had been recorded. Nothing that was committed changes.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain

from onetape import tape
from onetape.agents import registry
from onetape.clock import seconds_of
from onetape.projection import Projection
from onetape.schema import to_json
from onetape.stores.store import Batch, SessionRow, Store, Stored
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber, head_of

DIED = "the process that drove this session died"


def recover(store: Store, row: SessionRow, why: str = DIED) -> None:
    """Ends a session that nobody drives any more. May be cut off at any moment and done again."""
    _begin(store, row)
    head, transcriber, records, last = retrace(row, store.tape(row.session_id))
    # The wall clock may have been set back meanwhile; a tape's times never run backwards.
    end = tape.record(max(last, _elapsed(head)), "end", {"reason": "error", "terminated_by": "daemon", "message": why})
    events = transcriber.take(end)
    row.owner, row.queued = None, []
    rows = Projection(row.summary).see(events)
    told = [Stored(event.sequence, to_json(event), records + 1) for event in events]
    store.append(Batch(row.session_id, records + 1, [end], told, rows, row)).result()


def _begin(store: Store, row: SessionRow) -> None:
    """Its head, where the death came before even that was written: a tape without one cannot say whose it is."""
    if next(store.tape(row.session_id), None) is not None:
        return
    started = datetime.fromtimestamp(row.created_at / 1000, UTC).isoformat(timespec="milliseconds")
    head = Head(agent=row.agent, version=row.version, cwd=row.summary.directory, started=started, session_id=row.session_id, key=row.key)
    record = tape.record(0.0, "head", head)
    events = Transcriber(registry.find(row.agent), head).take(record)
    rows = Projection(row.summary).see(events)
    store.append(Batch(row.session_id, 1, [record], [Stored(event.sequence, to_json(event), 1) for event in events], rows, row)).result()


def retrace(row: SessionRow, records: Iterable[Record]) -> tuple[Head, Transcriber, int, float]:
    """A transcriber in the state in which the tape leaves it, how many records that are, and the time of the last."""
    told = iter(records)
    first = next(told, None)
    head = head_of(first) if first is not None and first.dir == "head" else Head(session_id=row.session_id, key=row.key)
    transcriber = Transcriber(registry.find(row.agent), head, session_id=row.session_id)
    count, last = 0, 0.0
    for record in chain(() if first is None else (first,), told):
        transcriber.step(record)
        count, last = count + 1, record.t
    return head, transcriber, count, last


def _elapsed(head: Head) -> float:
    """The time of the end on the session's own clock."""
    return round(max(0.0, time.time() - seconds_of(head.started)), 6)
