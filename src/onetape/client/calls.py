"""What is asked of the daemon and what comes back, for both clients; who waits is theirs.

Requests are data (`Call`), streams are a small state (`Follower`): where a
connection is lost, it knows which request takes the stream up again.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict
from urllib.parse import quote

import httpx
import msgspec
from msgspec import Raw, Struct

from onetape import schema
from onetape.errors import OnetapeError
from onetape.schema import Event

PermissionReply: TypeAlias = Literal["once", "always", "reject"]
Attachments: TypeAlias = "list[str | dict[str, Any]] | None"

# Heartbeats come every ten seconds; who hears none for this long has lost the connection.
STREAM = httpx.Timeout(10.0, read=45.0)
ATTEMPTS = 120
"""How often a lost stream is taken up again before it is given up."""

_FRAME_END = b"\n\n"

_decode = msgspec.json.Decoder(Event).decode


class Options(TypedDict, total=False):
    """What a session may be told when it is made; None is as good as nothing."""

    agent_mode: str | None
    permission_mode: Literal["default", "plan", "acceptEdits", "bypass"] | None
    model: str | None
    variant: str | None
    agent_version: str | None
    title: str | None
    mcp: dict[str, Any] | None
    env: dict[str, str] | None
    resume: str | None
    """The native session id to go on with."""


class Failed(OnetapeError):
    """The daemon refused or failed; `problem` is its own account."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))
        self.status = status
        self.problem = dict(problem)

    @property
    def kind(self) -> str:
        """The last word of the problem's type, e.g. "session_not_found"."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


class Unreachable(OnetapeError):
    """No daemon answers there."""


class Daemon(Struct, frozen=True):
    """Where a daemon is, and what it wants to hear."""

    url: str
    token: str | None = None


class Call(Struct, frozen=True):
    """One request."""

    method: str
    path: str
    body: Any = None
    query: dict[str, Any] = {}


class Calls:
    """Every request that the API takes, by name."""

    def sessions(self, agent: str | None = None, q: str | None = None, limit: int | None = None) -> Call:
        return Call("GET", "/v1/sessions", query=_told(agent=agent, q=q, limit=limit))

    def create(self, agent: str, id: str | None, options: dict[str, Any]) -> Call:
        path = "/v1/sessions" if id is None else f"/v1/sessions/{quote(id, safe='')}"
        return Call("POST", path, {"agent": agent, **camel(options)})

    def of(self, id: str, tail: str = "", method: str = "GET", body: Any = None, **query: Any) -> Call:
        return Call(method, f"/v1/sessions/{quote(id, safe='')}{tail}", body, _told(**query))

    def message(self, id: str, text: str, attachments: Attachments, *, stream: bool) -> Call:
        files = [{"path": file} if isinstance(file, str) else file for file in attachments or ()]
        return self.of(id, "/messages/stream" if stream else "/messages", "POST", {"message": text, "attachments": files})

    def permission(self, id: str, ask: str, reply: str, message: str | None) -> Call:
        return self.of(id, f"/permissions/{quote(ask, safe='')}/reply", "POST", _told(reply=reply, message=message))

    def question(self, id: str, ask: str, answers: list[list[str]] | None) -> Call:
        asked = f"/questions/{quote(ask, safe='')}"
        return self.of(id, f"{asked}/reject", "POST") if answers is None else self.of(id, f"{asked}/reply", "POST", {"answers": answers})


CALLS = Calls()


class Heard(Struct, frozen=True, gc=False):
    """An event, and its JSON as it is kept in the log."""

    event: Event
    body: bytes


class Events(Struct):
    events: list[Event]


class StoredEvents(Struct):
    events: list[Raw]


class Follower:
    """Server-sent events as they come in, over any number of connections: each event once."""

    def __init__(self, session_id: str, after: int) -> None:
        self._session_id = session_id
        self.after = after
        self._pending = bytearray()

    def call(self) -> Call:
        """The request that takes the stream up where it was lost."""
        self._pending.clear()
        return CALLS.of(self._session_id, "/events/sse", offset=self.after)

    def feed(self, chunk: bytes) -> Iterator[Heard]:
        is_end = _FRAME_END in self._pending[-1:] + chunk
        self._pending += chunk
        if not is_end:
            return  # of a large event comes only a piece: what there is of it is looked through once, when it is whole
        *whole, rest = bytes(self._pending).split(_FRAME_END)
        self._pending[:] = rest
        for frame in whole:
            for line in frame.split(b"\n"):
                if line.startswith(b"data: "):
                    event = _decode(line[6:])
                    if event.sequence > self.after:
                        self.after = event.sequence
                        yield Heard(event, line[6:])


class Answer:
    """How far the events go that answer a message: to the end of its turn.

    An error in a turn is followed by the turn's end. Before any turn it may be all that there is: a prompt that is
    refused opens none. Then the session itself has to say whether it still does something.
    """

    def __init__(self) -> None:
        self._is_begun = False
        self._last: int | None = None

    def doubts(self, event: Event) -> bool:
        """Whether the session has to be asked (`settle`)."""
        self._is_begun = self._is_begun or isinstance(event, schema.TurnStarted)
        return isinstance(event, schema.Error) and not self._is_begun

    def settle(self, info: Mapping[str, Any] | None) -> None:
        if info is not None and info["status"] in ("idle", "ended"):
            self._last = info["eventCount"]

    def is_over(self, sequence: int) -> bool:
        return self._last is not None and sequence >= self._last

    def ends_with(self, event: Event) -> bool:
        return isinstance(event, schema.TurnEnded | schema.SessionEnded) or self.is_over(event.sequence)


def daemon(url: str | None, token: str | None, env: Mapping[str, str] = os.environ) -> Daemon:
    """The one that is named, by the caller or the environment; else that of this user on this machine."""
    token = token or env.get("ONETAPE_TOKEN")
    if url := url or env.get("ONETAPE_URL"):
        return Daemon(url.rstrip("/"), token)
    from onetape import paths
    from onetape.server import running

    data = paths.data_dir(env)
    found = running.find(data)
    if found is None:
        raise Unreachable("no daemon runs on this machine: `onetape server` starts one")
    return Daemon(found.url, token or running.token(data))


def settings(daemon: Daemon) -> dict[str, Any]:
    """How an HTTP client is made for it."""
    # No proxy: the daemon is on this machine, or was named on purpose. Waiting is no fault: an install takes its time.
    return {"base_url": daemon.url, "headers": _credentials(daemon), "timeout": httpx.Timeout(10.0, read=None), "trust_env": False}


def find_again(http: httpx.Client | httpx.AsyncClient, url: str | None, token: str | None) -> None:
    """A daemon that was started anew may listen somewhere else."""
    try:
        found = daemon(url, token)
    except Unreachable:
        return  # not yet: the next attempt may find it
    http.base_url = httpx.URL(found.url)
    http.headers.update(_credentials(found))


def _credentials(daemon: Daemon) -> dict[str, str]:
    return {"authorization": f"Bearer {daemon.token}"} if daemon.token else {}


def checked(response: httpx.Response) -> httpx.Response:
    """A response that was read, if it is no problem."""
    if response.status_code == 401:
        detail = "the daemon does not take this token: set ONETAPE_TOKEN to the one that it was started with"
        raise Failed(401, {**_problem(response.content), "detail": detail})
    if response.status_code >= 400:
        raise Failed(response.status_code, _problem(response.content))
    return response


def _problem(content: bytes) -> dict[str, Any]:
    try:
        problem = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return {"detail": content.decode(errors="replace")[:200] or None}
    return problem if isinstance(problem, dict) else {}


def check_health(made: Mapping[str, Any]) -> None:
    """A session whose agent ended at once is none."""
    if not made.get("healthy", True):
        told = made.get("error") or {}
        raise Failed(500, {"type": f"urn:sandbox-agent:error:{told.get('type')}", "detail": told.get("message")})


def unreachable(error: Exception) -> Unreachable:
    return Unreachable(f"the daemon does not answer: {error or type(error).__name__}")


def pause(attempt: int) -> float:
    """Seconds before the next attempt: soon, then rarer."""
    return min(2.0, 0.05 * float(1 << min(attempt, 10)))


def ask_id(ask: "str | schema.PermissionRequested | schema.QuestionRequested") -> str:
    match ask:
        case schema.PermissionRequested(data=permission):
            return permission.permission_id
        case schema.QuestionRequested(data=question):
            return question.question_id
        case _:
            return str(ask)


def located(cwd: str | Path | None, options: Options) -> dict[str, Any]:
    return {**options} if cwd is None else {**options, "directory": str(Path(cwd).resolve())}


def camel(told: Mapping[str, Any]) -> dict[str, Any]:
    """Our names in the wire's spelling."""
    return {_hump(name): value for name, value in told.items() if value is not None}


def _hump(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _told(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
