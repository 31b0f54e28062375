"""The checker against small transcripts: whole ones break nothing, and each broken one breaks the one rule it is named for.

A transcript is written as a list of (event class, data) and numbered by `transcript`; what a case breaks in
the envelope it breaks afterwards. The last test counts: a rule without a case here fails it.
"""

import ast
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from onetape import promises, schema
from onetape.promises import Violation, check, decode
from onetape.schema import (
    DeltaData,
    EndedData,
    Error,
    ErrorData,
    Event,
    FileRef,
    Image,
    Item,
    ItemCompleted,
    ItemData,
    ItemDelta,
    ItemStarted,
    Json,
    Option,
    PermissionData,
    PermissionRequested,
    PermissionResolved,
    Question,
    QuestionData,
    QuestionRequested,
    QuestionResolved,
    Reasoning,
    SessionEnded,
    SessionStarted,
    StartedData,
    Status,
    Stderr,
    Text,
    ToolCall,
    ToolResult,
    TurnEnded,
    TurnEndedData,
    TurnOutcome,
    TurnStarted,
    TurnStartedData,
)

# --- building -----------------------------------------------------------------

Step = tuple[type, Any] | tuple[type, Any, bool]  # the third: made by us


def transcript(*steps: Step | list[Step]) -> list[Event]:
    flat = [step for some in steps for step in (some if isinstance(some, list) else [some])]
    return [_event(number, *step) for number, step in enumerate(flat, 1)]


def _event(number: int, kind: type, data: Any, ours: bool = False) -> Event:
    time = f"2026-01-02T03:04:{number // 1000:02d}.{number % 1000:03d}Z"
    return kind(f"evt_k1_{number}", number, time, "sess_1", "native_1", ours, "daemon" if ours else "agent", data)


def item(
    n: int, kind: str, role: str | None, *content: Any, parent: int | None = None, status: str = "completed", native: str | None = None
) -> Item:
    return Item(_id(n), native, None if parent is None else _id(parent), kind, role, list(content), status)  # type: ignore[arg-type]


def _id(n: int) -> str:
    return f"itm_k1_{n}"


def started(of: Item, *content: Any) -> Step:
    return ItemStarted, ItemData(replace(of, status="in_progress", content=list(content) or of.content))


def completed(of: Item) -> Step:
    return ItemCompleted, ItemData(of)


def whole(of: Item) -> list[Step]:
    return [started(of), completed(of)]


def delta(n: int, text: str, native: str | None = None) -> Step:
    return ItemDelta, DeltaData(_id(n), native, text)


def user(n: int, *content: Any, parent: int | None = None) -> list[Step]:
    return whole(item(n, "message", "user", *(content or (Text("hi"),)), parent=parent))


def answer(n: int, *chunks: str, text: str | None = None, parent: int | None = None) -> list[Step]:
    final = item(n, "message", "assistant", Text("".join(chunks) if text is None else text), parent=parent)
    return [started(final, Text("")), *(delta(n, chunk) for chunk in chunks), completed(final)]


def thought(n: int, *parts: Any) -> list[Step]:
    final = item(n, "message", "assistant", *parts)
    text = "".join(part.text for part in parts if hasattr(part, "text"))
    return [started(final), *([delta(n, text)] if text else []), completed(final)]


def call(n: int, name: str = "shell", arguments: str = "{}", call_id: str = "c1", parent: int | None = None) -> list[Step]:
    return whole(item(n, "tool_call", "assistant", ToolCall(name, arguments, call_id), parent=parent))


def result(n: int, *rest: Any, call_id: str = "c1", parent: int | None = None, status: str = "completed") -> list[Step]:
    final = item(n, "tool_result", "tool", ToolResult(call_id, "out"), *rest, parent=parent, status=status)
    return [started(final, ToolResult(call_id, "")), completed(final)]


def running(n: int, call_id: str = "c1", parent: int | None = None) -> Step:
    return started(item(n, "tool_result", "tool", ToolResult(call_id, ""), parent=parent))


