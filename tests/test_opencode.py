"""OpenCode: its recordings, its schema, and what goes to it.

The recordings under captures/opencode are the real program's, driven by a scripted
model. `schema.json` is the events of the document that `opencode serve` gives at
`/doc`, with what they refer to and without prose.
"""

import json
import os
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onetape
from onetape import drafts as d
from onetape import schema, tape
from onetape.agents.agent import LaunchOptions
from onetape.agents.opencode import AGENT, patches, plain, wire
from onetape.agents.opencode.calls import Calls
from onetape.agents.opencode.launch import launch
from onetape.agents.opencode.serve import Serve
from onetape.digest import Completed, digest
from onetape.errors import Refused
from onetape.schema import Event
from onetape.tape import Head, Record
from onetape.transcribe import transcribe
from patience import PATIENCE
from rehearsal import broken
from shapes import instances

ROOT = Path(__file__).parent / "captures" / "opencode" / "1.18.33"
CAPTURES = sorted(ROOT.glob("*.jsonl"))
SERVED = [path for path in CAPTURES if not path.stem.endswith(".run")]
RUN = [path for path in CAPTURES if path.stem.endswith(".run")]
SCHEMA = json.loads((ROOT / "schema.json").read_text())


def name(path: Path) -> str:
    return path.stem


def records(path: Path) -> list[Record]:
    return list(tape.read([path.read_bytes()]))


def natives(path: Path, dir: str) -> list[Any]:
    """What was said, without the remarks of who recorded it."""
    return [record.native() for record in records(path) if record.dir == dir and record.line.startswith(b"{")]


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
    lines = b"".join(record.line + b"\n" for record in records(capture) if record.dir == "recv" and record.line.startswith(b"{"))
    events = list(transcribe(lines, AGENT))
    assert strange(events) == []
    assert broken(events, bare=True) == []


@pytest.mark.parametrize("capture", CAPTURES, ids=name)
def test_every_send_is_known(capture: Path) -> None:
    native = natives(capture, "send")
    translator = AGENT.translator(None, [(message, True) for message in native])(Head(session_id="s"))
    assert not [draft for message in native for draft in translator.sent(message) if isinstance(draft, d.Unheard)]


