"""The run-level view of a session: whole, or as it comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.params import FromPath
from litestar.response import Stream

from onetape.agents import registry
from onetape.digest import KINDS, Condenser
from onetape.schema import Event, to_json
from onetape.server.daemon import TheDaemon
from onetape.server.events import LastEventId, pages, place_of
from onetape.server.sse import Frames
from onetape.sessions import Sessions
from onetape.stores.store import Store, Stored

_event = msgspec.json.Decoder(Event)


@get("/v1/sessions/{session_id:str}/digest", tags=["digest"], summary="A session as started, actions, completed")
async def get_digest(
    daemon: TheDaemon, session_id: FromPath[str], request: Request[Any, Any, Any], last_event_id: LastEventId = None
) -> Response[Any]:
    """As a stream with `Accept: text/event-stream`."""
    row = await asyncio.to_thread(daemon.row, session_id)
    condenser = Condenser({**KINDS, **registry.find(row.agent).kinds})
    if "text/event-stream" in request.headers.get("accept", ""):
        return daemon.streams.stream(_frames(daemon.sessions, session_id, condenser, place_of(last_event_id, 0)))
    return Stream(_listed(daemon.store, session_id, condenser), media_type="application/json")


async def _listed(store: Store, session_id: str, condenser: Condenser) -> AsyncIterator[bytes]:
    glue = b'{"events":['
    async for page in pages(store, session_id, 0):
        if made := await asyncio.to_thread(_condensed, condenser, page):
            yield glue + b",".join([body for _, body in made])
            glue = b","
    yield b"]}" if glue == b"," else glue + b"]}"


async def _frames(sessions: Sessions, session_id: str, condenser: Condenser, after: int) -> Frames:
    """Read from the beginning, whoever was cut off where: an action's end needs its start."""
    async with aclosing(sessions.follow(session_id)) as batches:
        async for batch in batches:
            made = await asyncio.to_thread(_condensed, condenser, batch)
            frames = [_frame(sequence, body, following) for (sequence, body), following in _with_next(made) if sequence > after]
            if frames:
                yield b"".join(frames)


def _condensed(condenser: Condenser, page: list[Stored]) -> list[tuple[int, bytes]]:
    return [(stored.sequence, to_json(told)) for stored in page for told in condenser.see(_event.decode(stored.body))]


def _with_next(made: list[tuple[int, bytes]]) -> list[tuple[tuple[int, bytes], int | None]]:
    return list(zip(made, [*(sequence for sequence, _ in made[1:]), None], strict=True))


def _frame(sequence: int, body: bytes, following: int | None) -> bytes:
    # Only the last that an event makes has its id: cut off between two, a reader is told both again rather than one never.
    return (b"" if following == sequence else b"id: %d\n" % sequence) + b"data: " + body + b"\n\n"


ROUTES = (get_digest,)
