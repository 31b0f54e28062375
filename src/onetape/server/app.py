"""The application: the routes of every noun, with security in front and problems behind.

    Gate (host, origin, token) → OneSpelling → Page → the framework → a route

A noun of its own is one more file with `ROUTES`, and its name in `NOUNS`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from litestar import Litestar, Response, route
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler

from onetape.server import agents, archive, asks, blobs, digest, events, export, fs, health, messages, openapi, pending, sessions
from onetape.server.asgi import App
from onetape.server.daemon import Daemon
from onetape.server.page import Page
from onetape.server.problems import answer
from onetape.server.security import Gate, Policy
from onetape.server.spelling import OneSpelling, restore_slashes

NOUNS: tuple[Any, ...] = (health, agents, sessions, messages, events, asks, pending, digest, export, archive, blobs, fs)
ROUTES: tuple[HTTPRouteHandler, ...] = tuple(route for noun in NOUNS for route in noun.ROUTES)

MOST_BYTES = 16 << 20
"""Of a request that is not an upload."""


def create(daemon: Daemon, policy: Policy) -> App:
    page = Page(cast(App, framework(daemon)))
    return Gate(OneSpelling(page), policy, lambda method, path: is_health(method, path) or page.serves(method, path))


def framework(daemon: Daemon) -> Litestar:
    def given() -> Daemon:
        return daemon

    return Litestar(
        [*_options(ROUTES), *ROUTES, *openapi.routes(ROUTES)],
        dependencies={"daemon": Provide(given, sync_to_thread=False)},
        exception_handlers={Exception: answer},
        before_request=restore_slashes,
        request_max_body_size=MOST_BYTES,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )


def _options(routes: Iterable[HTTPRouteHandler]) -> Iterator[HTTPRouteHandler]:
    """What a path can do. The framework's own answer knows only of the first route that it met there (2.25)."""
    methods: dict[str, set[str]] = {}
    for known in routes:
        for path in known.paths:
            methods.setdefault(path, {"OPTIONS"}).update(known.http_methods)
    for path, allowed in methods.items():
        yield _options_of(path, ", ".join(sorted(allowed)))


def _options_of(path: str, allowed: str) -> HTTPRouteHandler:
    @route(path, http_method="OPTIONS", status_code=204, include_in_schema=False, sync_to_thread=False)
    def options() -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": allowed})

    return options


def is_health(method: str, path: str) -> bool:
    return method in ("GET", "HEAD") and path == "/v1/health"
