"""Writes down one session: records onto the tape, their events into the log, both in one commit.

One commit is under way at a time. While it is, the next batch is translated, and no
more than that: a slow disk makes whoever hands in the next wait, and so on down to
the agent's pipe.

Between a record that was counted and its commit nothing may fall out: a hole in the
tape would make the transcript a lie. So whoever writes waits first (`ready`), then
counts and hands over in one go (`add`, `hand_over`), where nobody can cancel him.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future

from onetape import tasks
from onetape.errors import OnetapeError, StoreFailed
from onetape.projection import Projection
from onetape.schema import Event
from onetape.sheet import Sheet
from onetape.stores.store import Batch, SessionRow, Store
from onetape.tail import Tail
from onetape.tape import Record
from onetape.transcribe import Transcriber
from onetape.translator import Send

_log = logging.getLogger(__name__)

BUG = "this session was stopped by a bug of onetape's: the server's log has more"


class Scribe:
    def __init__(
        self, row: SessionRow, transcriber: Transcriber, store: Store, tail: Tail, *,
        see: Callable[[list[Event]], None], notify: Callable[[], None], stop: Callable[[], None],
    ) -> None:  # fmt: skip
        """`see`: told the events before they are committed; `notify`: after. `stop`: called once, when nothing more can be kept."""
        self.row = row
        self.failure: OnetapeError | None = None
        self._transcriber = transcriber
        self._projection = Projection(row.summary)
        self._store = store
        self._tail = tail
        self._see = see
        self._notify = notify
        self._stop = stop
        self._records = 0
        self._committing: asyncio.Task[None] | None = None

    async def take(self, record: Record) -> None:
        """One record by itself."""
        await self.ready()
        sheet = self.sheet()
        self.add(sheet, [record], 0)
        self.hand_over(sheet)

    async def note_row(self) -> None:
        """Nothing happened but that something is said of the session."""
        await self.ready()
        self.hand_over(self.sheet())

    async def finish(self) -> None:
        """The process is gone for good: the session says how it ended."""
        await self.ready()
        sheet = self.sheet()
        sheet.write(self._transcriber.finish(), None)
        self.hand_over(sheet)

    def sheet(self) -> Sheet:
        return Sheet(Batch(self.row.session_id, self._records + 1))

    def add(self, sheet: Sheet, records: list[Record], at: int) -> tuple[int, list[Send]]:
        """Takes down one record or more from this place: how many, and what the agent demands in answer."""
        try:
            return sheet.take(self._transcriber, records, at, self._store.keep_blob)
        except Exception as error:
            self.fail(error)  # it may be counted already, and will never be committed
            raise

    async def ready(self) -> None:
        """Until what was handed over before is committed."""
        if self._committing is not None:
            # Who waits may be cancelled; what he waits for may not.
            await asyncio.shield(self._committing)
        if self.failure is not None:
            raise self.failure

    def hand_over(self, sheet: Sheet) -> None:
        """Does not wait for it. The one before must be committed."""
        self._records += len(sheet.batch.tape)
        self._see(sheet.events)
        sheet.batch.rows = self._projection.see(sheet.events)
        if self.row.summary.ended:
            self.row.owner = None
        sheet.batch.row = self.row
        self._committing = tasks.start(self._show(sheet.batch, self._store.append(sheet.batch)), f"commit {self.row.session_id}")

    async def _show(self, batch: Batch, written: "Future[None]") -> None:
        """Once it is committed, and not before, whoever follows may see it."""
        try:
            await asyncio.wrap_future(written)
        except Exception as error:
            self.fail(error)
            return
        self._tail.add(batch.events)
        self._notify()

    def fail(self, error: Exception) -> None:
        """Nothing more may happen that nobody could ever read."""
        if self.failure is not None:
            return
        self.failure = error if isinstance(error, OnetapeError) else OnetapeError(BUG)
        told = {"session": self.row.session_id, "reason": str(self.failure)}
        _log.error("session stopped", extra=told, exc_info=None if isinstance(error, StoreFailed) else error)
        self._stop()
        self._tail.ring()
        self._notify()
