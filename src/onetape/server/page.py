"""The page in the browser: files that were built, served as they are. Public, since it holds nothing; the token is the page's to know."""

import asyncio
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import parse_qs, quote

from onetape.server.asgi import App, Headers, Receive, Scope, Send

BUILT = Path(str(files("onetape.server"))) / "static"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
NOT_BUILT = (
    "Onetape is running, and its API is at /v1 (described at /docs).\n"
    "The page is not built: in a checkout, run `npm ci && npm run build` in inspector/ and start the server again.\n"
)


class Page:
    """In front of the API: what belongs to the page is answered here."""

    def __init__(self, app: App, built: Path = BUILT) -> None:
        self._app = app
        self._files = {f"/{file.relative_to(built).as_posix()}": file for file in built.rglob("*") if file.is_file()}
        self._index = self._files.get("/index.html")

    def serves(self, method: str, path: str) -> bool:
        return method in ("GET", "HEAD") and (_is_view(path) or _is_old(path) or path in self._files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self.serves(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        if _is_old(scope["path"]):
            await _redirect(send, _new_address(scope))
            return
        file = self._index if _is_view(scope["path"]) else self._files[scope["path"]]
        body = await asyncio.to_thread(file.read_bytes) if file else NOT_BUILT.encode()
        await send({"type": "http.response.start", "status": 200, "headers": _headers(file, scope["path"], len(body))})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body, "more_body": False})


def _is_view(path: str) -> bool:
    """The addresses of views, which are the page's own business."""
    return path in ("/", "/sessions") or path.startswith("/sessions/")


def _is_old(path: str) -> bool:
    """Where the published API has its page, and where its client's links lead."""
    return path == "/ui" or path.startswith("/ui/")


def _new_address(scope: Scope) -> str:
    """The same view here. A token in the query goes on in the fragment, which nobody logs."""
    view = scope["path"].removeprefix("/ui")
    place = quote(view, safe="/") if view.startswith("/sessions/") else "/"
    token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return f"{place}#token={quote(token[0], safe='')}" if token else place


async def _redirect(send: Send, address: str) -> None:
    headers = [(b"location", address.encode()), (b"content-length", b"0"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 307, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _headers(file: Path | None, path: str, size: int) -> Headers:
    mime = (guess_type(file.name)[0] or "application/octet-stream") if file else "text/plain"
    if mime.startswith("text/") or mime == "application/javascript":
        mime += "; charset=utf-8"
    # Names in assets/ hold their content's hash.
    cached = "public, max-age=31536000, immutable" if path.startswith("/assets/") else "no-cache"
    told = {"content-type": mime, "content-length": str(size), "cache-control": cached, "content-security-policy": POLICY}
    return [(name.encode(), value.encode()) for name, value in told.items()]
