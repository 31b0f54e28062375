"""Who is let in: hosts, origins and the token, decided before anything else looks at a request.

Outside the framework on purpose: a route cannot forget it, and what does not exist is not told to strangers.
docs/security.md says against whom.
"""

import base64
import binascii
import hmac
import ipaddress
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import urlsplit

from msgspec import Struct

from onetape.server import problems
from onetape.server.asgi import App, Headers, Message, Receive, Scope, Send
from onetape.server.problems import Problem, problem

RAW_SEND = "onetape.send"
"""Where in the scope a stream finds the server's own `send`: once a response has begun, nothing needs to look at what follows."""

_ALWAYS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
# Whatever an answer holds, a transcript's HTML or SVG for example: opened as a document it can do nothing.
_INERT = (b"content-security-policy", b"default-src 'none'; sandbox; frame-ancestors 'none'")


class Cors(Struct, frozen=True):
    """Pages of other origins that may use this server. By default there are none."""

    origins: frozenset[str] = frozenset()
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    credentials: bool = False

    def allows(self, origin: str) -> bool:
        return origin in self.origins or "*" in self.origins

    def of_answer(self, origin: str) -> Headers:
        told = [(b"access-control-allow-origin", origin.encode()), (b"vary", b"Origin")]
        return told + ([(b"access-control-allow-credentials", b"true")] if self.credentials else [])

    def of_preflight(self, origin: str, wanted: str) -> Headers:
        methods = ", ".join(self.methods) or "GET, POST, PUT, PATCH, DELETE"
        # What is asked for, where nothing narrower was set: an origin that is allowed at all is trusted with the token.
        headers = ", ".join(self.headers) or wanted or "Authorization, Content-Type, Last-Event-ID"
        allowed = [(b"access-control-allow-methods", methods.encode()), (b"access-control-allow-headers", headers.encode("latin-1"))]
        return [*self.of_answer(origin), *allowed, (b"access-control-max-age", b"600")]


class Policy(Struct, frozen=True):
    token: str | None
    """None: nobody needs one (`--no-token`)."""
    hosts: frozenset[str] = frozenset({"localhost"})
    """Names under which this server may be asked, lower-case; `*` is any. Addresses always may: no stranger's name can be one."""
    cors: Cors = Cors()

    def knows_host(self, host: str) -> bool:
        name = _name_of(host)
        return name is not None and (_is_address(name) or name in self.hosts or "*" in self.hosts)

    def knows_origin(self, origin: str, host: str) -> bool:
        return self.cors.allows(origin) or _authority(origin) == _authority(f"//{host}", origin)

    def knows_token(self, authorization: str) -> bool:
        return self.token is None or _is_same(_credentials(authorization), self.token)


class Gate:
    """`is_public`: the paths that need no token."""

    def __init__(self, app: App, policy: Policy, is_public: Callable[[str, str], bool]) -> None:
        self._app = app
        self._policy = policy
        self._is_public = is_public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        told = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = told.get(b"origin")
        refusal = self._refusal(scope, told)
        of_origin = self._policy.cors.of_answer(origin) if origin is not None and self._policy.cors.allows(origin) else []
        if refusal is not None:
            await refuse(send, refusal, [*of_origin, *_challenge(refusal, scope["path"])])
        elif _is_preflight(scope, told) and of_origin:
            wanted = told.get(b"access-control-request-headers", "")
            await _answer(send, 204, self._policy.cors.of_preflight(str(origin), wanted), b"")
        else:
            scope[RAW_SEND] = send
            await self._app(scope, receive, _with_headers(send, of_origin, is_shared=bool(self._policy.cors.origins)))

    def _refusal(self, scope: Scope, told: dict[bytes, str]) -> Problem | None:
        policy, host, origin = self._policy, told.get(b"host", ""), told.get(b"origin")
        if not policy.knows_host(host):
            return problem("permission_denied", "this server is not asked under this host name: --allow-host adds one")
        if origin is not None and not policy.knows_origin(origin, host):
            return problem("permission_denied", "pages of this origin may not use this server: --cors-allow-origin adds one")
        if _is_preflight(scope, told) and origin is not None and policy.cors.allows(origin):
            return None  # it never carries the token
        if self._is_public(scope["method"], scope["path"]) or policy.knows_token(told.get(b"authorization", "")):
            return None
        return problem("token_invalid", "this needs the server's token: Authorization: Bearer …")


async def refuse(send: Send, told: Problem, headers: Headers) -> None:
    await _answer(send, told.status, [(b"content-type", problems.MEDIA_TYPE.encode()), *headers], problems.encoded(told))


async def _answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    whole = [*headers, *_ALWAYS, (b"cache-control", b"no-store"), _INERT, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": whole})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _with_headers(send: Send, of_origin: Headers, *, is_shared: bool) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            known = {name.lower() for name, _ in headers}
            ours = [*_ALWAYS, _INERT, (b"cache-control", b"no-store")]
            if not is_shared:
                ours.append((b"cross-origin-resource-policy", b"same-origin"))
            message["headers"] = [*headers, *of_origin, *(header for header in ours if header[0] not in known)]
        await send(message)

    return sending


def _challenge(refusal: Problem, path: str) -> Headers:
    if refusal.status != 401:
        return []
    # Browsers put up a dialogue for Basic: wanted where a person opens an address, not where a page fetches.
    return [(b"www-authenticate", b'Bearer realm="onetape"' if path.startswith("/v1") else b'Basic realm="onetape"')]


def _is_preflight(scope: Scope, told: dict[bytes, str]) -> bool:
    return scope["method"] == "OPTIONS" and b"access-control-request-method" in told


def _credentials(authorization: str) -> str:
    """The token out of `Bearer T`, `Token T`, or Basic with T as password."""
    scheme, _, value = authorization.partition(" ")
    match scheme.lower():
        case "bearer" | "token":
            return value.strip()
        case "basic":
            try:
                return base64.b64decode(value, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return ""
        case _:
            return ""


def _is_same(told: str, token: str) -> bool:
    # Of digests, which are equally long: not even the token's length takes measurable time to find.
    return hmac.compare_digest(sha256(told.encode("utf-8", "surrogateescape")).digest(), sha256(token.encode()).digest())


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname if host and "@" not in host and "/" not in host else None
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _authority(address: str, like: str = "") -> tuple[str | None, int] | None:
    """Host and port; the port that the scheme means where none is given. A proxy may have taken TLS off, so http and https are one."""
    try:
        parts = urlsplit(address)
        default = 443 if (parts.scheme or urlsplit(like).scheme) == "https" else 80
        return (parts.hostname, parts.port or default) if parts.hostname else None
    except ValueError:
        return None