def note(n: int, label: str = "notice", *rest: Any) -> list[Step]:
    return whole(item(n, "status", None, Status(label), *rest))  # type: ignore[arg-type]


def permission(id: str = "p1", action: str = "shell", **metadata: Any) -> Step:
    return PermissionRequested, PermissionData(id, action, "requested", metadata)


def decided(id: str = "p1", status: str = "accept") -> Step:
    return PermissionResolved, PermissionData(id, "shell", status, {})  # type: ignore[arg-type]


def question(kind: type = QuestionRequested, status: str = "requested", **changes: Any) -> Step:
    answers = ["a", "b"] if status == "answered" else UNSET
    several = [Question("1", None, "Which?", [Option("a"), Option("b")], answers=answers), Question("2", None, "Why?", [])]
    response = "a, b" if status == "answered" else None
    return kind, replace(QuestionData("q1", "Which?", ["a", "b"], status, response, several), **changes)  # type: ignore[arg-type]


def error(message: str = "broke", code: str | None = None) -> Step:
    return Error, ErrorData(message, code)


def begin(turn_id: str = "t1", ours: bool = False) -> Step:
    return TurnStarted, TurnStartedData("started", turn_id), ours


def end(turn_id: str = "t1", status: str = "completed", reason: Any = UNSET) -> Step:
    return TurnEnded, TurnEndedData("ended", turn_id, TurnOutcome(status, error=reason))  # type: ignore[arg-type]


def turn(*steps: Step | list[Step]) -> list[Step]:
    return [begin(), *(step for some in steps for step in (some if isinstance(some, list) else [some])), end()]


START: Step = (SessionStarted, StartedData({"agent": "mock"}))
END: Step = (SessionEnded, EndedData("completed", "agent"), True)
RUN = {"command": "ls", "cwd": None, "exit_code": 0, "stdout": None, "stderr": None, "duration_ms": 3}
DIFF = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-a\n+b\n"


def session(*steps: Step | list[Step]) -> list[Event]:
    return transcript(START, *steps, END)


def ended(*data: Any, **named: Any) -> list[Event]:
    return transcript(START, (SessionEnded, EndedData(*data, **named), True))


def changed(at: int, **fields: Any) -> list[Event]:
    """A whole session with one envelope that is wrong."""
    events = session(turn(user(1), answer(2, "yes")))
    events[at] = replace(events[at], **fields)
    return events


def rules(events: list[Event], **options: bool) -> list[str]:
    return [violation.rule for violation in check(events, **options)]


# --- what keeps the promises --------------------------------------------------

LOUD = Reasoning("hm", "public")
SILENT = Reasoning("", "private")

