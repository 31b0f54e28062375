"""The page as a whole: hostile content, keyboard, themes, phones, accessibility, policy, size, and the start form."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from inspector.page_daemon import TOKEN, Daemon
from inspector.page_seeds import HOSTILE

Visit = Callable[[str], Page]
PROJECT = Path(__file__).parents[2]
STATIC = PROJECT / "src" / "onetape" / "server" / "static"
AXE = PROJECT / "inspector" / "node_modules" / "axe-core" / "axe.min.js"


# --- hostile content ---


def test_hostile_content_is_harmless(visit: Visit) -> None:
    page = visit(f"/sessions/{HOSTILE}?at=1")
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()
    page.keyboard.press("e")
    for _ in range(30):
        assert page.locator(".transcript :is(script, iframe, style, object, embed, form[action], img:not([src^='blob:']))").count() == 0
        assert page.locator(".transcript a:not([href^='http'])").count() == 0
        page.mouse.move(800, 500)
        page.mouse.wheel(0, 500)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.evaluate("() => window.hurt") is None
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "a huge line widened the page"
    expect(page.get_by_text("<script>window.hurt = 1</script>").first).to_be_attached()


def test_hostile_titles_are_text_in_every_list(visit: Visit) -> None:
    page = visit("/")
    row = page.locator("tbody tr", has_text="Hostile <script>")
    expect(row).to_be_visible()
    assert row.locator(".name").evaluate("name => getComputedStyle(name).unicodeBidi") == "isolate"
    row.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Hostile <script>")
    assert page.evaluate("() => window.hurt") is None


def test_the_policy_lets_nothing_in(page: Page, daemon: Daemon) -> None:
    policy = daemon.http.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "unsafe" not in policy
    page.goto(f"/#token={TOKEN}")
    expect(page.locator("tbody tr").first).to_be_visible()
    # Even if something got in: an inline script does not run, and nothing outside is reached.
    refused = page.evaluate("""async () => {
        const script = document.createElement("script");
        script.textContent = "window.hurt = 1";
        document.body.append(script);
        return fetch("http://127.0.0.1:9/").then(() => "reached", () => "refused");
    }""")
    assert refused == "refused" and page.evaluate("() => window.hurt") is None


# --- keyboard ---


def test_every_view_is_a_key_away(visit: Visit) -> None:
    page = visit("/")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_contain_text("Search all transcripts")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("u")
    expect(page).to_have_url(re.compile("view=usage"))
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New session")).to_be_visible()
    page.keyboard.press("s")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator(".transcript[data-ready=true]")).to_be_visible()


def test_a_transcript_by_keyboard(visit: Visit, daemon: Daemon) -> None:
    session = daemon.session()
    daemon.ask(session, "command")
    daemon.ask(session, "subagent")
    page = visit(f"/sessions/{session}")
    expect(page.get_by_text("The helper counted five lines.")).to_be_visible()
    page.keyboard.press("g")
    expect(page.locator("article.current")).to_have_attribute("data-sequence", "1")
    page.keyboard.press("]")
    page.keyboard.press("]")
    expect(page.locator("article.current")).to_have_attribute("aria-label", re.compile("turn started"))
    for _ in range(3):
        page.keyboard.press("j")
    current = page.locator("article.current")
    expect(current).to_contain_text("task")
    expect(current).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("I count them.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(current.get_by_role("region", name="arguments of task")).to_be_visible()
    page.keyboard.press("l")
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link.endswith(f"/sessions/{session}?at={current.get_attribute('data-sequence')}")
    page.keyboard.press("i")
    expect(page.get_by_role("region", name="universal event")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="universal event")).to_have_count(0)
    page.keyboard.press("c")
    page.keyboard.type("echo typed")
    page.keyboard.press("Enter")
    expect(page.locator(".message.assistant", has_text="typed")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator("article.current")).to_be_focused()


# --- looks ---


LIGHT, DARK = "rgb(247, 245, 241)", "rgb(20, 19, 17)"


def check_ground(page: Page, colour: str) -> None:
    expect(page.locator("body")).to_have_css("background-color", colour)


def test_both_themes_and_the_systems(visit: Visit) -> None:
    page = visit("/")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.emulate_media(color_scheme="light")
    check_ground(page, LIGHT)
    page.emulate_media(color_scheme="dark")
    check_ground(page, DARK)
    page.keyboard.press("t")
    check_ground(page, LIGHT)
    page.keyboard.press("t")
    page.emulate_media(color_scheme="light")
    check_ground(page, DARK)
    page.reload()
    expect(page.locator("tbody tr").first).to_be_visible()
    check_ground(page, DARK)


def test_readable_on_a_phone(chromium: Browser, daemon: Daemon) -> None:
    session = daemon.session(title="On a phone")
    daemon.ask(session, "demo")
    context = chromium.new_context(viewport={"width": 375, "height": 720}, base_url=daemon.url, has_touch=True, is_mobile=True)
    page = context.new_page()
    for path in ("/", f"/sessions/{session}", "/?view=start", "/?view=usage", "/?view=search"):
        page.goto(f"{path}#token={TOKEN}")
        expect(page.get_by_role("link", name="New session")).to_be_visible()
        expect(page.locator("main")).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 375, path
    page.goto(f"/sessions/{session}")
    expect(page.get_by_label("message to the agent")).to_be_in_viewport()
    page.get_by_role("button", name="all sessions").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, daemon: Daemon, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe is not here: `make page` with npm brings it")
    session = daemon.session(title="For axe")
    daemon.ask(session, "demo")
    daemon.ask(session, "question")
    found = []
    views = ("/", "/?view=start", "/?view=usage", "/?view=search", f"/sessions/{session}", f"/sessions/{session}?at=60", "hood", "help")
    for path in views:
        page = visit(path if path.startswith("/") else f"/sessions/{session}?at=1")
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator("main")).to_be_visible()
        if path != "/" and not path.startswith("/?"):
            expect(page.locator(".transcript[data-ready=true] article").first).to_be_visible()
            page.keyboard.press({"hood": "i", "help": "?"}.get(path, "e"))
        # The page's policy forbids scripts from elsewhere; the tool reads the page, so it comes in by the browser's own door.
        page.evaluate(AXE.read_text() + "; 0")
        results = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        found += [
            f"{path}: {violation['id']} {[node['target'] for node in violation['nodes']][:3]}"
            for violation in results["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
    daemon.http.post(f"/v1/sessions/{session}/terminate")
    assert found == []


# --- starting a session ---


def test_a_session_is_started_with_all_its_settings(visit: Visit, daemon: Daemon) -> None:
    page = visit("/?view=start")
    page.get_by_role("radio", name="mock").check()
    page.get_by_label("Directory").fill(str(daemon.root))
    page.get_by_label("Title").fill("From the form")
    page.get_by_role("combobox", name="Mode", exact=True).select_option("plan")
    page.get_by_role("radio", name="Accept edits").check()
    page.get_by_role("button", name="Add a server for this session").click()
    page.get_by_label("name of MCP server 1").fill("clock")
    page.get_by_label("command of MCP server 1").fill("python3 'a clock.py'")
    page.get_by_label("First message").fill("permission")
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/v1/sessions")) as asked:
        page.get_by_role("button", name="Start", exact=True).click()
    assert asked.value.post_data_json == {
        "agent": "mock", "permissionMode": "acceptEdits", "directory": str(daemon.root), "title": "From the form", "agentMode": "plan",
        "mcp": {"clock": {"type": "local", "command": ["python3", "a clock.py"]}},
    }  # fmt: skip
    expect(page.get_by_role("heading", name="From the form")).to_be_visible()
    page.locator(".transcript").get_by_role("button", name="Allow once").click()
    expect(page.get_by_text("The command ran, the write ran.")).to_be_visible()


def test_what_cannot_be_started_says_why(visit: Visit) -> None:
    page = visit("/?view=start")
    page.get_by_role("radio", name="mock").check()
    page.get_by_label("Directory").fill("/there/is/no/such/place")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("/there/is/no/such/place")


def test_an_agent_is_installed_from_the_form(visit: Visit, page: Page) -> None:
    installed: list[str] = []
    known = {"id": "someone", "credentialsAvailable": True, "capabilities": {}}
    page.route("**/v1/agents", lambda route: route.fulfill(json={"agents": [{**known, "installed": bool(installed)}]}))
    page.route("**/v1/agents/someone/m*", lambda route: route.fulfill(json={"modes": [], "models": []}))
    page.route("**/v1/agents/someone/install", lambda route: (installed.append("yes"), route.fulfill(status=204))[1])
    visit("/?view=start")
    expect(page.get_by_text("not installed")).to_be_visible()
    page.get_by_role("button", name="Install").click()
    expect(page.get_by_role("radio", name="someone")).to_be_checked()


# --- size ---


def test_the_script_is_small(daemon: Daemon) -> None:
    scripts = list(STATIC.rglob("*.js"))
    assert scripts and sum(len(gzip.compress(script.read_bytes())) for script in scripts) < 300_000
