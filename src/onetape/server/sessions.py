"""Sessions: listed, created, changed, interrupted, ended, gone on with, deleted."""

import asyncio
from typing import Annotated, Any

from litestar import delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta, Struct
from msgspec.structs import asdict

from onetape.agents import registry
from onetape.agents.agent import Agent
from onetape.info import SessionInfo, info_of
from onetape.server.agents import agent_named
from onetape.server.daemon import Daemon, TheDaemon
from onetape.server.events import MOST
from onetape.server.mcp import McpServer, checked
from onetape.server.problems import Refusal
from onetape.sessions import PERMISSION_MODES, Created, CreateOptions
from onetape.stores.store import DRAFT

LONGEST_ID = 512

PermissionMode = Annotated[str, Meta(extra_json_schema={"enum": list(PERMISSION_MODES)})]
"""A string to the decoder: a mode that there is not is a problem of its own kind."""


class CreateSession(Struct, frozen=True, rename="camel"):
    agent: str
    agent_mode: str | None = None
    permission_mode: PermissionMode | None = None
    model: str | None = None
    variant: str | None = None
    agent_version: str | None = None
    directory: str | None = None
    title: str | None = None
    mcp: dict[str, McpServer] | None = None
    skills: Any = None
    env: dict[str, str] | None = None
    resume: str | None = None
    """The native session id to go on with."""


class ResumeSession(Struct, frozen=True, rename="camel"):
    title: str | None = None
    permission_mode: PermissionMode | None = None
    agent_mode: str | None = None
    model: str | None = None
    variant: str | None = None
    directory: str | None = None
    mcp: dict[str, McpServer] | None = None
    env: dict[str, str] | None = None


class ChangeSession(Struct, frozen=True, rename="camel"):
    title: str | None = None
    model: str | None = None
    variant: str | None = None
    agent_mode: str | None = None
    permission_mode: PermissionMode | None = None


class AgentError(Struct, frozen=True, omit_defaults=True):
    """As the published API tells of an agent that did not start well."""

    type: str
    message: str


class SessionHealth(Struct, frozen=True, rename="camel", omit_defaults=True):
    healthy: bool
    error: AgentError | None = None
    native_session_id: str | None = None


class NewSession(Struct, frozen=True, rename="camel", omit_defaults=True):
    session_id: str
    healthy: bool
    error: AgentError | None = None
    native_session_id: str | None = None


class SessionList(Struct, frozen=True):
    sessions: list[SessionInfo]
    position: int
    """The end of the whole log when this was read: `/v1/events/sse?after=` it brings whatever came since."""


@get("/v1/sessions", tags=["sessions"], summary="All sessions, newest first")
async def list_sessions(
    daemon: TheDaemon,
    agent: FromQuery[str | None] = None,
    q: FromQuery[str | None] = None,
    limit: Annotated[int | None, QueryParameter(ge=1, le=MOST)] = None,
    before: Annotated[str | None, QueryParameter(description="Only those older than this session.")] = None,
) -> SessionList:
    # In this order: what is committed between the two is told again rather than missed.
    position = await asyncio.to_thread(daemon.store.position)
    rows = await asyncio.to_thread(lambda: daemon.sessions.rows(agent, q, limit, before))
    return SessionList([info_of(row) for row in rows], position)


@post("/v1/sessions", tags=["sessions"], summary="Start a session")
async def create_session(daemon: TheDaemon, data: JSONBody[CreateSession]) -> NewSession:
    return _new(await daemon.sessions.create(_options(data, daemon)))


@post("/v1/sessions/{session_id:str}", tags=["sessions"], summary="Start a session under an id of the client's", status_code=200)
async def create_named_session(daemon: TheDaemon, session_id: FromPath[str], data: JSONBody[CreateSession]) -> SessionHealth:
    if await asyncio.to_thread(daemon.store.session, session_id) is not None:
        raise Refusal("session_already_exists", f"there is a session {session_id} already", session_id=session_id)
    _check_id(session_id)
    made = await daemon.sessions.create(_options(data, daemon), session_id)
    return SessionHealth(made.healthy, _error(made), made.native_session_id)


@get("/v1/sessions/{session_id:str}", tags=["sessions"], summary="One session")
async def get_session(daemon: TheDaemon, session_id: FromPath[str]) -> SessionInfo:
    return info_of(await asyncio.to_thread(daemon.row, session_id))


