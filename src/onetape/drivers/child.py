"""What every driver has: a child with its private files, its side channel, its sources, and their common end."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from onetape import tasks
from onetape.agents.agent import Launch
from onetape.drivers.channel import Channel
from onetape.drivers.private import Private, wants_channel
from onetape.drivers.process import Process
from onetape.drivers.sources import Inbox, Source
from onetape.errors import AgentFailed, Refused
from onetape.tape import Record, record

# For what is still on its way when the process is gone already; a connection that somebody else keeps open is given up then.
AFTERMATH_SECONDS = 2.0


class Child:
    def __init__(self, launch: Launch, clock: Callable[[], float], key: str, env: Mapping[str, str], private: Path) -> None:
        self.clock = clock
        self.private = Private(private)
        self.sources: list[Source] = []
        self.is_stopping = False
        self._launch = launch
        self._key = key
        self._env = env
        self._process: Process | None = None
        self._channel: Channel | None = None
        self._bell = asyncio.Event()
        self._early: list[Record] = []
        self._epitaph: list[Record] = []
        self._end: asyncio.Task[None] | None = None
        self._cleaning: asyncio.Task[None] | None = None

    @property
    def process(self) -> Process:
        if self._process is None:
            raise AgentFailed("the agent was not started")
        return self._process

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def inbox(self) -> Inbox:
        """A source for what is pushed."""
        inbox = Inbox(self._bell.set)
        self.sources.append(inbox)
        return inbox

    # --- its beginning ------------------------------------------------------

    async def start(self, *, talks: bool) -> Launch:
        """Starts it; the launch as it was done."""
        try:
            launch = self.private.prepare(self._launch)
            if wants_channel(self._launch):
                self._channel = Channel(self.private.socket, self.clock, self.inbox())
                await self._channel.open()
            env = {**self._env, **launch.env}
            self._process = Process(launch.argv, launch.cwd, env, self._key, talks=talks, news=self._bell.set)
        except OSError as error:
            await self._tidy()
            raise AgentFailed(f"cannot start {self._launch.argv[0]}: {error}") from None
        except AgentFailed:
            await self._tidy()
            raise
        return launch

    async def listen(self, seconds: float) -> list[Record]:
        """What it says before anybody has asked for it; that comes first when somebody does."""
        if not (batch := self._take()):
            await self._news(seconds)
            batch = self._take()
        self._early += batch
        return batch

    # --- what is heard ------------------------------------------------------

    async def heard(self) -> AsyncGenerator[list[Record], None]:
        if self._early:
            yield self._early
        process = self.process
        try:
            while True:
                if batch := self._take():
                    yield batch
                if process.is_gone and not self._is_clean:
                    await self.clean()  # before the last look: a stray could write for ever
                elif not batch and not await self._more():
                    break
            yield self._last(process.exit.result())
        finally:
            self._close_sources()

    def _take(self) -> list[Record]:
        self._bell.clear()
        now = self.clock()
        if len(self.sources) == 1:
            return self.sources[0].take(now)
        return [record for source in self.sources for record in source.take(now)]

    async def _more(self) -> bool:
        """Waits for something to take; whether there can be something."""
        exited = self.process.is_gone
        if exited and all(source.is_over(exited=True) for source in self.sources):
            return False
        return await self._news(AFTERMATH_SECONDS if exited else None)

    async def _news(self, seconds: float | None) -> bool:
        for source in self.sources:
            source.watch()
        if seconds is None:
            return await self._bell.wait()
        try:
            return await asyncio.wait_for(self._bell.wait(), seconds)
        except TimeoutError:
            return False

    def _last(self, code: int) -> list[Record]:
        now = self.clock()
        kept = [record for source in self.sources for record in source.last(now)]
        return [*kept, *self._epitaph, record(now, "exit", code)]

    def last_words(self) -> str:
        """Of a process that ended before anybody asked for anything: what it said last, or how it ended."""
        words = [*self._early, *self._take(), *self._last(self.process.exit.result())][:-1]
        return words[-1].line.decode(errors="replace") if words else f"exit code {self.process.exit.result()}"

    def _close_sources(self) -> None:
        for source in self.sources:
            source.close()

    # --- what is said -------------------------------------------------------

    async def say(self, message: Any) -> bytes | None:
        """Says what every driver can: signals, and answers on the side channel. None: it is something else."""
        match message:
            case {"signal": str(name)}:
                self._signal(name)
            case {"channel": str(), "id": str(id)} if self._channel is not None:
                self.must_live()
                await self._channel.answer(id, msgspec.json.encode(message))
            case _:
                return None
        return msgspec.json.encode(message)

    def must_live(self) -> None:
        if self.process.is_gone:
            raise AgentFailed(f"the agent has ended, with exit code {self.process.exit.result()}")

    def _signal(self, name: str) -> None:
        self.must_live()
        try:
            number = signal.Signals["SIG" + name.removeprefix("SIG")]
        except KeyError:
            raise Refused(f"there is no signal {name}") from None
        self.process.signal(number)

    def last_word(self, text: str) -> None:
        """Why it was ended, as the last line of its stderr."""
        self._epitaph = [record(self.clock(), "stderr", text)]

    # --- its end ------------------------------------------------------------

    async def stop(self, polite_seconds: float) -> None:
        self.is_stopping = True
        if self._process is None:
            return
        self._end = self._end or tasks.start(self._stop(self._process, polite_seconds), f"stop {self._key}")
        await asyncio.shield(self._end)  # whoever asked may leave; it goes on

    async def _stop(self, process: Process, polite_seconds: float) -> None:
        await process.stop(self._ask_to_end, polite_seconds)
        await self.clean()

    def _ask_to_end(self) -> None:
        match self._launch.stop:
            case "close_stdin" if self.process.stdin is not None:
                self.process.stdin.close()
            case "SIGINT":
                self.process.signal(signal.SIGINT)
            case _:
                self.process.signal(signal.SIGTERM)

    async def abandon(self) -> None:
        """Its start failed: nobody will ask what it said."""
        await self.stop(0.0)
        self._close_sources()

    @property
    def _is_clean(self) -> bool:
        return self._cleaning is not None and self._cleaning.done()

    async def clean(self) -> None:
        """The process is gone: so is whatever else it started, and so are its files."""
        self._cleaning = self._cleaning or tasks.start(self._clean(), f"clean {self._key}")
        await asyncio.shield(self._cleaning)

    async def _clean(self) -> None:
        await self.process.family.end()
        await self._tidy()

    async def _tidy(self) -> None:
        if self._channel is not None:
            await self._channel.close()
        self.private.remove()
