"""The floor of the live path: an agent's bytes from its pipe into batched SQLite rows and to sockets as server-sent events. No translation.

    python bare.py DIRECTORY      prints its port, then serves until its stdin is closed

A GET is a reader; a POST hands the agent a message. As with us, nothing is sent to a reader before it is committed,
the next bytes are read while the last ones are committed, and a reader that stalls is waited for.
"""

import asyncio
import sqlite3
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import uvloop

AGENT = Path(__file__).with_name("agent.sh")
CHUNK = 1 << 18
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: connected\n\n"


class Bare:
    def __init__(self, database: Path) -> None:
        self._connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("CREATE TABLE lines (number INTEGER PRIMARY KEY, line BLOB NOT NULL)")
        self._readers: list[asyncio.StreamWriter] = []
        self._count = 0

    async def serve(self) -> None:
        self._agent = await asyncio.create_subprocess_exec(AGENT, stdin=PIPE, stdout=PIPE, limit=CHUNK)
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2048)
        print(server.sockets[0].getsockname()[1], flush=True)
        copying = asyncio.ensure_future(self._copy())
        await asyncio.to_thread(sys.stdin.read)
        self._agent.kill()
        await self._agent.wait()
        await copying

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if request.startswith(b"POST"):
            self._agent.stdin.write(b'{"type":"user"}\n')  # type: ignore[union-attr]
            writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
            writer.close()
        else:
            writer.write(HEAD)
            self._readers.append(writer)

    async def _copy(self) -> None:
        begun, under_way = b"", None
        while chunk := await self._agent.stdout.read(CHUNK):  # type: ignore[union-attr]
            *lines, begun = (begun + chunk).split(b"\n")
            if under_way is not None:
                await under_way
            under_way = asyncio.ensure_future(self._keep_and_send(lines))
        if under_way is not None:
            await under_way

    async def _keep_and_send(self, lines: list[bytes]) -> None:
        rows = list(enumerate(lines, self._count + 1))
        self._count += len(rows)
        await asyncio.to_thread(self._keep, rows)
        frames = b"".join([b"id: %d\ndata: %b\n\n" % row for row in rows])
        for writer in self._readers:
            writer.write(frames)
        for writer in self._readers:
            await writer.drain()

    def _keep(self, rows: list[tuple[int, bytes]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO lines VALUES (?, ?)", rows)
        self._connection.execute("COMMIT")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(Bare(Path(sys.argv[1], "bare.db")).serve())
