"""Who is let in, and what the page may do. Without agents: nothing here gets as far as one."""

import asyncio
import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from onetape.server import app, docs, openapi
from onetape.server.asgi import App
from onetape.server.daemon import Daemon
from onetape.server.page import Page
from onetape.server.security import Cors, Gate, Policy
from onetape.sessions import Sessions
from onetape.stores.memory import Memory
from serving import TOKEN

URL = "http://127.0.0.1:2468"


def ask(application: App, method: str, path: str, **request: Any) -> httpx.Response:
    async def asking() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url=URL) as client:  # type: ignore[arg-type]
            return await client.request(method, path, **request)

    return asyncio.run(asking())


@pytest.fixture
def application(tmp_path: Path) -> App:
    return app.create(Daemon(Sessions(Memory(), root=tmp_path)), Policy(TOKEN))


@pytest.fixture
def with_policy(tmp_path: Path) -> Callable[..., App]:
    return lambda **policy: app.create(Daemon(Sessions(Memory(), root=tmp_path)), Policy(**{"token": TOKEN, **policy}))


def every_route() -> list[tuple[str, str]]:
    routes = app.framework(Daemon(Sessions(Memory()))).routes
    return sorted((method, re.sub(r"\{\w+:\w+\}", "1", route.path)) for route in routes for method in route.methods)  # type: ignore[union-attr]


def test_every_route_but_health_needs_the_token(application: App) -> None:
    routes = every_route()
    assert len(routes) > 40 and ("GET", "/docs") in routes and ("POST", "/v1/fs/upload-batch") in routes
    for method, path in routes:
        answer = ask(application, method, path)
        if path == "/v1/health" and method in ("GET", "HEAD"):
            assert answer.status_code == 200
        else:
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["type"] == "urn:sandbox-agent:error:token_invalid"
            assert answer.headers["www-authenticate"].startswith("Bearer" if path.startswith("/v1") else "Basic")


def test_what_is_not_there_is_not_told_to_strangers(application: App) -> None:
    for path in ("/v1/nothing", "/anything", "/v1", "/v1/health/x", "/assets/x.js"):
        assert ask(application, "GET", path).status_code == 401, path


def basic(password: str, user: str = "") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), (f"Token {TOKEN}", 200), (basic(TOKEN), 200), (basic(TOKEN, "me"), 200),
        ("", 401), (TOKEN, 401), ("Bearer", 401), ("Bearer ", 401), (f"Bearer {TOKEN}x", 401), (f"Bearer {TOKEN[:-1]}", 401),
        ("Basic !!!", 401), (basic("", TOKEN), 401), (basic("wrong"), 401), ("Digest x", 401), ("Bearer \xff", 401),
    ],
)  # fmt: skip
def test_tokens(application: App, authorization: str, status: int) -> None:
    assert ask(application, "GET", "/v1/pending", headers={"Authorization": authorization.encode("latin-1")}).status_code == status


def test_without_a_token_everybody_is_let_in(with_policy: Callable[..., App]) -> None:
    assert ask(with_policy(token=None), "GET", "/v1/pending").status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:2468", 200), ("localhost:2468", 200), ("LOCALHOST", 200), ("[::1]:2468", 200), ("192.168.1.7:2468", 200),
        ("evil.example", 403), ("localhost.evil.example:2468", 403), ("127.0.0.1.evil.example", 403), ("", 403),
        ("evil.example@localhost", 403), ("localhost/evil", 403), ("[::1", 403),
    ],
)  # fmt: skip
def test_hosts(application: App, host: str, status: int) -> None:
    for path in ("/v1/health", "/"):
        answer = ask(application, "GET", path, headers={"Host": host})
        assert answer.status_code == status
    assert ask(application, "GET", "/v1/pending", headers={"Host": host, "Authorization": f"Bearer {TOKEN}"}).status_code == status


def test_more_hosts(with_policy: Callable[..., App]) -> None:
    assert ask(with_policy(hosts=frozenset({"box.example"})), "GET", "/v1/health", headers={"Host": "Box.Example:80"}).status_code == 200
    assert ask(with_policy(hosts=frozenset({"*"})), "GET", "/v1/health", headers={"Host": "any.example"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://127.0.0.1:2468", "127.0.0.1:2468", 200), ("http://localhost", "localhost:80", 200),
        ("https://localhost", "localhost", 200),
        ("http://127.0.0.1:2469", "127.0.0.1:2468", 403), ("http://localhost:2468", "127.0.0.1:2468", 403), ("null", "127.0.0.1:2468", 403),
        ("http://evil.example", "127.0.0.1:2468", 403), ("http://127.0.0.1:x", "127.0.0.1:2468", 403), ("", "127.0.0.1:2468", 403),
    ],
)  # fmt: skip
def test_origins(application: App, origin: str, host: str, status: int) -> None:
    for path in ("/v1/health", "/v1/pending", "/"):
        headers = {"Origin": origin, "Host": host, "Authorization": f"Bearer {TOKEN}"}
        answer = ask(application, "GET", path, headers=headers)
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers


