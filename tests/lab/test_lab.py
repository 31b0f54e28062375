"""Scenarios: what every agent must show through the daemon, whichever it is. The stage proves each transcript."""

import base64
import os
import select
import signal
import sys
from pathlib import Path

import pytest

from lab.script import ApiError, Text, Thinking, Tool
from lab.stage import Session, Stage
from patience import PATIENCE

pytestmark = pytest.mark.lab

if not sys.platform.startswith("linux"):
    pytest.skip("the lab looks for processes in /proc", allow_module_level=True)

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
SUMS = {"type": "local", "command": [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]}
STORY = Text("Once upon a time there was a tape.", chunks=3, hold=1)
BYPASS = {"permissionMode": "bypass"}


# --- what is said -----------------------------------------------------------


def test_text(stage: Stage) -> None:
    with stage.session(Text("Hello, dear world.", chunks=3)) as session:
        ended = session.turn("Greet me")
        assert (ended["status"], ended["usage"]["output_tokens"]) == ("completed", 42)
        assert session.words() == ["Hello, dear world."]
        [user] = session.items("message", "user")
        assert user["content"] == [{"type": "text", "text": session.talk.prompt("Greet me")}]
        assert native_deltas(session) == (["Hello,", " dear ", "world."] if stage.subject.streams else [])


def native_deltas(session: Session) -> list[str]:
    return [event["data"]["delta"] for event in session.events if event["type"] == "item.delta" and not event["synthetic"]]


def test_reasoning(stage: Stage) -> None:
    with stage.session((Thinking("Let me think."), Text("Yes."))) as session:
        session.turn("Is it so?")
        assert (session.words("reasoning"), session.words()) == (["Let me think."], ["Yes."])


def test_two_turns(stage: Stage) -> None:
    with stage.session(Text("One."), Text("Two.")) as session:
        assert [session.turn("First")["status"], session.turn("Second")["status"]] == ["completed", "completed"]
        assert session.words() == ["One.", "Two."]
        assert len({data["turn_id"] for data in session.data("turn.started")}) == 2
        assert "One." in session.talk.asked[1].texts, "the second turn remembers the first"


def test_api_error(stage: Stage) -> None:
    with stage.session(ApiError(message="the model is out of paper")) as session:
        ended = session.turn("Greet me")
        [error] = session.data("error")
        assert (ended["status"], "out of paper" in error["message"]) == ("failed", True)
        if not stage.subject.ends_with_an_error:
            session.talk.goes_on(Text("Here I am."))
            assert session.turn("And now?")["status"] == "completed"


# --- what is done -----------------------------------------------------------


def test_shell(stage: Stage) -> None:
    with stage.session(stage.subject.shell("echo sesame"), Text("Done."), **BYPASS) as session:
        assert session.turn("Say the word")["status"] == "completed"
        [result] = session.results()
        assert (result.status, result.output.strip()) == ("completed", "sesame")
        assert "echo sesame" in result.command["command"] and result.command["exit_code"] in (0, None)
        assert "sesame" in session.talk.asked[1].results[0]


def test_failing_command(stage: Stage) -> None:
    with stage.session(stage.subject.shell("echo oops; exit 3"), Text("It failed."), **BYPASS) as session:
        assert session.turn("Try it")["status"] == "completed"
        [result] = session.results()
        assert (result.status, result.output.strip(), result.command["exit_code"]) == ("failed", "oops", 3)


def test_edit(stage: Stage) -> None:
    file = stage.directory / "poem.txt"
    file.write_text("one\n")
    with stage.session(*stage.subject.edit(file, "one", "two"), Text("Done."), **BYPASS) as session:
        session.turn("Change it")
        assert file.read_text() == "two\n"
        [change] = session.results()[-1].files
        assert (change["path"], change["action"]) == (str(file), "patch")
        assert "\n-one\n+two\n" in change["diff"]


def test_mcp(stage: Stage) -> None:
    assert stage.subject.mcp is not None
    call = stage.subject.mcp("sums", "add", {"a": 2, "b": 3})
    with stage.session(call, Text("Five."), mcp={"sums": SUMS}, **BYPASS) as session:
        session.turn("Add them")
        [item] = session.items("tool_call")
        [result] = session.results()
        assert (item["content"][0]["name"], result.output.strip()) == ("sums.add", "The sum is 5.")
        assert "The sum is 5." in session.talk.asked[1].results[0]


