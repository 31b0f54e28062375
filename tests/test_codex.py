"""Codex: its recordings, its histories, its schema, and what goes to it.

The recordings under captures/codex are the real program's, slimmed: no prompts of
its vendor's, long texts cut. `schema.json` is what `codex app-server
generate-json-schema --experimental` prints, without its prose.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onetape
from onetape import drafts as d
from onetape import schema, tape
from onetape.agents.agent import LaunchOptions
from onetape.agents.codex import AGENT, asks, items, notices
from onetape.agents.codex.changes import patch
from onetape.agents.codex.content import command_line, user_parts
from onetape.agents.codex.launch import launch, toml
from onetape.agents.codex.models import models_of
from onetape.agents.codex.outputs import unwrapped
from onetape.agents.codex.translator import AppServer
from onetape.errors import Refused
from onetape.schema import Event
from onetape.tape import Head, Record
from onetape.transcribe import transcribe
from rehearsal import broken
from shapes import drawn, instances

ROOT = Path(__file__).parent / "captures" / "codex" / "0.169.0"
CAPTURES = sorted(ROOT.glob("*.jsonl"))
HISTORIES = sorted((ROOT / "history").glob("*.jsonl"))
SCHEMA = json.loads((ROOT / "schema.json").read_text())


def name(path: Path) -> str:
    return path.stem


def records(path: Path) -> list[Record]:
    return list(tape.read([path.read_bytes()]))


def strange(events: list[Event]) -> list[Any]:
    """What was not understood."""
    unknown = [e.data.item.content for e in events if isinstance(e, schema.ItemStarted) and e.data.item.kind == "unknown"]
    return unknown + [event.data.error for event in events if isinstance(event, schema.AgentUnparsed)]


# --- recordings -------------------------------------------------------------


@pytest.mark.parametrize("capture", CAPTURES, ids=name)
def test_recordings_are_understood(capture: Path) -> None:
    events = list(transcribe(iter(records(capture)), AGENT))
    assert strange(events) == []
    assert broken(events) == []
    assert isinstance(events[0], schema.SessionStarted) and isinstance(events[-1], schema.SessionEnded)


@pytest.mark.parametrize("capture", CAPTURES, ids=name)
def test_bare_lines_are_understood(capture: Path) -> None:
    lines = b"".join(record.line + b"\n" for record in records(capture) if record.dir == "recv")
    events = list(transcribe(lines, AGENT))
    assert strange(events) == []
    assert broken(events, bare=True) == []


@pytest.mark.parametrize("capture", CAPTURES, ids=name)
def test_every_send_is_known(capture: Path) -> None:
    told = records(capture)
    native = [record.native() for record in told if record.dir == "send"]
    translator = AGENT.translator(None, [(message, True) for message in native])(Head(session_id="s"))
    assert not [draft for message in native for draft in translator.sent(message) if isinstance(draft, d.Unheard)]


@pytest.mark.parametrize("capture", [path for path in CAPTURES if not path.stem.startswith("exec")], ids=name)
def test_each_prompt_is_one_user_message(capture: Path) -> None:
    root = next((record.native()["params"].get("threadId") for record in records(capture) if _method(record) == "turn/start"), None)
    sent = [
        [part.text for part in user_parts(record.native()["params"].get("input") or ())[0] if isinstance(part, schema.Text)]
        for record in records(capture)
        if record.dir == "send" and _method(record) in ("turn/start", "turn/steer", "thread/queue/add")
        and record.native()["params"]["threadId"] == root and record.native()["params"].get("input")
    ]  # fmt: skip
    if capture.stem == "31-review":
        sent = [["Review the current code changes (staged, unstaged, and untracked files) and provide prioritized findings."]]
    items = [event.data.item for event in transcribe(iter(records(capture)), AGENT) if isinstance(event, schema.ItemCompleted)]
    said = [item for item in items if (item.kind, item.role, item.parent_id) == ("message", "user", None)]
    assert [[part.text for part in item.content if isinstance(part, schema.Text)] for item in said] == sent


def _method(record: Record) -> str | None:
    native = record.native() if record.dir == "send" else {}
    return native.get("method") if isinstance(native, dict) else None


@pytest.mark.parametrize("capture", CAPTURES, ids=name)
def test_the_short_way_says_the_same(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = list(map(onetape.to_json, transcribe(list(records(capture)), AGENT)))
    monkeypatch.setattr(AppServer, "hot", None)
    assert list(map(onetape.to_json, transcribe(iter(records(capture)), AGENT))) == quick


def usages(path: Path) -> list[Any]:
    ends = [event.data.metadata for event in transcribe(iter(records(path)), AGENT) if isinstance(event, schema.TurnEnded)]
    return [(end.usage.input_tokens, end.usage.cache_read_tokens, end.usage.output_tokens) if end.usage else None for end in ends]


@pytest.mark.parametrize(
    ("capture", "wanted"),
    [
        ("01-text", [(200, 1000, 42)]),
        ("03-shell", [(400, 2000, 84)]),  # two responses
        ("17-resume-b-new-process", [(200, 1000, 42)]),  # the total of the first process is no cost of the second
        ("17-resume-c-fork", [(200, 1000, 42)]),
        ("19-subagent-v1", [(1200, 6000, 252)]),  # four responses of the root's, two of the subagent's
        ("27-compaction", [(200, 1000, 42), (200, 1000, 42), (200, 1000, 42)]),
        ("22-sigkill-b-resumed-after", [(200, 1000, 42)]),
        ("14f-stream-dropped", [None]),
        ("exec-01-text", [(200, 1000, 42)]),
        ("exec-04-resume-b-second", [None]),
    ],
)
def test_usage(capture: str, wanted: list[Any]) -> None:
    assert usages(ROOT / f"{capture}.jsonl") == wanted


def test_a_command_may_end_after_its_turn() -> None:
    events = list(transcribe(iter(records(ROOT / "04e-command-outlives-turn.jsonl")), AGENT))
    ended = next(at for at, event in enumerate(events) if isinstance(event, schema.TurnEnded))
    done = next(at for at, e in enumerate(events) if isinstance(e, schema.ItemCompleted) and e.data.item.kind == "tool_result")
    assert ended < done and not events[done].synthetic


def test_a_subagent_is_nested_and_ends_no_turn() -> None:
    events = list(transcribe(iter(records(ROOT / "19-subagent-v1.jsonl")), AGENT))
    done = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    spawn = next(item for item in done if item.native_item_id == "call_spawn" and item.kind == "tool_call")
    assert {item.native_item_id for item in done if item.parent_id == spawn.item_id} >= {"msg_sub", "call_sub"}
    assert sum(isinstance(event, schema.TurnEnded) for event in events) == 1


def test_an_exec_recording_may_begin_in_the_middle() -> None:
    lines = [record.line + b"\n" for record in records(ROOT / "exec-02-tools.jsonl") if record.dir == "recv"]
    for begun in range(1, len(lines)):
        events = list(transcribe(b"".join(lines[begun:]), AGENT))
        assert (strange(events), broken(events, bare=True)) == ([], [])


@pytest.mark.parametrize("given", [["-m", "gpt-5.5"], ["--model=gpt-5.5"], ["-c", 'model="gpt-5.5"'], ["--config=model=gpt-5.5"]])
def test_exec_is_told_its_model(given: list[str]) -> None:
    said = [("send", {"argv": ["codex", "exec", "--json", *given, "Hi"]}), ("recv", {"type": "thread.started", "thread_id": "thr_1"})]
    first = next(transcribe([tape.record(0.0, dir, native) for dir, native in said], AGENT))
    assert isinstance(first, schema.SessionStarted) and first.data.metadata["model"] == "gpt-5.5"


# --- patches ----------------------------------------------------------------


@pytest.mark.parametrize("source", [ROOT / "05-file-edit.jsonl", ROOT / "history" / "05-file-edit.jsonl"], ids=["live", "history"])
def test_patches_apply(source: Path, tmp_path: Path) -> None:
    """One after the other, on the files that the recording began with."""
    work = tmp_path / "workspace" / "demo"
    work.mkdir(parents=True)
    (work / "README.md").write_text("# Demo\n\nA tiny project used for captures.\n")
    (work / "main.py").write_text(
        'def greet(name):\n    return "Hello, " + name\n\n\nif __name__ == "__main__":\n    print(greet("world"))\n'
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    applied = 0
    for event in transcribe(iter(records(source)), AGENT):
        if not isinstance(event, schema.ItemCompleted):
            continue
        for part in event.data.item.content:
            if isinstance(part, schema.FileRef):
                assert part.diff is not None
                if part.path.endswith("docs/notes.md"):  # a moved file is told under its new name
                    (work / "docs").mkdir()
                    (work / "notes.txt").rename(work / "docs" / "notes.md")
                for flag in ("--check", "-v"):
                    subprocess.run(["git", "apply", flag, "-"], input=part.diff.encode(), cwd=tmp_path, check=True, capture_output=True)
                applied += 1
    assert applied == 5
    assert (work / "docs" / "notes.md").read_text() == "first line\nsecond line, edited\n"
    assert not (work / "README.md").exists()
    assert (work / "unicode-é.txt").read_text() == "日本語\n"


@pytest.mark.parametrize("name", ["two words.txt", "a\ttab", "a\nline", 'a"quote', "back\\slash", "é"])
@pytest.mark.parametrize("kind", ["add", "delete", "update", "move", "empty"])
def test_patches_of_odd_names_apply(name: str, kind: str, tmp_path: Path) -> None:
    changes = {
        "add": {"kind": {"type": "add"}, "diff": "one\n"},
        "empty": {"kind": {"type": "add"}, "diff": ""},
        "delete": {"kind": {"type": "delete"}, "diff": "one\n"},
        "update": {"kind": {"type": "update", "move_path": None}, "diff": "@@ -1 +1 @@\n-one\n+two\n"},
        "move": {"kind": {"type": "update", "move_path": f"/to/{name}"}, "diff": f"\n\nMoved to: /to/{name}"},
    }
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    if kind not in ("add", "empty"):
        (tmp_path / name).write_text("one\n")
    diff = patch([{"path": f"/{name}", **changes[kind]}])
    assert diff is not None
    subprocess.run(["git", "apply", "--check", "-"], input=diff.encode(), cwd=tmp_path, check=True)


# --- histories --------------------------------------------------------------


@pytest.mark.parametrize("path", HISTORIES, ids=name)
def test_histories_are_understood(path: Path) -> None:
    assert AGENT.history is not None and AGENT.history.recognises(path)
    taped = list(AGENT.history.read(path))
    assert [record.line for record in taped[1:]] == path.read_bytes().splitlines()
    assert [record.t for record in taped] == sorted(record.t for record in taped)
    for source in (iter(taped), path.read_bytes()):
        events = list(transcribe(source, AGENT))
        assert strange(events) == []
        assert broken(events) == []
        assert not isinstance(events[-1], schema.SessionEnded)


def test_a_history_has_the_times_and_the_identity_of_its_lines() -> None:
    assert AGENT.history is not None
    first, *rest = transcribe(AGENT.history.read(ROOT / "history" / "03-shell.jsonl"), AGENT)
    assert isinstance(first, schema.SessionStarted)
    assert first.time == "2026-11-18T05:03:53.120Z"
    assert first.data.metadata == {
        "agent": "codex", "agent_version": "0.169.0", "model": "gpt-5.5", "cwd": "/workspace/demo", "permission_mode": "never",
    }  # fmt: skip
    assert rest[-1].time > first.time


def test_where_histories_lie(tmp_path: Path) -> None:
    assert AGENT.history is not None
    assert list(AGENT.history.places(tmp_path, {})) == [tmp_path / ".codex/sessions", tmp_path / ".codex/archived_sessions"]
    assert Path("/elsewhere/sessions") in AGENT.history.places(tmp_path, {"CODEX_HOME": "/elsewhere"})


@pytest.mark.parametrize("content", [b"", b"not json\n", b'{"type":"session_meta"}\n', b'{"id":"x","timestamp":"y"}\n'])
def test_other_files_are_not_ours(tmp_path: Path, content: bytes) -> None:
    assert AGENT.history is not None
    (tmp_path / "rollout.jsonl").write_bytes(content)
    assert not AGENT.history.recognises(tmp_path / "rollout.jsonl")


def said(events: Iterator[Event]) -> list[str]:
    """What a transcript says in the end: items and turns, without ids of ours and times."""
    lines = []
    for event in events:
        match event:
            case schema.ItemCompleted(data=schema.ItemData(item)):
                content = msgspec.json.encode(item.content).decode()
                lines.append(f"{item.kind} {item.role} {item.status} {item.native_item_id} {content}")
            case schema.TurnStarted() | schema.TurnEnded() | schema.Error():
                lines.append(f"{onetape.type_of(event)} {msgspec.json.encode(event.data).decode()}")
            case _:
                pass
    return lines


# Where a live transcript and the history of the same session differ, and why. All else must be the same.
LIVE_ALONE = {
    "18-mcp": ['"mcp"'],  # the start of servers is not kept
    "18b-mcp-elicitation": ['"mcp"'],
    "18c-mcp-approval": ['"mcp"'],
    "27-compaction": ['"compaction","detail":null'],  # the wire does not tell the summary
    "05-file-edit": ['"output":""},{"type":"file_ref"'] * 3,  # nor what apply_patch said
    "04d-background-terminal": ["typed into call_1"],  # the history has the call that typed
    "04e-command-outlives-turn": ["/bin/bash -lc 'echo start; sleep 2; echo end'\\\""],  # told late: the arguments are the model's
    "15c-interrupt-approval": ["tool_call", "tool_result"],  # an aborted command is told as the model was told
    "15d-interrupt-command": ["tool_call", "tool_result"],
    "16b-steer": ["message assistant failed"],  # what was never finished is not kept
    # A subagent's history is a file of its own; its usage is counted there.
    "19-subagent-v1": ["Count the files", "call_sub", "call_sub", "msg_sub", "turn.ended"],
}
HISTORY_ALONE = {
    "05-file-edit": ["Success."] * 3 + ["call_4"] * 2,  # a patch that does not fit is silent on the wire
    "18-mcp": ["demo.nope", "unsupported call"],  # and so is an unknown tool
    "27-compaction": ["Summary of the conversation."],
    "04d-background-terminal": ["write_stdin", "call_2"],
    "04e-command-outlives-turn": ["tool_call"],
    "10d-question-async": ["request_user_input_async", "accepted"],
    "15c-interrupt-approval": ["tool_call", "aborted by user"],
    "15d-interrupt-command": ["tool_call", "aborted by user"],
    "19-subagent-v1": ["turn.ended"],
}


@pytest.mark.parametrize("path", [path for path in HISTORIES if (ROOT / path.name).exists() and "exec" not in path.stem], ids=name)
def test_live_and_history_agree(path: Path) -> None:
    assert AGENT.history is not None
    live = said(transcribe(iter(records(ROOT / path.name)), AGENT))
    history = said(transcribe(AGENT.history.read(path), AGENT))
    if path.stem == "19-subagent-v1":
        assert len(live) > len(history)  # recorded in two runs: ids differ
        return
    assert_only([line for line in live if line not in history], LIVE_ALONE.get(path.stem, []))
    assert_only([line for line in history if line not in live], HISTORY_ALONE.get(path.stem, []))
    shared = [line for line in live if line in history]
    assert shared == [line for line in history if line in live], "in another order"


def assert_only(lines: list[str], marks: list[str]) -> None:
    assert len(lines) == len(marks), lines
    for line, mark in zip(lines, marks, strict=True):
        assert mark in line


# --- the schema -------------------------------------------------------------


def names_in(schema: dict[str, Any]) -> dict[str, set[str]]:
    def methods(of: str) -> set[str]:
        return {alternative["properties"]["method"]["enum"][0] for alternative in schema[of]["oneOf"]}

    def types(shape: dict[str, Any]) -> set[str]:
        inner = [*shape.get("oneOf", ()), *shape.get("anyOf", ()), *shape.get("allOf", ())]
        return set(shape.get("properties", {}).get("type", {}).get("enum", ())).union(*map(types, inner))

    found = types(schema["definitions"]["ThreadItem"])
    return {"notifications": methods("ServerNotification"), "requests": methods("ServerRequest"), "items": found}


def known() -> dict[str, set[str]]:
    return {"notifications": set(notices.METHODS), "requests": set(asks.METHODS), "items": set(items.TYPES)}


def test_all_names_of_the_schema_are_known() -> None:
    named = names_in(SCHEMA)
    assert {kind: len(names) for kind, names in named.items()} == {"notifications": 86, "requests": 11, "items": 19}
    # Two that only the TypeScript types have; a client must ask for them (capture 34).
    named["notifications"] |= {"rawResponseItem/completed", "rawResponse/completed"}
    assert named == known()


@pytest.mark.lab
def test_all_names_of_the_installed_codex_are_known(tmp_path: Path, installed: Callable[[str], Path]) -> None:
    """Fails when a new version says something new."""
    codex = installed("codex")
    subprocess.run([codex, "app-server", "generate-json-schema", "--experimental", "--out", str(tmp_path)], check=True)
    told: dict[str, Any] = {"definitions": {}}
    for of in ("ServerNotification", "ServerRequest"):
        told[of] = json.loads((tmp_path / f"{of}.json").read_text())
        told["definitions"] |= told[of]["definitions"]
    named = names_in(told)
    # The TypeScript types have two notifications more than the JSON schema.
    subprocess.run([codex, "app-server", "generate-ts", "--experimental", "--out", str(tmp_path)], check=True)
    named["notifications"] |= set(re.findall(r'"method": "([^"]+)"', (tmp_path / "ServerNotification.ts").read_text()))
    assert len(named["notifications"]) >= 88 and len(named["requests"]) >= 11 and len(named["items"]) >= 19
    for kind, names in named.items():
        assert names <= known()[kind]


def messages(of: str) -> list[dict[str, Any]]:
    named = SCHEMA["definitions"]
    return [value for shape in SCHEMA[of]["oneOf"] for full in (False, True) for value in instances(shape, named, full=full)]


SPOKEN = messages("ServerNotification") + messages("ServerRequest")


def test_every_shape_of_the_schema_is_read() -> None:
    assert len(SPOKEN) > 500
    for message in SPOKEN:
        translator = AppServer(Head(session_id="s"))
        translator.feed({"id": 1, "result": {"thread": {"id": "eA=="}, "approvalPolicy": "never"}})
        drafts = translator.feed(message)
        assert not [draft for draft in drafts if isinstance(draft, d.Unknown | d.Unreadable)], message


SAID = {shape["properties"]["method"]["enum"][0]: shape for of in ("ServerNotification", "ServerRequest") for shape in SCHEMA[of]["oneOf"]}


@pytest.mark.parametrize("method", SAID)
def test_whatever_the_schema_allows_is_read(method: str) -> None:
    begun = [
        {"id": 1, "result": {"thread": {"id": "thr_1"}, "approvalPolicy": "never"}},
        {"method": "turn/started", "params": {"threadId": "thr_1", "turn": {"id": "turn_1"}}},
    ]
    for seed in range(40):
        message = drawn(SAID[method], SCHEMA["definitions"], Random(seed))
        for thread in {"threadId", "conversationId"} & (message.get("params") or {}).keys():
            message["params"][thread] = "thr_1"
        events = list(transcribe(b"".join(json.dumps(said).encode() + b"\n" for said in [*begun, message]), AGENT))
        assert (strange(events), broken(events, bare=True)) == ([], []), message


@given(st.lists(st.tuples(st.sampled_from(SPOKEN), st.sampled_from("abc"), st.sampled_from("xxy")), max_size=60))
@settings(deadline=None, max_examples=80)
def test_any_order_keeps_the_promises(spoken: list[tuple[dict[str, Any], str, str]]) -> None:
    """A recording with holes, or a server gone mad."""
    taped = []
    for at, (message, item, thread) in enumerate(spoken):
        params = dict(message.get("params") or {})
        params |= {"threadId": thread} if params.get("threadId") else {}
        params |= {"itemId": item} if "itemId" in params else {}
        params |= {"item": {**params["item"], "id": item}} if isinstance(params.get("item"), dict) and "type" in params["item"] else {}
        line = {**message, "params": params} | ({"id": at} if "id" in message else {})
        taped.append(tape.recv(at / 8, json.dumps(line).encode()))
    # That a permission is for another tool than its call is the madness of the server.
    assert [fault for fault in broken(list(transcribe(iter(taped), AGENT)), bare=True) if "ask_action" not in fault] == []


# --- how we speak -----------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["/bin/bash", "-lc", "echo hello && ls"], "/bin/bash -lc 'echo hello && ls'"),
        (["/bin/bash", "-lc", "find . -name '*.py'"], "/bin/bash -lc \"find . -name '*.py'\""),  # capture 06
        (["/bin/bash", "-lc", "printf '\\xff\\n'"], "/bin/bash -lc \"printf '\\\\xff\\\\n'\""),  # capture 25
        (["echo", "it's $HOME", ""], "echo \"it's \"'$HOME' ''"),
    ],
)
def test_command_lines_are_written_as_codex_writes_them(argv: list[str], line: str) -> None:
    assert command_line(argv) == line


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_command_lines_can_be_read_by_a_shell(argv: list[str]) -> None:
    import shlex

    assert shlex.split(command_line(argv)) == argv


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Chunk ID: c\nWall time: 1.5 seconds\nProcess exited with code 3\nOriginal token count: 6\nOutput:\nh\n", ("h\n", 3, 1500, False)),
        ("Wall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n", ("", None, 10000, True)),
        ("Exit code: 1\nWall time: 0 seconds\nTotal output lines: 2\nOutput:\na\nb", ("a\nb", 1, 0, False)),
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.2}}', ("x", 0, 200, False)),
        ('{"output":"x"}', ('{"output":"x"}', None, None, False)),
        ("Wall time: 0.1 seconds\naborted by user", ("aborted by user", None, None, False)),
        ("plain", ("plain", None, None, False)),
    ],
)
def test_outputs_are_unwrapped(text: str, wanted: tuple[str, int | None, int | None, bool]) -> None:
    told = unwrapped(text)
    assert (told.output, told.exit_code, told.duration_ms, told.is_running) == wanted


def test_the_model_list_has_efforts_as_variants() -> None:
    answer = next(r.native() for r in records(ROOT / "24-models.jsonl") if r.dir == "recv" and "data" in str(r.native().get("result")))
    models = models_of(answer["result"])
    assert models.default_model == "gpt-6.1-sol"
    assert next(model.variants for model in models.models if model.id == "gpt-5.5") == ["low", "medium", "high", "xhigh"]


def options(**more: Any) -> LaunchOptions:
    return LaunchOptions(executable="/opt/codex", cwd="/project", session_key="k", **more)


def test_launch() -> None:
    started = launch(options(model="gpt-5.5", permission_mode="bypass"))
    assert (started.argv, started.cwd, started.files, started.stop) == (["/opt/codex", "app-server"], "/project", {}, "close_stdin")


def test_mcp_servers_are_for_this_process_alone() -> None:
    servers = {
        "demo": {"type": "local", "command": ["python3", "-m"], "args": ["d"], "env": {"A": 'say "hi"'}, "timeoutMs": 1500},
        "web one": {"type": "remote", "url": "https://example.com", "headers": {"X-Y": "1"}, "enabled": False},
    }
    assert launch(options(mcp=servers)).argv[2:] == [
        "-c",
        'mcp_servers.demo={command = "python3", args = ["-m", "d"], env = {A = "say \\"hi\\""}, startup_timeout_sec = 1.5}',
        "-c",
        'mcp_servers."web one"={url = "https://example.com", http_headers = {X-Y = "1"}, enabled = false}',
    ]


@pytest.mark.parametrize(
    "server", [{"type": "local"}, {"type": "remote"}, {"type": "remote", "url": "u", "transport": "sse"}, {"type": "carrier pigeon"}]
)
def test_what_is_no_mcp_server_is_refused(server: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="demo"):
        launch(options(mcp={"demo": server}))


json_values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3),
)


@given(json_values)
def test_toml_is_toml(value: Any) -> None:
    import tomllib

    assert tomllib.loads(f"x = {toml(value)}")["x"] == value
