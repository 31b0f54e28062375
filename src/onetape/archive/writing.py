"""A tape into the log, of any length in constant memory: for imports, and for another transcript of what is there."""

from collections.abc import Iterable
from concurrent.futures import Future
from itertools import islice

from onetape.agents.agent import Agent
from onetape.projection import Projection
from onetape.sheet import Sheet
from onetape.stores.store import DRAFT, Batch, SessionRow, Store
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber

TOGETHER = 512
"""Records per commit."""


class Writing:
    """Records into the log, in batches; while one is committed the next is translated."""

    def __init__(self, store: Store, agent: Agent, head: Head, row: SessionRow) -> None:
        self._store = store
        self._row = row
        self._transcriber = Transcriber(agent, head, session_id=head.session_id)
        self._projection = Projection(row.summary)
        self._number = 0
        self.sequence = 0
        self._under_way: Future[None] | None = None

    def pass_over(self, record: Record) -> None:
        """It is in the log already."""
        self._number += 1
        if events := self._transcriber.take(record):
            self.sequence = events[-1].sequence

    def left_to_say(self) -> int:
        return len(self._transcriber.finish())

    def add(self, records: Iterable[Record]) -> None:
        records = iter(records)
        while some := list(islice(records, TOGETHER)):
            sheet, at = self._sheet(), 0
            while at < len(some):
                at += sheet.take(self._transcriber, some, at, self._store.keep_blob)[0]
            self._commit(sheet)

    def finish(self) -> None:
        sheet = self._sheet()
        sheet.write(self._transcriber.finish(), None)
        self._commit(sheet)
        self._wait()

    def _sheet(self) -> Sheet:
        return Sheet(Batch(self._row.session_id, self._number + 1))

    def _commit(self, sheet: Sheet) -> None:
        self._number += len(sheet.batch.tape)
        self._wait()
        sheet.batch.rows = self._projection.see(sheet.events)
        sheet.batch.row = self._row
        self._under_way = self._store.append(sheet.batch)

    def _wait(self) -> None:
        if self._under_way is not None:
            self._under_way.result()


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
