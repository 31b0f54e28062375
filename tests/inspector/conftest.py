"""A real browser on a real daemon. Where there is no browser or no page, these tests are skipped in one line; in CI they fail."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from inspector.page_daemon import TOKEN, Daemon
from inspector.page_seeds import seed_all

STATIC = Path(__file__).parents[2] / "src" / "onetape" / "server" / "static"
expect.set_options(timeout=60_000)


def _or_skip(there: object, what: str) -> None:
    if not there and os.environ.get("CI") == "true":
        pytest.fail(what)
    elif not there:
        pytest.skip(what)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    _or_skip(found, "no chromium here: the browser tests need one")
    _or_skip((STATIC / "index.html").exists(), "the page is not built: `make page` builds it")
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start for root, which containers are.
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=found, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def daemon(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("inspector"))
    seed_all(daemon.data)
    daemon.start()
    yield daemon
    daemon.close()


class Watched:
    """What a page did that it must not: errors, and requests to anywhere but its own origin."""

    def __init__(self, page: Page, origin: str) -> None:
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self._origin = origin
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("request", lambda request: self._request(request.url))

    def _console(self, type: str, text: str) -> None:
        # A daemon that is away, or that has no such route yet, is the browser's to report and no mistake of the page.
        if type == "error" and "Failed to load resource" not in text:
            self.wrong.append(f"console: {text}")

    def _request(self, url: str) -> None:
        self.requests.append(url.removeprefix(self._origin))
        if not url.startswith((self._origin + "/", "blob:" + self._origin)):
            self.wrong.append(f"request to {url}")

    @property
    def api(self) -> list[str]:
        return [path for path in self.requests if path.startswith("/v1/")]


@pytest.fixture
def page(chromium: Browser, daemon: Daemon) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, base_url=daemon.url, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.fixture
def watched(page: Page, daemon: Daemon) -> Iterator[Watched]:
    watched = Watched(page, daemon.url)
    yield watched
    assert watched.wrong == []


@pytest.fixture
def visit(page: Page, watched: Watched) -> Callable[[str], Page]:
    """Opens an address with the token, as a printed link does."""

    def visit(path: str) -> Page:
        page.goto(f"{path}#token={TOKEN}")
        return page

    return visit
