"""The mock, in process and as a real child: brain and translator agree, and every tape tells the same story twice."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rehearsal
from onetape import commands as c
from onetape.agents.agent import LaunchOptions
from onetape.agents.mock import AGENT, props, wire
from onetape.agents.mock.brain import Brain
from onetape.agents.mock.scripts import SCRIPTS
from onetape.agents.mock.stage import Complain, Exit, Pause, Print, Say, Settings
from onetape.drafts import Unknown
from onetape.errors import Refused
from onetape.schema import Event, type_of
from onetape.tape import Head

HEAD = Head(agent="mock", dialect="stdio", session_id="sess_test", key="test", started="2026-01-02T03:04:05Z", cwd="/project")
FOLDER = Path(sys.modules["onetape.agents.mock"].__file__ or "").parent


class Session(rehearsal.Rehearsal):
    def __init__(self) -> None:
        super().__init__(AGENT, HEAD)

    def say_to_agent(self, command: c.Command) -> list[bytes]:
        """What to write to the agent for it; taken to be written."""
        _, written = self.command(command)
        assert self.unheard == []
        return [msgspec.json.encode(native) for native in written]

    def finish(self) -> list[Event]:
        """The whole story, told again from the bytes, and kept to its promises."""
        super().finish()
        self.verify()
        return self.events


def story(events: list[Event]) -> list[str]:
    """A transcript in short: one word per event, deltas and bare starts left out."""
    return [told for event in events if (told := _short(event))]


def _short(event: Event) -> str:
    data = msgspec.to_builtins(event.data)
    match type_of(event):
        case "item.completed":
            item = data["item"]
            first = item["content"][0]
            words = next((first[name] for name in ("text", "label", "name", "output") if name in first), "")
            return f"{item['kind']}/{item['role']} {item['status']}: {words.strip()}"
        case "turn.ended":
            return f"turn {data['metadata']['status']}"
        case "session.ended":
            return f"session {data['reason']} by {data['terminated_by']}"
        case "permission.resolved" | "question.resolved" as type:
            return f"{type} {data['status']} by {event.source}"
        case "item.started" | "item.delta":
            return ""
        case type:
            return type


# --- in process ---------------------------------------------------------------


class Rehearsal(Session):
    """A session with a brain that nobody put into a process: each step is a choice of the test's."""

    def __init__(self, **told: Any) -> None:
        super().__init__()
        self._lives = 0
        self._told = told
        self.pause: Pause | None = None
        self._wake_up()

    def _wake_up(self) -> None:
        nonce = str(self._lives) if self._lives else ""
        self.brain: Brain | None = Brain(Settings("mock_test", "/project", resumed=bool(nonce), nonce=nonce, **self._told))
        self._lives += 1
        self.pause = None

    def say(self, command: c.Command) -> None:
        if self.brain is None:
            self._wake_up()
        for line in self.say_to_agent(command):
            assert self.brain is not None
            self.brain.hear(line)

    def steps(self, most: int = 100_000) -> None:
        for _ in range(most):
            if self.brain is None:
                return
            match self.brain.step():
                case Say(message):
                    self.heard(msgspec.json.encode(message))
                case Print(line):
                    self.heard(line.encode())
                case Complain(text):
                    self.take("stderr", text)
                case Pause() as pause:
                    self.pause = pause
                case Exit(code):
                    self.die(code)
                case _:
                    return

    def rest(self) -> None:
        if self.brain is not None and self.pause is not None and self.pause.seconds is not None:
            self.brain.rested()

    def die(self, code: int) -> None:
        if self.brain is not None:
            self.brain = None
            self.take("exit", code)

    def open_asks(self) -> list[str]:
        ids: dict[str, None] = {}
        for event in self.events:
            data = msgspec.to_builtins(event.data)
            match type_of(event):
                case "permission.requested" | "question.requested":
                    ids[data.get("permission_id") or data["question_id"]] = None
                case "permission.resolved" | "question.resolved":
                    ids.pop(data.get("permission_id") or data["question_id"])
                case _:
                    pass
        return list(ids)

    def answer(self, at: int, reply: str, answers: list[list[str]] | None) -> None:
        if not (ids := self.open_asks()) or self.brain is None:
            return
        if (ask := ids[at % len(ids)]).startswith("p"):
            self.say(c.ReplyPermission(ask, reply, "because"))  # type: ignore[arg-type]
        else:
            self.say(c.RejectQuestion(ask) if answers is None else c.ReplyQuestion(ask, answers))


