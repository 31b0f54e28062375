"""The seed of the digest, row by row: OpenCode in both of its live dialects says the same.

Each row is told once, in steps, and spoken as `opencode run` prints it and as `opencode serve` streams it.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from onetape import tape
from onetape.agents.opencode import AGENT
from onetape.digest import ActionEvent, Completed, DigestEvent, Resume, Started, digest
from onetape.transcribe import transcribe

SESSION = "ses_XXX"
ERROR = {"name": "APIError", "data": {"message": "API rate limit exceeded", "statusCode": 429, "isRetryable": False}}
TOKENS = {"total": 22561, "input": 22443, "output": 118, "reasoning": 0, "cache": {"read": 21415, "write": 0}}
START, FINISH = {"type": "step-start"}, {"type": "step-finish", "reason": "stop", "tokens": TOKENS, "cost": 0.001}
DIALECTS = pytest.mark.parametrize("dialect", ["run", "serve"])


def tool(name: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": "call_1", "state": {"input": {}, **state}}


def completed(name: str, **metadata: Any) -> dict[str, Any]:
    return tool(name, status="completed", output="done", title="", metadata=metadata, time={"start": 1, "end": 2})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "time": {"start": 1, "end": 2}}


def spoken(dialect: str, steps: list[dict[str, Any]], *, code: int = 0) -> list[DigestEvent]:
    told = [*_run(steps, code)] if dialect == "run" else [*_serve(steps)]
    records = [tape.record(at / 8, dir, payload) for at, (dir, payload) in enumerate(told)]
    return list(digest(transcribe(iter(records), AGENT), AGENT.kinds))


def _parts(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One message; a part of its own for each step, but one for all the states of a tool."""
    for at, step in enumerate(steps):
        yield {"id": step.get("callID", f"prt_{at}"), "messageID": "msg_2", "sessionID": SESSION, **step}


def _run(steps: list[dict[str, Any]], code: int) -> Iterator[tuple[str, Any]]:
    yield "send", {"argv": ["opencode", "run", "--format", "json", "-m", "anthropic/claude-sonnet", "Go"], "cwd": "/p", "stdin": None}
    for part in _parts(steps):
        line = {"timestamp": 1, "sessionID": SESSION}
        kind = {"step-start": "step_start", "step-finish": "step_finish", "tool": "tool_use"}.get(part["type"], part["type"])
        yield "recv", line | ({"type": "error", "error": ERROR} if kind == "error" else {"type": kind, "part": part})
    yield "exit", code


def _serve(steps: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    def event(kind: str, **properties: Any) -> tuple[str, Any]:
        return "recv", {"type": kind, "properties": {"sessionID": SESSION, **properties}}

    model = {"providerID": "anthropic", "modelID": "claude-sonnet"}
    user = {"id": "msg_1", "role": "user", "sessionID": SESSION, "time": {"created": 1}, "agent": "build", "model": model}
    info = {"id": "msg_2", "role": "assistant", "sessionID": SESSION, "parentID": "msg_1", "time": {"created": 2}, **model}
    error = {"error": ERROR} if any(step["type"] == "error" for step in steps) else {}
    yield event("session.created", info={"id": SESSION, "version": "1.18.33", "directory": "/p", "time": {"created": 1}})
    yield event("message.updated", info=user)
    yield event("message.part.updated", part={"id": "prt", "messageID": "msg_1", "sessionID": SESSION, "type": "text", "text": "Go"})
    yield event("message.updated", info=info)
    for part in _parts(steps):
        yield event("session.error", **error) if part["type"] == "error" else event("message.part.updated", part=part)
    yield event("message.updated", info=info | {"time": {"created": 2, "completed": 3}} | error)
    yield event("session.idle")


def actions(run: list[DigestEvent]) -> list[ActionEvent]:
    return [event for event in run if isinstance(event, ActionEvent)]


@DIALECTS
def test_started(dialect: str) -> None:
    first = spoken(dialect, [START, FINISH])[0]
    assert isinstance(first, Started) and isinstance(first.meta, dict)
    assert (first.engine, first.meta["model"]) == ("opencode", "anthropic/claude-sonnet")
    if dialect == "serve":  # in `run` the prompt starts it, before OpenCode says which session it is
        assert first.resume == Resume("opencode", SESSION)


@DIALECTS
def test_a_tool_starts(dialect: str) -> None:
    run = spoken(dialect, [START, tool("bash", status="pending", raw="")])
    assert (actions(run)[0].action.kind, actions(run)[0].phase) == ("command", "started")


@DIALECTS
@pytest.mark.parametrize(("state", "ok"), [
    (completed("bash", exit=0, output="done"), True),
    (completed("bash", exit=3, output="done"), False),
    (tool("bash", status="error", error="The user rejected permission", time={"start": 1, "end": 2}), False),
])  # fmt: skip
def test_a_tool_is_done(dialect: str, state: dict[str, Any], ok: bool) -> None:
    done = actions(spoken(dialect, [START, state, FINISH]))[-1]
    assert (done.action.kind, done.phase, done.ok) == ("command", "completed", ok)


@DIALECTS
def test_success(dialect: str) -> None:
    first = [START, text("Looking."), completed("bash", exit=0), FINISH | {"reason": "tool-calls"}]
    run = spoken(dialect, [*first, START, text("Done."), FINISH])
    last = run[-1]
    assert isinstance(last, Completed) and last.usage
    assert (last.engine, last.ok, last.answer, last.resume) == ("opencode", True, "Done.", Resume("opencode", SESSION))
    # Both steps: what the seed calls not yet implemented.
    told = last.usage.tokens
    assert last.usage.total_cost_usd == pytest.approx(0.002)
    assert (told.input, told.output, told.reasoning, told.cache_read, told.cache_write) == (44886, 236, 0, 42830, 0)


@DIALECTS
def test_a_step_without_a_reason(dialect: str) -> None:
    finish = {name: value for name, value in FINISH.items() if name != "reason"}
    last = spoken(dialect, [START, text("Done."), finish])[-1]
    assert isinstance(last, Completed) and last.usage
    assert (last.ok, last.answer, last.usage.total_cost_usd) == (True, "Done.", 0.001)


@DIALECTS
@pytest.mark.parametrize("before", [[], [START], [START, text("Half.")]], ids=["first", "step_start", "text"])
def test_error(dialect: str, before: list[dict[str, Any]]) -> None:
    run = spoken(dialect, [*before, {"type": "error"}], code=1)
    assert isinstance(run[0], Started) and isinstance(run[-1], Completed)
    assert (run[-1].ok, run[-1].error) == (False, "API rate limit exceeded")
    assert sum(isinstance(event, Completed) for event in run) == 1


@DIALECTS
@pytest.mark.parametrize(("name", "kind"), [
    ("bash", "command"), ("shell", "command"), ("edit", "file_change"), ("write", "file_change"), ("multiedit", "file_change"),
    ("read", "tool"), ("glob", "tool"), ("grep", "tool"), ("websearch", "web_search"), ("web_search", "web_search"),
    ("webfetch", "web_search"), ("web_fetch", "web_search"), ("todowrite", "note"), ("todoread", "note"), ("task", "tool"),
    ("skill", "tool"), ("apply_patch", "file_change"), ("question", "tool"), ("plan_exit", "tool"), ("calc_add", "tool"),
])  # fmt: skip
def test_kinds(dialect: str, name: str, kind: str) -> None:
    assert {event.action.kind for event in actions(spoken(dialect, [START, completed(name), FINISH]))} == {kind}
