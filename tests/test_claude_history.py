"""Claude Code's histories: read whole, told as the live session was, with rewinds and subagents in their places."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claude_types import LINES, said
from onetape import schema, tape
from onetape.agents.claude import AGENT
from onetape.schema import Event, Item
from onetape.tape import Head, Record
from onetape.transcribe import transcribe
from rehearsal import broken
from test_claude import CAPTURES, FOLDER, assert_applies, files, lines, records, unknown, unparsed

assert AGENT.history is not None
READER = AGENT.history
HISTORIES = sorted(path for path in FOLDER.glob("history/**/*.jsonl") if path.parent.name != "subagents")
LIVE = {capture.stem: capture for capture in CAPTURES if capture.parent.name == "2.1.326"}
PAIRS = [(LIVE[path.parts[-3]], path) for path in HISTORIES if path.parts[-3] in LIVE]
AT = "2026-01-01T00:00:{:02}.000Z"


def told(path: Path) -> list[Event]:
    return list(transcribe(READER.read(path), AGENT))


def items(events: list[Event], kind: str | None = None) -> list[Item]:
    done = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    return [item for item in done if kind is None or item.kind == kind]


def words(events: list[Event], role: str) -> list[str]:
    """The root messages of one role."""
    nested = {item.item_id for item in items(events, "tool_call")}
    return [text(item) for item in items(events, "message") if item.role == role and item.parent_id not in nested]


def text(item: Item) -> str:
    return "".join(part.text for part in item.content if isinstance(part, schema.Text | schema.Reasoning))


def usage(events: list[Event]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for event in events:
        if isinstance(event, schema.TurnEnded) and isinstance(counts := event.data.metadata.usage, schema.Usage):
            for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
                total[name] += getattr(counts, name) or 0
    return dict(total)


def statuses(events: list[Event]) -> list[str]:
    return [event.data.metadata.status for event in events if isinstance(event, schema.TurnEnded)]


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: "/".join(path.parts[-4:-2]))
def test_history(path: Path) -> None:
    assert READER.recognises(path)
    events = told(path)
    assert (unknown(events), unparsed(events), broken(events)) == ([], [], [])
    assert not [event for event in events if isinstance(event, schema.SessionEnded)]
    times = [event.time for event in events]
    assert times == sorted(times) and times[0].startswith("2026-11-18T")


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: "/".join(path.parts[-4:-2]))
def test_bare_lines_are_recognised(path: Path) -> None:
    events = list(transcribe([path.read_bytes()], AGENT))
    assert (unknown(events), unparsed(events), broken(events, bare=True)) == ([], [], [])
    assert words(events, "assistant")


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: "/".join(path.parts[-4:-2]))
def test_every_line_is_on_the_tape_as_it_was(path: Path) -> None:
    whole = [path, *path.with_suffix("").glob("subagents/*")]
    written = sorted(line for file in whole for line in file.read_bytes().splitlines())
    head, *rest = READER.read(path)
    assert head.dir == "head" and sorted(record.line for record in rest) == written
    assert all(earlier.t <= later.t for earlier, later in pairwise(rest))


# --- live versus history ----------------------------------------------------
# The same sessions, recorded twice. What remains different:
# - a history has no asks but questions, no deltas, no progress, no cost per turn, and no end of the session;
# - what a compaction cost is not written (27);
# - by the times written, a subagent's first message is billed in the turn before the live one (19): totals agree;
# - the program's own words (reminders, notifications) are `system` items in the history only.


def spoken(events: list[Event]) -> list[tuple[Any, ...]]:
    calls = {item.item_id for item in items(events, "tool_call")}
    root = [item for item in items(events, "message") if item.parent_id not in calls]
    nested = sorted((item for item in items(events, "message") if item.parent_id in calls), key=text)
    return [(item.role, text(item), item.status) for item in [*root, *nested]]


def done(events: list[Event], kind: str) -> list[tuple[Any, ...]]:
    return sorted(((item.content, item.status) for item in items(events, kind)), key=str)


def test_all_pairs_are_here() -> None:
    assert sorted(live.stem[:2] for live, _ in PAIRS) == ["03", "05", "10", "16", "19", "27"]


@pytest.mark.parametrize(("live", "path"), PAIRS, ids=[live.stem for live, _ in PAIRS])
def test_live_and_history_agree(live: Path, path: Path) -> None:
    then, now = list(transcribe(records(live), AGENT)), told(path)
    assert spoken(now) == spoken(then)
    assert done(now, "tool_call") == done(then, "tool_call")
    assert done(now, "tool_result") == done(then, "tool_result")
    assert statuses(now) == statuses(then)
    assert {item.native_item_id for item in items(now, "message")} >= {item.native_item_id for item in items(then, "message")} - {None}
    if not live.stem.startswith("27"):
        assert usage(now) == usage(then)


def test_what_a_compaction_cost_is_not_in_the_history() -> None:
    live, path = next(pair for pair in PAIRS if pair[0].stem.startswith("27"))
    then, now = usage(list(transcribe(records(live), AGENT))), usage(told(path))
    assert {name: then[name] - now[name] for name in then} == {
        "input_tokens": 1200, "output_tokens": 57, "cache_read_tokens": 900, "cache_write_tokens": 300,
    }  # fmt: skip


def test_questions_of_a_history_are_answered_as_live() -> None:
    live, path = next(pair for pair in PAIRS if pair[0].stem.startswith("10"))
    then, now = ([event.data.questions for event in events if isinstance(event, schema.QuestionResolved)]
                 for events in (list(transcribe(records(live), AGENT)), told(path)))  # fmt: skip
    assert now == then


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: "/".join(path.parts[-4:-2]))
def test_diffs_apply(path: Path, tmp_path: Path) -> None:
    for at, file in enumerate(file for file in files(told(path)) if file.diff):
        assert_applies(file, tmp_path / str(at))


# --- recorded situations ----------------------------------------------------


def recorded(version: str, name: str) -> list[Event]:
    return told(next(path for path in HISTORIES if path.parts[-4:-2] == (version, name)))


def test_what_was_rewound_is_not_told() -> None:
    events = recorded("2.1.326", "rewind")
    assert words(events, "user") == ["one", "two, other"]
    assert words(events, "assistant") == ["One.", "Two again."]
    assert not items(events, "tool_call")


def test_messages_that_waited_are_told_as_they_were_sent() -> None:
    for version in AGENT.versions:
        assert words(recorded(version, "queued"), "user") == ["first", "second", "third", "fourth", "fifth"]


def test_commands_are_told_as_they_were_typed() -> None:
    events = recorded("2.1.326", "slash")
    assert words(events, "user") == ["/hello Bob", "/cost", "plain", "/context", "/nonesuch x y"]
    assert statuses(events) == ["completed"] * 5


def test_a_compaction_that_writes_messages_again_repeats_none() -> None:
    events = recorded("2.1.197", "compact")
    assert words(events, "user") == ["one", "two", "/compact", "three"]
    assert words(events, "assistant") == ["One.", "Two.", "Three."]


def test_an_answer_beside_retries_is_not_taken_for_rewound() -> None:
    assert "Finally." in words(recorded("2.1.197", "errors"), "assistant")


def test_a_call_that_a_killed_process_left_has_a_failed_result() -> None:
    events = recorded("2.1.197", "killed")
    assert statuses(events) == ["interrupted", "completed"]
    assert [item.status for item in items(events, "tool_result")] == ["failed"]


def test_parallel_subagents_are_nested_under_their_own_calls() -> None:
    events = recorded("2.1.326", "agents")
    calls = {item.item_id: item.content[0] for item in items(events, "tool_call")}
    prompts = [(calls[item.parent_id], text(item)) for item in items(events, "message") if item.role == "user" and item.parent_id]
    assert [(msgspec.json.decode(call.arguments)["prompt"], prompt) for call, prompt in prompts] == [  # type: ignore[union-attr]
        ("SUBAGENT: fore", "SUBAGENT: fore"), ("SUBAGENT: fore2", "SUBAGENT: fore2"),
    ]  # fmt: skip


# --- made situations --------------------------------------------------------


class File:
    """A history written line by line, each linked to the one before."""

    def __init__(self, folder: Path, name: str = "s1", **common: Any) -> None:
        self.path = folder / f"{name}.jsonl"
        self._common = {"sessionId": "s1", "version": "2.0.1", "cwd": "/project", **common}
        self._lines: list[dict[str, Any]] = []

    def add(self, type: str, **fields: Any) -> str:
        at = len(self._lines)
        parent = self._lines[-1]["uuid"] if self._lines else None
        line = {"type": type, "uuid": f"{self.path.stem}-{at}", "parentUuid": parent, "timestamp": AT.format(at), **self._common, **fields}
        self._lines.append(line)
        self.path.write_bytes(b"".join(lines(*self._lines)))
        return str(line["uuid"])

    def says(self, content: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answers(self, *blocks: Any, stop: str | None = "end_turn", **fields: Any) -> str:
        message = {**said(*blocks)["message"], "id": f"msg_{len(self._lines)}", "stop_reason": stop}
        return self.add("assistant", message=message, **fields)

    def delegates(self, prompt: str, call: str = "toolu_1") -> str:
        return self.answers({"type": "tool_use", "id": call, "name": "Task", "input": {"prompt": prompt}}, stop="tool_use")


TEXT = {"type": "text", "text": "Yes."}


def test_a_second_rewind_may_go_back_to_what_the_first_left(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    first = file.answers(TEXT)
    file.says("b")
    left = file.answers(TEXT)
    file.says("c", parentUuid=first)
    file.answers(TEXT)
    file.says("d", parentUuid=left)
    file.answers(TEXT)
    assert words(told(file.path), "user") == ["a", "b", "d"]


def test_a_rewind_to_the_beginning(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    file.answers(TEXT)
    file.says("b", parentUuid=None)
    file.answers(TEXT)
    assert words(told(file.path), "user") == ["b"]


def test_the_agents_of_a_rewound_call_are_rewound_too(tmp_path: Path) -> None:
    file = File(tmp_path)
    first = file.says("a")
    file.delegates("look")
    file.says([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}], toolUseResult={"agentId": "x"})
    file.answers(TEXT)
    file.says("b", parentUuid=first)
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    File(folder, "agent-x", isSidechain=True, agentId="x").says("look")
    (folder / "agent-x.meta.json").write_text('{"agentType":"general-purpose","toolUseId":"toolu_1"}')
    assert words(told(file.path), "user") == ["a", "b"] and not items(told(file.path), "tool_call")
    assert [record.note for record in READER.read(file.path)].count("rewound") == 5


def test_lines_that_are_not_linked_are_all_told(tmp_path: Path) -> None:
    file = File(tmp_path)
    for prompt in ("a", "b"):
        file.says(prompt, parentUuid=None)
        file.answers(TEXT, parentUuid=None)
    assert words(told(file.path), "user") == ["a", "b"]


def test_an_agents_file_beside_the_session(tmp_path: Path) -> None:
    """2.0: no file names its call, and other sessions' agents lie in the same folder."""
    file = File(tmp_path)
    file.says("a")
    file.delegates("look")
    agent = File(tmp_path, "agent-x", isSidechain=True, agentId="x")
    agent.says("look", timestamp=AT.format(2))
    agent.answers({"type": "text", "text": "Seen."}, timestamp=AT.format(3))
    File(tmp_path, "agent-y", isSidechain=True, agentId="y", sessionId="s2").says("Warmup")
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Seen."}
    file.says([result], toolUseResult={"agentId": "x"}, timestamp=AT.format(4))
    events = told(file.path)
    (call,) = items(events, "tool_call")
    nested = [(text(item), item.parent_id == call.item_id) for item in items(events, "message")]
    assert nested == [("a", False), ("look", True), ("Seen.", True)]
    assert not READER.recognises(agent.path)