Act = Callable[[Rehearsal], Any]

TEXTS = st.one_of(
    st.sampled_from([*SCRIPTS, "slow 2", "big 30", "echo a  b ", "Reply with exactly the single word OK."]),
    st.sampled_from(["permission", "question"]),
    st.text(max_size=12),
)  # fmt: skip
FILES = st.lists(st.builds(c.Attachment, st.sampled_from(["a.png", "b.txt", "c"]), st.none() | st.just("image/png")), max_size=2)
MESSAGES = st.builds(c.SendMessage, TEXTS, FILES)
SETTINGS = st.builds(c.SetModel, st.none() | st.just("other"), st.none() | st.just("high")) | st.builds(c.SetMode, st.just("plan"))
LABELS = st.lists(st.lists(st.sampled_from(["red", "blue", "my own words"]), max_size=2), max_size=2)
FEW_OR_ALL = st.sampled_from([0, 1, 4, 15, 1000, 1000])


def then(act: Act, steps: int) -> Act:
    def both(rehearsal: Rehearsal) -> None:
        act(rehearsal)
        rehearsal.steps(steps)

    return both


def saying(command: c.Command) -> Act:
    return lambda rehearsal: rehearsal.say(command)


def answering(at: int, reply: str, answers: list[list[str]] | None) -> Act:
    return lambda rehearsal: rehearsal.answer(at, reply, answers)


ANSWERS = st.builds(answering, st.integers(0, 1), st.sampled_from(["once", "always", "reject"]), st.none() | LABELS)
HAPPENINGS: st.SearchStrategy[Act] = st.sampled_from([
    Rehearsal.rest,
    saying(c.Interrupt()),
    lambda rehearsal: rehearsal.brain and rehearsal.brain.hang_up(),
    lambda rehearsal: rehearsal.die(-15),
    lambda rehearsal: rehearsal.die(-9),
])  # fmt: skip
ACTS = st.builds(then, st.one_of(MESSAGES.map(saying), ANSWERS, ANSWERS, SETTINGS.map(saying), HAPPENINGS), FEW_OR_ALL)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTS, min_size=5, max_size=40))
def test_whatever_happens_the_tape_tells_the_same_story(acts: list[Act]) -> None:
    rehearsal = Rehearsal()
    for act in acts:
        act(rehearsal)
    rehearsal.steps()
    rehearsal.finish()


def rehearse(*texts: str, **told: Any) -> list[Event]:
    rehearsal = Rehearsal(**told)
    for text in texts:
        rehearsal.say(c.SendMessage(text))
        rehearsal.steps()
    rehearsal.die(0)
    return rehearsal.finish()


@pytest.mark.parametrize("word", sorted(set(SCRIPTS) - {"permission", "question", "slow", "hang", "error", "crash"}))
def test_every_word_ends_its_turn_well(word: str) -> None:
    events = rehearse(word)
    assert story(events)[-2:] == ["turn completed", "session completed by agent"]
    assert ("agent.unparsed" in story(events)) == (word == "unparsed")


@pytest.mark.parametrize("text", ["big 3", "big\t3", " big 3 ", "big\n3"])
def test_a_word_ends_at_any_blank(text: str) -> None:
    assert "message/assistant completed: tape wire turn" in story(rehearse(text))


def test_help_names_every_word() -> None:
    (told,) = [told for told in story(rehearse("help")) if told.startswith("message/assistant")]
    assert re.findall(r"^(\w+)  ", told, re.MULTILINE) == list(SCRIPTS)


