"""A person, or a pipe, and one session: what it says is shown, what it asks is answered, Ctrl-C is heard.

One loop over the events does everything in order. Beside it runs at most one task
that waits for the keyboard: for an answer that is asked for, else for the next message.
"""

import asyncio
import signal
from collections.abc import Collection, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, TypeAlias

from onetape import schema, tasks
from onetape.cli.asking import Asked
from onetape.cli.lines import Line
from onetape.cli.screens import Screen
from onetape.client import Heard
from onetape.errors import OnetapeError
from onetape.schema import Event

Ask: TypeAlias = schema.PermissionRequested | schema.QuestionRequested
Resolved: TypeAlias = schema.PermissionResolved | schema.QuestionResolved


class Talk:
    """`converses`: after each turn comes another, until the person has enough; else the first answer is the last.
    `owns`: the session ends with the talk."""

    def __init__(self, line: Line, screen: Screen, asked: Asked, *, converses: bool, owns: bool) -> None:
        self._line = line
        self._screen = screen
        self._asked = asked
        self._converses = converses
        self._owns = owns
        self.failed: str | None = None
        """Why the last turn was no success."""
        self._broken: Exception | None = None
        self._history = 0
        """How many events there were before: of the asks among them most are answered, and no error is of our doing."""
        self._pending: Collection[str] = ()
        self._open: dict[str, Ask] = {}
        self._answered: set[str] = set()
        self._loop: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._waits_for: str | None = None
        """The ask that is put to the person; None: the next message."""
        self._in_turn = False
        self._is_busy = False
        """From the moment that something is said until its turn is over."""
        self._is_interrupted = self._is_ending = self._is_leaving = False

    async def hold(self, message: str | None = None, files: list[str] | None = None, pending: Collection[str] = ()) -> bool:
        """Says this, and goes on until there is nothing more to say. Whether all went well.

        `pending`: the asks that wait already."""
        self._pending = pending
        self._history = (await self._line.info())["eventCount"]
        with self._signals():
            if message is not None:
                self._is_busy = True
                await self._line.post(message, files)
            self._loop = tasks.start(self._listen(), "talk")
            await asyncio.wait([self._loop])
            await self._stop_waiting()
        if self._broken is not None:
            if self._owns:  # nobody listens any more, as behind a pipe that was closed: it must not go on for ever
                await self._try(self._line.terminate())
            raise self._broken
        return self.failed is None

    async def _listen(self) -> None:
        try:
            await self._hear_all()
        except Exception as error:
            self._broken = error  # raised by `hold`: a task's own exceptions are nobody's

    async def _hear_all(self) -> None:
        async with aclosing(self._line.heard()) as events:
            async for heard in events:
                self._hear(heard)
                is_news = heard.event.sequence >= self._history
                if is_news and not self._is_busy and not self._converses:
                    if not self._owns:
                        return
                    self._end()

    # --- what it says -------------------------------------------------------

    def _hear(self, heard: Heard) -> None:
        event = heard.event
        self._screen.show(heard, seen=self._is_seen(event))
        self._note(event)
        if event.sequence >= self._history:
            self._screen.live()
            self._wait()

    def _is_seen(self, event: Event) -> bool:
        """What the person sees anyhow: what is put to him, what he answered, the end that he wanted."""
        match event:
            case schema.PermissionRequested() | schema.QuestionRequested():
                return (event.sequence > self._history or _id(event) in self._pending) and self._asked.sees(event)
            case schema.PermissionResolved() | schema.QuestionResolved():
                return _id(event) in self._answered and self._asked.sees(event)
            case _:
                return isinstance(event, schema.SessionEnded) and self._is_ending

    def _note(self, event: Event) -> None:
        match event:
            case schema.TurnStarted():
                self._in_turn = self._is_busy = True
                self._give_up(None)
            case schema.TurnEnded(data=data):
                self._in_turn = self._is_busy = self._is_interrupted = False
                outcome = data.metadata
                self.failed = None if outcome.status == "completed" else outcome.error or f"the turn was {outcome.status}"
            case schema.Error(data=failure) if not self._in_turn and event.sequence > self._history:
                self._is_busy, self.failed = False, failure.message  # a prompt that is refused opens no turn
            case schema.SessionEnded(data=end):
                self.failed = str(end.message) if end.reason == "error" else self.failed
            case schema.PermissionRequested() | schema.QuestionRequested():
                self._open[_id(event)] = event
                self._give_up(None)
            case schema.PermissionResolved() | schema.QuestionResolved():
                self._open.pop(_id(event), None)
                self._give_up(_id(event))
            case _:
                pass

    # --- what is waited for -------------------------------------------------

    def _wait(self) -> None:
        """The oldest ask that nobody answered is put to the person; where there is none, he may say something."""
        if self._waiting is not None or self._is_ending or self._is_leaving:
            return
        asks = [id for id in self._open if id not in self._answered]
        if asks:
            self._begin(asks[0], self._put(asks[0], self._open[asks[0]]))
        elif self._converses and not self._is_busy:
            self._begin(None, self._next_message())

    def _begin(self, waits_for: str | None, work: Coroutine[Any, Any, None]) -> None:
        self._screen.hold()
        self._waits_for = waits_for
        self._waiting = tasks.start(work, "keyboard")
        self._waiting.add_done_callback(self._waited)

    def _waited(self, _: "asyncio.Task[None]") -> None:
        self._waiting = None
        self._screen.release()
        self._wait()

    def _give_up(self, waits_for: str | None) -> None:
        """This need not be waited for any more: it was answered elsewhere, or something else comes first."""
        if self._waiting is not None and self._waits_for == waits_for and waits_for not in self._answered:
            self._waiting.cancel()

    async def _stop_waiting(self) -> None:
        self._is_leaving = True
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait([self._waiting])

    async def _put(self, id: str, ask: Ask) -> None:
        if isinstance(ask, schema.PermissionRequested):
            verdict = await self._asked.permission(ask.data)
            self._answered.add(id)
            await self._try(self._line.reply_permission(id, verdict.reply, verdict.message))
            return
        answers = await self._asked.question(ask.data)
        self._answered.add(id)
        await self._try(self._line.reject_question(id) if answers is None else self._line.reply_question(id, answers))

    async def _next_message(self) -> None:
        text = await self._asked.message()
        if text is None:
            self._leave()
        elif text.strip():
            self._is_busy = True
            self._screen.typed(text)
            self._is_busy = await self._try(self._line.post(text))

    # --- how it ends --------------------------------------------------------

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self._interrupt, signal.SIGTERM: self._leave, signal.SIGHUP: self._leave}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        if not self._owns or not self._is_busy or self._is_interrupted:
            self._leave()
            return
        self._is_interrupted = True
        self._screen.say("interrupting the turn; Ctrl-C again ends the session")
        tasks.start(self._try(self._line.interrupt()), "interrupt")

    def _leave(self) -> None:
        if self._owns:
            self._end()
        elif self._loop is not None:
            self._is_leaving = True
            self._loop.cancel()

    def _end(self) -> None:
        """Ends the session; the log says so last."""
        if not self._is_ending:
            self._is_ending = True
            if self._waiting is not None and self._waiting is not asyncio.current_task():
                self._waiting.cancel()
            tasks.start(self._terminate(), "terminate")

    async def _terminate(self) -> None:
        if not await self._try(self._line.terminate()) and self._loop is not None:
            self._loop.cancel()

    async def _try(self, wish: Coroutine[Any, Any, None]) -> bool:
        """What is refused is said, and changes nothing."""
        try:
            await wish
        except OnetapeError as error:
            self._screen.say(str(error))
            return False
        return True


def _id(event: Ask | Resolved) -> str:
    data = event.data
    return data.permission_id if isinstance(data, schema.PermissionData) else data.question_id
