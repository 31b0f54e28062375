"""Sessions as a command reaches them: in the daemon where one runs, else driven by this very process.

`Line` is what both offer; the client's sessions are lines as they are.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

import msgspec

from onetape import info, paths, schema, tasks
from onetape.client import AsyncClient, Heard, Unreachable
from onetape.client.calls import PermissionReply
from onetape.commands import Attachment
from onetape.errors import AgentFailed, OnetapeError
from onetape.schema import SessionEnded
from onetape.sessions import Created, CreateOptions, Sessions
from onetape.stores.sqlite import Sqlite

_decode = msgspec.json.Decoder(schema.Event).decode


class Line(Protocol):
    """A session that can be followed and commanded."""

    id: str

    def heard(self, after: int = 0) -> AsyncGenerator[Heard]: ...

    async def info(self) -> dict[str, Any]: ...

    async def post(self, text: str, attachments: Any = None) -> None: ...

    async def reply_permission(self, ask: str, reply: PermissionReply, message: str | None = None) -> None: ...

    async def reply_question(self, ask: str, answers: list[list[str]]) -> None: ...

    async def reject_question(self, ask: str) -> None: ...

    async def interrupt(self) -> None: ...

    async def terminate(self) -> None: ...


class Exchange(Protocol):
    """Where new lines come from."""

    is_daemon: bool

    async def create(self, agent: str, directory: str, options: Mapping[str, Any]) -> Line: ...

    async def resume(self, session_id: str, changes: Mapping[str, Any]) -> Line: ...


@asynccontextmanager
async def exchange() -> AsyncIterator[Exchange]:
    """The daemon's, where one runs or is named; else one of our own."""
    try:
        client = AsyncClient()
    except Unreachable:
        async with _alone() as own:
            yield own
        return
    async with client:
        yield _InDaemon(client)


@asynccontextmanager
async def readable(session_id: str) -> AsyncIterator[Line]:
    """A line that is only to be listened to: the daemon's, else the log itself, which is looked at again and again."""
    try:
        client = AsyncClient()
    except Unreachable:
        store = Sqlite(paths.data_dir())
        sessions = Sessions(store)
        try:
            yield OwnLine(sessions, session_id)
        finally:
            await sessions.close()
            store.close()
        return
    async with client:
        yield client.attach(session_id)


# --- in the daemon ------------------------------------------------------------


class _InDaemon:
    is_daemon = True

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def create(self, agent: str, directory: str, options: Mapping[str, Any]) -> Line:
        # Under a name of ours: who gives up while it is made can still end it.
        id = f"sess_{secrets.token_hex(8)}"
        try:
            return await self._client.create(agent, id=id, cwd=directory, **options)
        except asyncio.CancelledError:
            with contextlib.suppress(OnetapeError):
                await self._client.attach(id).terminate()
            raise

    async def resume(self, session_id: str, changes: Mapping[str, Any]) -> Line:
        return await self._client.attach(session_id).resume(**changes)


# --- by ourselves -------------------------------------------------------------


@asynccontextmanager
async def _alone() -> AsyncIterator["_Own"]:
    # What a daemon would log, the person at the terminal is told anyhow.
    logging.getLogger("onetape").addHandler(logging.NullHandler())
    store = Sqlite(paths.data_dir())
    sessions = Sessions(store)
    recovery = tasks.start(_recover(sessions), "recovery")
    try:
        yield _Own(sessions)
    finally:
        await asyncio.wait([recovery])
        await sessions.close()
        store.close()


async def _recover(sessions: Sessions) -> None:
    # Where two do this at once the slower one fails: what it wanted is done.
    with contextlib.suppress(OnetapeError):
        await sessions.start()


class _Own:
    is_daemon = False

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def create(self, agent: str, directory: str, options: Mapping[str, Any]) -> Line:
        told = {name: value for name, value in options.items() if value is not None}
        return self._line(await self._sessions.create(CreateOptions(agent, directory=directory, **told)))

    async def resume(self, session_id: str, changes: Mapping[str, Any]) -> Line:
        return self._line(await self._sessions.resume(session_id, changes))

    def _line(self, made: Created) -> Line:
        if not made.healthy:
            raise AgentFailed(made.error or "the agent ended at once")
        return OwnLine(self._sessions, made.session_id)


class OwnLine:
    """A session of this process; or of any, as long as nobody commands it."""

    def __init__(self, sessions: Sessions, session_id: str) -> None:
        self._sessions = sessions
        self.id = session_id

    async def heard(self, after: int = 0) -> AsyncGenerator[Heard]:
        async with aclosing(self._sessions.follow(self.id, after)) as pages:
            async for page in pages:
                for stored in page:
                    heard = Heard(_decode(stored.body), stored.body)
                    yield heard
                    if isinstance(heard.event, SessionEnded):
                        return

    async def info(self) -> dict[str, Any]:
        return msgspec.to_builtins(info.info_of(self._sessions.row(self.id)))  # type: ignore[no-any-return]

    async def post(self, text: str, attachments: Any = None) -> None:
        await self._sessions.send(self.id, text, [Attachment(path) for path in attachments or ()])

    async def reply_permission(self, ask: str, reply: PermissionReply, message: str | None = None) -> None:
        await self._sessions.reply_permission(self.id, ask, reply, message)

    async def reply_question(self, ask: str, answers: list[list[str]]) -> None:
        await self._sessions.reply_question(self.id, ask, answers)

    async def reject_question(self, ask: str) -> None:
        await self._sessions.reject_question(self.id, ask)

    async def interrupt(self) -> None:
        await self._sessions.interrupt(self.id)

    async def terminate(self) -> None:
        await self._sessions.terminate(self.id)
