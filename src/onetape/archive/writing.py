"""A tape into the log, of any length in constant memory: for imports, and for another transcript of what is there."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice

from onetape.agents.agent import Agent
from onetape.projection import Projection
from onetape.sheet import Sheet
from onetape.stores.store import DRAFT, Batch, SessionRow, Store
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber

TOGETHER = 256
"""Records per batch."""
AHEAD = 4
"""How many batches may wait for the disk: its thread should never wait for us, nor we for each of its commits."""


TURN_SECONDS = 0.0005


@contextmanager
def _short_turns() -> Iterator[None]:
    """The disk's thread wants Python's lock for a moment between two statements. Who translates would keep it for 5 ms each time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Writing:
    """Records into the log, in batches; while some are committed the next is translated."""

    def __init__(self, store: Store, agent: Agent, head: Head, row: SessionRow) -> None:
        self._store = store
        self._row = row
        self._transcriber = Transcriber(agent, head, session_id=head.session_id)
        self._projection = Projection(row.summary)
        self._number = 0
        self.sequence = 0
        self._under_way: deque[Future[None]] = deque()

    def pass_over(self, record: Record) -> None:
        """It is in the log already."""
        self._number += 1
        if events := self._transcriber.take(record):
            self.sequence = events[-1].sequence

    def left_to_say(self) -> int:
        return len(self._transcriber.finish())

    @_short_turns()
    def add(self, records: Iterable[Record]) -> None:
        records = iter(records)
        while some := list(islice(records, TOGETHER)):
            sheet, at = self._sheet(), 0
            while at < len(some):
                at += sheet.take(self._transcriber, some, at, self._store.keep_blob)[0]
            self._commit(sheet)

    @_short_turns()
    def finish(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Until all is committed. `meanwhile`: what else there is to do."""
        sheet = self._sheet()
        sheet.write(self._transcriber.finish(), None)
        self._commit(sheet)
        meanwhile()
        self._wait(until_left=0)

    def _sheet(self) -> Sheet:
        return Sheet(Batch(self._row.session_id, self._number + 1))

    def _commit(self, sheet: Sheet) -> None:
        self._number += len(sheet.batch.tape)
        self._wait(until_left=AHEAD - 1)
        sheet.batch.rows = self._projection.see(sheet.events)
        sheet.batch.row = self._row
        sheet.batch.after = self._under_way[-1] if self._under_way else None
        self._under_way.append(self._store.append(sheet.batch))

    def _wait(self, until_left: int) -> None:
        while len(self._under_way) > until_left:
            self._under_way.popleft().result()


def supersede(store: Store, agent: Agent, head: Head, row: SessionRow, records: Iterable[Record]) -> None:
    """Writes a session anew under a draft's name, then gives it the session's own: nobody ever sees half of it."""
    session_id = row.session_id
    row.session_id = DRAFT + session_id
    if store.session(row.session_id) is not None:
        store.delete(row.session_id)  # of a run that was cut off
    store.create(row)
    writing = Writing(store, agent, head, row)
    writing.add(records)
    writing.finish()
    store.supersede(session_id, row.session_id)
