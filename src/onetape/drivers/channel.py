"""A private socket for helpers that an agent runs: each asks one question and waits for the answer.

    helper -> {"channel": NAME, "id": ID, …}      session -> {"channel": NAME, "id": ID, …}

One line each way per connection. A helper that hangs up before it is answered (its
agent was interrupted) has withdrawn its question: `{"channel", "id", "closed": true}`.
What is asked is not looked at.
"""

import asyncio
import os
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from onetape.drivers.lines import Lines, said, spoken
from onetape.drivers.pipes import CHUNK
from onetape.drivers.sources import Inbox
from onetape.errors import Refused
from onetape.tape import record


class Question(Struct):
    """All of a question that matters here."""

    channel: str
    id: str


class Channel:
    def __init__(self, path: Path, clock: Callable[[], float], inbox: Inbox) -> None:
        self._path = path
        self._clock = clock
        self.inbox = inbox
        self._waiting: dict[str, StreamWriter] = {}
        self._connections: dict[asyncio.Task[Any], StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, self._path)
        os.chmod(self._path, 0o600)

    async def answer(self, id: str, answer: bytes) -> None:
        """Tells whoever waits for it; `Refused` where nobody does any more."""
        writer = self._waiting.pop(id, None)
        if writer is None:
            raise Refused(f"nobody waits for an answer to {id} any more")
        writer.write(answer + b"\n")
        writer.close()

    async def close(self) -> None:
        """Everybody who still waits is told by the end of the connection that nobody will answer."""
        if self._server is not None:
            self._server.close()
        self._waiting.clear()
        for writer in self._connections.values():
            writer.transport.abort()
        self.inbox.close()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            await self._serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()
            del self._connections[task]

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        line = await _line(reader)
        if line is None:
            return
        try:
            question = msgspec.json.decode(line, type=Question)
        except (msgspec.DecodeError, UnicodeDecodeError):
            await self.inbox.put([said(self._clock(), line)])  # on the tape, but there is nobody to answer
            return
        if question.id not in self._waiting:
            self._waiting[question.id] = writer
            await self.inbox.put([said(self._clock(), line)])
            await self._until_hung_up(question, reader, writer)

    async def _until_hung_up(self, question: Question, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while await reader.read(CHUNK):
                pass  # it has nothing more to say
        except ConnectionError:
            pass
        if self._waiting.get(question.id) is writer:
            del self._waiting[question.id]
            closed = {"channel": question.channel, "id": question.id, "closed": True}
            await self.inbox.put([record(self._clock(), "recv", closed)])


async def _line(reader: StreamReader) -> bytes | None:
    """The first line, however long."""
    lines = Lines()
    while chunk := await reader.read(CHUNK):
        if whole := spoken(lines.cut(chunk)):
            return whole[0]
    return None
