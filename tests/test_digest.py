"""The digest over every golden case, and its rules one by one on the mock."""

from typing import Any

import msgspec
import pytest

import onetape
from onetape import schema
from onetape.digest import ActionEvent, Completed, Started, digest
from test_cases import CASES, Conversation


def told(*lines: dict[str, Any]) -> list[Any]:
    ready = {"type": "ready", "session": "s1", "version": "1", "model": "m", "mode": "build", "permission_mode": "default", "cwd": "/p"}
    turn = [{"type": "turn_start", "turn": "t"}, *lines]
    native = b"\n".join(msgspec.json.encode(line) for line in [ready, *turn])
    return list(digest(onetape.transcribe(native, "mock")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.parent.name}/{case.stem}")
def test_each_turn_is_started_and_completed_once(case: Any) -> None:
    conversation = Conversation(case)
    events = conversation.session.events
    run = list(digest(events, conversation.agent.kinds))
    count = {kind: sum(isinstance(event, kind) for event in events) for kind in (schema.TurnStarted, schema.TurnEnded)}
    assert sum(isinstance(event, Started) for event in run) == count[schema.TurnStarted]
    assert sum(isinstance(event, Completed) for event in run) == count[schema.TurnEnded]
    calls = [event for event in run if isinstance(event, ActionEvent)]
    begun = {event.action.id for event in calls if event.phase == "started"}
    assert all(event.action.id in begun for event in calls if "name" in event.action.detail)
    assert all(isinstance(event.ok, bool) for event in calls if event.phase == "completed")


def test_a_turn() -> None:
    run = told(
        {"type": "user", "id": "u", "text": "hi"},
        {"type": "block_start", "block": "b"}, {"type": "block_end", "block": "b", "text": "hello"},
        {"type": "turn_end", "turn": "t", "status": "completed", "usage": {"input": 3, "output": 2, "cost_usd": 0.5}},
    )  # fmt: skip
    assert msgspec.to_builtins(run) == [
        {"type": "started", "engine": "mock", "resume": {"engine": "mock", "value": "s1"},
         "meta": {"model": "m", "cwd": "/p", "agent_version": "1", "permission_mode": "default", "mode": "build"}},
        {"type": "completed", "engine": "mock", "ok": True, "answer": "hello", "resume": {"engine": "mock", "value": "s1"},
         "usage": {"total_cost_usd": 0.5, "tokens": {"input": 3, "output": 2, "reasoning": None, "cache_read": None, "cache_write": None}}},
    ]  # fmt: skip


def test_an_action_is_titled_when_its_arguments_are_whole() -> None:
    run = told(
        {"type": "tool_call", "call": "c", "name": "bash"},
        {"type": "tool_call", "call": "c", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_result", "call": "c", "output": "no", "ok": False},
    )  # fmt: skip
    actions = [event for event in run if isinstance(event, ActionEvent)][:3]
    assert [(event.phase, event.action.kind, event.action.title) for event in actions] == [
        ("started", "command", "bash"), ("updated", "command", "ls"), ("completed", "command", "ls"),
    ]  # fmt: skip
    assert (actions[2].ok, actions[2].message, actions[2].action.detail["output"]) == (False, "no", "no")


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Bash", "command"), ("Edit", "file_change"), ("WebFetch", "web_search"), ("TodoWrite", "note"), ("Task", "subagent"),
        ("grep", "tool"),
    ],
)  # fmt: skip
def test_kinds(tool: str, kind: str) -> None:
    started = told({"type": "tool_call", "call": "c", "name": tool, "input": {}})[1]
    assert started.action.kind == kind


def test_an_agent_may_see_its_tools_otherwise() -> None:
    native = msgspec.json.encode({"type": "tool_call", "call": "c", "name": "task", "input": {}})
    run = list(digest(onetape.transcribe(native, "mock"), {"task": "tool"}))
    assert next(event for event in run if isinstance(event, ActionEvent)).action.kind == "tool"


def test_whose_transcript_it_is_tells_what_its_tools_are() -> None:
    """Nobody has to say whose they are: the seed of one agent calls its `task` a tool."""
    state = {"status": "completed", "input": {}, "output": ""}
    part = {"type": "tool", "tool": "task", "callID": "c", "id": "p", "messageID": "m", "sessionID": "s", "state": state}
    line = {"type": "tool_use", "timestamp": 1, "sessionID": "s", "part": part}
    run = list(digest(onetape.transcribe(msgspec.json.encode(line), "opencode")))
    assert next(event for event in run if isinstance(event, ActionEvent)).action.kind == "tool"


PATCH = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: c.py\n@@\n-y\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "arguments", "title"),
    [
        ("finder", {"query": "the parser"}, "the parser"),
        ("grep", {"pattern": "TODO"}, "TODO"), ("grep", {"pattern": "x", "path": "src"}, "src"),
        ("glob", {"filePattern": "**/*.py"}, "**/*.py"),
        ("apply_patch", {"patchText": PATCH}, "a b.txt, c.py"), ("apply_patch", {"input": PATCH}, "a b.txt, c.py"),
        ("apply_patch", {"changes": [{"path": "/p/a", "kind": "add"}]}, "/p/a"), ("apply_patch", {"changes": {"/p/a": {}}}, "/p/a"),
        ("apply_patch", {}, "apply_patch"), ("subagent", {"agent": "scout", "task": "Look around"}, "Look around"),
    ],
)  # fmt: skip
def test_titles(tool: str, arguments: dict[str, Any], title: str) -> None:
    assert told({"type": "tool_call", "call": "c", "name": tool, "input": arguments})[1].action.title == title


def test_errors_retries_and_thoughts() -> None:
    run = told(
        {"type": "block_start", "block": "b", "kind": "reasoning"}, {"type": "block_end", "block": "b", "text": "hm"},
        {"type": "retry", "attempt": 1, "reason": "busy"},
        {"type": "error", "message": "gave up"},
        {"type": "turn_end", "turn": "t", "status": "failed"},
    )  # fmt: skip
    shown = [(event.action.kind, event.level) for event in run if isinstance(event, ActionEvent)]
    assert shown == [("note", msgspec.UNSET), ("warning", "warning"), ("warning", "error")]
    assert (run[-1].ok, run[-1].error) == (False, "gave up")


def test_silence_is_not_the_answer() -> None:
    run = told(
        {"type": "block_start", "block": "b"}, {"type": "block_end", "block": "b", "text": "mine"},
        {"type": "block_start", "block": "d"}, {"type": "block_end", "block": "d", "text": ""},
        {"type": "turn_end", "turn": "t", "status": "completed"},
    )  # fmt: skip
    assert run[-1].answer == "mine"


def test_a_subagents_words_are_not_the_answer() -> None:
    run = told(
        {"type": "block_start", "block": "b"}, {"type": "block_end", "block": "b", "text": "mine"},
        {"type": "tool_call", "call": "c", "name": "task", "input": {}},
        {"type": "block_start", "block": "d", "parent": "c"}, {"type": "block_end", "block": "d", "text": "its"},
        {"type": "tool_result", "call": "c", "output": "done"},
        {"type": "turn_end", "turn": "t", "status": "completed"},
    )  # fmt: skip
    assert run[-1].answer == "mine"
