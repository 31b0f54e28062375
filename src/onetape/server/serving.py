"""The process: a socket, the sessions and the application, from the lock to the last commit.

It ends in this order, within five seconds: no new connections; every agent stopped and every event committed, which
its readers still see; then their streams; then the store.
"""

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
import uvloop
from msgspec import Struct

from onetape import paths, tasks
from onetape.agents import registry
from onetape.errors import Refused
from onetape.replay import Replay
from onetape.server import app, logs, running
from onetape.server.asgi import App
from onetape.server.daemon import Daemon
from onetape.server.faults import Faults
from onetape.server.running import Running
from onetape.server.security import Cors, Policy
from onetape.server.sse import Connection
from onetape.sessions import CreateOptions, Sessions
from onetape.stores.sqlite import Sqlite

_log = logging.getLogger(__name__)

RECOVERY_SECONDS = 5.0
"""How long clients are kept waiting for what a crash left to be put in order; after that it goes on while they are served."""
STOP_SECONDS = 3.5
LAST_WORDS_SECONDS = 1


Announce = Callable[[str, str | None, str | None], None]
"""Called with the address, the token and the demonstration session once clients are served."""


class Options(Struct, frozen=True):
    host: str = "127.0.0.1"
    port: int = 2468
    token: str | None = None
    needs_token: bool = True
    root: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    cors: Cors = Cors()
    allows_env: bool = False
    has_demo: bool = False


def serve(options: Options, announce: Announce) -> None:
    """The daemon, until a signal ends it."""
    root = (options.root or Path.cwd()).resolve()
    if not root.is_dir():
        raise Refused(f"there is no directory {root}")
    data = paths.data_dir()

    async def live(listener: socket.socket, token: str | None) -> None:
        sessions = Sessions(Sqlite(data), root=root)

        async def tell(url: str) -> None:
            held.tell(Running(os.getpid(), url))
            announce(url, token, await _demonstrate(sessions) if options.has_demo else None)

        await _serve(Daemon(sessions, allows_env=options.allows_env), options, token, listener, tell)

    with running.hold(data) as held:
        _run(options, live)


def perform(options: Options, made: Callable[[], Replay], faults: Faults, announce: Announce) -> None:
    """A recording, over the same API. Nothing of it is kept, so it needs no data directory to itself."""

    async def live(listener: socket.socket, token: str | None) -> None:
        sessions = made()

        async def tell(url: str) -> None:
            announce(url, token, sessions.played.session_id)

        await _serve(Daemon(sessions, streams=faults.streams()), options, token, listener, tell)

    _run(options, live)


def _run(options: Options, live: Callable[[socket.socket, str | None], Coroutine[Any, Any, None]]) -> None:
    _check_exposure(options)
    with _listen(options) as listener, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        token = (options.token or running.make_token(paths.data_dir())) if options.needs_token else None
        runner.run(live(listener, token))


def _check_exposure(options: Options) -> None:
    if not options.needs_token and not _is_loopback(options.host):
        raise Refused(f"--no-token is for loopback: whoever reaches {options.host} could run programs here")
    if options.token is not None and not options.token.strip():
        raise Refused("the token is empty")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(options: Options) -> socket.socket:
    """Before anything is started, so that a port that is taken is one line and not half a daemon."""
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise Refused(f"cannot listen on {options.host} port {options.port}: {getattr(error, 'strerror', None) or error}") from None


async def _serve(
    daemon: Daemon, options: Options, token: str | None, listener: socket.socket, tell: Callable[[str], Awaitable[None]]
) -> None:
    server = _Server(daemon, uvicorn.Config(_application(daemon, options, token), **_SETTINGS))
    server.listen_to_signals()  # before anybody is told that it is there
    try:
        await server.wait_for(tasks.start(daemon.sessions.start(), "recovery"), RECOVERY_SECONDS)
        url = _url(options.host, listener.getsockname()[1])
        _log.info("listening", extra={"url": url, "pid": os.getpid()})
        await tell(url)
        await server.serve([listener])
    finally:
        daemon.store.close()
    _log.info("stopped")


async def _demonstrate(sessions: Sessions) -> str:
    """A session that shows everything; it asks for permissions too, and waits for the answers."""
    agent = next(agent for agent in registry.every() if agent.demonstration is not None)
    created = await sessions.create(CreateOptions(agent.name, title="Demonstration"))
    await sessions.send(created.session_id, str(agent.demonstration))
    return created.session_id


def _application(daemon: Daemon, options: Options, token: str | None) -> App:
    names = {"localhost", socket.gethostname().lower(), options.host.lower(), *map(str.lower, options.allowed_hosts)}
    return logs.Observed(app.create(daemon, Policy(token, frozenset(names), options.cors)))


def _url(host: str, port: int) -> str:
    """Where to reach it from this machine: everywhere is here too."""
    here = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{here}:{port}"


_SETTINGS: dict[str, Any] = {
    "http": Connection,
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "timeout_graceful_shutdown": LAST_WORDS_SECONDS,
}


class _Server(uvicorn.Server):
    def __init__(self, daemon: Daemon, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._daemon = daemon
        self._stopping = asyncio.Event()

    def listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._stopping.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Not the library's: it raises them again when all is done, which would kill us before the store is closed."""
        yield

    async def wait_for(self, work: "asyncio.Task[None]", seconds: float) -> None:
        """No longer than that, nor than until a signal comes."""
        stopping = tasks.start(self._stopping.wait(), "signal")
        await asyncio.wait({work, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in self.servers:
            listener.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._daemon.sessions.close()
        self._daemon.streams.close()
        await super().shutdown(sockets)
