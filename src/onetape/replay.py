"""A recorded session, played as if it were live: to build a front end without an agent.

Its tape goes record by record, at its own pace or another, through the same scribe into a log in memory; whoever follows it
over HTTP sees what he would have seen then. What was recorded is what happens: a command of a client's is taken and changes
nothing of it, but ends the waiting for the answer, the message or the interrupt that was recorded.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from onetape import owner, schema, tasks
from onetape.agents.agent import Agent
from onetape.answers import is_settled
from onetape.commands import Command, SendMessage
from onetape.drivers import Driver
from onetape.errors import AgentFailed, Refused
from onetape.outbox import Sent
from onetape.schema import Event
from onetape.session import Session
from onetape.sessions import Created, CreateOptions, Sessions
from onetape.stores.memory import Memory
from onetape.stores.store import SessionRow
from onetape.tail import Tail
from onetape.tape import Record
from onetape.transcribe import UNDECIDED, Transcriber, opened

UNTIMED_SECONDS = 0.04
"""Between two records of a recording without times: bare native lines."""

Wanted = Callable[[Event], bool]


class Recording(Struct):
    """What is to be played. Read once, as it is played."""

    transcriber: Transcriber
    records: Iterator[Record]
    title: str | None = None

    @property
    def agent(self) -> Agent:
        return self.transcriber.agent

    @property
    def session_id(self) -> str:
        return self.transcriber.session_id


def recording(
    source: Iterable[bytes] | Iterable[Record], agent: Agent, session_id: str | None = None, title: str | None = None
) -> Recording:
    transcriber, records = opened(source, agent, session_id=session_id)
    return Recording(transcriber, records, title)


class Pace:
    """When the next record is played."""

    def __init__(self, speed: float = 1.0, longest_seconds: float = 10.0, *, stepwise: bool = False) -> None:
        """`speed` 0: as fast as possible. `stepwise`: only when told."""
        self._speed = speed
        self._longest = longest_seconds
        self._stepwise = stepwise
        self._steps = 0
        self._wanted: Wanted | None = None
        self._is_over = False
        self._changed = asyncio.Event()

    def step(self, count: int = 1) -> None:
        """So many more records that make events."""
        self._steps += count
        self._wake()

    def hurry(self, wanted: Wanted) -> None:
        """Without any waiting until such an event was played."""
        self._wanted = wanted
        self._wake()

    def end(self) -> None:
        self._is_over = True
        self._wake()

    def saw(self, events: list[Event]) -> None:
        if events and self._steps:
            self._steps -= 1
        if self._wanted is not None and any(map(self._wanted, events)):
            self._wanted = None

    async def wait(self, seconds: float) -> bool:
        """Until the next record is due, so many seconds after the last one; False: never again."""
        if self._stepwise:
            while not (self._steps or self._goes_on):
                await self._changed.wait()
        elif self._speed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(seconds / self._speed, self._longest)):
                    while not self._goes_on:
                        await self._changed.wait()
        return not self._is_over

    @property
    def _goes_on(self) -> bool:
        return self._is_over or self._wanted is not None

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Player:
    """The driver of a recording: it says what was said, and hears nothing."""

    replies = False
    pid = None

    def __init__(self, records: Iterator[Record], pace: Pace) -> None:
        leading = list(islice(records, UNDECIDED))
        self._is_timed = any(record.t for record in leading)
        self._records = chain(leading, records)
        self._pace = pace

    async def start(self) -> None:
        pass

    async def heard(self) -> AsyncIterator[list[Record]]:
        at = 0.0
        for record in self._records:
            if not await self._pace.wait(max(0.0, record.t - at) if self._is_timed else UNTIMED_SECONDS):
                return
            at = record.t
            yield [record]

    async def send(self, message: Any) -> Record:
        raise AgentFailed("a recording hears nothing")

    async def stop(self, polite_seconds: float = 3.0) -> None:
        self._pace.end()


class Performance(Session):
    """A session whose agent is a recording."""

    def __init__(self, row: SessionRow, played: Recording, store: Memory, pace: Pace, tail: Tail) -> None:
        async def start(resume: str | None) -> Driver:
            return Player(played.records, pace)

        super().__init__(row, None, played.transcriber, store, lambda: 0.0, start, tail)
        self._pace = pace
        self._is_played = False

    async def begin(self) -> None:
        await self._launch(None)

    async def _process_over(self) -> None:
        self._is_played = True
        await super()._process_over()

    async def _greet(self) -> None:
        """The handshake is on the tape."""

    def _observe(self, events: list[Event]) -> None:
        super()._observe(events)
        self._pace.saw(events)

    async def send(self, message: SendMessage) -> Sent:
        self._check_plays()
        sent = Sent(asyncio.get_running_loop().create_future())
        sent.starts(self.row.summary.event_count)
        if not self.row.summary.in_turn:
            self._pace.hurry(lambda event: isinstance(event, schema.TurnStarted | schema.SessionEnded))
        return sent

    async def answer(self, id: str, command: Command, verdict: Any) -> None:
        if is_settled(self._store.ask(self.session_id, id), id, command, verdict, self._answered.get(id)):
            return
        self._check_plays()
        self._answered[id] = verdict
        self._pace.hurry(lambda event: getattr(event.data, "status", "requested") != "requested" and id in _names(event))

    async def interrupt(self) -> None:
        if self.row.summary.in_turn:
            self._pace.hurry(lambda event: isinstance(event, schema.TurnEnded))

    async def command(self, command: Command) -> None:
        self._check_plays()

    def _check_plays(self) -> None:
        self._check_open()
        if self._is_played:
            raise Refused("the recording is over: there is nothing more to come")


def _names(event: Event) -> tuple[str | None, str | None]:
    return getattr(event.data, "permission_id", None), getattr(event.data, "question_id", None)


class Replay(Sessions):
    """All sessions of a daemon that only plays one."""

    def __init__(self, played: Recording, pace: Pace, *, root: Path | None = None) -> None:
        memory = Memory()
        super().__init__(memory, root=root)
        now = time.time_ns() // 1_000_000
        self.played = played
        row = SessionRow(
            played.session_id, played.agent.name, created_at=now, key=played.session_id, title=played.title,
            version=played.transcriber.translator.head.version, owner=str(owner.this_process()),
        )  # fmt: skip
        memory.create(row)
        self._performance = Performance(row, played, memory, pace, Tail(self._following.whole))
        self._live[row.session_id] = self._performance
        self._asked_for = asyncio.Event()

    async def start(self) -> None:
        self._settle(self._performance)
        self._loop = asyncio.get_running_loop()
        tasks.start(self._play(), "replay")

    async def _play(self) -> None:
        """From when somebody is there to see it."""
        await self._asked_for.wait()
        await self._performance.begin()

    def row(self, session_id: str) -> SessionRow:
        """Every request that names the session comes by here, in a thread of its own."""
        row = super().row(session_id)
        self._loop.call_soon_threadsafe(self._asked_for.set)
        return row

    async def create(self, options: CreateOptions, session_id: str | None = None, *, resumed_from: str | None = None) -> Created:
        raise Refused("this is a replay: it runs no agents")