def test_demo_shows_every_kind_of_item_and_part() -> None:
    items = [msgspec.to_builtins(event.data)["item"] for event in rehearse("demo") if type_of(event) == "item.completed"]
    assert {item["kind"] for item in items} == {"message", "tool_call", "tool_result", "status", "unknown"}
    parts = {part["type"] for item in items for part in item["content"]}
    assert parts == {"text", "json", "tool_call", "tool_result", "file_ref", "reasoning", "image", "status"}


def test_a_failed_turn_has_one_error_and_the_session_goes_on() -> None:
    told = story(rehearse("error", "echo on"))
    assert told.count("error") == 1
    assert [line for line in told if line.startswith("turn ")] == ["turn failed", "turn completed"]


def test_a_message_during_a_turn_waits_for_its_own() -> None:
    rehearsal = Rehearsal()
    for text in ("slow 1", "echo two"):
        rehearsal.say(c.SendMessage(text))
        rehearsal.steps()
    rehearsal.rest()
    rehearsal.steps()
    rehearsal.die(0)
    assert story(rehearsal.finish()) == [
        "session.started",
        "turn.started", "message/user completed: slow 1", "status/None completed: notice",
        "message/assistant completed: tape", "turn completed",
        "turn.started", "message/user completed: echo two",
        "message/assistant completed: two", "turn completed",
        "session completed by agent",
    ]  # fmt: skip


def test_an_interrupt_right_behind_a_message_is_for_its_turn() -> None:
    rehearsal = Rehearsal()
    for command in (c.SendMessage("tool"), c.SendMessage("echo two"), c.Interrupt()):
        rehearsal.say(command)
    rehearsal.steps()
    rehearsal.die(0)
    assert [line for line in story(rehearsal.finish()) if line.startswith("turn ")] == ["turn interrupted", "turn completed"]


@pytest.mark.parametrize(("mode", "asked"), [("bypass", ""), ("acceptEdits", "bash"), ("default", "bash write"), ("plan", "bash write")])
def test_permission_modes(mode: str, asked: str) -> None:
    rehearsal = Rehearsal(permission_mode=mode)
    rehearsal.say(c.SendMessage("permission"))
    for _ in range(3):
        rehearsal.steps()
        rehearsal.answer(0, "once", None)
    requested = [msgspec.to_builtins(event.data) for event in rehearsal.events if type_of(event) == "permission.requested"]
    assert [data["action"] for data in requested] == asked.split()
    rehearsal.die(0)
    assert "message/assistant completed: The command ran, the write ran." in story(rehearsal.finish())


def test_what_nobody_asked_cannot_be_answered() -> None:
    rehearsal = Rehearsal()
    rehearsal.say(c.SendMessage("question"))
    rehearsal.steps()
    for command in (c.ReplyPermission("q1", "once"), c.ReplyQuestion("q9", []), c.RejectQuestion("p1")):
        with pytest.raises(Refused, match="Mock has no open"):
            rehearsal.say(command)
    rehearsal.say(c.ReplyQuestion("q1", [["red"]]))
    with pytest.raises(Refused):
        rehearsal.say(c.ReplyQuestion("q1", [["blue"]]))


def test_diffs_apply(tmp_path: Path) -> None:
    for diff in (props.HELLO_WRITTEN, props.HELLO_PATCHED, props.NOTES_WRITTEN):
        subprocess.run(["git", "apply", "-p0", "-"], input=diff.encode(), cwd=tmp_path, check=True)
    content = props.HELLO
    for edit in props.HELLO_EDITS:
        assert content.count(edit["old"]) == 1
        content = content.replace(edit["old"], edit["new"])
    assert (tmp_path / "hello.py").read_text() == content


def test_the_readme_names_every_message() -> None:
    readme = (FOLDER / "README.md").read_text()
    said, told = readme.split("### What it is told")
    for types, text in ((wire.FROM_AGENT, said), (wire.TO_AGENT, told)):
        rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", text.split("## The wire")[-1], re.MULTILINE)
        assert {type for type, _ in rows} == types
    assert all(f"`{word}`" in readme for word in SCRIPTS)