@patch("/v1/sessions/{session_id:str}", tags=["sessions"], summary="Change what the agent lets one change")
async def change_session(daemon: TheDaemon, session_id: FromPath[str], data: JSONBody[ChangeSession]) -> SessionInfo:
    agent = registry.find((await asyncio.to_thread(daemon.row, session_id)).agent)
    _check_mode(data.permission_mode)
    changes = asdict(data)
    if data.agent_mode is not None:
        changes["agent_mode"] = _mode(agent, data.agent_mode) or next(iter(agent.modes), data.agent_mode)
    await daemon.sessions.change(session_id, **changes)
    return info_of(await asyncio.to_thread(daemon.row, session_id))


@delete("/v1/sessions/{session_id:str}", tags=["sessions"], summary="End a session and delete it with its tape")
async def delete_session(daemon: TheDaemon, session_id: FromPath[str]) -> None:
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.delete(session_id)


@post("/v1/sessions/{session_id:str}/interrupt", tags=["sessions"], summary="End the turn; the session goes on", status_code=204)
async def interrupt_session(daemon: TheDaemon, session_id: FromPath[str]) -> None:
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.interrupt(session_id)


@post("/v1/sessions/{session_id:str}/terminate", tags=["sessions"], summary="End the session and all its processes", status_code=204)
async def terminate_session(daemon: TheDaemon, session_id: FromPath[str]) -> None:
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.terminate(session_id)


@post("/v1/sessions/{session_id:str}/resume", tags=["sessions"], summary="Go on with a session that is over, as a new one")
async def resume_session(daemon: TheDaemon, session_id: FromPath[str], data: JSONBody[ResumeSession | None] = None) -> NewSession:
    agent = registry.find((await asyncio.to_thread(daemon.row, session_id)).agent)
    changes = {name: value for name, value in asdict(data or ResumeSession()).items() if value is not None}
    _check_env(changes.get("env"), daemon)
    changes["agent_mode"] = _mode(agent, changes.get("agent_mode"))
    if data is not None and data.mcp is not None:
        changes["mcp"] = checked(data.mcp)
    return _new(await daemon.sessions.resume(session_id, changes))


def _new(made: Created) -> NewSession:
    return NewSession(made.session_id, made.healthy, _error(made), made.native_session_id)


def _error(made: Created) -> AgentError | None:
    return None if made.error is None else AgentError("agent_process_exited", made.error)


def _options(data: CreateSession, daemon: Daemon) -> CreateOptions:
    agent = agent_named(data.agent)
    _check_mode(data.permission_mode, data.agent)
    _check_env(data.env, daemon)
    if any(data.skills.values()) if isinstance(data.skills, dict) else data.skills:
        raise Refusal("invalid_request", "skills are not supported yet: put them where the agent looks for them", agent=data.agent)
    return CreateOptions(
        data.agent, agent_mode=_mode(agent, data.agent_mode), permission_mode=data.permission_mode or "default",  # type: ignore[arg-type]
        model=data.model, variant=data.variant, agent_version=data.agent_version, directory=data.directory, title=data.title,
        mcp=checked(data.mcp or {}), env=data.env or {}, resume=data.resume,
    )  # fmt: skip


def _mode(agent: Agent, told: str | None) -> str | None:
    """Clients of the published API know the usual mode of every agent as "build", whatever the agent calls it, and send it always.

    "default" is the usual one wherever there is such a mode. Where modes and permission modes are one thing to an agent,
    who says no more than that has not chosen: his permission mode counts."""
    return None if told == "default" or (told == "build" and told not in agent.modes) else told


def _check_id(session_id: str) -> None:
    """It is shown in lists, and must be found there."""
    if session_id.startswith(DRAFT):
        raise Refusal("invalid_request", f"a session's id does not begin with {DRAFT}: such are drafts, which no list shows")
    if not session_id.isprintable() or len(session_id) > LONGEST_ID:
        raise Refusal("invalid_request", f"a session's id is printable and has at most {LONGEST_ID} characters")


def _check_mode(mode: str | None, agent: str | None = None) -> None:
    if mode is not None and mode not in PERMISSION_MODES:
        raise Refusal("mode_not_supported", f"there is no permission mode {mode!r}; there are: {', '.join(PERMISSION_MODES)}", agent=agent)


def _check_env(env: dict[str, str] | None, daemon: Daemon) -> None:
    if env and not daemon.allows_env:
        raise Refusal("permission_denied", "requests may not set environment variables here: `onetape server --allow-env` lets them")


ROUTES = (
    list_sessions, create_session, create_named_session, get_session, change_session, delete_session, interrupt_session, terminate_session,
    resume_session,
)  # fmt: skip
