"""Every error as a problem object (RFC 9457), the framework's own included.

    {"type": "urn:sandbox-agent:error:<kind>", "title": …, "status": …, "detail": …}

A kind has one status. What a person may read is in `detail`; of a bug of ours nothing is told but that it was one.
"""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from msgspec import Struct

from onetape import errors

_log = logging.getLogger(__name__)

URN = "urn:sandbox-agent:error:"
MEDIA_TYPE = "application/problem+json"

KINDS: dict[str, tuple[int, str]] = {
    "invalid_request": (400, "Invalid Request"),
    "unsupported_agent": (400, "Unsupported Agent"),
    "mode_not_supported": (400, "Mode Not Supported"),
    "token_invalid": (401, "Token Invalid"),
    "permission_denied": (403, "Permission Denied"),
    "agent_not_installed": (404, "Agent Not Installed"),
    "session_not_found": (404, "Session Not Found"),
    "not_found": (404, "Not Found"),
    "method_not_allowed": (405, "Method Not Allowed"),
    "session_already_exists": (409, "Session Already Exists"),
    "conflict": (409, "Conflict"),
    "too_large": (413, "Too Large"),
    "install_failed": (500, "Install Failed"),
    "agent_process_exited": (500, "Agent Process Exited"),
    "internal_error": (500, "Internal Error"),
    "stream_error": (502, "Stream Error"),
    "timeout": (504, "Timeout"),
}

# The first that fits: children stand before their parents.
_OURS: dict[type[Exception], str] = {
    errors.ModeNotSupported: "mode_not_supported",
    errors.NotInstalled: "agent_not_installed",
    errors.Missing: "not_found",
    errors.Exists: "session_already_exists",
    errors.Conflict: "conflict",
    errors.Forbidden: "permission_denied",
    errors.Refused: "invalid_request",
    errors.InstallFailed: "install_failed",
    errors.AgentFailed: "agent_process_exited",
    errors.OnetapeError: "internal_error",
    TimeoutError: "timeout",
}
_BY_STATUS = {
    401: "token_invalid", 403: "permission_denied", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 504: "timeout",
}  # fmt: skip

# Where the framework has no more to say than the status's own name.
_OF_STATUS = {404: "there is no route {}", 405: "there is no route {}: the path takes other methods", 413: "the body of {} is too large"}


class Problem(Struct, frozen=True, omit_defaults=True, rename="camel"):
    type: str
    title: str
    status: int
    detail: str | None = None
    agent: str | None = None
    session_id: str | None = None
    details: Any = None


class Refusal(errors.Refused):
    """A refusal of the server's own, of a certain kind."""

    def __init__(self, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.kind = kind
        self.more = more


def problem(kind: str, detail: str | None = None, **more: Any) -> Problem:
    status, title = KINDS[kind]
    return Problem(URN + kind, title, status, detail, **more)


def problem_of(error: Exception, named: Mapping[str, str], asked: str = "") -> Problem:
    """`named`: the session or agent that the request's path names; `asked`: the request itself, e.g. `GET /v1/nothing`."""
    told: dict[str, Any] = {key: named[key] for key in ("agent", "session_id") if key in named}
    match error:
        case Refusal():
            return problem(error.kind, str(error), **told | error.more)
        case HTTPException():
            return _of_framework(error, told, asked)
        case UnicodeDecodeError():  # the framework's decoder lets it through; ours are for what agents say
            return problem("invalid_request", "the body is not UTF-8", **told)
        case _:
            kind = next((kind for parent, kind in _OURS.items() if isinstance(error, parent)), None)
            if kind is None:
                return problem("internal_error", _words_of(error), **told)
            return problem("session_not_found" if _is_session(error, named) else kind, str(error) or None, **told)


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """The framework's handler of exceptions."""
    # As it was sent: the decoded one may hold what is not Unicode (spelling.py).
    path = request.scope["raw_path"].decode("ascii", "replace")
    told = problem_of(error, request.scope.get("path_params") or {}, f"{request.method} {path}")
    if told.status >= 500:
        _log.error("request failed", extra={"method": request.method, "kind": told.type, "error": type(error).__name__}, exc_info=error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Response(told, status_code=told.status, media_type=MEDIA_TYPE, headers=headers)


def encoded(told: Problem) -> bytes:
    return msgspec.json.encode(told)


def _of_framework(error: HTTPException, told: dict[str, Any], asked: str) -> Problem:
    kind = _BY_STATUS.get(error.status_code, "invalid_request" if error.status_code < 500 else "internal_error")
    detail = _detail(error, asked) if error.status_code < 500 else None
    made = problem(kind, detail, details=error.extra or None, **told)
    # A status without a kind of its own (406, 415, …) keeps its number.
    return made if error.status_code in (*_BY_STATUS, 400, 500) else msgspec.structs.replace(made, status=error.status_code)


def _detail(error: HTTPException, asked: str) -> str:
    """What is wrong, in words that stand alone: clients show this and nothing else."""
    if (words := _OF_STATUS.get(error.status_code)) is not None:
        return words.format(asked)
    match error.extra:
        case [{"key": "data", "source": "body", "message": "'data'"}]:
            return "a JSON body is missing"
        case [{"key": key, "message": message, **more}, *_]:
            return message if key == "data" else f"{_spelled(key) if more.get('source') == 'query' else key}: {message}"
        case _:
            return error.detail


def _spelled(name: str) -> str:
    """A parameter as it is spelled on the wire; the framework tells the name that our function has for it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _words_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:  # a full disk, for example
        return f"the server's system says: {error.strerror}"
    return "this is a bug of onetape's: the server's log has more"


def _is_session(error: Exception, named: Mapping[str, str]) -> bool:
    return type(error) is errors.Missing and "session_id" in named
