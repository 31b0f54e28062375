"""Codex itself, started as we start it, on a scripted model. Installed as the lab does (tests/lab/install.py).

What the program says is compared with what the model was told and with what happened to the files: a translator that
agreed with recordings alone could still be wrong about the program.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onetape import schema
from onetape.agents.agent import LaunchOptions
from onetape.agents.codex import AGENT
from onetape.commands import Interrupt, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from onetape.errors import Refused
from scripted import SILENCE, Call, Model
from stage import Stage, a, items, staging, texts, verdicts

pytestmark = pytest.mark.lab
# No retries, no telemetry, no account: the provider is ours.
CONFIG = """
model = "gpt-5.5"
model_provider = "local"
check_for_update_on_startup = false
[model_providers.local]
name = "Local"
base_url = "{url}/v1"
env_key = "LOCAL_MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[feedback]
enabled = false
[features]
apps = false
plugins = false
shell_snapshot = false
"""
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** Update File: old.txt\n@@\n-first\n+1st\n*** End Patch"


@pytest.fixture
def start(tmp_path: Path, installed: Callable[[str], Path]) -> Iterator[Callable[..., tuple[Stage, Model]]]:
    """Starts Codex in tmp_path/work on a model with this script."""
    work, config = tmp_path / "work", tmp_path / "codex" / "config.toml"
    work.mkdir()
    config.parent.mkdir()

    def play(model: Model) -> tuple[LaunchOptions, dict[str, str]]:
        config.write_text(CONFIG.format(url=model.url))
        env = {"HOME": str(tmp_path), "CODEX_HOME": str(config.parent), "PATH": os.environ["PATH"], "LOCAL_MODEL_KEY": "none"}
        return LaunchOptions(executable=str(installed("codex")), cwd=str(work), session_key="k"), env

    with staging(AGENT, play) as starting:
        yield starting
    url = re.search(r"http://127[^/]+", config.read_text())
    assert url and config.read_text() == CONFIG.format(url=url[0]), "nothing is written to the user's configuration"


def shell(command: str) -> Call:
    return Call("exec_command", {"cmd": command})


def test_text_and_usage(start: Any) -> None:
    stage, _ = start(["Hello there."])
    stage.do(SendMessage("Say hello"))
    ended = stage.until(a("turn.ended"))
    assert (ended.data.metadata.usage.input_tokens, ended.data.metadata.usage.cache_read_tokens) == (200, 1000)
    events = stage.end()
    assert texts(events) == ["Say hello", "Hello there."]
    assert [event.data.delta for event in events if isinstance(event, schema.ItemDelta)] == ["Hello ", "there."]


def test_permission_once_always_reject(start: Any, tmp_path: Path) -> None:
    """The same command is asked for once after "always"; a reason for a refusal reaches the model."""
    stage, model = start([shell("touch a")], [shell("touch b")], [shell("touch b")], [shell("touch c")], ["Done."])
    stage.do(SendMessage("go"))
    for reply, why in (("once", None), ("always", None), ("reject", "not c")):
        stage.do(ReplyPermission(stage.until(a("permission.requested")).data.permission_id, reply, why))
    stage.until(a("turn.ended"))
    events = stage.end()
    assert verdicts(events) == ["accept", "accept_for_session", "reject"]
    assert [item.status for item in items(events, "tool_result")] == ["completed", "completed", "completed", "failed"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a", "b"]
    assert model.requests[-1]["input"][-1]["content"][0]["text"] == "not c"


def test_file_change(start: Any, tmp_path: Path) -> None:
    (tmp_path / "work" / "old.txt").write_text("first\nsecond\n")
    stage, _ = start([Call("apply_patch", PATCH)], ["Done."])
    stage.do(SendMessage("go"))
    asked = stage.until(a("permission.requested"))
    stage.do(ReplyPermission(asked.data.permission_id, "once"))
    stage.until(a("turn.ended"))
    (result,) = items(stage.end(), "tool_result")
    refs = [part for part in result.content if isinstance(part, schema.FileRef)]
    assert [(Path(ref.path).name, ref.action) for ref in refs] == [("new.txt", "write"), ("old.txt", "patch")]
    assert asked.data.metadata["diff"] == "".join(ref.diff or "" for ref in refs)
    assert (tmp_path / "work" / "old.txt").read_text() == "1st\nsecond\n"


def test_edits_are_accepted(start: Any, tmp_path: Path) -> None:
    (tmp_path / "work" / "old.txt").write_text("first\nsecond\n")
    stage, _ = start([Call("apply_patch", PATCH)], ["Done."], permission_mode="acceptEdits")
    stage.do(SendMessage("go"))
    stage.until(a("turn.ended"))
    assert not [event for event in stage.end() if isinstance(event, schema.PermissionRequested)]
    assert (tmp_path / "work" / "new.txt").read_text() == "one\n"


def test_questions_and_the_plan(start: Any) -> None:
    options = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    asked = {"questions": [{"id": id, "header": id, "question": f"{id}?", "options": options} for id in ("first", "second")]}
    plan = "<proposed_plan>\n# Plan\n</proposed_plan>"
    script = [[Call("request_user_input", asked)], [Call("request_user_input", asked)], [plan]]
    stage, model = start(*script, [shell("touch built")], ["Built."], permission_mode="plan")
    stage.do(SendMessage("plan it"))
    stage.do(ReplyQuestion(stage.until(a("question.requested")).data.question_id, [["Blue"], ["Red"]]))
    stage.do(RejectQuestion(stage.until(a("question.requested")).data.question_id))
    stage.until(a("turn.ended"))
    assert texts(stage.events)[-1] == "# Plan\n"
    stage.do(SetMode("bypass"))
    stage.do(SendMessage("build it"))
    stage.until(a("turn.ended"))
    events = stage.end()
    assert [event.data.status for event in events if isinstance(event, schema.QuestionResolved)] == ["answered", "rejected"]
    answers = [item["output"] for item in model.requests[2]["input"] if item["type"] == "function_call_output"]
    assert "Blue" in answers[0] and answers[1] == '{"answers":{}}'
    assert [item.status for item in items(events, "tool_result")] == ["completed"]


def test_a_mode_leaves_nothing_of_the_one_before(start: Any) -> None:
    stage, _ = start([shell("touch a")], ["One."], [shell("touch b")], ["Two."], permission_mode="bypass")
    stage.do(SendMessage("freely"))
    stage.until(a("turn.ended"))
    stage.do(SetMode("default"))
    stage.do(SendMessage("carefully"))
    stage.do(ReplyPermission(stage.until(a("permission.requested")).data.permission_id, "once"))
    stage.until(a("turn.ended"))
    assert sum(isinstance(event, schema.PermissionRequested) for event in stage.end()) == 1


@pytest.mark.parametrize("reply", [[shell("touch a")], ["Words and then nothing", SILENCE]], ids=["asked", "speaking"])
def test_interrupt(start: Any, reply: list[Any]) -> None:
    stage, _ = start(reply, ["Back again."])
    stage.do(SendMessage("go"))
    stage.until(lambda event: isinstance(event, schema.PermissionRequested | schema.ItemDelta))
    stage.do(Interrupt())
    assert stage.until(a("turn.ended")).data.metadata.status == "interrupted"
    stage.do(SendMessage("again"))
    assert stage.until(a("turn.ended")).data.metadata.status == "completed"
    assert not [event for event in stage.end() if isinstance(event, schema.Error)]


def test_steering(start: Any) -> None:
    stage, model = start([shell("touch a")], ["I heard."])
    stage.do(SendMessage("go"))
    asked = stage.until(a("permission.requested"))
    stage.do(SendMessage("and hurry"))
    stage.do(ReplyPermission(asked.data.permission_id, "once"))
    stage.until(a("turn.ended"))
    assert texts(stage.end()) == ["go", "and hurry", "I heard."]
    assert model.requests[-1]["input"][-1]["content"][0]["text"] == "and hurry"


def test_resume(start: Any) -> None:
    first, _ = start(["One."])
    first.do(SendMessage("first"))
    thread = first.until(a("turn.ended")).native_session_id
    first.end()
    second, model = start(["Two."], resume=thread)
    second.do(SendMessage("second"))
    assert second.until(a("turn.ended")).data.metadata.usage.output_tokens == 42, "not what the first process had used"
    began = second.end()[0]
    assert began.data.metadata["resumed_from"] == began.native_session_id == thread
    assert "One." in str(model.requests[0]["input"])


def test_a_thread_that_is_gone(start: Any) -> None:
    stage, _ = start(resume="01a1ee8b-8f84-7870-af08-ede689912117")
    stage.do(SendMessage("go on"))
    assert "no rollout found" in stage.until(a("error")).data.message
    with pytest.raises(Refused, match="no thread"):
        stage.do(SendMessage("anybody?"))
    stage.end()


def test_model_and_effort(start: Any) -> None:
    stage, model = start(["One."], ["Two."], model="gpt-5.5", variant="high")
    stage.do(SendMessage("first"))
    stage.until(a("turn.ended"))
    stage.do(SetModel(variant="low"))
    stage.do(SendMessage("second"))
    stage.until(a("turn.ended"))
    stage.end()
    assert [(request["model"], request["reasoning"]["effort"]) for request in model.requests] == [("gpt-5.5", "high"), ("gpt-5.5", "low")]