WHOLE = {
    "nothing": [],
    "only a start": transcript(START),
    "a question and an answer": session(turn(user(1), answer(2, "ye", "s"))),
    "a message without text needs no delta": session(turn(user(1), answer(2))),
    "a message of attachments": session(turn(user(1, Text("see"), Image("a.png"), FileRef("a.py", "read")))),
    "public and encrypted thinking": session(turn(user(1), thought(2, LOUD, SILENT))),
    "a command": session(turn(user(1), answer(2, "so"), call(3, parent=2), result(4, Json(RUN), parent=2))),
    "a command that fails": session(turn(user(1), call(2), result(3, Json(RUN | {"exit_code": 1}), status="failed"))),
    "an answer about commands": session(turn(user(1), call(2), result(3, Json({"command": "ls", "found": True})))),
    "a file change": session(turn(user(1), call(2), result(3, FileRef("a.py", "patch", DIFF)))),
    "an empty file": session(turn(user(1), call(2), result(3, FileRef("a", "write", "--- /dev/null\n+++ a\n")))),
    "a move": session(turn(user(1), call(2), result(3, FileRef("b", "patch", "diff --git a/a b/b\nrename from a\nrename to b\n")))),
    "a file read by a tool that failed": session(turn(user(1), call(2), result(3, FileRef("a", "read"), status="failed"))),
    "a call from before the recording": session(turn(call(1, arguments=""), result(2))),
    "a result's deltas need not add up": session(turn(call(1), running(2), delta(2, "a"), result(2)[1])),
    "a call id used again": session(turn(call(1), result(2), call(3), result(4))),
    "a result that outlives its turn": session(turn(user(1), call(2), running(3)), begin("t2"), result(3)[1], end("t2")),
    "a result that ends while no turn is open": session(turn(user(1), call(2), running(3)), delta(3, "x"), result(3)[1]),
    "a status over turns": session(started(item(1, "status", None, Status("mcp"))), turn(user(2)), note(1, "mcp")[1]),
    "status and system outside turns": session(note(1), whole(item(2, "system", "system", Text("x"))), note(3, "plan")),
    "a plan": session(note(1, "plan", Json([{"text": "x", "status": "pending"}]))),
    "a new announcement": session(note(1, "agent.ready", Json({"agent": "mock", "model": "m"}))),
    "an unknown message": session(turn(whole(item(1, "unknown", None, Json({"type": "new"}))))),
    "a subagent": session(
        turn(user(1), call(2, "task"), user(3, parent=2), answer(4, "x", parent=2), call(5, call_id="c2", parent=4),
             result(6, call_id="c2", parent=4), result(7)),
    ),
    "a subagent in the background": session(
        turn(user(1), call(2, "task"), result(3), answer(4, "x", parent=2)[:1], call(5, call_id="c2", parent=4)),
        answer(6, "y", parent=2), answer(4, "x", parent=2)[1:], result(7, call_id="c2", parent=4),
    ),
    "a permission": session(turn(user(1), call(2), permission(call_id="c1"), decided(), result(3))),
    "a permission before its call": session(turn(user(1), permission(call_id="c1"), decided(), call(2), result(3))),
    "a background ask after its turn": session(turn(permission(background=True)), decided()),
    "a background ask between turns": session(permission(background=True), decided(status="reject")),
    "questions": session(turn(user(1), question(), question(QuestionResolved, "answered"))),
    "a rejected question": session(turn(user(1), question(), question(QuestionResolved, "rejected"))),
    "a question and a permission of one id": session(
        turn(permission("q1"), question(), decided("q1"), question(QuestionResolved, "rejected"))
    ),
    "a failed turn": session(begin(), user(1), error(), end(status="failed", reason="broke")),
    "a process that died": session(begin(), error("gone", "process_exit"), end(status="failed", reason="gone")),
    "refused messages in a turn that goes on": session(turn(user(1), error(), error())),
    "an error outside turns": session(error()),
    "an error with words": ended("error", "agent", message="x", exit_code=2, stderr=Stderr(False, head="a\nb", total_lines=2)),
    "an error with many words": ended(
        "error", "agent", message="x", stderr=Stderr(True, head="\n" * 19, tail="\n" * 49, total_lines=71)
    ),
    "steering": session(turn(user(1), answer(2, "x"), user(3))),
    "a turn of the agent's own, steered": session(turn(answer(1, "x"), user(2))),
    "bare lines are late": session(begin(ours=True), call(1), result(2), user(3), end()),
    "still running": transcript(START, begin(), user(1), call(2), permission(), answer(3, "x")[:1]),
}  # fmt: skip


@pytest.mark.parametrize("events", WHOLE.values(), ids=WHOLE)
def test_a_whole_transcript_breaks_nothing(events: list[Event]) -> None:
    assert rules(events, bare=True) == []


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "bare lines are late"])
def test_nor_when_it_is_not_bare(name: str) -> None:
    assert rules(WHOLE[name]) == []


def test_a_turn_that_the_agent_opened_unannounced_may_be_steered() -> None:
    # The start is ours, but put before the agent's item: one record caused both, so they have one time.
    events = session(begin(ours=True), answer(1, "x"), user(2), end())
    assert rules(events) == ["user_message_late"]
    events[1] = replace(events[1], time=events[2].time)
    assert rules(events) == []


# --- what breaks them, each exactly one ---------------------------------------


