"""What waits for an answer, in all sessions."""

import asyncio
from typing import Any

from litestar import get
from msgspec import Struct

from onetape.server.daemon import TheDaemon


class PendingAsk(Struct, frozen=True, rename="camel"):
    session_id: str
    agent: str
    type: str
    requested_at: int
    """Unix milliseconds."""
    data: Any
    """As in the event that requested it."""


class PendingList(Struct, frozen=True):
    pending: list[PendingAsk]


@get("/v1/pending", tags=["asks"], summary="Permissions and questions that wait for an answer")
async def list_pending(daemon: TheDaemon) -> PendingList:
    found = await asyncio.to_thread(daemon.store.pending)
    return PendingList([PendingAsk(one.session_id, one.agent, one.ask.kind, one.ask.requested_at, one.ask.data) for one in found])


ROUTES = (list_pending,)
