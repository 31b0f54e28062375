"""Pi itself with our extension (gate.ts), on a scripted model. Installed as the lab does (tests/lab/install.py).

What the gate does is seen where it counts: in the files, and in what the model is told.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onetape import schema
from onetape.agents.agent import LaunchOptions
from onetape.agents.pi import AGENT
from onetape.commands import Attachment, Interrupt, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from scripted import SILENCE, Call, Model
from stage import Stage, a, items, outputs, staging, texts, verdicts

pytestmark = pytest.mark.lab
MODELS = [{"id": id, "reasoning": True, "input": ["text", "image"], "contextWindow": 128000, "maxTokens": 16384} for id in ("one", "two")]
QUESTIONS = [
    {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue", "description": "as the sea"}]},
    {"question": "Whose?"},
]


@pytest.fixture
def start(tmp_path: Path, installed: Callable[[str], Path]) -> Iterator[Callable[..., tuple[Stage, Model]]]:
    """Starts Pi in tmp_path/work on a model with this script."""
    work, config = tmp_path / "work", tmp_path / "agent"
    work.mkdir()
    config.mkdir()

    def play(model: Model) -> tuple[LaunchOptions, dict[str, str]]:
        provider = {"baseUrl": f"{model.url}/v1", "api": "openai-completions", "apiKey": "none", "models": MODELS}
        (config / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PI_CODING_AGENT_DIR": str(config), "PI_OFFLINE": "1"}
        return LaunchOptions(executable=str(installed("pi")), cwd=str(work), session_key="k", model="scripted/one"), env

    with staging(AGENT, play) as starting:
        yield starting


def shell(command: str) -> Call:
    return Call("bash", {"command": command})


def written(name: str, content: str) -> Call:
    return Call("write", {"path": name, "content": content})


def told(model: Model) -> str:
    """What the model was told last."""
    return str(model.requests[-1]["messages"][-1])


def test_text_and_usage(start: Any) -> None:
    stage, _ = start(["Hello there."])
    stage.do(SendMessage("Say hello"))
    usage = stage.until(a("turn.ended")).data.metadata.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (1000, 200, 42)
    events = stage.end()
    assert texts(events) == ["Say hello", "Hello there."]
    assert [event.data.delta for event in events if isinstance(event, schema.ItemDelta)] == ["Hello ", "there."]


def test_permission_once_always_reject(start: Any, tmp_path: Path) -> None:
    """After "always" the same command is not asked for again, another one is; a reason reaches the model."""
    stage, model = start([shell("touch a")], [shell("touch b")], [shell("touch b")], [shell("touch c")], ["Done."])
    stage.do(SendMessage("go"))
    for reply, why in (("once", None), ("always", None), ("reject", "not c")):
        asked = stage.until(a("permission.requested"))
        assert asked.data.metadata["call_id"].startswith("toolu_")
        stage.do(ReplyPermission(asked.data.permission_id, reply, why))
    stage.until(a("turn.ended"))
    events = stage.end()
    assert verdicts(events) == ["accept", "accept_for_session", "reject"]
    assert [status for status, _ in outputs(events)] == ["completed", "completed", "completed", "failed"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a", "b"]
    assert "Rejected by the user: not c" in told(model)


def test_questions(start: Any) -> None:
    stage, model = start([Call("ask_user", {"questions": QUESTIONS})], [Call("ask_user", {"questions": QUESTIONS[1:]})], ["Thanks."])
    stage.do(SendMessage("go"))
    asked = stage.until(a("question.requested"))
    assert [[option.label for option in question.options] for question in asked.data.questions] == [["Red", "Blue"], []]
    stage.do(ReplyQuestion(asked.data.question_id, [["Blue"], ["Ada's"]]))
    stage.do(RejectQuestion(stage.until(a("question.requested")).data.question_id))
    stage.until(a("turn.ended"))
    events = stage.end()
    assert [event.data.status for event in events if isinstance(event, schema.QuestionResolved)] == ["answered", "rejected"]
    assert [output for _, output in outputs(events)] == ["Which colour? Blue\nWhose? Ada's", "The user declined to answer"]
    assert "The user declined to answer" in told(model)


@pytest.mark.parametrize(
    "reply",
    [[shell("touch a")], [Call("ask_user", {"questions": QUESTIONS})], ["Words and then nothing", SILENCE], [shell("sleep 60")]],
    ids=["permission", "question", "speaking", "running"],
)
def test_abort(start: Any, tmp_path: Path, reply: list[Any]) -> None:
    """Whatever Pi is at; and it goes on with the next message."""
    is_running = reply == [shell("sleep 60")]
    stage, _ = start(reply, ["Back again."], permission_mode="bypass" if is_running else "default")
    stage.do(SendMessage("go"))
    stage.until(
        lambda event: isinstance(event, schema.PermissionRequested | schema.QuestionRequested | schema.ItemDelta)
        or (is_running and isinstance(event, schema.ItemStarted) and event.data.item.kind == "tool_result")
        or (is_running and isinstance(event, schema.ItemCompleted) and event.data.item.kind == "tool_call")
    )
    stage.do(Interrupt())
    assert stage.until(a("turn.ended")).data.metadata.status == "interrupted"
    stage.do(SendMessage("again"))
    assert stage.until(a("turn.ended")).data.metadata.status == "completed"
    events = stage.end()
    assert not [event for event in events if isinstance(event, schema.Error)]
    assert list((tmp_path / "work").iterdir()) == []


def test_edits_are_accepted_and_told(start: Any, tmp_path: Path) -> None:
    (tmp_path / "work" / "old.txt").write_text("first\nsecond\n")
    edit = Call("edit", {"path": "old.txt", "edits": [{"oldText": "first", "newText": "1st"}]})
    stage, _ = start([edit], [written("new.txt", "one\n")], [shell("touch a")], ["Done."], permission_mode="acceptEdits")
    stage.do(SendMessage("go"))
    stage.do(ReplyPermission(stage.until(a("permission.requested")).data.permission_id, "reject"))
    stage.until(a("turn.ended"))
    events = stage.end()
    refs = [part for item in items(events, "tool_result") for part in item.content if isinstance(part, schema.FileRef)]
    assert [(ref.path, ref.action) for ref in refs] == [("old.txt", "patch"), ("new.txt", "write")]
    assert all(ref.diff for ref in refs) and "\n-first\n+1st\n" in refs[0].diff  # type: ignore[operator]
    assert verdicts(events) == ["reject"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["new.txt", "old.txt"]


def test_diffs_fit_the_files_whatever_pi_makes_of_them(start: Any, tmp_path: Path) -> None:
    """A path is found as Pi finds it, and a diff is of the file's own text: with CR, BOM, trailing blanks, a last line without its end."""
    files = {
        "crlf.txt": "a\r\nb\r\n", "bom.txt": "\ufeffa\nb\n", "rough.txt": "keep  \nit\u2019s here\n",
        "open.txt": "a\nb", "a b.txt": "old\n",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / "work" / name).write_bytes(content.encode())
    (tmp_path / "home.txt").write_text("old\n")
    replaced = {"crlf.txt": ("b", "B"), "bom.txt": ("a", "A"), "rough.txt": ("it's here", "it was"), "open.txt": ("b", "B")}
    edits = [Call("edit", {"path": f"@{name}", "edits": [{"oldText": old, "newText": new}]}) for name, (old, new) in replaced.items()]
    writes = [written("~/home.txt", "new\n"), written("a\u00a0b.txt", "new\n"), written("@fresh.txt", "new\n")]
    stage, _ = start(*([call] for call in [*edits, *writes]), ["Done."], permission_mode="bypass")
    stage.do(SendMessage("go"))
    stage.until(a("turn.ended"))
    refs = [part for item in items(stage.end(), "tool_result") for part in item.content if isinstance(part, schema.FileRef)]
    assert [ref.diff.partition("\n@@ ")[2].partition("\n")[2] for ref in refs if ref.diff] == [
        " a\r\n-b\r\n+B\r\n", "-\ufeffa\n+\ufeffA\n b\n", changed_roughly(tmp_path),
        " a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n",
        "-old\n+new\n", "-old\n+new\n", "+new\n",
    ]  # fmt: skip


