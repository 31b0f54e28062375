"""An agent that speaks in lines: stdout is the wire, stdin the way back, stderr kept apart."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Raw

from onetape.drivers.child import Child
from onetape.drivers.sources import Log, Wire
from onetape.errors import AgentFailed
from onetape.tape import Record


class Stdio:
    replies = False

    def __init__(self, child: Child) -> None:
        self._child = child

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def start(self) -> None:
        await self._child.start(talks=True)
        process = self._child.process
        self._child.sources += [Wire(process.stdout), Log(process.stderr, "stderr")]

    def heard(self) -> AsyncIterator[list[Record]]:
        return self._child.heard()

    async def send(self, message: Any) -> Record:
        said = await self._child.say(message) or await self._write(message)
        return Record(self._child.clock(), "send", Raw(said))

    async def stop(self, polite_seconds: float = 3.0) -> None:
        await self._child.stop(polite_seconds)

    async def _write(self, message: Any) -> bytes:
        self._child.must_live()
        line = msgspec.json.encode(message)
        stdin = self._child.process.stdin
        if stdin is None or not await stdin.write(line + b"\n"):
            raise AgentFailed("the agent no longer listens")
        return line