def without(at: int, events: list[Event]) -> list[Event]:
    return events[:at] + events[at + 1 :]


def renumbered(events: list[Event], by: int) -> list[Event]:
    return [replace(event, sequence=event.sequence + by, event_id=f"evt_k1_{event.sequence + by}") for event in events]


def alone(kind: str, role: str | None, *content: Any) -> list[Event]:
    """A turn of one item: it starts at 3."""
    return session(turn(whole(item(1, kind, role, *content))))


def of_call(*rest: Any, status: str = "completed") -> list[Event]:
    """A turn of a call and its result, which is completed at 6."""
    return session(turn(call(1), result(2, *rest, status=status)))


HI = item(1, "message", "user", Text("hi"), native="n1")
CALL = item(1, "tool_call", "assistant", ToolCall("shell", "{}", "c1"))

# The rule, the sequence where it breaks, and the transcript: session.started is 1, the turn usually begins at 2.
ENVELOPE = [
    ("sequence", 3, without(1, session(error(), error()))),
    ("sequence", 2, session(error())[:2] + session(error())[1:]),
    ("sequence", 2, renumbered(transcript(START), 1)),
    ("event_id", 3, changed(2, event_id="evt_k1_4")),
    ("event_id", 3, changed(2, event_id="evt_k2_3")),
    ("event_id", 3, changed(2, event_id="k1_3")),
    ("event_id", 1, changed(0, event_id="evt_1")),
    ("time", 3, changed(2, time="2026-01-02T03:04:05Z")),
    ("time", 3, changed(2, time="2026-01-02T03:04:05.000+00:00")),
    ("time", 3, changed(2, time="2026-02-30T03:04:05.000Z")),
    ("session_id", 3, changed(2, session_id="sess_2")),
    ("native_session_lost", 3, changed(2, native_session_id=None)),
    ("source", 3, changed(2, synthetic=True)),
    ("source", 3, changed(2, source="daemon")),
]

SESSION = [
    ("session_started_first", 1, transcript(error(), END)),
    ("session_started_first", 1, transcript(note(1), START, END)),
    ("session_started_twice", 2, session(START)),
    ("session_ended_last", 3, transcript(START, END, error(), error())),
    ("session_ended_twice", 3, transcript(START, END, END)),
    ("session_without_agent", 1, transcript((SessionStarted, StartedData({"cwd": "/"})))),
    ("session_end_data", 2, ended("error", "agent")),
    ("session_end_data", 2, ended("completed", "agent", exit_code=0)),
    ("stderr", 2, ended("error", "agent", message="x", stderr=Stderr(False, head="a", tail="b"))),
    ("stderr", 2, ended("error", "agent", message="x", stderr=Stderr(False, head="a", total_lines=2))),
    ("stderr", 2, ended("error", "agent", message="x", stderr=Stderr(False, head="\n" * 70))),
    ("stderr", 2, ended("error", "agent", message="x", stderr=Stderr(True, head="a", tail="b"))),
    ("stderr", 2, ended("error", "agent", message="x", stderr=Stderr(True, head="\n" * 19, tail="\n" * 49, total_lines=70))),
    ("ready_content", 3, session(note(1, "agent.ready"))),
    ("ready_content", 3, session(note(1, "agent.ready", Json({"model": "m"})))),
    ("ready_repeated", 3, session(note(1, "agent.ready", Json({"agent": "mock"})))),
    ("raw_hash", 2, session((schema.AgentUnparsed, schema.UnparsedData("not JSON", "line", "abc")))),
]