def changed_roughly(tmp_path: Path) -> str:
    """How much of the file Pi makes plain is its own matter, and another in each version."""
    (first, second) = (tmp_path / "work" / "rough.txt").read_text().splitlines(keepends=True)
    assert second == "it was\n"
    return f" {first}-it\u2019s here\n+{second}" if first == "keep  \n" else f"-keep  \n-it\u2019s here\n+{first}+{second}"


def test_plan_mode_reads_only(start: Any, tmp_path: Path) -> None:
    (tmp_path / "work" / "old.txt").write_text("first\n")
    stage, model = start(
        [Call("read", {"path": "old.txt"}), written("new.txt", "one\n")], ["So I would."], [written("new.txt", "one\n")], ["Done."],
        permission_mode="plan",
    )  # fmt: skip
    stage.do(SendMessage("plan it"))
    stage.until(a("turn.ended"))
    assert sorted(status for status, _ in outputs(stage.events)) == ["completed", "failed"]
    assert "Plan mode" in str(model.requests[-1]["messages"]) and not (tmp_path / "work" / "new.txt").exists()
    stage.do(SetMode("acceptEdits"))
    stage.do(SendMessage("build it"))
    stage.until(a("turn.ended"))
    assert verdicts(stage.end()) == []
    assert (tmp_path / "work" / "new.txt").read_text() == "one\n"


