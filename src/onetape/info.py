"""A session as clients are told of it, over HTTP and by the commands alike: one builder for both."""

from msgspec import Struct, field
from msgspec.structs import asdict

from onetape.stores.store import SessionRow


class Usage(Struct, frozen=True, rename="camel"):
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_usd: float | None


class QueuedMessage(Struct, frozen=True):
    number: int
    message: str


class SessionInfo(Struct, frozen=True, rename="camel", kw_only=True):
    session_id: str
    agent: str
    agent_mode: str | None
    permission_mode: str | None
    model: str | None
    variant: str | None
    native_session_id: str | None
    ended: bool
    event_count: int
    created_at: int
    updated_at: int
    directory: str | None
    title: str | None
    status: str
    origin: str
    queued: list[QueuedMessage] = field(default_factory=list)
    usage: Usage
    resumed_from: str | None
    turns: int
    error: str | None
    strange: int


def info_of(row: SessionRow) -> SessionInfo:
    told = row.summary
    return SessionInfo(
        session_id=row.session_id, agent=row.agent, agent_mode=told.agent_mode, permission_mode=told.permission_mode, model=told.model,
        variant=told.variant, native_session_id=told.native_session_id, ended=told.ended, event_count=told.event_count,
        created_at=row.created_at, updated_at=told.updated_at, directory=told.directory, title=row.title or told.title, status=row.status,
        origin=row.origin, queued=[QueuedMessage(one.number, one.text) for one in row.queued], usage=Usage(**asdict(told.usage)),
        resumed_from=row.resumed_from, turns=told.turns, error=told.error, strange=told.strange,
    )  # fmt: skip