def test_image(stage: Stage) -> None:
    (stage.directory / "pixel.png").write_bytes(PIXEL)
    with stage.session(Text("A pixel.")) as session:
        session.turn("What is this?", attachments=[{"path": "pixel.png", "mime": "image/png"}])
        assert session.talk.asked[0].images == [PIXEL]
        [user] = session.items("message", "user")
        assert [part["type"] for part in user["content"]] == ["text", "image"]


# --- who is asked -----------------------------------------------------------


def test_permission_once(stage: Stage) -> None:
    made = stage.directory / "made.txt"
    with stage.session(stage.subject.shell("touch made.txt"), Text("Done.")) as session:
        ask(session, "Make it", "once")
        assert session.turn_over()["status"] == "completed"
        assert made.exists() and verdicts(session) == ["accept"]


def test_permission_always(stage: Stage) -> None:
    again = (stage.subject.shell("touch made.txt"), Text("Done."))
    with stage.session(*again, *again) as session:
        ask(session, "Make it", "always")
        session.turn_over()
        assert session.turn("Once more")["status"] == "completed"
        assert set(verdicts(session)) == {"accept_for_session"}, "nobody was asked again"
        assert [result.status for result in session.results()] == ["completed", "completed"]


def test_permission_reject(stage: Stage) -> None:
    with stage.session(stage.subject.shell("touch made.txt"), *stage.after_a_rejection(Text("Then not."))) as session:
        ask(session, "Make it", "reject")
        assert session.turn_over()["status"] == "completed"
        [result] = session.results()
        assert not (stage.directory / "made.txt").exists()
        assert (result.status, verdicts(session)) == ("failed", ["reject"])


def ask(session: Session, words: str, reply: str) -> None:
    session.send(words)
    asked = session.until("permission.requested")
    assert session.info["status"] == "waiting"
    assert [pending["data"] for pending in session.pending()] == [asked]
    session.permit(asked, reply)


def verdicts(session: Session) -> list[str]:
    return [data["status"] for data in session.data("permission.resolved")]


def test_question_answered(stage: Stage) -> None:
    assert stage.subject.ask is not None
    call = stage.subject.ask("Which colour?", ["Red", "Blue"])
    with stage.session(call, Text("Blue it is."), **stage.subject.questions) as session:
        session.send("Paint it")
        asked = session.until("question.requested")
        assert (asked["prompt"], asked["options"]) == ("Which colour?", ["Red", "Blue"])
        session.answer(asked, ["Blue"])
        assert session.turn_over()["status"] == "completed"
        [answer] = session.data("question.resolved")
        assert (answer["status"], answer["response"]) == ("answered", "Blue")
        assert "Blue" in session.talk.asked[1].results[0]


def test_question_rejected(stage: Stage) -> None:
    assert stage.subject.ask is not None
    call = stage.subject.ask("Which colour?", ["Red", "Blue"])
    with stage.session(call, *stage.after_a_rejection(Text("Then none.")), **stage.subject.questions) as session:
        session.send("Paint it")
        session.decline(session.until("question.requested"))
        session.turn_over()
        [answer] = session.data("question.resolved")
        assert (answer["status"], answer["response"]) == ("rejected", None)


# --- how it is chosen and stopped -------------------------------------------


def test_model_and_variant(stage: Stage) -> None:
    subject = stage.subject
    chosen = {name: value for name, value in (("model", subject.model), ("variant", subject.variant)) if value is not None}
    with stage.session(Text("Chosen."), **chosen) as session:
        session.turn("Who are you?")
        [asked] = session.talk.asked
        assert (asked.model, asked.effort) == subject.heard


def test_change_of_model(stage: Stage) -> None:
    subject = stage.subject
    with stage.session(Text("One."), Text("Two.")) as session:
        session.turn("First")
        session.change(model=subject.model, variant=subject.variant)
        session.turn("Second")
        asked = session.talk.asked[1]
        assert (asked.model, asked.effort) == subject.heard


def test_interrupt_in_mid_stream(stage: Stage) -> None:
    with stage.session(STORY) as session:
        begin_the_story(session, streams=stage.subject.streams)
        session.interrupt()
        assert session.turn_over()["status"] == "interrupted"
        assert session.data("error") == []
        if stage.subject.streams:
            assert session.words() == ["Once upon a "]
        if not stage.subject.forgets_when_cut_off:
            session.talk.goes_on(Text("Here I am."))
            assert session.turn("Are you there?")["status"] == "completed"
            assert session.words()[-1] == "Here I am."


