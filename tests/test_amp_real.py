"""Amp itself (the build of May 2026), our settings and our permission helper between it and its tools, on a scripted server.

Installed as the lab does (tests/lab/install.py). What the helper does is seen where it counts: in the files, and in what the model is told.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from onetape import schema
from onetape.agents.agent import LaunchOptions
from onetape.agents.amp import AGENT
from onetape.commands import Attachment, Interrupt, ReplyPermission, SendMessage
from onetape.schema import Event
from patience import PATIENCE
from scripted import SILENCE, Call, Model
from stage import Stage, a, items, outputs, staging, texts, verdicts

pytestmark = pytest.mark.lab
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf500f00038601805a347d6b0000000049454e44ae426082"
)
# Amp gives up on a helper after ten seconds, its code says; it does not.
LONGER_THAN_AMPS_LIMIT = 11.0


@pytest.fixture
def start(tmp_path: Path, installed: Callable[[str], Path]) -> Iterator[Callable[..., tuple[Stage, Model]]]:
    """Starts Amp in tmp_path/work against a server with this script."""
    work, executable = tmp_path / "work", str(installed("amp"))
    work.mkdir()
    threads: dict[str, Any] = {}

    def play(model: Model) -> tuple[LaunchOptions, dict[str, str]]:
        model.threads = threads  # what one server was told, the next one knows
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "AMP_API_KEY": "none", "AMP_URL": model.url}
        return LaunchOptions(executable=executable, cwd=str(work), session_key="k", help=printed(executable, "--help")), env

    with staging(AGENT, play) as starting:
        yield starting


@cache
def printed(executable: str, option: str) -> str:
    return subprocess.run([executable, option], capture_output=True, text=True, check=True).stdout


def shell(command: str) -> Call:
    return Call("Bash", {"cmd": command})


def told(model: Model) -> str:
    """What the model was told last."""
    return str(model.requests[-1]["messages"][-1])


def test_text_over_two_turns(start: Any) -> None:
    stage, _ = start(["Hello there."], ["Again."])
    for words in ("Say hello", "Once more"):
        stage.do(SendMessage(words))
        assert stage.until(a("turn.ended")).data.metadata.usage.output_tokens == 42
    assert texts(stage.end()) == ["Say hello", "Hello there.", "Once more", "Again."]


def test_permission_once_always_reject(start: Any, tmp_path: Path) -> None:
    """After "always" the same command is answered by the session itself; a reason reaches the model."""
    stage, model = start([shell("touch a")], [shell("touch b")], [shell("touch b")], [shell("touch c")], ["Done."])
    stage.do(SendMessage("go"))
    for reply, why in (("once", None), ("always", None), (None, None), ("reject", "not c")):
        asked = stage.until(a("permission.requested"))
        assert asked.data.metadata["call_id"].startswith("toolu_")
        if reply is not None:
            stage.do(ReplyPermission(asked.data.permission_id, reply, why))
    stage.until(a("turn.ended"))
    events = stage.end()
    assert verdicts(events) == ["accept", "accept_for_session", "accept_for_session", "reject"]
    assert [status for status, _ in outputs(events)] == ["completed", "completed", "completed", "failed"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a", "b"]
    assert "The user rejected this tool call. not c" in told(model)


def test_without_the_calls_id(start: Any) -> None:
    """The build of September does not tell it."""
    stage, _ = start([shell("touch a"), shell("touch b")], ["Done."])
    helper = stage.place / "delegate"
    helper.write_text(helper.read_text().replace("exec ", "unset AGENT_TOOL_USE_ID\nexec "))
    stage.do(SendMessage("go"))
    asked = []
    for _ in range(2):
        asked.append(stage.until(a("permission.requested")))
        stage.do(ReplyPermission(asked[-1].data.permission_id, "once"))
    stage.until(a("turn.ended"))
    calls = {item.content[0].arguments: item.content[0].call_id for item in items(stage.end(), "tool_call")}
    assert {f'{{"cmd":"{each.data.metadata["input"]["cmd"]}"}}': each.data.metadata["call_id"] for each in asked} == calls


@pytest.mark.parametrize("pending", [False, True], ids=["before", "while asked"])
def test_a_session_that_is_gone(start: Any, tmp_path: Path, pending: bool) -> None:
    """The tool does not run, the model is told why, and Amp goes on."""
    stage, model = start([shell("touch a")], ["Then not."])
    if not pending:
        stage.deaf()
    stage.do(SendMessage("go"))
    if pending:
        stage.until(a("permission.requested"))
        stage.deaf()
    assert stage.until(a("turn.ended")).data.metadata.status == "completed"
    ((status, output),) = outputs(stage.end())
    assert status == "failed" and output.startswith("This tool call was rejected because nobody could be asked: ")
    assert output.strip() in told(model)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_slow_human(start: Any, tmp_path: Path) -> None:
    stage, _ = start([shell("touch a")], ["At last."])
    stage.do(SendMessage("go"))
    asked = stage.until(a("permission.requested"))
    threading.Event().wait(LONGER_THAN_AMPS_LIMIT)
    stage.do(ReplyPermission(asked.data.permission_id, "once"))
    stage.until(a("turn.ended"))
    assert verdicts(stage.end()) == ["accept"]
    assert (tmp_path / "work" / "a").exists()


@pytest.mark.parametrize(("mode", "asks"), [("acceptEdits", 1), ("bypass", 0)])
def test_modes(start: Any, tmp_path: Path, mode: str, asks: int) -> None:
    written = Call("create_file", {"path": str(tmp_path / "work" / "new.txt"), "content": "one\n"})
    stage, _ = start([written], [shell("touch a")], ["Done."], permission_mode=mode)
    stage.do(SendMessage("go"))
    for _ in range(asks):
        stage.do(ReplyPermission(stage.until(a("permission.requested")).data.permission_id, "once"))
    stage.until(a("turn.ended"))
    events = stage.end()
    assert verdicts(events) == ["accept"] * asks
    (ref,) = [part for item in items(events, "tool_result") for part in item.content if isinstance(part, schema.FileRef)]
    assert ref.diff is not None and ref.diff.endswith("@@ -0,0 +1 @@\n+one\n")


def test_interrupt_and_resume(start: Any) -> None:
    """Amp knows no other interrupt than a signal, which ends the process; the thread is taken up by the next one."""
    first, _ = start(["One."], [shell("touch a")])
    first.do(SendMessage("first"))
    thread = first.until(a("turn.ended")).native_session_id
    first.do(SendMessage("go"))
    first.until(a("permission.requested"))
    first.do(Interrupt())
    events = first.end()
    assert how_turns_ended(events) == ["completed", "interrupted"] and verdicts(events) == ["reject"]
    again, model = start(["Two."], resume=thread)
    again.do(SendMessage("second"))
    assert again.until(a("turn.ended")).native_session_id == thread
    assert texts(again.end(stop=signal.SIGTERM)) == ["second", "Two."]
    assert "One." in str(model.requests[0]["messages"])


def test_interrupt_in_mid_answer(start: Any) -> None:
    """This build ends with code 1 and words of an error then, which is none."""
    stage, model = start(["Words and then nothing", SILENCE])
    stage.do(SendMessage("go"))
    assert model.is_silent.wait(PATIENCE)  # Amp tells nothing of an answer before it is whole
    stage.do(Interrupt())
    events = stage.end()
    assert how_turns_ended(events) == ["interrupted"]
    assert not [event for event in events if isinstance(event, schema.Error)]


def how_turns_ended(events: list[Event]) -> list[str]:
    return [event.data.metadata.status for event in events if isinstance(event, schema.TurnEnded)]


def test_images_and_files(start: Any, tmp_path: Path) -> None:
    (tmp_path / "work" / "a note.txt").write_text("remember the milk")
    stage, model = start(["I see."])
    image = Attachment(str(tmp_path / "work" / "dot.png"), "image/png", content=PIXEL)
    stage.do(SendMessage("look", [image, Attachment(str(tmp_path / "work" / "a note.txt"))]))
    stage.until(a("turn.ended"))
    said = items(stage.end(), "message")[0]
    assert [type(part) for part in said.content] == [schema.Text, schema.Image, schema.FileRef]
    assert "remember the milk" in str(model.requests[0]["messages"]) and "image/png" in str(model.requests[0]["messages"])