TURNS = [
    ("turn_alternation", 3, session(begin("t1"), begin("t2"), end("t2"))),
    ("turn_alternation", 2, session(end())),
    ("turn_not_ended", 3, session(begin())),
    ("turn_id", 3, session(begin("t1"), end("t2"))),
    ("turn_id", 2, session(begin(""), end(""))),
    ("turn_id_reused", 4, session(turn(), turn())),
    ("failed_turn_without_error", 3, session(begin(), end(status="failed", reason="x"))),
    ("failed_turn_without_error", 4, session(error(), begin(), end(status="failed", reason="x"))),
    ("failed_turn_without_reason", 4, session(begin(), error(), end(status="failed"))),
    ("unfailed_turn_with_reason", 3, session(begin(), end(status="interrupted", reason="x"))),
    ("error_twice", 5, session(begin(), error(), error(), end(status="failed", reason="x"))),
    ("process_exit", 4, session(begin(), error("x", "process_exit"), end(status="interrupted"))),
    ("process_exit", 2, session(error("x", "process_exit"))),
]

ITEMS = [
    ("item_twice", 5, session(turn(user(1), user(1)[:1]))),
    ("item_twice", 5, session(turn(user(1), user(1)[1:]))),
    ("item_not_started", 3, session(turn(user(1)[1:]))),
    ("item_not_completed", 4, session(turn(answer(1, "x")[:1]))),
    ("item_not_completed", 4, transcript(START, turn(answer(1, "x")[:1]))),
    ("item_not_completed", 4, session(turn(answer(1, "x")[:1]), answer(1, "x")[1:])),
    ("item_not_completed", 5, session(turn(started(CALL), running(2)), completed(CALL), result(2)[1])),
    ("item_not_completed", 3, session(note(1)[:1])),
    ("item_not_completed", 7, session(turn(call(1), running(2)))),
    ("item_not_completed", 9, session(turn(call(1), result(2)), answer(3, "x", parent=1)[:1])),
    ("item_changed", 4, session(turn(started(HI), completed(replace(HI, native_item_id="n2"))))),
    ("item_changed", 4, session(turn(started(HI), completed(replace(HI, role="assistant", content=[]))))),
    ("item_changed", 6, session(turn(user(2), started(HI), completed(replace(HI, parent_id=_id(2)))))),
    ("item_changed", 4, session(turn(note(1)[0], completed(item(1, "unknown", None, Json(1)))))),
    ("item_changed", 4, session(turn(started(CALL), completed(replace(CALL, content=[ToolCall("shell", "{}", "c2")])), result(2)))),
    ("item_changed", 4, session(turn(answer(1, "x")[0], delta(1, "x", "n9"), answer(1, "x")[2]))),
    ("item_status", 3, session(turn((ItemStarted, ItemData(HI)), completed(HI)))),
    ("item_status", 4, session(turn(started(HI), completed(replace(HI, status="in_progress"))))),
    ("item_id", 3, session(turn(whole(replace(HI, item_id="itm_k2_1"))))),
    ("item_id", 3, session(turn(whole(replace(HI, item_id="itm_k1_x"))))),
    ("delta_without_item", 3, session(turn(delta(1, "x")))),
    ("delta_without_item", 6, session(turn(answer(1, "x"), delta(1, "y")))),
    ("argument_delta", 4, session(turn(started(CALL), delta(1, "{"), completed(CALL), result(2)))),
    ("delta_missing", 4, session(turn(answer(1, text="yes")))),
    ("delta_missing", 5, session(turn(answer(1, "ye", text="yes")))),
    ("delta_missing", 4, session(turn(whole(item(1, "message", "assistant", LOUD, status="failed"))))),
    ("delta_mismatch", 5, session(turn(answer(1, "yes", text="no")))),
    ("delta_mismatch", 5, session(turn(answer(1, "yes", text="")))),
    ("item_outside_turn", 2, session(user(1))),
    ("item_outside_turn", 2, session(answer(1, "x"))),
    ("item_outside_turn", 2, session(whole(item(1, "unknown", None, Json(1))))),
    ("item_outside_turn", 2, session(call(1), result(2))),
    ("item_outside_turn", 7, session(turn(answer(1, "x")), call(2, parent=1), result(3, parent=1))),
    ("user_message_late", 6, session(begin(ours=True), answer(1, "x"), user(2), end())),
    ("parent_unknown", 3, session(turn(answer(1, "x", parent=9)))),
    ("parent_unknown", 3, session(turn(answer(1, "x", parent=1)))),
    ("parent_kind", 5, session(turn(note(1), answer(2, "x", parent=1)))),
]

