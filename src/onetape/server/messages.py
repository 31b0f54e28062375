"""Messages to a session, those that wait, and the turn that answers one as a stream."""

import asyncio
from contextlib import aclosing

import msgspec
from litestar import delete, post
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from onetape.commands import Attachment
from onetape.errors import AgentFailed, Refused
from onetape.outbox import Sent
from onetape.server.daemon import Daemon, TheDaemon
from onetape.server.events import IncludeRaw
from onetape.server.sse import EventStream, Frames
from onetape.sessions import Sessions
from onetape.stores.store import Stored
from onetape.tail import frame

ENDINGS = frozenset(
    {"turn.ended", "session.ended", "error", "agent.unparsed", "permission.requested", "question.requested"}
)  # fmt: skip
"""The first of these is the last of a turn's stream: from here on the client has something to do."""


class AttachedFile(Struct, frozen=True):
    path: str
    mime: str | None = None
    filename: str | None = None


class SendMessage(Struct, frozen=True):
    message: str
    attachments: list[AttachedFile] | None = None


class _Typed(Struct, gc=False):
    type: str


_typed = msgspec.json.Decoder(_Typed)


@post("/v1/sessions/{session_id:str}/messages", tags=["messages"], summary="Send a message", status_code=204)
async def send_message(daemon: TheDaemon, session_id: FromPath[str], data: JSONBody[SendMessage]) -> None:
    """During a turn it is queued (SessionInfo.queued shows it), or steers the turn where the agent can be steered."""
    await _send(daemon, session_id, data)


@post("/v1/sessions/{session_id:str}/messages/stream", tags=["messages"], summary="Send a message and stream its turn", status_code=200)
async def send_message_and_stream(
    daemon: TheDaemon, session_id: FromPath[str], data: JSONBody[SendMessage], include_raw: IncludeRaw = False
) -> EventStream:
    sent = await _send(daemon, session_id, data)
    return daemon.streams.stream(_turn(daemon.sessions, session_id, sent, include_raw))


@delete("/v1/sessions/{session_id:str}/queue/{number:int}", tags=["messages"], summary="Take back a message that waits")
async def take_back_message(daemon: TheDaemon, session_id: FromPath[str], number: FromPath[int]) -> None:
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.take_back(session_id, number)


async def _send(daemon: Daemon, session_id: str, data: SendMessage) -> Sent:
    await asyncio.to_thread(daemon.row, session_id)
    files = [Attachment(file.path, file.mime, file.filename) for file in data.attachments or ()]
    return await daemon.sessions.send(session_id, data.message, files)


async def _turn(sessions: Sessions, session_id: str, sent: Sent, raw: bool) -> Frames:
    try:
        after = await asyncio.shield(sent.begins)  # the message is sent whether its reader stays or not
    except (Refused, AgentFailed, asyncio.CancelledError):
        if not sent.begins.done():
            raise
        return  # it was taken back, or the session ended before its turn came
    async with aclosing(sessions.follow(session_id, after, raw=raw)) as batches:
        async for batch in batches:
            last = next((at for at, stored in enumerate(batch, 1) if _ends(stored)), None)
            yield b"".join([frame(stored.sequence, stored.body) for stored in batch[:last]])
            if last is not None:
                return


def _ends(stored: Stored) -> bool:
    return _typed.decode(stored.body).type in ENDINGS


ROUTES = (send_message, send_message_and_stream, take_back_message)