def test_no_cors_unless_it_was_asked_for(application: App) -> None:
    preflight = {"Origin": URL, "Access-Control-Request-Method": "POST"}
    answer = ask(application, "OPTIONS", "/v1/sessions", headers=preflight)
    assert answer.status_code == 401 and not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_cors(with_policy: Callable[..., App]) -> None:
    page = "https://page.example"
    shared = with_policy(cors=Cors(frozenset({page})))
    preflight = {"Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, x-mine"}
    answer = ask(shared, "OPTIONS", "/v1/sessions", headers=preflight)
    assert answer.status_code == 204 and answer.headers["access-control-allow-origin"] == page
    assert answer.headers["access-control-allow-headers"] == "authorization, x-mine"
    assert "PATCH" in answer.headers["access-control-allow-methods"]
    refused = ask(shared, "GET", "/v1/pending", headers={"Origin": page})
    assert refused.status_code == 401 and refused.headers["access-control-allow-origin"] == page  # so that the page can read why
    allowed = ask(shared, "GET", "/v1/pending", headers={"Origin": page, "Authorization": f"Bearer {TOKEN}"})
    assert allowed.status_code == 200 and allowed.headers["access-control-allow-origin"] == page and allowed.headers["vary"] == "Origin"
    assert ask(shared, "GET", "/v1/health", headers={"Origin": "https://other.example"}).status_code == 403
    narrow = with_policy(cors=Cors(frozenset({page}), ("GET",), ("X-One",), True))
    answer = ask(narrow, "OPTIONS", "/v1/sessions", headers=preflight)
    told = {name: answer.headers[f"access-control-allow-{name}"] for name in ("methods", "headers", "credentials")}
    assert told == {"methods": "GET", "headers": "X-One", "credentials": "true"}


def test_headers_of_answers(application: App) -> None:
    for path in ("/v1/pending", "/v1/nothing", "/docs", "/"):
        answer = ask(application, "GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"].partition("script-src")[2]
    assert ask(application, "GET", "/v1/pending", headers={"Authorization": f"Bearer {TOKEN}"}).headers["cache-control"] == "no-store"


def test_websockets_are_not_spoken(application: App) -> None:
    async def never(*_: object) -> None:
        raise AssertionError("nothing is asked of it, and nothing is told")

    asyncio.run(application({"type": "websocket", "path": "/v1/events/sse", "headers": []}, never, never))  # type: ignore[arg-type]


# --- the page ---------------------------------------------------------------------


@pytest.fixture
def built(tmp_path: Path) -> App:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>page</title>")
    (static / "assets" / "main-abc.js").write_text("1")
    (tmp_path / "secret").write_text("not part of it")
    page = Page(app.framework(Daemon(Sessions(Memory(), root=tmp_path))), static)  # type: ignore[arg-type]
    return Gate(page, Policy(TOKEN), page.serves)


def test_the_page_is_public_and_has_deep_links(built: App) -> None:
    for path in ("/", "/sessions", "/sessions/abc", "/sessions/a%2Fb", "/index.html"):
        answer = ask(built, "GET", path)
        assert answer.status_code == 200 and answer.text.startswith("<!doctype html>")
        assert answer.headers["content-type"].startswith("text/html")
        assert "connect-src 'self'" in answer.headers["content-security-policy"] and answer.headers["cache-control"] == "no-cache"
    script = ask(built, "GET", "/assets/main-abc.js")
    assert script.headers["content-type"].partition(";")[0] in ("text/javascript", "application/javascript")
    assert "immutable" in script.headers["cache-control"]
    head = ask(built, "HEAD", "/")
    assert head.status_code == 200 and head.content == b"" and int(head.headers["content-length"]) > 0
    assert ask(built, "POST", "/").status_code == 401
    for path in ("/../secret", "/assets/../../secret", "/%2e%2e/secret", "/assets/"):
        assert ask(built, "GET", path).status_code == 401, path


def test_links_of_the_published_client_lead_to_the_page(built: App) -> None:
    for path, place in (
        ("/ui", "/"), ("/ui/", "/"), ("/ui/?token=a%26b%23c", "/#token=a%26b%23c"), ("/ui/?headers=%7B%7D", "/"),
        ("/ui/sessions/a%20b?token=t", "/sessions/a%20b#token=t"), ("/ui//elsewhere.example", "/"),
        ("/ui/sessions/%0D%0AX", "/sessions/%0D%0AX"),
    ):  # fmt: skip
        answer = ask(built, "GET", path)
        assert answer.status_code == 307 and answer.headers["location"] == place
    assert ask(built, "GET", "/uid").status_code == 401 and ask(built, "POST", "/ui/").status_code == 401


def test_a_page_that_is_not_built_says_so(tmp_path: Path) -> None:
    page = Page(app.framework(Daemon(Sessions(Memory(), root=tmp_path))), tmp_path / "nothing")  # type: ignore[arg-type]
    answer = ask(page, "GET", "/sessions/abc")
    assert answer.status_code == 200 and "npm run build" in answer.text and answer.headers["content-type"].startswith("text/plain")


# --- the description --------------------------------------------------------------


def test_the_description_is_served_and_loads_nothing(application: App) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    document = ask(application, "GET", "/v1/openapi.json", headers=headers).json()
    assert document["openapi"].startswith("3.1") and document == openapi.describe(app.ROUTES)
    page = ask(application, "GET", "/docs", headers=headers)
    assert page.headers["content-type"].startswith("text/html") and "/v1/sessions/{session_id}/events/sse" in page.text
    assert not re.search(r"<script|<link|src=|url\(|https?://(?!json-schema)", page.text)




def test_the_table_in_the_docs(golden: Callable[[Path, str], None]) -> None:
    file = Path(__file__).parent.parent / "docs" / "http.md"
    before, rest = re.split(r"(?<=--rewrite` -->\n)", file.read_text())
    after = rest[rest.index("<!-- end of routes -->") :]
    golden(file, f"{before}{docs.table(openapi.describe(app.ROUTES))}\n{after}")