CALLS = [
    ("call_unknown", 3, session(turn(result(1)))),
    ("call_unknown", 3, session(turn(result(1), call(2), result(3)))),
    ("call_twice", 5, session(turn(call(1), call(2), result(3)))),
    ("result_twice", 7, session(turn(call(1), result(2), result(3)))),
    ("result_parent", 8, session(turn(answer(1, "x"), call(2, parent=1), result(3)))),
    ("result_missing", 5, session(turn(call(1)))),
    ("result_missing", 5, transcript(START, turn(call(1)))),
    ("result_missing", 5, session(turn(call(1)), result(2))),
    ("result_missing", 10, session(turn(call(1, "task"), call(2, call_id="c2", parent=1), result(3)))),
]

CONTENT = [
    ("item_role", 3, alone("message", "system", Text("x"))),
    ("item_role", 3, alone("status", "assistant", Status("notice"))),
    ("item_role", 3, alone("system", "user", Text("x"))),
    ("call_content", 3, session(turn(whole(replace(CALL, content=[*CALL.content, Text("x")])), result(2)))),
    ("result_content", 6, session(turn(call(1), running(2), completed(item(2, "tool_result", "tool", Text("x")))))),
    ("result_content", 6, of_call(LOUD)),
    ("result_content", 6, of_call(ToolResult("c1", "again"))),
    ("message_content", 3, alone("message", "user", Json({}))),
    ("message_content", 3, alone("message", "user", FileRef("a", "write"))),
    ("message_content", 3, alone("message", "assistant", Status("notice"))),
    ("message_content", 3, alone("system", "system", ToolCall("shell", "{}", "c1"))),
    ("reasoning_content", 3, session(turn(thought(1, LOUD, Text("so"))))),
    ("reasoning_content", 3, session(turn(thought(1, LOUD, Reasoning("psst", "private"))))),
    ("status_content", 3, alone("status", None, Text("x"))),
    ("status_content", 3, alone("status", None, Status("notice"), Status("notice"))),
    ("status_label", 3, alone("status", None, Status("party"))),  # type: ignore[arg-type]
    ("plan_content", 3, alone("status", None, Status("plan"), Json([{"text": "x"}]))),
    ("plan_content", 3, alone("status", None, Status("plan"), Json({"text": "x", "status": "pending"}))),
    ("unknown_content", 3, alone("unknown", None, Text("x"))),
    ("unknown_content", 3, alone("unknown", None, Json(1), Json(2))),
    ("tool_name", 3, session(turn(call(1, "mcp__files__read"), result(2)))),
    ("arguments", 4, session(turn(call(1, arguments="{"), result(2)))),
    ("command_content", 6, of_call(Json({"command": "ls", "exit_code": 0}))),
    ("command_content", 6, of_call(Json(RUN | {"pid": 7}))),
    ("command_content", 6, of_call(Json(RUN | {"exit_code": "0"}))),
    ("exit_code", 6, of_call(Json(RUN | {"exit_code": 1}))),
    ("file_ref", 6, of_call(FileRef("a.py", "patch", DIFF), status="failed")),
    ("diff", 6, of_call(FileRef("a.py", "patch", DIFF.rstrip()))),
    ("diff", 6, of_call(FileRef("a.py", "patch", "Index: a.py\n" + DIFF))),
    ("diff", 6, of_call(FileRef("a.py", "patch", f"```diff\n{DIFF}```\n"))),
]

