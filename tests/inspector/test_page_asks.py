"""What waits for an answer: in the transcript, in the tray, by mouse and by keyboard; and the message field."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from inspector.page_daemon import Daemon

Visit = Callable[[str], Page]


@pytest.fixture
def session(daemon: Daemon) -> str:
    return daemon.session(title="Asks")


@pytest.fixture(autouse=True)
def nothing_left(daemon: Daemon, session: str):  # type: ignore[no-untyped-def]
    """An ask that stays open would stand in the next test's tray."""
    yield
    daemon.http.post(f"/v1/sessions/{session}/terminate")


def resolved(daemon: Daemon, session: str, type: str) -> list[dict[str, object]]:
    return [event["data"] for event in daemon.events(session) if event["type"] == f"{type}.resolved"]


def test_allow_once_and_refuse_with_a_message(visit: Visit, daemon: Daemon, session: str) -> None:
    daemon.ask(session, "permission")
    page = visit(f"/sessions/{session}")
    card = page.locator(".transcript [data-permission]")
    expect(card).to_contain_text("rm -rf build")
    expect(card).to_contain_text("It deletes files.")
    card.get_by_role("button", name="Allow once").click()
    expect(page.get_by_text("Allowed once")).to_be_visible()
    expect(card.get_by_role("region", name="diff of notes.txt")).to_be_visible()
    card.get_by_role("button", name="Refuse with a message").click()
    card.get_by_label("message with the refusal").fill("not today")
    card.get_by_role("button", name="Refuse", exact=True).click()
    expect(page.get_by_text("the write was refused")).to_be_visible()
    expect(page.locator(".transcript")).to_contain_text("The user refused: not today")
    assert [ask["status"] for ask in resolved(daemon, session, "permission")] == ["accept", "reject"]


def test_always_holds(visit: Visit, daemon: Daemon, session: str) -> None:
    daemon.ask(session, "permission")
    page = visit(f"/sessions/{session}")
    for _ in range(2):
        page.locator(".transcript").get_by_role("button", name="Always").click()
        expect(page.locator(".transcript [data-permission]")).to_have_count(0 if _ else 1)
    expect(page.get_by_text("The command ran, the write ran.")).to_be_visible()
    assert {ask["status"] for ask in resolved(daemon, session, "permission")} == {"accept_for_session"}


def test_permissions_by_keyboard(visit: Visit, daemon: Daemon, session: str) -> None:
    daemon.ask(session, "permission")
    page = visit(f"/sessions/{session}")
    expect(page.locator(".transcript [data-permission]")).to_contain_text("rm -rf build")
    page.keyboard.press("y")
    expect(page.locator(".transcript [data-permission]")).to_contain_text("write")
    page.keyboard.press("r")
    expect(page.get_by_text("The command ran, the write was refused.")).to_be_visible()


def test_questions_with_one_with_several_and_with_own_words(visit: Visit, daemon: Daemon, session: str) -> None:
    daemon.ask(session, "question")
    page = visit(f"/sessions/{session}")
    card = page.locator(".transcript [data-question]")
    expect(card).to_contain_text("like a rose")
    expect(card.get_by_role("button", name="Answer", exact=True)).to_be_disabled()
    card.get_by_label("answer in your own words").fill("green")
    card.get_by_role("button", name="Answer", exact=True).click()
    expect(card).to_contain_text("Which sizes?")
    card.get_by_label("small").check()
    card.get_by_label("large").check()
    card.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_text("You chose: green; small, large.")).to_be_visible()


def test_a_question_may_be_left_unanswered(visit: Visit, daemon: Daemon, session: str) -> None:
    daemon.ask(session, "question")
    page = visit(f"/sessions/{session}")
    page.get_by_role("button", name="Do not answer").click()
    expect(page.get_by_text("not answered")).to_be_visible()
    assert resolved(daemon, session, "question")[0]["status"] == "rejected"


def test_the_tray_has_the_asks_of_every_session(visit: Visit, daemon: Daemon, session: str) -> None:
    other = daemon.session(title="Another")
    page = visit("/")
    expect(page.get_by_role("button", name="nothing needs you")).to_be_visible()
    daemon.ask(session, "permission")
    daemon.ask(other, "question")
    expect(page.get_by_role("button", name="2 need you")).to_be_visible()
    tray = page.get_by_role("region", name="needs you")
    tray.get_by_role("button", name="Allow once").click()
    expect(tray.get_by_label("permission for write")).to_be_visible()
    tray.get_by_label("red").check()
    tray.get_by_role("button", name="Answer", exact=True).click()
    expect(tray).to_contain_text("Which sizes?")
    assert page.title().startswith("(2)")
    daemon.http.post(f"/v1/sessions/{other}/terminate")
    expect(page.get_by_role("button", name="1 needs you")).to_be_visible()
    page.goto(f"/sessions/{other}")
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Needs you")
    dialog.get_by_role("button", name="Refuse", exact=True).click()
    expect(dialog).to_contain_text("Nobody waits for you.")


def test_sending_while_busy_queues_visibly_and_can_be_taken_back(visit: Visit, daemon: Daemon, session: str) -> None:
    page = visit(f"/sessions/{session}")
    field = page.get_by_label("message to the agent")
    field.fill("hang")
    field.press("Enter")
    expect(page.locator(".facts").first).to_contain_text("running")
    for message in ("echo first in line", "echo second in line"):
        field.fill(message)
        field.press("Enter")
    queue = page.get_by_role("list", name="queued messages")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    queue.get_by_role("button", name="take back queued message 1").click()
    expect(queue.get_by_role("listitem")).to_have_count(1)
    expect(field).to_have_value("echo first in line")
    page.get_by_role("button", name="Interrupt").click()
    expect(page.locator(".message.assistant", has_text="second in line")).to_be_visible()
    expect(queue).to_have_count(0)


def test_attachments_and_history(visit: Visit, daemon: Daemon, session: str) -> None:
    (daemon.root / "main.py").write_text("main()")
    page = visit(f"/sessions/{session}")
    field = page.get_by_label("message to the agent")
    page.get_by_label("files to upload").set_input_files({"name": "a note.txt", "mimeType": "text/plain", "buffer": b"hello"})
    expect(page.get_by_role("list", name="attachments")).to_contain_text("a note.txt")
    page.get_by_role("button", name="attach a path").click()
    page.get_by_label("path to attach").fill("main.py")
    page.keyboard.press("Enter")
    field.fill("echo look at this")
    field.press("Enter")
    sent = page.locator(".message.user").last
    expect(sent).to_contain_text("echo look at this")
    expect(sent).to_contain_text("a_note.txt")
    expect(sent).to_contain_text("main.py")
    expect(field).to_have_value("")
    field.press("ArrowUp")
    expect(field).to_have_value("echo look at this")
    field.press("ArrowDown")
    expect(field).to_have_value("")


def test_terminate_and_resume(visit: Visit, daemon: Daemon, session: str) -> None:
    daemon.ask(session, "echo before")
    page = visit(f"/sessions/{session}")
    page.get_by_role("button", name="Terminate").click()
    page.get_by_role("button", name="Really end it").click()
    expect(page.get_by_text("Session terminated")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page).not_to_have_url(re.compile(session))
    expect(page.get_by_text(f"resumed from {session}")).to_be_visible()
    field = page.get_by_label("message to the agent")
    field.fill("echo after")
    field.press("Enter")
    expect(page.locator(".message.assistant", has_text="after")).to_be_visible()
