"""One running agent: its driver, what we say to it, what it says, and one lock around them.

What is heard, what is said and what a client wants are all records, and all go
through the scribe (scribe.py), who writes them down. Nothing is shown to anybody
before it is committed (tail.py).
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from onetape import schema, tape, tasks
from onetape.answers import is_settled
from onetape.commands import Command, Interrupt, SendMessage
from onetape.drivers.driver import Driver
from onetape.errors import AgentFailed, Conflict, OnetapeError, Refused
from onetape.outbox import Outbox, Sent
from onetape.schema import Event
from onetape.scribe import Scribe
from onetape.stores.store import SessionRow, Store
from onetape.tail import Tail
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber
from onetape.translator import Send

_log = logging.getLogger(__name__)

Clock = Callable[[], float]
Start = Callable[[str | None], Awaitable[Driver]]
"""Starts a process of the agent; with a native session id, one that goes on with it."""

HANDSHAKE_SECONDS = 60.0
TURN_SECONDS = 10.0
PATIENCE_SIGNAL = "SIGTERM"
LOCK_SECONDS = 1.0
"""Whoever ends a session waits so long for those who talk to its agent; then that one reads nothing, and is ended first."""


class Session:
    def __init__(
        self, row: SessionRow, head: Head | None, transcriber: Transcriber, store: Store, clock: Clock, start: Start, tail: Tail,
    ) -> None:  # fmt: skip
        """`head`: None where what the agent will say begins with one, as a recording does."""
        self.row = row
        self._head = None if head is None else tape.record(0.0, "head", head)
        """Until it is on the tape, where it is always first: whoever opens or ends the session writes it."""
        self.tail = tail
        self._scribe = Scribe(row, transcriber, store, tail, see=self._observe, notify=self._notify, stop=self._stop_soon)
        self._translator = transcriber.translator
        self._store = store
        self._clock = clock
        self._start = start
        self._driver: Driver | None = None
        self._lock = asyncio.Lock()
        self._launch_lock = asyncio.Lock()
        self._launching: asyncio.Task[OnetapeError | None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._outbox = Outbox(row)
        self._is_expecting_turn = False
        self._goes_on_after_exit = False
        self._answered: dict[str, Any] = {}
        self._patience: asyncio.TimerHandle | None = None
        self._handshake_error: str | None = None
        self._is_gone = False
        """Its process has ended, or does not listen; what that means for the session is still to be written down."""

    @property
    def session_id(self) -> str:
        return self.row.session_id

    @property
    def is_over(self) -> bool:
        return self.row.summary.ended or self.failure is not None

    @property
    def failure(self) -> OnetapeError | None:
        """Why nothing more of it can be kept: the log ends before the session did."""
        return self._scribe.failure

    @property
    def pid(self) -> int | None:
        return self._driver.pid if self._driver else None

    # --- its life -----------------------------------------------------------

    async def open(self) -> str | None:
        """Starts the agent and waits until its handshake is over; what went wrong, if anything."""
        async with self._lock:
            await self._write_head()
        await self._launch(None)
        await self._until(lambda: self._is_settled, HANDSHAKE_SECONDS)
        await self.committed()
        if self.row.summary.ended:
            return self.row.summary.error or self._handshake_error or "the session ended before its agent was ready"
        return self._handshake_error or (None if self._is_greeted else "the agent did not answer in time")

    @property
    def _is_settled(self) -> bool:
        return self._is_greeted or self.is_over or self._driver is None or self._handshake_error is not None

    @property
    def _is_greeted(self) -> bool:
        """A process that is gone has nothing more to say either: it counts as greeted only while it lives."""
        return self._translator.is_ready and not self._is_gone

    async def terminate(self, message: str | None = None, polite_seconds: float = 3.0) -> None:
        """Ends the session; when this returns nothing of the agent runs. Again: nothing happens."""
        told = {"reason": "terminated", "terminated_by": "daemon", "message": message}
        try:
            # First the word, then the deed: what the agent says while it is stopped is on the tape and ends no turn as failed.
            await asyncio.wait_for(self._lock.acquire(), LOCK_SECONDS)
        except TimeoutError:
            await self._stop(polite_seconds)
            await self._lock.acquire()
        with contextlib.suppress(OnetapeError):
            await self._end({name: value for name, value in told.items() if value})
        await self._stop(polite_seconds)
        with contextlib.suppress(OnetapeError):
            await self.committed()

    async def _end(self, verdict: dict[str, str]) -> None:
        """With the lock in hand, which it lets go."""
        try:
            if not self.is_over:
                await self._write_head()
                await self._scribe.take(tape.record(self._clock(), "end", verdict))
        finally:
            self._lock.release()

    async def _write_head(self) -> None:
        """With the lock in hand."""
        if self._head is not None:
            await self._scribe.take(self._head)
            self._head = None

    async def abandon(self, why: str) -> None:
        """The agent could not even be started: the log says so."""
        await self._lock.acquire()
        await self._end({"reason": "error", "terminated_by": "daemon", "message": why})
        await self.committed()

    async def _stop(self, polite_seconds: float = 3.0) -> None:
        if self._launching is not None:
            self._launching.cancel()
            await asyncio.wait([self._launching])
        if self._driver is not None:
            await self._driver.stop(polite_seconds)
        if self._running is not None:
            await asyncio.wait([self._running])

    def _stop_soon(self) -> None:
        self._outbox.drop()
        tasks.start(self._stop(), f"stop {self.session_id}")

    async def _launch(self, resume: str | None) -> None:
        """Until a process runs. One is enough, whoever else wanted one meanwhile."""
        async with self._launch_lock:
            if self._driver is not None:
                return
            self._launching = tasks.start(self._bring_up(resume), f"start {self.session_id}")
            await asyncio.wait([self._launching])
            launched, self._launching = self._launching, None
            self._notify()
            if launched.cancelled():
                raise Conflict(f"session {self.session_id} was ended while its agent started")
            if (failure := launched.result()) is not None:
                raise failure
            await self._greet()

    async def _greet(self) -> None:
        """The handshake."""
        try:
            await self._say(self._translator.open(), must_be_heard=True)
        except AgentFailed:
            self._is_gone = True  # its exit, which follows, tells why

    async def _bring_up(self, resume: str | None) -> OnetapeError | None:
        """Its own task: whoever ends the session now cancels it, and a driver's start tidies up after itself."""
        try:
            self._check_open()
            driver = await self._start(resume)
        except OnetapeError as failure:
            return failure
        self._driver, self._is_gone = driver, False
        self._running = tasks.start(self._run(driver), f"session {self.session_id}")
        return None

    async def _run(self, driver: Driver) -> None:
        try:
            async for records in driver.heard():
                await self._hear(records)
        except Exception as error:
            self._scribe.fail(error)
            await driver.stop()
        await self._process_over()
        self._send_next()

    async def _process_over(self) -> None:
        async with self._lock:
            goes_on, self._goes_on_after_exit = self._goes_on_after_exit, False
            with contextlib.suppress(OnetapeError):  # it is noted, and is why the session is over
                if not self.is_over and not goes_on:
                    await self._scribe.finish()  # before it counts as gone: who waits for it wants to know why
                elif not self.is_over:
                    self._driver = None
                    await self._scribe.note_row()
            self._driver = None
            self._rest()
        self._notify()

    # --- what happens -------------------------------------------------------

    async def _hear(self, records: list[Record]) -> None:
        if self.failure is not None:
            return  # what can no longer be kept is not acted upon either
        self._is_gone = self._is_gone or records[-1].dir == "exit"
        try:
            async with self._lock:
                demanded = await self._write_down(records)
        except Exception as error:
            self._scribe.fail(error)
            return
        if demanded:
            tasks.start(self._say(demanded), f"answers {self.session_id}")
        self._send_next()

    async def _write_down(self, records: list[Record]) -> list[Send]:
        """What is still to be said in answer."""
        await self._scribe.room()
        sheet = self._scribe.sheet()
        demanded: list[Send] = []
        at = 0
        while at < len(records):
            taken, wanted = self._scribe.add(sheet, records, at)
            at, demanded = at + taken, demanded + wanted
            if demanded and not self._is_answering:
                # On a pipe our answer stands on the tape where it was given: before whatever the agent says next.
                for said in [await self._sent(send) for send in demanded]:
                    if said is not None:
                        self._scribe.add(sheet, [said], 0)
                demanded = []
        self._scribe.hand_over(sheet)
        return demanded

    async def over(self) -> None:
        """Until the session has ended, nothing of it runs, and all that can be kept of it is in the log."""
        while not self.is_over or self._driver is not None or self._launching is not None:
            await self._changed.wait()
        with contextlib.suppress(OnetapeError):
            await self.committed()

    async def committed(self) -> None:
        """Until all that has happened so far is in the log; `StoreFailed` where it could not be written."""
        await self._scribe.ready()

    def check_log(self) -> None:
        """`StoreFailed` where the log could not be written: nothing more will come."""
        if self.failure is not None:
            raise self.failure

    def _observe(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case schema.TurnStarted():
                    self._is_expecting_turn = self._goes_on_after_exit = False
                case schema.TurnEnded():
                    self._is_expecting_turn = False
                case schema.SessionEnded():
                    self._is_expecting_turn = False
                    self._outbox.drop()
                case schema.Error(data=data):
                    self._is_expecting_turn = False
                    if not self._translator.is_ready:
                        self._handshake_error = data.message
                case _:
                    pass
        self._watch_patience()

    # --- what a client wants ------------------------------------------------

    async def send(self, message: SendMessage) -> Sent:
        async with self._lock:
            self._check_open()
            sent = Sent(asyncio.get_running_loop().create_future())
            if self._must_wait:
                self._outbox.put(message, sent)
                await self._scribe.note_row()
            else:
                self._expect_turn()  # before anybody else has the lock: his message waits
        if sent.place is None:
            await self._send_now(message, sent)
        else:
            await self.committed()  # who is told that it waits can see it wait
        return sent

    async def take_back(self, number: int) -> None:
        async with self._lock:
            self._outbox.take_back(number)
            await self._scribe.note_row()
        await self.committed()

    async def answer(self, id: str, command: Command, verdict: Any) -> None:
        """Answers an ask; once is enough, and a second answer that says otherwise is refused."""
        await self.committed()
        ask = await asyncio.to_thread(self._store.ask, self.session_id, id)
        if is_settled(ask, id, command, verdict, self._answered.get(id)):
            return
        self._answered[id] = verdict
        try:
            await self.command(command)
        except BaseException:
            self._answered.pop(id, None)
            raise

    async def edit(self, edit: Callable[[SessionRow], None]) -> None:
        """Changes what is only ours to say of a session: its title, its mode's name."""
        async with self._lock:
            edit(self.row)
            await self._scribe.note_row()
        await self.committed()

    async def interrupt(self) -> None:
        # A turn that was asked for and has not begun yet cannot be named, and most agents want its name.
        await self._until(lambda: not self._is_expecting_turn, TURN_SECONDS)
        if self._is_busy:  # else there is nothing to interrupt, which is what was wished for
            await self.command(Interrupt())

    async def command(self, command: Command) -> None:
        """Carries out a wish, or `Refused`; `AgentFailed` where the agent no longer listens. Done when what was said is in the log."""
        # Who interrupts what is ending has what he wished for; whatever else is said in vain would be lost without a word.
        must_be_heard = not isinstance(command, Interrupt)
        async with self._lock:
            self._check_open()
            if self._driver is None:
                raise Refused(f"{self._translator.title} is not running: send a message first")
            sends = self._translator.encode(command)
            await self._note(command)
            if not self._is_answering:
                await self._say_under_lock(sends, must_be_heard=must_be_heard)
                sends = []
        await self._say(sends, must_be_heard=must_be_heard)
        await self.committed()

    async def _send_now(self, message: SendMessage, sent: Sent) -> None:
        """Its turn is expected already."""
        try:
            await self._launch(self.row.summary.native_session_id)
            begins = self.row.summary.event_count
            await self.command(message)
        except BaseException:
            self._is_expecting_turn = False
            self._send_next()
            raise
        sent.starts(begins)

    def _send_next(self) -> None:
        """What waited for the turn that is over goes out. Not here: to say it may take as long as the agent wants."""
        if self._outbox:
            tasks.start(self._send_waiting(), f"queue {self.session_id}")

    async def _send_waiting(self) -> None:
        async with self._lock:
            if not self._outbox or self._is_busy or self._goes_on_after_exit or self.is_over:
                return
            waiting = self._outbox.next()
            self._expect_turn()
        try:
            await self._send_now(waiting.message, waiting.sent)
        except OnetapeError as error:
            waiting.sent.fails(error)
            _log.warning("queued message refused", extra={"session": self.session_id})

    def _expect_turn(self) -> None:
        self._is_expecting_turn = not self.row.summary.in_turn

    @property
    def _must_wait(self) -> bool:
        """Whether a message would be lost or refused now: in a turn that cannot be steered, or said to a process that is about to end."""
        return self._goes_on_after_exit or bool(self._outbox) or (self._is_busy and not self._translator.steers)

    @property
    def _is_busy(self) -> bool:
        return self.row.summary.in_turn or self._is_expecting_turn

    def _check_open(self) -> None:
        self.check_log()
        if self.row.summary.ended:
            raise Conflict(f"session {self.session_id} is over: resume it to go on")

    async def _note(self, command: Command) -> None:
        """For audit alone; what it leads to is on the tape by itself."""
        told: Any = command
        if isinstance(command, SendMessage):
            told = replace(command, attachments=[replace(file, content=None) for file in command.attachments])
        await self._scribe.take(tape.record(self._clock(), "cmd", told))

    # --- what we say --------------------------------------------------------

    @property
    def _is_answering(self) -> bool:
        """Whether what we say is answered at once (HTTP), so that the record of it comes after what it caused."""
        return self._driver is not None and self._driver.replies

    async def _say(self, sends: list[Send], *, must_be_heard: bool = False) -> None:
        for send in sends:
            if self._is_answering:
                # Outside the lock: what it causes may be heard before it is answered.
                record = await self._sent(send, must_be_heard=must_be_heard)
                async with self._lock:
                    if record is not None:
                        await self._scribe.take(record)
            else:
                async with self._lock:
                    await self._say_under_lock([send], must_be_heard=must_be_heard)

    async def _say_under_lock(self, sends: list[Send], *, must_be_heard: bool) -> None:
        for send in sends:
            if (record := await self._sent(send, must_be_heard=must_be_heard)) is not None:
                await self._scribe.take(record)

    async def _sent(self, send: Send, *, must_be_heard: bool = False) -> Record | None:
        """The record of what was said; None where the process went away before it could hear it, unless it must be heard."""
        if self._driver is None:
            if must_be_heard:
                raise AgentFailed(f"{self._translator.title} has ended")
            return None
        match send.message:
            case {"signal": _}:
                self._goes_on_after_exit = self.row.summary.native_session_id is not None
            case _:
                pass
        try:
            return await self._driver.send(send.message)
        except AgentFailed:
            if must_be_heard:
                raise
            return None  # its exit, which follows, tells the rest

    # --- waiting ------------------------------------------------------------

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _until(self, reached: Callable[[], bool], seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not reached():
                    await self._changed.wait()

    def _watch_patience(self) -> None:
        """An agent that is known to hang now is not waited for for ever."""
        self._rest()
        seconds = self._translator.patience
        if seconds is not None and self._driver is not None and not self.is_over:
            self._patience = asyncio.get_running_loop().call_later(seconds, self._lose_patience)

    def _lose_patience(self) -> None:
        tasks.start(self._say([Send({"signal": PATIENCE_SIGNAL})]), f"hanging {self.session_id}")

    def _rest(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