def begin_the_story(session: Session, *, streams: bool) -> None:
    """Until the agent is in the middle of an answer that does not go on."""
    session.send("Tell me a story")
    session.talk.wait_held()
    if streams:
        session.until("item.delta", lambda data: data["delta"] == "Once upon a ")


def test_interrupt_in_a_tool(stage: Stage) -> None:
    with stage.session(begin_to_wait(stage), **BYPASS) as session:
        session.send("Wait for me")
        wait_for_line(stage.directory / "begun")
        session.interrupt()
        assert session.turn_over()["status"] == "interrupted"
        assert session.data("error") == []
        session.talk.goes_on(Text("Here I am."))
        assert session.turn("Are you there?")["status"] == "completed"


def begin_to_wait(stage: Stage) -> Tool:
    """A command that says that it has begun, and then takes its time."""
    os.mkfifo(stage.directory / "begun")
    return stage.subject.shell("echo yes > begun; sleep 600")


def wait_for_line(fifo: Path) -> None:
    """Until a command has written to this pipe."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([reader], [], [], PATIENCE)[0], "the command never began"
    finally:
        os.close(reader)


def test_interrupt_at_a_permission(stage: Stage) -> None:
    with stage.session(stage.subject.shell("touch made.txt")) as session:
        session.send("Make it")
        session.until("permission.requested")
        session.interrupt()
        assert session.turn_over()["status"] == "interrupted"
        assert (session.data("error"), verdicts(session), session.pending()) == ([], ["reject"], [])
        assert not (stage.directory / "made.txt").exists()


def test_message_during_a_turn(stage: Stage) -> None:
    """It waits visibly, or is handed on at once where the agent can be steered; it is heard once in any case."""
    with stage.session(STORY, Text("And now?")) as session:
        begin_the_story(session, streams=stage.subject.streams)
        session.send("Go on")
        assert session.info["queued"] == ([] if stage.subject.steers else [{"number": 1, "message": session.talk.prompt("Go on")}])
        session.talk.release()
        session.until("item.completed", lambda data: data["item"]["content"][0].get("text") == "And now?")
        assert session.turn_over()["status"] == "completed"
        users = [item["content"][0]["text"] for item in session.items("message", "user")]
        assert users == [session.talk.prompt("Tell me a story"), session.talk.prompt("Go on")]
        assert session.talk.prompt("Go on") in session.talk.asked[1].texts


def test_terminate(stage: Stage) -> None:
    with stage.session(STORY) as session:
        begin_the_story(session, streams=stage.subject.streams)
        session.terminate()
        assert stage.running() == [], "all of it is gone when it answers"
        assert session.turn_over()["status"] == "interrupted"
        ended = session.until("session.ended")
        assert (ended["reason"], ended["terminated_by"]) == ("terminated", "daemon")


def test_sigkill_in_mid_stream(stage: Stage) -> None:
    with stage.session(STORY) as session:
        begin_the_story(session, streams=stage.subject.streams)
        kill(stage)
        assert_died(session)


def test_sigkill_in_a_tool(stage: Stage) -> None:
    """The stage sees to it that the command does not outlive the session, though no agent is there any more to end it."""
    with stage.session(begin_to_wait(stage), **BYPASS) as session:
        session.send("Wait for me")
        wait_for_line(stage.directory / "begun")
        kill(stage)
        assert_died(session)


def kill(stage: Stage) -> None:
    [agent] = [pid for pid in stage.running() if stage.is_agent(pid)]
    os.kill(agent, signal.SIGKILL)


def assert_died(session: Session) -> None:
    ended = session.turn_over()
    [error] = session.data("error")
    assert (ended["status"], error["code"]) == ("failed", "process_exit")
    over = session.until("session.ended")
    assert (over["reason"], over["exit_code"]) == ("error", -9)


def test_resume(stage: Stage) -> None:
    with stage.session(Text("One."), Text("Two.")) as session:
        session.turn("First")
        session.terminate()
        with stage.resumed(session) as again:
            assert again.turn("Second")["status"] == "completed"
            assert again.words() == ["Two."]
            assert "One." in session.talk.asked[1].texts, "it remembers the other process"
            assert again.info["resumedFrom"] == session.id
            assert again.info["nativeSessionId"] == session.info["nativeSessionId"]
