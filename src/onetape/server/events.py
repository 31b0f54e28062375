"""The transcript: in pages of any size, and as it comes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from litestar import get
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.response import Stream

from onetape.server.daemon import TheDaemon
from onetape.server.problems import Refusal
from onetape.server.sse import EventStream
from onetape.stores.store import PAGE, Store, Stored

MOST = (1 << 53) - 1
"""The largest number that JSON is sure to carry."""

IncludeRaw = Annotated[bool, QueryParameter(name="includeRaw", description="With each event, the tape payload that caused it.")]
Offset = Annotated[int, QueryParameter(ge=0, le=MOST, description="Only events after this sequence.")]
LastEventId = Annotated[str | None, HeaderParameter(name="Last-Event-ID", description="Where a stream was cut off; wins over the query.")]


@get("/v1/sessions/{session_id:str}/events", tags=["events"], summary="The events of a session", media_type="application/json")
async def list_events(
    daemon: TheDaemon,
    session_id: FromPath[str],
    offset: Offset = 0,
    limit: Annotated[int | None, QueryParameter(ge=0, le=MOST, description="At most so many; 0 only tells whether there are any.")] = None,
    include_raw: IncludeRaw = False,
) -> Stream:
    await asyncio.to_thread(daemon.row, session_id)
    return Stream(_listed(daemon.store, session_id, offset, limit, include_raw), media_type="application/json")


@get("/v1/sessions/{session_id:str}/events/sse", tags=["events"], summary="The events of a session, then those that come")
async def stream_events(
    daemon: TheDaemon, session_id: FromPath[str], offset: Offset = 0, include_raw: IncludeRaw = False, last_event_id: LastEventId = None
) -> EventStream:
    await asyncio.to_thread(daemon.row, session_id)
    after = place_of(last_event_id, offset)
    socket = daemon.streams.socket()
    return daemon.streams.stream(daemon.sessions.follow_frames(session_id, after, raw=include_raw, outlet=socket), socket)


@get("/v1/events/sse", tags=["events"], summary="The events of every session; ids are places in the whole log")
async def stream_all_events(
    daemon: TheDaemon, after: Annotated[int, QueryParameter(ge=0, le=MOST)] = 0, last_event_id: LastEventId = None
) -> EventStream:
    return daemon.streams.stream(daemon.sessions.follow_all(place_of(last_event_id, after)))


def place_of(last_event_id: str | None, otherwise: int) -> int:
    if not last_event_id:
        return otherwise
    if not (last_event_id.isascii() and last_event_id.isdigit() and int(last_event_id) <= MOST):
        raise Refusal("invalid_request", "Last-Event-ID is a number here")
    return int(last_event_id)


async def pages(store: Store, session_id: str, after: int, limit: int | None = None, raw: bool = False) -> AsyncIterator[list[Stored]]:
    """The log, a page at a time, as far as it goes now."""
    left = MOST if limit is None else limit
    while left:
        page = await asyncio.to_thread(store.page, session_id, after, min(PAGE, left), raw)
        if not page:
            return
        yield page
        after, left = page[-1].sequence, left - len(page)


async def _listed(store: Store, session_id: str, after: int, limit: int | None, raw: bool) -> AsyncIterator[bytes]:
    """The answer in constant memory: events are kept as JSON, and only put together here."""
    yield b'{"events":['
    count = 0
    async for page in pages(store, session_id, after, limit, raw):
        yield (b"," if count else b"") + b",".join([stored.body for stored in page])
        after, count = page[-1].sequence, count + len(page)
    more = count == limit and bool(await asyncio.to_thread(store.page, session_id, after, 1))
    yield b'],"hasMore":true}' if more else b'],"hasMore":false}'


ROUTES = (list_events, stream_events, stream_all_events)
