"""What clients may spell in two ways, brought to one before anything is routed.

Query names come as `includeRaw` or `include_raw`. And an id may hold a slash, which arrives as `%2F`:
servers decode the path before we see it, so the undecoded one is read again, and such a slash becomes a
character that no decoded path can hold until the route is found.
"""

import re
from typing import Any
from urllib.parse import unquote

from litestar import Request

from onetape.server.asgi import App, Receive, Scope, Send

# A lone surrogate: what is decoded from UTF-8 never has one.
_SLASH = "\udc2f"
_SNAKE = re.compile(rb"(^|&)(include_raw|session_id)(?==|&|$)")
_CAMEL = {b"include_raw": b"includeRaw", b"session_id": b"sessionId"}


class OneSpelling:
    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A copy: the server logs what it was sent.
        await self._app({**scope, **_rewritten(scope)} if scope["type"] == "http" else scope, receive, send)


def _rewritten(scope: Scope) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if b"_" in scope["query_string"]:
        told["query_string"] = _SNAKE.sub(lambda found: found[1] + _CAMEL[found[2]], scope["query_string"])
    if b"%2f" in (raw := scope.get("raw_path") or b"").lower():
        told["path"] = "/".join(unquote(part).replace("/", _SLASH) for part in raw.decode("ascii", "replace").split("/"))
    return told


async def restore_slashes(request: Request[Any, Any, Any]) -> None:
    """Once the route is known: ids as their client meant them."""
    if _SLASH in request.scope["path"]:
        # A new one: the router remembers the old one for the next request to the same path.
        told = request.scope["path_params"].items()
        request.scope["path_params"] = {name: value.replace(_SLASH, "/") if isinstance(value, str) else value for name, value in told}