@pytest.mark.parametrize("capture", SERVED, ids=name)
def test_the_short_way_says_the_same(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = list(map(onetape.to_json, transcribe(list(records(capture)), AGENT)))
    monkeypatch.setattr(Serve, "hot", None)
    assert list(map(onetape.to_json, transcribe(iter(records(capture)), AGENT))) == quick


# Recorded where the prompts were not sent: a second stream of the same server, and `opencode run` as another client.
SENT_ELSEWHERE = {"01-text.global", "34-run-attach-tool.serve"}
# The server says of an agent that it does not know, and then forgets the prompt.
NEVER_ECHOED = {
    "24-models-variants.serve": [["Unknown agent."]], "own-errors.serve": [["unknown agent"]], "more-refused.serve": [["c"]],
}  # fmt: skip
# A subtask part, which has a prompt and no text; and a command, whose template is echoed.
NO_TEXT_SENT = {"31-agent-and-subtask-parts.serve": 1, "32-misc-api.serve": 1, "more-commands.serve": 2}


@pytest.mark.parametrize("capture", [path for path in SERVED if path.stem not in SENT_ELSEWHERE], ids=name)
def test_each_prompt_is_one_user_message(capture: Path) -> None:
    sent = [native for native in natives(capture, "send") if native["method"] == "POST" and native["status"] in (200, 204, 500)]
    root = next((native["response"]["id"] for native in sent if native["path"] == "/session"), None)
    prompts = [
        [part["text"] for part in native["body"]["parts"] if part["type"] == "text"]
        for native in sent
        if native["path"] in (f"/session/{root}/prompt_async", f"/session/{root}/message")
    ]
    wanted = [texts for texts in prompts if texts and texts not in NEVER_ECHOED.get(capture.stem, ())]
    items = [event.data.item for event in transcribe(iter(records(capture)), AGENT) if isinstance(event, schema.ItemCompleted)]
    said = [item for item in items if (item.kind, item.role, item.parent_id) == ("message", "user", None)]
    told = [[part.text for part in item.content if isinstance(part, schema.Text)] for item in said]
    assert [texts for texts in told if texts in wanted] == wanted
    assert len(told) - len(wanted) == NO_TEXT_SENT.get(capture.stem, 0)


@pytest.mark.parametrize("capture", ["01-text.serve", "03-shell.serve", "19-subagent.serve"])
def test_the_other_streams_say_the_same(capture: str) -> None:
    """/global/event wraps each event; /api/event calls its properties data."""
    told = natives(ROOT / f"{capture}.jsonl", "recv")
    streams = {
        "/event": told,
        "/global/event": [{"directory": "/workspace/demo", "project": "p", "payload": event} for event in told],
        "/api/event": [{"id": event["id"], "type": event["type"], "data": event["properties"]} for event in told],
    }
    said = [list(map(onetape.to_json, transcribe(_lines(stream), AGENT, session_id="sess_1"))) for stream in streams.values()]
    assert len(said[0]) > 10 and said[0] == said[1] == said[2]


def test_a_first_line_that_cannot_be_read_tells_whose_it_is() -> None:
    part = {"id": "p", "messageID": "m", "sessionID": "ses_1", "type": "tool", "tool": "bash", "callID": "c", "state": {"status": "new"}}
    printed = [{"type": kind, "sessionID": "ses_1", "part": part} for kind in ("tool_use", "step_start")]
    heard = [
        {"type": "message.updated", "properties": {"sessionID": "ses_1", "info": {"id": "m", "sessionID": "ses_1", "role": "nobody"}}},
        {"type": "message.part.updated", "properties": {"sessionID": "ses_1", "part": part}},
        {"type": "session.deleted", "properties": {"sessionID": "ses_1", "info": {"id": "ses_1"}}},
    ]
    for lines, dialect, unread in ((printed, "run", 1), (heard, "serve", 2)):
        events = list(transcribe(_lines(lines), AGENT, dialect=dialect))
        assert sum(isinstance(event, schema.AgentUnparsed) for event in events) == unread
        assert events[-1].native_session_id == "ses_1"


def test_a_message_that_cannot_be_read_leaves_the_prompt_before_it() -> None:
    """The prompt is held back until it comes, and is whole then, whatever becomes of the line itself."""
    user = {"id": "msg_1", "role": "user", "sessionID": "ses_1", "time": {"created": 1}}
    part = {"id": "prt_1", "type": "text", "text": "Go on.", "messageID": "msg_1", "sessionID": "ses_1"}
    spoiled = {"id": "msg_2", "role": "assistant", "sessionID": "ses_1", "time": 5}
    told = [("message.updated", {"info": user}), ("message.part.updated", {"part": part}), ("message.updated", {"info": spoiled})]
    lines = [{"type": kind, "properties": {"sessionID": "ses_1", **properties}} for kind, properties in told]
    events = list(transcribe(_lines(lines), AGENT))
    assert [event.data.item.content for event in events if isinstance(event, schema.ItemCompleted)] == [[schema.Text("Go on.")]]
    assert len([event for event in events if isinstance(event, schema.AgentUnparsed)]) == 1


def _lines(events: list[Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def told_of(capture: str) -> list[tuple[str, ...]]:
    """Turns' ends, errors and items, each in a few words, as they come to their end."""
    said: list[tuple[str, ...]] = []
    for event in transcribe(iter(records(ROOT / f"{capture}.jsonl")), AGENT):
        match event:
            case schema.TurnEnded(data=data):
                said.append(("turn", data.metadata.status))
            case schema.Error(data=data):
                said.append(("error", data.message))
            case schema.ItemCompleted(data=schema.ItemData(item)):
                said.append((item.kind, item.role or "", item.status, *map(_words, item.content[:1])))
            case _:
                pass
    return said


def _words(part: schema.ContentPart) -> str:
    match part:
        case schema.Text(text=text) | schema.Reasoning(text=text):
            return text
        case schema.ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case schema.ToolResult(output=output):
            return output
        case schema.Status(label=label, detail=detail):
            return f"{label} {detail}"[:40].rstrip()
        case _:
            return ""


@pytest.mark.parametrize("capture", ["more-abort-in-retry.serve", "more-abort-after-error.serve", "more-abort-shell.serve"])
def test_an_abort_that_nothing_tells(capture: str) -> None:
    """No MessageAbortedError: while it waited to try again, or of the user's own command."""
    assert told_of(capture)[-1] == ("turn", "interrupted")


def test_a_prompt_that_a_compaction_repeats_is_said_once() -> None:
    assert told_of("more-overflow-again.serve")[-6:-1] == [
        ("message", "user", "completed", "second thing"),
        ("status", "", "completed", "retry This model's maximum context lengt"),
        ("status", "", "completed", "compaction ## Summary of turn one"),
        ("system", "system", "completed", "second thing"),
        ("message", "assistant", "completed", "Answer after replay."),
    ]
    assert told_of("more-overflow-again.run")[-3:-1] == [
        ("status", "", "completed", "compaction ## Summary"), ("message", "assistant", "completed", "Answer after replay."),
    ]  # fmt: skip


def test_a_compaction_that_is_made_up_for() -> None:
    """The first was aborted; the next prompt is answered by another one, which no part announces."""
    assert told_of("more-abort-compaction.serve")[-5:] == [
        ("status", "", "failed", "compaction ## Sum"), ("turn", "interrupted"),
        ("message", "user", "completed", "two"), ("status", "", "completed", "compaction after"), ("turn", "completed"),
    ]  # fmt: skip


def test_one_failure_is_one_error() -> None:
    """A command that does not exist is told on the stream and in the answer; a file that does not exist fails nothing."""
    assert [said[1] for said in told_of("more-commands.serve") if said[0] == "error"] == [
        'Command not found: "nope". Available commands: init, review, rev, sub, customize-opencode'
    ]
    assert [said for said in told_of("more-attachments.serve") if said[0] == "error" or "failed" in said] == [
        ("status", "", "failed", "notice File not found: /workspace/demo/n")
    ]
    assert [said for said in told_of("more-deleted.serve") if said[0] == "error"] == []  # somebody looked for it afterwards


@pytest.mark.parametrize("is_late", [False, True])
def test_a_refused_prompt_is_one_error(is_late: bool) -> None:
    """Told on the stream and in the answer, in either order: of an agent that there is not, and of a model."""
    taped = records(ROOT / "more-refused.serve.jsonl")
    answers = [at for at, record in enumerate(taped) if record.dir == "send" and b'"status":500' in record.line]
    assert len(answers) == 2
    if is_late:  # after what the stream says of each
        for at, later in zip(answers, (1, 8), strict=True):
            taped.insert(at + later, taped.pop(at))
    told = [event.data.message for event in transcribe(iter(taped), AGENT) if isinstance(event, schema.Error)]
    model = "Model not found: fake/nope." if is_late else "Unexpected server error. Check server logs for details."
    assert told == ["no", 'Agent not found: "nobody". Available agents: build, explore, general, plan', model]


@pytest.mark.parametrize("capture", ["more-refused.serve", "07-permission-once.serve", "09-permission-denied.serve"])
def test_a_directory_in_the_paths_changes_nothing(capture: str) -> None:
    """A client may say with each request which project it is about (capture 41)."""
    taped = records(ROOT / f"{capture}.jsonl")
    sent = [{**record.native(), "path": f"{record.native()['path']}?directory=/workspace/demo"} for record in taped if record.dir == "send"]
    directed = [tape.record(record.t, "send", sent.pop(0)) if record.dir == "send" else record for record in taped]
    told = [list(map(onetape.to_json, transcribe(iter(tape), AGENT, session_id="sess_1"))) for tape in (taped, directed)]
    assert len(told[0]) > 10 and told[0] == told[1]
    unseen = list(transcribe(iter(records(ROOT / "41-directory-routing.serve.jsonl")), AGENT))
    assert unseen[-1].native_session_id == "ses_e12e8f3f7ffetRYcxn0h6cJqPc"


def test_an_image_sent_as_a_file_is_the_users() -> None:
    events = transcribe(iter(records(ROOT / "more-attachments.serve.jsonl")), AGENT)
    items = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    assert [type(part).__name__ for part in items[0].content] == ["Text", "FileRef", "FileRef", "FileRef", "Image", "Image"]


def test_a_call_that_never_became_whole() -> None:
    """When the attempt is given up, and not when its message ends; or by an abort."""
    assert told_of("more-error-in-call.serve")[1:5] == [
        ("message", "assistant", "failed", "half "), ("tool_call", "assistant", "failed", "bash "), ("tool_result", "tool", "failed", ""),
        ("status", "", "completed", 'retry attempt 1 failed: {"message":"over'),
    ]  # fmt: skip
    assert told_of("more-abort-in-call.serve")[2:] == [
        ("tool_call", "assistant", "failed", "bash "), ("tool_result", "tool", "failed", "Tool execution aborted"), ("turn", "interrupted"),
    ]  # fmt: skip


def test_the_tools_for_resources_are_opencodes_own() -> None:
    called = [said[3].split()[0] for said in told_of("more-mcp.serve") if said[0] == "tool_call"]
    assert called == ["demo.add", "demo.shot", "demo.fail", "my_srv.slow_one", "list_mcp_resources", "read_mcp_resource", "demo.add"]


def test_what_follows_a_tool_is_no_summary() -> None:
    """Whatever reason the model gave to stop, be it `stop`: another call of it follows."""
    assert told_of("more-retry.run")[-2] == ("message", "assistant", "completed", "(script exhausted)")


def test_a_compaction_after_a_tool_is_told_when_it_shows() -> None:
    assert ("status", "", "completed", "compaction ## Summary of it") in told_of("more-compaction.run")


def test_a_subagent_that_is_aborted_has_its_last_word() -> None:
    """It rests, and so does its task, before its own command says that it was aborted."""
    events = transcribe(iter(records(ROOT / "own-subagent-abort.serve.jsonl")), AGENT)
    results = [event for event in events if isinstance(event, schema.ItemCompleted) and event.data.item.kind == "tool_result"]
    told = [(part.output, event.synthetic) for event in results for part in event.data.item.content if isinstance(part, schema.ToolResult)]
    assert told == [("Task cancelled", False), ("Tool execution aborted", False)]


# --- usage ------------------------------------------------------------------


def steps(capture: Path) -> Iterator[dict[str, Any]]:
    """What each call of the model cost, in either dialect, each once."""
    seen = set()
    for native in natives(capture, "recv"):
        part = native.get("part") or (native.get("payload") or native).get("properties", {}).get("part") or {}
        if part.get("type") == "step-finish" and part["id"] not in seen:
            seen.add(part["id"])
            yield part


# Here another session's steps, and those of a fork's copies, are on the stream too.
SEVERAL_SESSIONS = {"32-misc-api.serve", "48-always-scope.serve", "49-two-sessions-interleaved.serve"}


@pytest.mark.parametrize("capture", [path for path in CAPTURES if path.stem not in SEVERAL_SESSIONS], ids=name)
def test_usage_is_the_sum_of_the_steps(capture: Path) -> None:
    """Those of subagents and compactions too."""
    told = list(steps(capture))
    ends = [event for event in digest(transcribe(iter(records(capture)), AGENT), AGENT.kinds) if isinstance(event, Completed)]
    usages = [end.usage for end in ends if end.usage]
    assert sum(usage.total_cost_usd or 0 for usage in usages) == pytest.approx(sum(step["cost"] for step in told))
    for ours, theirs in (("input", lambda t: t["input"]), ("output", lambda t: t["output"] + t["reasoning"]),
                         ("reasoning", lambda t: t["reasoning"]), ("cache_read", lambda t: t["cache"]["read"]),
                         ("cache_write", lambda t: t["cache"]["write"])):  # fmt: skip
        assert sum(getattr(usage.tokens, ours) for usage in usages) == sum(theirs(step["tokens"]) for step in told), ours


# --- patches ----------------------------------------------------------------


CHANGES = ["05-write-edit.serve", "05-write-edit.run", "05b-apply-patch.run", "07-permission-once.serve", "own-apply-patch.serve"]


@pytest.mark.parametrize("capture", CHANGES)
def test_patches_apply(capture: str, tmp_path: Path) -> None:
    """One after the other, on the files that the recordings began with."""
    work = tmp_path / "workspace" / "demo"
    work.mkdir(parents=True)
    (work / "README.md").write_text("# Demo\n\nA tiny project used for captures.\n")
    (work / "main.py").write_text(
        'def greet(name):\n    return f"Hello, {name}!"\n\n\nif __name__ == "__main__":\n    print(greet("world"))\n'
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    parts = [part for event in transcribe(iter(records(ROOT / f"{capture}.jsonl")), AGENT) if isinstance(event, schema.ItemCompleted)
             for part in event.data.item.content if isinstance(part, schema.FileRef) and part.action != "read"]  # fmt: skip
    assert parts
    for part in parts:
        assert part.diff is not None
        subprocess.run(["git", "apply", "-v", "-"], input=part.diff.encode(), cwd=tmp_path, check=True, capture_output=True)


# --- the schema -------------------------------------------------------------


def types_in(shape: dict[str, Any], named: dict[str, Any]) -> set[str]:
    """The values that `type` has in the alternatives of a shape."""
    if "$ref" in shape:
        return types_in(named[shape["$ref"].rpartition("/")[2]], named)
    told = set(shape.get("properties", {}).get("type", {}).get("enum", ()))
    return told.union(*(types_in(inner, named) for inner in shape.get("anyOf", ())))


def known_events() -> set[str]:
    return {*wire.TOLD, *wire.SILENT, *(wire.SECOND_API + event for event in wire.SECOND_API_EVENTS)}


# The server sends these, and its document leaves them out of `Event`.
UNPUBLISHED = {"server.heartbeat", "sync"}


def test_all_names_of_the_schema_are_known() -> None:
    assert types_in(SCHEMA["Event"], SCHEMA) == known_events() - UNPUBLISHED
    assert types_in(SCHEMA["Part"], SCHEMA) == wire.PARTS.keys()


@contextmanager
def served(opencode: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a real server, which knows no settings but its own."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    argv = [opencode, "serve", "--hostname", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(line.split()[-1] for line in server.stdout if "listening on" in line)
        finally:
            server.kill()


@pytest.mark.lab
def test_all_names_of_the_installed_opencode_are_known(tmp_path: Path, installed: Callable[[str], Path]) -> None:
    """Fails when a new version says something new."""
    with served(installed("opencode"), tmp_path) as address, urllib.request.urlopen(f"{address}/doc", timeout=PATIENCE) as answer:
        named = json.load(answer)["components"]["schemas"]
    assert types_in(named["Event"], named) | types_in(named["V2Event"], named) <= known_events()
    assert types_in(named["GlobalEvent"]["properties"]["payload"], named) <= known_events()
    assert types_in(named["Part"], named) <= wire.PARTS.keys()


def told(kind: str, **properties: Any) -> dict[str, Any]:
    return {"id": "evt_1", "type": kind, "properties": {"sessionID": "eA==", **properties}}


def values(shape: str) -> list[Any]:
    return [value for full in (False, True) for value in instances(SCHEMA[shape], SCHEMA, full=full)]


ERRORS = [error for error in SCHEMA if error.endswith("Error") and "name" in SCHEMA[error].get("properties", {})]
SPOKEN: list[dict[str, Any]] = [
    *values("Event"),
    *(told("message.part.updated", part=part, time=1) for part in values("Part")),
    *(told("message.updated", info=info) for info in values("Message")),
    *(told("session.status", status=status) for status in values("SessionStatus")),
    *(told("session.error", error=error) for shape in ERRORS for error in values(shape)),
]


def test_every_shape_of_the_schema_is_read() -> None:
    states = {m["properties"]["part"]["state"]["status"] for m in SPOKEN if m["properties"].get("part", {}).get("type") == "tool"}
    assert (len(ERRORS), states) == (8, {"pending", "running", "completed", "error"})
    for message in SPOKEN:
        translator = Serve(Head(session_id="s"))
        translator.sent({"method": "POST", "path": "/session", "body": {}, "status": 200, "response": {"id": "eA=="}})
        translator.feed(told("message.updated", info={"id": "eA==", "sessionID": "eA==", "role": "assistant", "time": {"created": 1}}))
        drafts = translator.feed(message)
        assert not [draft for draft in drafts if isinstance(draft, d.Unknown | d.Unreadable)], message


@given(st.lists(st.tuples(st.sampled_from(SPOKEN), st.sampled_from("abc"), st.sampled_from("xxy"), st.sampled_from("mn")), max_size=60))
@settings(deadline=None, max_examples=80, derandomize=True)
def test_any_order_keeps_the_promises(spoken: list[tuple[dict[str, Any], str, str, str]]) -> None:
    """A recording with holes, or a server gone mad."""
    taped = []
    for at, (message, part, session, id) in enumerate(spoken):
        names = {"partID": part, "sessionID": session, "messageID": id, "requestID": part}
        properties = {key: names.get(key, value) for key, value in message["properties"].items()}
        if isinstance(inner := properties.get("part"), dict):
            properties["part"] = {**inner, "id": part, "sessionID": session, "messageID": id}
        if isinstance(inner := properties.get("info"), dict):
            properties["info"] = {**inner, **({"id": id, "sessionID": session} if "role" in inner else {"id": session})}
        taped.append(tape.recv(at / 8, json.dumps({**message, "properties": properties}).encode()))
    # That a permission is for another tool than its call is the madness of the server.
    assert [fault for fault in broken(list(transcribe(iter(taped), AGENT)), bare=True) if "ask_action" not in fault] == []


@given(st.sampled_from(SERVED), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_recordings_with_holes_keep_the_promises(capture: Path, chance: Any) -> None:
    """Records are lost, doubled, and overtake each other."""
    taped: list[Record] = []
    for record in records(capture):
        if chance.random() < 0.8:
            taped.insert(len(taped) - (chance.random() < 0.1), record)
        if chance.random() < 0.05:
            taped.append(record)
    # What is told of a call that was lost on the way cannot name it rightly.
    assert [fault for fault in broken(list(transcribe(iter(taped), AGENT)), bare=True) if "ask_action" not in fault] == []


# --- how it is started ------------------------------------------------------


def options(**more: Any) -> LaunchOptions:
    return LaunchOptions(executable="/opt/opencode", cwd="/project", session_key="k", **more)


def config(**more: Any) -> dict[str, Any]:
    return json.loads(launch(options(**more)).env["OPENCODE_CONFIG_CONTENT"])


def test_launch() -> None:
    started = launch(options())
    assert started.argv == ["/opt/opencode", "serve", "--hostname", "127.0.0.1", "--port", "{port}"]
    assert (started.cwd, started.files, started.stop, started.wire, started.login) == (
        "/project", {}, "SIGTERM", "http", "opencode:{secret}",
    )  # fmt: skip
    assert started.env["OPENCODE_SERVER_PASSWORD"] == "{secret}" and "{secret}" not in str(started.argv)
    off = {"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_SHARE", "OPENCODE_DISABLE_LSP_DOWNLOAD"}
    assert {name for name, value in started.env.items() if value == "1"} == off
    assert {name: value for name, value in config().items() if name != "permission"} == {"autoupdate": False, "share": "disabled"}


@pytest.mark.parametrize(
    ("mode", "permission"),
    [
        ("default", {"edit": "ask", "bash": "ask", "webfetch": "ask", "websearch": "ask", "my_server_*": "ask"}),
        ("acceptEdits", {"edit": "allow", "bash": "ask", "webfetch": "ask", "websearch": "ask", "my_server_*": "ask"}),
        ("plan", {"edit": "ask", "bash": "ask", "webfetch": "ask", "websearch": "ask", "my_server_*": "ask"}),
        ("bypass", {"*": "allow"}),
    ],
)
def test_subagents_ask_too(mode: str, permission: dict[str, str]) -> None:
    """They do not inherit the rules of the session that starts them, but those of the process."""
    told = config(permission_mode=mode, mcp={"my server": {"type": "remote", "url": "u"}})
    assert told["permission"] == permission
    env = launch(options(permission_mode=mode, mcp={"my server": {"type": "remote", "url": "u"}})).env
    assert json.loads(env["OPENCODE_PERMISSION"]) == permission, "where the user's environment has one, it would stand above the settings"
    planner = {"plan": {"permission": {"edit": {"*": "deny", "*opencode/plans/*.md": "allow"}}}}
    assert told.get("agent") == (planner if mode == "plan" else None)


@pytest.mark.parametrize("how", [{"mode": "plan"}, {"permission_mode": "plan"}])
def test_a_plan_has_a_way_out(how: dict[str, Any]) -> None:
    assert launch(options(**how)).env["OPENCODE_EXPERIMENTAL_PLAN_MODE"] == "1"


def test_mcp_servers_are_for_this_process_alone() -> None:
    servers = {
        "demo": {"type": "local", "command": ["python3", "-m"], "args": ["d"], "env": {"A": "b"}, "timeoutMs": 1500},
        "web": {"type": "remote", "url": "https://example.com", "headers": {"X-Y": "1"}, "bearerTokenEnvVar": "TOKEN", "enabled": False},
    }
    assert config(mcp=servers)["mcp"] == {
        "demo": {"type": "local", "command": ["python3", "-m", "d"], "environment": {"A": "b"}, "enabled": True, "timeout": 1500},
        "web": {
            "type": "remote", "url": "https://example.com", "enabled": False,
            "headers": {"X-Y": "1", "Authorization": "Bearer {env:TOKEN}"},
        },
    }  # fmt: skip


@pytest.mark.parametrize("server", [{"type": "local"}, {"type": "remote"}, {"type": "carrier pigeon"}])
def test_what_is_no_mcp_server_is_refused(server: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="demo"):
        launch(options(mcp={"demo": server}))


@pytest.mark.parametrize("odd", ["two words.txt", "a\ttab", "a\nline", 'a"quote'])
def test_patches_of_odd_names_apply(odd: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / odd).write_text("one\n")
    diff = patches.restored("@@ -1,1 +1,1 @@\n-one\n+two\n", f"/{odd}", ["one"])
    assert diff is not None
    subprocess.run(["git", "apply", "--check", "-"], input=diff.encode(), cwd=tmp_path, check=True)


def test_a_call_that_is_named_again_keeps_its_command() -> None:
    calls, args = Calls(), {"command": "ls"}
    told = {"status": "completed", "input": args, "output": "x\n", "metadata": {"output": "x\n", "exit": 0}}
    states = [{"status": "running", "input": args}, {"status": "pending", "input": {}}, told]
    part = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "tool": "bash", "callID": "call_1"}
    *_, result = [draft for state in states for draft in calls.part(plain.tool({**part, "state": state}), None, "/project")]
    assert isinstance(result, d.Result) and result.shell is not None
    assert (result.shell.command, result.shell.cwd) == ("ls", "/project")
