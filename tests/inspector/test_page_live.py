"""Nothing lost and nothing doubled: a daemon that restarts, a network that drops, a list that stays true."""

import re
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from inspector.page_daemon import Daemon, Wire

Visit = Callable[[str], Page]


@pytest.fixture
def own(chromium: Browser, tmp_path) -> Daemon:  # type: ignore[no-untyped-def]
    """A daemon for one test alone, which may be killed."""
    daemon = Daemon(tmp_path)
    daemon.start()
    yield daemon
    daemon.close()


@pytest.fixture
def own_page(chromium: Browser, own: Daemon) -> Page:  # type: ignore[misc]
    context = chromium.new_context(base_url=own.url, viewport={"width": 1200, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_in_mid_stream_loses_and_doubles_nothing(own: Daemon, own_page: Page, how: signal.Signals) -> None:
    session = own.session()
    own.ask(session, "echo before")
    own_page.goto(f"/sessions/{session}#token=browser-tests")
    own.say(session, "slow 4000")
    expect(own_page.locator(".message.assistant").last).to_contain_text("tape wire")
    own.stop(how)
    expect(own_page.get_by_text("reconnecting").first).to_be_visible()
    own.start()
    # The daemon ended the session that was cut off; the page learns it without being asked to.
    expect(own_page.get_by_text(re.compile("^Session (terminated|ended with an error)"))).to_be_visible()
    events = own.events(session)
    expect(own_page.locator(".transcript")).to_have_attribute("data-last", str(len(events)))
    expect(own_page.get_by_text("reconnecting")).to_have_count(0)
    items = [event["data"]["item"] for event in events if event["type"] == "item.completed"]
    answer = [item for item in items if item["role"] == "assistant"][-1]
    words = answer["content"][0]["text"].split()
    assert own_page.locator(".message.assistant").last.locator(".prose").inner_text().split() == words
    drawn = own_page.locator("article").evaluate_all("rows => rows.map(row => row.dataset.row)")
    assert len(drawn) == len(set(drawn))


def test_a_network_gap_is_made_good(own: Daemon, own_page: Page) -> None:
    session = own.session()
    with Wire(own.port) as wire:
        own_page.goto(f"{wire.url}/sessions/{session}#token=browser-tests")
        expect(own_page.get_by_text("Session started")).to_be_visible()
        wire.cut()
        expect(own_page.get_by_text("reconnecting").first).to_be_visible()
        for word in ("one", "two", "three"):
            own.ask(session, f"echo {word}")
        wire.mend()
        _check_all_three(own_page)


def _check_all_three(own_page: Page) -> None:
    expect(own_page.locator(".message.assistant")).to_have_text(["one", "two", "three"])
    expect(own_page.locator(".message.user")).to_have_count(3)


def test_the_list_lives(visit: Visit, daemon: Daemon) -> None:
    page = visit("/")
    expect(page.get_by_role("columnheader", name="Tokens")).to_be_visible()
    session = daemon.session(title="Watch this one")
    row = page.locator("tbody tr", has_text="Watch this one")
    expect(row).to_contain_text("idle")
    expect(row).to_contain_text("mock")
    daemon.say(session, "hang")
    expect(row).to_contain_text("running")
    daemon.http.post(f"/v1/sessions/{session}/interrupt")
    expect(row).to_contain_text("idle")
    daemon.ask(session, "usage")
    expect(row.locator(".turns")).to_have_text("2")
    expect(row.locator(".tokens")).not_to_have_text("–")
    expect(row.locator(".cost")).to_contain_text("$")
    daemon.ask(session, "permission")
    expect(row).to_contain_text("waiting for you")
    daemon.http.post(f"/v1/sessions/{session}/terminate")
    expect(row).to_contain_text("ended")


def test_the_list_is_filtered(visit: Visit, daemon: Daemon) -> None:
    daemon.session(title="A very particular title")
    page = visit("/")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("f")
    page.keyboard.type("particular very")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("filter sessions").fill("")
    page.get_by_label("agent").select_option("codex")
    expect(page.locator("tbody tr td.agent")).to_have_text([re.compile("codex")] * page.locator("tbody tr").count())
    page.get_by_label("status").select_option("ended")
    expect(page.locator("tbody tr").first).to_contain_text("ended")


def test_without_a_token_there_is_a_form_for_it(page: Page, daemon: Daemon) -> None:
    page.goto("/")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_text("wants its token")).to_be_visible()
    page.get_by_label("Token").fill("browser-tests")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    page.reload()
    expect(page.locator("tbody tr").first).to_be_visible()


def test_the_token_leaves_the_address_and_stays_in_the_tab(visit: Visit) -> None:
    page = visit("/")
    expect(page.locator("tbody tr").first).to_be_visible()
    assert "token" not in page.url
    assert page.evaluate("() => sessionStorage.getItem('onetape.token')") == "browser-tests"
    assert page.evaluate("() => JSON.stringify(localStorage)").find("browser-tests") == -1
