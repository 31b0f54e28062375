"""Writes down one session: records onto the tape, their events into the log, both in one commit.

One commit is under way at a time. What comes meanwhile gathers, and is the next one:
a lone event is committed at once, a flood in few commits. No more than so much gathers:
a slow disk makes whoever hands in the next wait, and so on down to the agent's pipe.

Between a record that was counted and its commit nothing may fall out: a hole in the
tape would make the transcript a lie. So whoever writes waits first (`room`), then
counts and hands over in one go (`add`, `hand_over`), where nobody can cancel him.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future

from msgspec import Struct

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
GATHERED = 4
"""How many sheets gather at most while a commit is under way; each is what one reading of the agent's pipe brought."""


class _Commit(Struct):
    batch: Batch
    is_over: "asyncio.Future[None]"
    """Set once it is in the log and shown, or never will be."""
    sheets: int = 0


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
        self._under_way: _Commit | None = None
        self._gathering: _Commit | None = None

    async def take(self, record: Record) -> None:
        """One record by itself."""
        await self.room()
        sheet = self.sheet()
        self.add(sheet, [record], 0)
        self.hand_over(sheet)

    async def note_row(self) -> None:
        """Nothing happened but that something is said of the session."""
        await self.room()
        self.hand_over(self.sheet())

    async def finish(self) -> None:
        """The process is gone for good: the session says how it ended."""
        await self.room()
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

    async def room(self) -> None:
        """Until more can be handed over."""
        await asyncio.sleep(0)  # in a flood too, others have their turn: those who show what is committed
        while self._under_way is not None and self._gathering is not None and self._gathering.sheets >= GATHERED:
            await _over(self._under_way)
        self._check()

    async def ready(self) -> None:
        """Until what was handed over before is committed."""
        last = self._gathering or self._under_way
        if last is not None:
            await _over(last)
        self._check()

    def hand_over(self, sheet: Sheet) -> None:
        """Does not wait for it."""
        self._check()
        self._records += len(sheet.batch.tape)
        self._see(sheet.events)
        sheet.batch.rows = self._projection.see(sheet.events)
        if self.row.summary.ended:
            self.row.owner = None
        sheet.batch.row = self.row
        if self._gathering is None:
            self._gathering = _Commit(sheet.batch, asyncio.get_running_loop().create_future())
        else:
            self._gathering.batch.extend(sheet.batch)
        self._gathering.sheets += 1
        if self._under_way is None:
            self._commit()

    def _commit(self) -> None:
        """What has gathered."""
        commit, self._gathering = self._gathering, None
        self._under_way = commit
        if commit is not None:
            loop = asyncio.get_running_loop()

            def written(done: "Future[None]") -> None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
                    loop.call_soon_threadsafe(self._show, commit, done)

            self._store.append(commit.batch).add_done_callback(written)

    def _show(self, commit: _Commit, written: "Future[None]") -> None:
        """Once it is committed, and not before, whoever follows may see it."""
        if (error := written.exception()) is None:
            self._commit()  # first: the disk need not wait until everybody has been shown this one
            self._tail.add(commit.batch.events)
        else:
            lost, self._under_way, self._gathering = self._gathering, None, None
            self.fail(error if isinstance(error, Exception) else StoreFailed(str(error)))
            if lost is not None:
                lost.is_over.set_result(None)
        commit.is_over.set_result(None)
        self._notify()

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure

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


async def _over(commit: _Commit) -> None:
    """Who waits may be cancelled; what he waits for may not."""
    await asyncio.shield(commit.is_over)