def test_steering(start: Any) -> None:
    stage, model = start([shell("true")], ["I heard."])
    stage.do(SendMessage("go"))
    asked = stage.until(a("permission.requested"))
    stage.do(SendMessage("and hurry"))
    stage.do(ReplyPermission(asked.data.permission_id, "once"))
    stage.until(a("turn.ended"))
    assert texts(stage.end()) == ["go", "and hurry", "I heard."]
    assert "and hurry" in told(model)


def test_model_variant_and_resume(start: Any) -> None:
    first, model = start(["One."], ["Two."], variant="high")
    first.do(SendMessage("first"))
    first.until(a("turn.ended"))
    first.do(SetModel("scripted/two", "low"))
    first.until(lambda event: isinstance(event, schema.ItemCompleted) and "low" in str(event.data.item.content))
    first.do(SendMessage("second"))
    session = first.until(a("turn.ended")).native_session_id
    first.end()
    assert [(request["model"], request.get("reasoning_effort")) for request in model.requests] == [("one", "high"), ("two", "low")]
    again, model = start(["Three."], resume=session)
    again.do(SendMessage("third"))
    assert again.until(a("turn.ended")).native_session_id == session
    assert texts(again.end()) == ["third", "Three."]
    assert "Two." in str(model.requests[0]["messages"])


def test_images_and_files(start: Any) -> None:
    """What was sent is what is shown, whatever Pi makes of it."""
    stage, model = start(["I see."])
    image, note = Attachment("/pictures/broken.png", content=b"no picture"), Attachment("/notes/note.txt", content=b"remember the milk")
    stage.do(SendMessage("look", [image, note]))
    stage.until(a("turn.ended"))
    events = stage.end()
    said, (remark,) = items(events, "message")[0], items(events, "system")
    assert "[Image omitted" in str(remark.content), "Pi cannot make anything of it, and says so in the user's own message"
    assert [type(part) for part in said.content] == [schema.Text, schema.FileRef, schema.Image]
    assert "remember the milk" in str(model.requests[0]["messages"])
