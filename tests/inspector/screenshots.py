"""Pictures of the page for the README, taken of a real daemon with recordings of all agents: `python tests/inspector/screenshots.py`."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

from playwright.sync_api import Browser, Page, sync_playwright

from inspector.page_daemon import TOKEN, Daemon
from inspector.page_seeds import CAPTURES
from onetape.agents import registry
from onetape.archive.finding import Search
from onetape.archive.importing import bring_in
from onetape.stores.sqlite import Sqlite

PLACE = Path(__file__).parents[2] / "docs" / "images"
SIZE: Any = {"width": 1360, "height": 860}


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    with daemon() as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        show(browser, served)
        browser.close()


@contextmanager
def daemon() -> Iterator[Daemon]:
    with tempfile.TemporaryDirectory() as directory:
        served = Daemon(Path(directory))
        store = Sqlite(served.data)
        for found in Search(registry.every()).named([CAPTURES]):
            bring_in(store, found)
        store.close()
        served.start()
        try:
            yield served
        finally:
            served.close()


def show(browser: Browser, served: Daemon) -> None:
    demo = served.session(title="A tour of everything")
    served.ask(demo, "demo")
    served.say(served.session(title="Tidy up the build"), "permission")
    served.say(served.session(title="Which database?"), "question")
    light, dark = opened(browser, served, "light"), opened(browser, served, "dark")
    light.goto("/")
    light.get_by_text("Tidy up the build").first.wait_for()
    picture(light, "sessions")
    dark.goto(f"/sessions/{demo}")
    dark.get_by_text("That was all.").wait_for()
    change = dark.locator("article", has_text="edit").filter(has_text="hello.py").last
    change.locator("[aria-expanded]").first.click()
    change.scroll_into_view_if_needed()
    dark.wait_for_timeout(300)
    picture(dark, "transcript")
    dark.goto(f"/sessions/{demo}?at=30")
    dark.locator("article").first.wait_for()
    dark.keyboard.press("i")
    dark.wait_for_timeout(800)
    picture(dark, "hood")
    light.goto("/?view=usage")
    light.wait_for_timeout(800)
    picture(light, "usage")


def opened(browser: Browser, served: Daemon, scheme: str) -> Page:
    context = browser.new_context(viewport=SIZE, base_url=served.url, color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"/#token={TOKEN}")
    return page


def picture(page: Page, name: str) -> None:
    page.screenshot(path=PLACE / f"{name}.png")


if __name__ == "__main__":
    main()