def test_an_agents_lines_in_the_sessions_own_file(tmp_path: Path) -> None:
    """1.x: known by their prompt, and by the line that they follow."""
    file = File(tmp_path, version="1.0.80")
    file.says("a")
    file.delegates("look")
    file.says("look", isSidechain=True, parentUuid=None)
    file.answers({"type": "text", "text": "Seen."}, isSidechain=True)
    (call,) = items(told(file.path), "tool_call")
    assert [item.parent_id for item in items(told(file.path), "message")] == [None, call.item_id, call.item_id]


def test_agents_that_no_call_started_are_on_the_tape_and_make_no_event(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    File(folder, "agent-acompact-1", isSidechain=True, agentId="acompact-1").says("Summarise")
    assert words(told(file.path), "user") == ["a"] and not items(told(file.path), "tool_call")
    assert len([record for record in READER.read(file.path) if record.note]) == 1


def test_the_last_line_of_a_message_has_its_final_usage(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    counts = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}
    for block, output in (({"type": "thinking", "thinking": "Hm."}, 1), (TEXT, 30)):
        message = {**said(block)["message"], "stop_reason": "end_turn", "usage": {**counts, "output_tokens": output}}
        file.add("assistant", message=message)
    (ended,) = [event for event in told(file.path) if isinstance(event, schema.TurnEnded)]
    assert ended.data.metadata.usage == schema.Usage(10, 30, None, 5, 2, None, "claude-x")


def test_what_is_open_stays_open(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    file.answers({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}, stop="tool_use")
    events = told(file.path)
    assert not items(events, "tool_result") and not statuses(events)
    assert broken(events) == []


def test_a_resume_in_another_version_is_announced(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    file.answers(TEXT)
    file.says("b", version="2.1.326", permissionMode="plan")
    started, *_ = told(file.path)
    assert isinstance(started, schema.SessionStarted) and started.data.metadata["agent_version"] == "2.0.1"
    (ready,) = [item.content[1] for item in items(told(file.path), "status")]
    assert isinstance(ready, schema.Json) and ready.json["agent_version"] == "2.1.326"


def test_every_type_of_line_is_known() -> None:
    events = list(transcribe(lines(*({"uuid": f"u{at}", "sessionId": "s", **line} for at, line in enumerate(LINES))), AGENT))
    assert (unknown(events), unparsed(events), broken(events, bare=True)) == ([], [], [])


# --- bad input and places ---------------------------------------------------


def test_a_broken_line_is_unparsed_and_loses_no_other(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a")
    file.answers(TEXT)
    file.path.write_bytes(b"\xef\xbb\xbf\n" + file.path.read_bytes().replace(b"\n", b"\r\n") + b'{"type":"user"\n\xff\xfe\n{"type":"assist')
    events = told(file.path)
    assert words(events, "assistant") == ["Yes."] and len(unparsed(events)) == 3
    assert broken(events) == []


@pytest.mark.parametrize("native", [
    {"type": "user"}, {"type": "user", "message": {"content": 7}}, {"type": "assistant", "message": {"content": "x"}},
    {"type": "assistant", "message": {"id": "m", "content": [{"type": "text"}]}}, {"type": "attachment"}, {"type": "system"},
    {"type": "attachment", "attachment": {"type": "queued_command"}}, {"type": "queue-operation"}, {"type": "permission-mode"},
    {"type": "summary"}, {"type": "progress"}, {"type": "cost-state"}, {"type": "pr-link"},
], ids=str)  # fmt: skip
def test_a_known_line_without_its_fields_is_unparsed(native: dict[str, Any]) -> None:
    events = list(transcribe(lines(native), AGENT, dialect="history"))
    assert len(unparsed(events)) == 1 and not unknown(events)


@pytest.mark.parametrize("native", [
    {"type": "novelty", "sessionId": "s"}, {"type": "attachment", "attachment": {"type": "novelty"}},
    {"type": "system", "subtype": "novelty"},
], ids=str)  # fmt: skip
def test_a_strange_line_is_unknown(native: dict[str, Any]) -> None:
    events = list(transcribe(lines(native), AGENT, dialect="history"))
    assert len(unknown(events)) == 1 and not unparsed(events)


def test_places() -> None:
    home = Path("/home/ada")
    assert list(READER.places(home, {})) == [home / ".claude/projects", home / ".config/claude/projects"]
    assert list(READER.places(home, {"CLAUDE_CONFIG_DIR": "/x"})) == [Path("/x/projects")]


def test_what_is_no_history_is_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"type":"message","session":"x"}\nnot JSON\n')
    (tmp_path / "b.jsonl").write_text('{"type":"user","sessionId":"s","agentId":"a1","isSidechain":true,"message":{}}\n'
                                      '{"type":"api-request","sessionId":"s","agentId":"a1"}\n')  # fmt: skip
    assert not any(READER.recognises(tmp_path / name) for name in ("a.jsonl", "b.jsonl")), "b is a subagent's, and belongs to its session"


def test_the_wire_is_not_taken_for_a_history() -> None:
    for capture in CAPTURES[:5]:
        first: list[Record] = [record for record in records(capture) if record.dir == "recv"]
        assert AGENT.translator(None, [(record.native(), False) for record in first]).dialect == "stream-json"


def test_the_head_tells_how_the_session_began() -> None:
    head = msgspec.json.decode(next(iter(READER.read(PAIRS[0][1]))).payload, type=Head)
    assert (head.agent, head.dialect, head.version, head.cwd) == ("claude", "history", "2.1.326", "/workspace/demo")
    assert head.started == "2026-11-18T05:04:51.915Z" and head.model == "claude-sonnet-4-5" and head.permission_mode == "default"
    assert head.session_id == "sess_" + tape.hash_of(PAIRS[0][1].stem.encode())[:16]
