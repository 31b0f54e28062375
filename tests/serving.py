"""A daemon for tests: the real application on a real socket of loopback, in a thread, over a log in memory."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import uvicorn

from onetape.server import app
from onetape.server.daemon import Daemon
from onetape.server.security import Policy
from onetape.server.sse import Connection
from onetape.sessions import Sessions
from onetape.stores.memory import Memory
from patience import PATIENCE

TOKEN = "a token for tests"


class Served:
    def __init__(self, daemon: Daemon, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.daemon = daemon
        self.url = url
        self._loop = loop
        self.http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE)

    def run(self, work: Any) -> Any:
        """Runs a coroutine in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def until(self, reached: Callable[[], bool]) -> None:
        async def wait() -> None:
            async with asyncio.timeout(PATIENCE):
                while not reached():
                    await asyncio.sleep(0.01)

        self.run(wait())

    def session(self, id: str | None = None, **options: Any) -> str:
        """A new session of the mock agent."""
        told = {"agent": "mock", **options}
        answer = self.http.post(f"/v1/sessions/{id}" if id else "/v1/sessions", json=told)
        assert answer.is_success, answer.text
        return id or answer.json()["sessionId"]

    def say(self, session: str, message: str, **query: Any) -> list[dict[str, Any]]:
        """Says this and returns the events of the stream that answers it."""
        answer = self.http.post(f"/v1/sessions/{session}/messages/stream", json={"message": message}, params=query)
        assert answer.status_code == 200, answer.text
        return [event for _, event in frames(answer.text)]

    def events(self, session: str, **query: Any) -> list[dict[str, Any]]:
        return self.http.get(f"/v1/sessions/{session}/events", params=query).json()["events"]


def frames(text: str) -> list[tuple[int, dict[str, Any]]]:
    """The events of a stream with their ids; fails for any frame that is not an id line and a data line."""
    found = []
    for frame in text.split("\n\n"):
        if frame and not frame.startswith(":"):
            id, data = frame.split("\n")
            assert id.startswith("id: ") and data.startswith("data: "), frame
            found.append((int(id[4:]), msgspec.json.decode(data[6:])))
    return found


@contextmanager
def served(
    root: Path, policy: Policy | None = None, sessions: Callable[[], Sessions] | None = None, **options: Any
) -> Iterator[Served]:
    """`sessions`: made in the server's own loop; else those of a log in memory."""
    started: list[Served] = []
    ready, stop = threading.Event(), asyncio.Event()

    async def live() -> None:
        daemon = Daemon(sessions() if sessions else Sessions(Memory(), root=root), **options)
        await daemon.sessions.start()
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app.create(daemon, policy or Policy(TOKEN)), http=Connection, lifespan="off", log_config=None)
        config.timeout_graceful_shutdown = 1
        server = uvicorn.Server(config)
        running = asyncio.ensure_future(server.serve([listener]))
        started.append(Served(daemon, f"http://127.0.0.1:{listener.getsockname()[1]}", asyncio.get_running_loop()))
        ready.set()
        await stop.wait()
        await daemon.sessions.close()
        daemon.streams.close()
        server.should_exit = True
        await running

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield started[0]
    finally:
        started[0].http.close()
        started[0]._loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
        assert not thread.is_alive()