@pytest.mark.parametrize("type", sorted(wire.FROM_AGENT))
def test_a_known_message_without_its_keys_is_no_stranger(type: str) -> None:
    translator = AGENT.translators[0](HEAD)
    assert not any(isinstance(draft, Unknown) for draft in translator.feed({"type": type}))


# --- as a child ---------------------------------------------------------------


class Child(Session):
    """A real mock over pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        super().__init__()
        self.process = process

    def say(self, command: c.Command) -> None:
        assert self.process.stdin is not None
        for line in self.say_to_agent(command):
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def until(self, type: str) -> dict[str, Any]:
        """Hears until such an event; its data."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            for event in self.heard(line.removesuffix(b"\n")):
                if type_of(event) == type:
                    return msgspec.to_builtins(event.data)  # type: ignore[no-any-return]
        raise AssertionError(f"the mock left without {type}: {story(self.events)}")

    def leave(self) -> list[str]:
        """Hears the rest, until it is gone; the story."""
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.process.stdin.close()
        for line in self.process.stdout:
            self.heard(line.removesuffix(b"\n"))
        for line in self.process.stderr:
            self.take("stderr", line.decode().removesuffix("\n"))
        self.take("exit", self.process.wait())
        return story(self.finish())

    def turn(self, text: str) -> dict[str, Any]:
        self.say(c.SendMessage(text))
        return self.until("turn.ended")


