"""The transcript: everything that may stand in it, streaming, and following its end."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from inspector.page_daemon import Daemon
from inspector.page_seeds import LONG, captures

Visit = Callable[[str], Page]


def opened(page: Page) -> Page:
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()
    return page


@pytest.fixture(scope="package")
def demo(daemon: Daemon) -> str:
    session = daemon.session(title="Demonstration")
    daemon.ask(session, "demo")
    return session


def test_everything_that_the_mock_can_show(visit: Visit, demo: str) -> None:
    page = opened(visit(f"/sessions/{demo}?at=1"))
    page.keyboard.press("e")
    seen: set[str] = set()
    wanted = {
        "Session started", "Thought", "kept private by the agent", "Plan", "A heading", "Let me look.", "clock.now", "cat missing.txt",
        "exit 1", "hello.py", "I count them.", "A cassette:", "Rate limit", "Retry", "Compaction", "Hook", "MCP", "Progress", "Notice",
        "broken off", "Unknown message", "Turn completed", "That was all.",
    }  # fmt: skip
    for _ in range(200):
        text = page.locator(".transcript").inner_text()
        seen |= {word for word in wanted if word in text}
        if seen == wanted:
            break
        page.mouse.move(800, 500)
        page.mouse.wheel(0, 400)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    assert seen == wanted


def test_code_is_highlighted_and_tables_are_tables(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "markdown")
    page = opened(visit(f"/sessions/{session}"))
    expect(page.locator(".prose h1", has_text="A heading")).to_be_visible()
    expect(page.locator(".prose .hljs-keyword").first).to_have_text("def")
    expect(page.locator(".prose table td").first).to_have_text("one")
    expect(page.locator(".prose code", has_text="<b>not bold</b>")).to_be_visible()


def test_a_diff_is_coloured_line_by_line(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "edit")
    page = opened(visit(f"/sessions/{session}"))
    diff = page.get_by_role("region", name="diff of hello.py").last
    expect(diff.locator(".line.add")).to_have_count(3)
    expect(diff.locator(".line.remove")).to_have_count(3)
    expect(diff.locator("mark").first).to_be_visible()
    colour = "line => getComputedStyle(line).backgroundColor"
    assert len({diff.locator(f".line.{kind}").first.evaluate(colour) for kind in ("add", "remove", "context")}) == 3


def test_a_command_shows_its_exit_code_and_unfolds_its_output(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "command")
    page = opened(visit(f"/sessions/{session}"))
    failed = page.locator("article", has_text="cat missing.txt").first
    expect(failed).to_contain_text("exit 1")
    expect(failed.get_by_role("region")).to_have_count(0)
    failed.locator(".head").click()
    expect(failed.get_by_role("region", name="output of bash")).to_contain_text("No such file or directory")


def test_images_come_with_the_token(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "image")
    page = opened(visit(f"/sessions/{session}"))
    image = page.locator("article img").first
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") == 48


def test_a_subagent_folds_with_its_call(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "subagent")
    page = opened(visit(f"/sessions/{session}"))
    expect(page.get_by_text("I count them.")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Subagent: 4 steps")).click()
    expect(page.get_by_text("I count them.")).to_be_visible()
    expect(page.locator("article.nested", has_text="wc -l hello.py")).to_be_visible()
    page.get_by_role("button", name="Subagent", exact=True).click()
    expect(page.get_by_text("I count them.")).to_have_count(0)


def test_errors_crashes_and_their_stderr_are_told(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "error")
    daemon.ask(session, "crash")
    page = opened(visit(f"/sessions/{session}"))
    expect(page.locator(".transcript")).to_contain_text("Turn failed")
    expect(page.locator(".error").first).to_be_visible()
    expect(page.get_by_text("Session ended with an error")).to_be_visible()
    expect(page.get_by_text("This session is over.")).to_be_visible()


def test_words_appear_while_they_are_said(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    page = opened(visit(f"/sessions/{session}"))
    daemon.say(session, "slow 60")
    answer = page.locator(".message.assistant").last
    expect(answer).to_contain_text("tape wire")
    expect(answer.get_by_text("still writing")).to_be_attached()
    expect(page.locator(".facts").first).to_contain_text("running")
    page.get_by_role("button", name="Interrupt").click()
    expect(page.locator(".transcript")).to_contain_text("Turn interrupted")


def test_the_end_is_followed_until_one_scrolls_up(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    for _ in range(3):
        daemon.ask(session, "markdown")
    page = opened(visit(f"/sessions/{session}"))
    daemon.ask(session, "echo the last word")
    expect(page.locator("article").get_by_text("the last word", exact=True)).to_be_in_viewport()
    page.mouse.move(800, 500)
    page.mouse.wheel(0, -1200)
    expect(page.get_by_role("button", name="To the end")).to_be_visible()
    top = page.locator(".transcript .scroller").evaluate("list => list.scrollTop")
    daemon.ask(session, "echo a later word")
    expect(page.locator(".transcript")).to_have_attribute("data-last", str(len(daemon.events(session))))
    assert abs(page.locator(".transcript .scroller").evaluate("list => list.scrollTop") - top) < 2
    page.get_by_role("button", name="To the end").click()
    expect(page.locator("article").get_by_text("a later word", exact=True)).to_be_in_viewport()


def test_a_hundred_thousand_events_open_with_three_requests(visit: Visit, watched: object) -> None:
    page = visit(f"/sessions/{LONG}")
    expect(page.get_by_text("Session completed")).to_be_in_viewport()
    before = page.evaluate("() => performance.getEntriesByType('resource').map(entry => entry.name).filter(name => name.includes('/v1/'))")
    first = [name for name in before if f"/sessions/{LONG}" in name]
    assert len(first) <= 2, first
    # The lists come after the transcript: nothing but these was asked for before it could be drawn.
    assert all(LONG in name for name in before[:2])
    assert page.locator("article").count() < 120
    page.mouse.move(800, 500)
    page.mouse.wheel(0, -200_000)
    expect(page.locator(".transcript .lead")).to_contain_text(re.compile("Loading|earlier events"))
    page.keyboard.press("g")
    expect(page.get_by_text("Message number 1", exact=True)).to_be_in_viewport()
    page.keyboard.press("G")
    expect(page.get_by_text("Session completed")).to_be_in_viewport()


def test_a_height_is_what_it_was_just_set_to(visit: Visit) -> None:
    """Also where motion is reduced, as in all these tests: a list that measures itself just after a change must not see the old one."""
    page = opened(visit(f"/sessions/{LONG}"))
    now = "list => { list.style.height = '54321px'; return list.getBoundingClientRect().height }"
    assert page.locator(".transcript .all").evaluate(now) == 54321


def test_scrolling_back_through_windows_keeps_its_place(visit: Visit) -> None:
    page = opened(visit(f"/sessions/{LONG}?at=50000"))
    lead = page.locator(".transcript .lead")
    expect(lead).to_contain_text("earlier events")
    numbers = []
    page.mouse.move(800, 500)
    for _ in range(60):
        page.mouse.wheel(0, -1500)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        numbers += [int(found) for found in re.findall(r"Message number (\d+)", page.locator(".transcript").inner_text())[:1]]
    assert numbers[-1] < numbers[0] - 20
    assert all(later <= earlier for earlier, later in pairwise(numbers)), numbers


def test_a_deep_link_opens_at_its_event(visit: Visit) -> None:
    page = opened(visit(f"/sessions/{LONG}?at=35003"))
    current = page.locator("article.current")
    expect(current).to_be_in_viewport()
    sequence = int(current.get_attribute("data-sequence") or 0)
    assert sequence <= 35003 < sequence + 70


@pytest.mark.parametrize("agent", sorted({agent for _, agent, _ in captures()}))
def test_captures_of_every_agent_open(visit: Visit, daemon: Daemon, agent: str) -> None:
    for session in (id for id, of, _ in captures() if of == agent):
        page = opened(visit(f"/sessions/{session}"))
        expect(page.locator(".transcript")).to_have_attribute("data-last", str(len(daemon.events(session))))
        expect(page.locator("article").last).to_be_visible()
        page.keyboard.press("e")
        # A row that shows nothing is a rendering that was forgotten.
        blank = "rows => rows.filter(row => row.getBoundingClientRect().height < 8).map(row => row.outerHTML)"
        assert page.locator("article .content").evaluate_all(blank) == [], session