ASKS = [
    ("ask_unresolved", 3, session(permission(background=True))),
    ("ask_unresolved", 5, session(turn(question(metadata={"background": True})))),
    ("ask_after_turn", 4, session(turn(permission()))),
    ("ask_after_turn", 4, transcript(START, turn(question()))),
    ("ask_after_turn", 4, session(turn(permission()), decided())),
    ("ask_outside_turn", 2, session(permission(), decided())),
    ("ask_twice", 5, session(turn(permission(), decided(), permission(), decided()))),
    ("ask_unknown", 3, session(turn(decided()))),
    ("ask_resolved_twice", 5, session(turn(permission(), decided(), decided()))),
    ("ask_status", 3, session(turn((PermissionRequested, PermissionData("p1", "shell", "accept", {})), decided()))),
    ("ask_status", 4, session(turn(permission(), decided(status="requested")))),
    ("ask_action", 5, session(turn(call(1, "read"), permission(action="shell", call_id="c1"), decided(), result(2)))),
    ("question_mirror", 3, session(turn(question(prompt="What?"), question(QuestionResolved, "rejected")))),
    ("question_mirror", 3, session(turn(question(options=[]), question(QuestionResolved, "rejected")))),
    ("question_mirror", 4, session(turn(question(), question(QuestionResolved, "answered", response="a")))),
]

BROKEN: list[tuple[str, int, list[Event]]] = [*ENVELOPE, *SESSION, *TURNS, *ITEMS, *CALLS, *CONTENT, *ASKS]


@pytest.mark.parametrize(("rule", "sequence", "events"), BROKEN, ids=[f"{rule}-{n}" for n, (rule, *_) in enumerate(BROKEN)])
def test_a_broken_transcript_breaks_one_rule_in_one_place(rule: str, sequence: int, events: list[Event]) -> None:
    violations = list(check(events))
    assert [(violation.rule, violation.sequence) for violation in violations] == [(rule, sequence)]
    assert violations[0].is_warning == (rule == "delta_mismatch")
    assert " " in violations[0].message


def test_every_rule_has_a_case() -> None:
    folder = Path(promises.__file__).parent
    yields = [node.value for file in folder.glob("*.py") for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Yield)]
    # Faults are written as `yield "rule", "message"`.
    named = {one.elts[0].value for one in yields if isinstance(one, ast.Tuple) and isinstance(one.elts[0], ast.Constant)}
    assert named == {rule for rule, *_ in BROKEN}


def test_what_bare_lines_may_do() -> None:
    events = session(begin(ours=True), answer(1, "x"), user(2), end())
    assert rules(events) == ["user_message_late"]
    assert rules(events, bare=True) == []


def test_a_checker_streams() -> None:
    """A violation is told before the next event is asked for."""

    def endless() -> Any:
        yield from transcript(error())
        raise AssertionError("read too far")

    assert next(check(endless())).rule == "session_started_first"


# --- lines --------------------------------------------------------------------


def lines(events: list[Event]) -> list[bytes]:
    return [schema.to_json(event) + b"\n" for event in events]


def test_lines_are_the_same_events() -> None:
    for events in WHOLE.values():
        assert list(decode(lines(events))) == events


def test_unknown_keys_and_blank_lines_pass() -> None:
    first, last = lines(session())
    extended = first.replace(b'"data":{', b'"new":[1],"data":{"newer":null,')
    assert extended != first
    assert list(check(decode([extended, b"\n", last, b"  \n"]))) == []


@pytest.mark.parametrize(
    "broken",
    [
        b"nonsense\n",
        b"[]\n",
        b"\xff\n",
        b"[" * 100_000,
        lines(session(error()))[1].replace(b'"error"', b'"mistake"'),
        lines(session(error()))[1].replace(b',"raw":null', b""),
        lines(session(error()))[1].replace(b'"synthetic":false,', b""),
        lines(session(note(1)))[1].replace(b'"notice"', b'"party"'),
    ],
    ids=["not JSON", "no object", "not UTF-8", "too deep", "unknown type", "no raw", "no synthetic", "not in a closed list"],
)
def test_a_line_that_is_no_event(broken: bytes) -> None:
    first, _, last = lines(session(error()))
    (violation,) = check(decode([first, broken, last]))
    assert isinstance(violation, Violation)
    assert (violation.sequence, violation.rule, violation.is_warning) == (2, "not_an_event", False)
    assert "line 2" in violation.message