@contextmanager
def child(**told: Any) -> Iterator[Child]:
    assert AGENT.launch is not None
    launch = AGENT.launch(LaunchOptions(executable="", cwd=".", session_key="test", **told))
    process = subprocess.Popen(
        launch.argv, cwd=launch.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip
    watchdog = Timer(20, process.kill)  # for a mock that is broken; a good one never lives to see it
    watchdog.start()
    try:
        with process:
            yield Child(process)
            process.kill()
    finally:
        process.kill()
        watchdog.cancel()


def test_ok() -> None:
    with child(model="mock-large", variant="high") as mock:
        started = mock.until("session.started")["metadata"]
        assert started["model"] == "mock-large" and started["variant"] == "high" and started["agent_version"] == wire.VERSION
        mock.turn("Reply with exactly the single word OK.")
        mock.turn("Reply with exactly the word FIRST.")
        told = mock.leave()
    assert mock.events[-1].native_session_id == "mock_test"
    assert [line for line in told if line.startswith("message/assistant")] == [
        "message/assistant completed: OK", "message/assistant completed: FIRST",
    ]  # fmt: skip
    assert told[-1] == "session completed by agent"


def test_permissions() -> None:
    with child() as mock:
        mock.say(c.SendMessage("permission"))
        mock.say(c.ReplyPermission(mock.until("permission.requested")["permission_id"], "always"))
        mock.say(c.ReplyPermission(mock.until("permission.requested")["permission_id"], "reject", "not now"))
        mock.until("turn.ended")
        mock.say(c.SendMessage("permission"))
        write = mock.until("permission.requested")
        assert write["action"] == "write"  # bash is allowed by now
        mock.say(c.ReplyPermission(write["permission_id"], "once"))
        mock.until("turn.ended")
        told = mock.leave()
    assert [line for line in told if line.startswith(("permission.resolved", "tool_result", "message/assistant"))] == [
        "permission.resolved accept_for_session by daemon",
        "tool_result/tool completed: removed build",
        "permission.resolved reject by daemon",
        "tool_result/tool failed: The user refused: not now",
        "message/assistant completed: The command ran, the write was refused.",
        "tool_result/tool completed: removed build",
        "permission.resolved accept by daemon",
        "tool_result/tool completed: 1 line written",
        "message/assistant completed: The command ran, the write ran.",
    ]


def test_questions() -> None:
    with child() as mock:
        mock.say(c.SendMessage("question"))
        first = mock.until("question.requested")
        assert first["options"] == ["red", "blue"]
        mock.say(c.ReplyQuestion(first["question_id"], [["blue"]]))
        mock.say(c.RejectQuestion(mock.until("question.requested")["question_id"]))
        mock.until("turn.ended")
        told = mock.leave()
    assert "message/assistant completed: You chose: blue; no answer." in told
    assert [line for line in told if line.startswith("question.resolved")] == [
        "question.resolved answered by daemon", "question.resolved rejected by daemon",
    ]  # fmt: skip


def test_crash() -> None:
    with child() as mock:
        mock.say(c.SendMessage("crash"))
        told = mock.leave()
    assert told[-3:] == ["error", "turn failed", "session error by agent"]
    ended = msgspec.to_builtins(mock.events[-1].data)
    assert (ended["exit_code"], ended["message"]) == (1, "mock: fatal: crashed as asked")


def test_unparsed() -> None:
    with child() as mock:
        mock.turn("unparsed")
        told = mock.leave()
    assert told.count("agent.unparsed") == 1
    assert told[-2:] == ["turn completed", "session completed by agent"]


@pytest.mark.parametrize("text", ["hang", "slow 1000000", "big 100000000"])
def test_interrupt(text: str) -> None:
    with child() as mock:
        mock.say(c.SendMessage(text))
        mock.until("item.delta")
        mock.say(c.Interrupt())
        assert mock.until("turn.ended")["metadata"]["status"] == "interrupted"
        mock.turn("echo still here")
        told = mock.leave()
    assert "message/assistant completed: still here" in told


def test_interrupt_withdraws_an_ask() -> None:
    with child() as mock:
        mock.say(c.SendMessage("permission"))
        mock.until("permission.requested")
        mock.say(c.Interrupt())
        assert mock.until("turn.ended")["metadata"]["status"] == "interrupted"
        told = mock.leave()
    assert "permission.resolved reject by agent" in told


def test_end() -> None:
    with child() as mock:
        mock.say(c.SendMessage("end"))
        assert mock.process.wait() == 0  # by itself: stdin is still open
        told = mock.leave()
    assert told[-3:] == ["message/assistant completed: Goodbye.", "turn completed", "session completed by agent"]


def test_closed_stdin_lets_the_turn_end() -> None:
    with child() as mock:
        mock.say(c.SendMessage("slow 3"))
        told = mock.leave()
    assert mock.process.returncode == 0
    assert told[-2:] == ["turn completed", "session completed by agent"]


def test_closed_stdin_withdraws_an_ask() -> None:
    with child() as mock:
        mock.say(c.SendMessage("question"))
        mock.until("question.requested")
        told = mock.leave()
    assert told[-3:] == ["question.resolved rejected by agent", "turn interrupted", "session completed by agent"]


def test_sigterm() -> None:
    with child() as mock:
        mock.say(c.SendMessage("hang"))
        mock.until("item.delta")
        mock.process.send_signal(signal.SIGTERM)
        told = mock.leave()
    assert mock.process.returncode == -signal.SIGTERM
    assert told[-2:] == ["turn interrupted", "session terminated by daemon"]


def test_resume_and_settings() -> None:
    with child(resume="mock_before", permission_mode="bypass", mcp={"clock": {}}) as mock:
        assert mock.until("session.started")["metadata"]["permission_mode"] == "bypass"
        mock.say(c.SetModel("brand-new", "low"))
        mock.say(c.SetMode("plan"))
        mock.turn("permission")
        mock.turn("status")
        told = mock.leave()
    assert mock.events[-1].native_session_id == "mock_before"
    assert "permission.requested" not in told
    assert [line for line in told if line.endswith((": model", ": mode", ": mcp"))][:3] == [
        "status/None completed: mcp", "status/None completed: model", "status/None completed: mode",
    ]  # fmt: skip
    assert "message/assistant completed: I am brand-new (low) in plan mode." in told
