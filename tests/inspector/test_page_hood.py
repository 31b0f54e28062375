"""Under the hood, search and usage: what is behind a transcript, and beside it."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from inspector.page_daemon import Daemon
from inspector.page_seeds import LONG, LONG_EVENTS

Visit = Callable[[str], Page]


@pytest.fixture(scope="module")
def session(daemon: Daemon) -> str:
    session = daemon.session(title="Behind")
    for message in ("command", "unknown", "unparsed", "permission"):
        daemon.ask(session, message)
    daemon.http.post(f"/v1/sessions/{session}/interrupt")
    return session


def test_an_event_stands_beside_its_native_record(visit: Visit, session: str) -> None:
    page = visit(f"/sessions/{session}")
    row = page.locator("article", has_text="There is no missing.txt.").last
    row.hover()
    row.get_by_label("look under the hood of this row").click()
    universal = page.get_by_role("region", name="universal event").locator("code")
    native = page.get_by_role("region", name="native record").locator("code")
    expect(universal).to_contain_text('"item.completed"')
    expect(native).to_contain_text('"block_end"')
    sequence = json.loads(universal.inner_text())["sequence"]
    page.get_by_label("previous event").click()
    expect(universal).to_contain_text(f'"sequence": {sequence - 1},')
    assert universal.bounding_box()["x"] < native.bounding_box()["x"]  # type: ignore[index]
    page.get_by_role("button", name="Copy as curl").click()
    command = page.evaluate("() => navigator.clipboard.readText()")
    assert f"offset={sequence - 2}&limit=1" in command and "browser-tests" not in command


def test_the_list_of_events_is_filtered_and_leads_to_them(visit: Visit, daemon: Daemon, session: str) -> None:
    page = visit(f"/sessions/{session}")
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()
    page.keyboard.press("d")
    page.get_by_role("tab", name="Events").click()
    total = len(daemon.events(session))
    expect(page.locator(".hood [role=status]")).to_contain_text(f"of {total} events")
    page.get_by_label("event type").select_option("permission.requested")
    found = page.locator(".hood .event")
    expect(found).to_have_count(1)
    found.click()
    expect(page.get_by_role("region", name="universal event").locator("code")).to_contain_text('"permission.requested"')
    page.get_by_role("button", name="Show in transcript").click()
    expect(page.locator("article.current")).to_be_in_viewport()


def test_a_timeline_of_a_long_session(visit: Visit) -> None:
    page = visit(f"/sessions/{LONG}")
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()
    page.keyboard.press("d")
    page.get_by_role("tab", name="Timeline").click()
    expect(page.locator(".timeline [role=status]")).to_contain_text(re.compile(r"^1\d\d,\d\d\d events"), timeout=60_000)
    expect(page.get_by_role("img", name=re.compile("Turns: 1,4"))).to_be_visible()
    page.get_by_role("tab", name="Events").click()
    page.get_by_label("filter events").fill(str(LONG_EVENTS // 2))
    page.get_by_label("event type").select_option("")
    expect(page.locator(".hood .event")).to_have_count(1)


def test_a_timeline_leads_to_its_events(visit: Visit, session: str) -> None:
    page = visit(f"/sessions/{session}")
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()
    page.keyboard.press("d")
    page.get_by_role("tab", name="Timeline").click()
    for lane in ("Turns", "Answers", "Tools", "Waiting for you", "Errors"):
        expect(page.get_by_role("img", name=re.compile(f"^{lane}: [1-9]"))).to_be_visible()
    page.locator(".timeline li button", has_text="bash").first.click()
    expect(page.locator("article.current")).to_be_in_viewport()


def test_what_was_not_understood_is_told_with_its_place(visit: Visit, session: str) -> None:
    page = visit(f"/sessions/{session}")
    banner = page.locator(".drift")
    expect(banner).to_contain_text("2 messages of this agent were not understood")
    banner.get_by_role("button", name="Show").click()
    expect(page.locator("article.current", has_text="Unknown message")).to_be_in_viewport()
    banner.get_by_role("button", name="Next").click()
    unparsed = page.locator("article.current", has_text="Unparsed")
    expect(unparsed).to_be_in_viewport()
    unparsed.get_by_role("button", name="Show the line").click()
    expect(page.get_by_role("region", name="universal event")).to_contain_text("raw_hash")


def test_exports_are_asked_for_and_saved(visit: Visit, session: str) -> None:
    page = visit(f"/sessions/{session}")
    page.route("**/export?format=*", lambda route: route.fulfill(body=f"exported {route.request.url.partition('=')[2]}"))
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()
    page.keyboard.press("d")
    page.get_by_role("tab", name="Session").click()
    for name, suffix in (("Markdown", "md"), ("HTML", "html"), ("Events", "ndjson"), ("Tape", "tape.jsonl")):
        with page.expect_download() as saved:
            page.locator("#hood-panel").get_by_role("button", name=name, exact=True).click()
        assert saved.value.suggested_filename == f"{session}.{suffix}"
        assert saved.value.path().read_text().startswith("exported ")


# --- search and usage ---


def test_words_of_any_transcript_are_found(visit: Visit) -> None:
    page = visit("/")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("/")
    page.get_by_label("search every transcript").fill("number 777")
    hit = page.locator("[data-hit]", has_text="A hundred thousand events").first
    expect(hit.locator("mark").first).to_have_text("number")
    page.get_by_label("kind").select_option("message")
    hit.click()
    expect(page).to_have_url(re.compile(rf"/sessions/{LONG}\?at=\d+"))
    expect(page.locator("article.current")).to_contain_text("Message number 777")
    expect(page.locator("article.current")).to_be_in_viewport()


def test_usage_of_this_machine(visit: Visit, session: str) -> None:
    page = visit("/?view=usage")
    expect(page.get_by_role("region", name="by agent")).to_contain_text("mock")
    expect(page.get_by_role("region", name="by model")).to_contain_text("mock-1")
    page.get_by_role("button", name="All").click()
    expect(page.get_by_role("region", name="by agent")).to_contain_text("claude")


def answers(page: Page, path: str, answer: Callable[[Route], None]) -> None:
    page.route(re.compile(rf"/v1/{path}\?"), answer)


def test_a_hit_opens_at_its_event(visit: Visit, page: Page) -> None:
    hits = [{"sessionId": LONG, "sequence": 7_003, "itemId": "x", "agent": "mock", "kind": "message", "time": "2026-01-01T00:00:00Z",
             "snippet": "Message \x02number\x03 <b>bold</b> 101"}]  # fmt: skip
    answers(page, "search", lambda route: route.fulfill(json={"hits": hits, "hasMore": False}))
    visit("/")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("/")
    page.get_by_label("search every transcript").fill("number")
    hit = page.locator("[data-hit]")
    expect(hit.locator("mark")).to_have_text("number")
    expect(hit).to_contain_text("<b>bold</b>")
    page.get_by_label("search every transcript").press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/sessions/{LONG}\?at=7003"))
    expect(page.locator("article.current")).to_be_in_viewport()


def test_usage_is_charted(visit: Visit, page: Page) -> None:
    def rows(route: Route) -> None:
        by = route.request.url.partition("by=")[2].partition("&")[0]
        keys = {"day": ["2026-01-01", "2026-01-02"], "agent": ["one", "two"], "model": ["m"]}[by]
        row = {"turns": 2, "inputTokens": 1000, "outputTokens": 500, "reasoningTokens": 0, "cacheReadTokens": 8000, "cacheWriteTokens": 0}
        route.fulfill(json={"rows": [{"key": key, **row, "costUsd": 1.25, "unpricedTokens": 7} for key in keys]})

    answers(page, "usage", rows)
    visit("/?view=usage")
    expect(page.locator(".totals")).to_contain_text("$2.50")
    expect(page.get_by_role("region", name="by agent").get_by_role("row")).to_have_count(3)
    expect(page.get_by_role("img", name=re.compile("tokens by day"))).to_be_visible()
    page.get_by_role("button", name="Cost").click()
    expect(page.get_by_role("img", name=re.compile("cost by day"))).to_be_visible()
    expect(page.get_by_text("14 tokens are in no sum of money")).to_be_visible()


MISSING = [("search", "/?view=search&q=x", "no search yet"), ("usage", "/?view=usage", "does not tell usage yet")]


@pytest.mark.parametrize(("path", "view", "told"), MISSING)
def test_a_daemon_without_them_is_told_so(visit: Visit, page: Page, path: str, view: str, told: str) -> None:
    answers(page, path, lambda route: route.fulfill(status=404, json={"title": "not found"}))
    visit(view)
    expect(page.get_by_text(told)).to_be_visible()
