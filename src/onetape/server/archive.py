"""What is asked of all sessions together: search, and the ledger."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated

from litestar import get
from litestar.params import FromQuery, QueryParameter
from msgspec import Struct

from onetape import ledger
from onetape.moments import milliseconds_of
from onetape.server.daemon import TheDaemon
from onetape.stores.store import Hit, Sought

HITS, HITS_MOST = 20, 200
MOST = 1 << 31

Word = FromQuery[str | None]


class SearchHit(Struct, frozen=True, rename="camel"):
    session_id: str
    sequence: int
    item_id: str | None
    agent: str
    kind: str
    tool: str | None
    time: str
    snippet: str
    """What was found stands between U+0002 and U+0003."""


class SearchHits(Struct, frozen=True, rename="camel"):
    hits: list[SearchHit]
    has_more: bool


class UsageRows(Struct, frozen=True, rename="camel"):
    rows: list[ledger.Row]
    prices_of: str
    """The date of the price list that costs are computed from where an agent tells none."""


@get("/v1/search", tags=["archive"], summary="Words in all transcripts; they are literal, the best hits come first")
async def search(
    daemon: TheDaemon, q: FromQuery[str], agent: Word = None, kind: Word = None, tool: Word = None, path: Word = None,
    since: Word = None, limit: Annotated[int, QueryParameter(ge=1, le=HITS_MOST)] = HITS,
    after: Annotated[int, QueryParameter(ge=0, le=MOST)] = 0,
) -> SearchHits:  # fmt: skip
    sought = Sought(q, agent, kind, tool, path, _moment(since), limit + 1, after)
    found = await asyncio.to_thread(daemon.store.search, sought)
    return SearchHits([_hit(hit) for hit in found[:limit]], len(found) > limit)


@get("/v1/usage", tags=["archive"], summary="Tokens and cost by day, agent, model, session or directory")
async def usage(daemon: TheDaemon, by: FromQuery[str] = "day", since: Word = None, until: Word = None) -> UsageRows:
    from onetape.prices import table

    def rows() -> list[ledger.Row]:
        return ledger.ledger(daemon.store.billed(_moment(since), _moment(until)), by)

    return UsageRows(await asyncio.to_thread(rows), table().date)


def _moment(text: str | None) -> int | None:
    return None if text is None else milliseconds_of(text, datetime.now(UTC))


def _hit(hit: Hit) -> SearchHit:
    passage = hit.passage
    time = datetime.fromtimestamp(passage.time / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return SearchHit(hit.session_id, passage.sequence, passage.item_id, hit.agent, passage.kind, passage.tool, time, hit.snippet)


ROUTES = (search, usage)
