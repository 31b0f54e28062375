"""What a translator may say in any order, by mistake of the agent or of a line that could not be read: the promises hold all the same."""

import pytest

from onetape import drafts as d
from onetape import schema, tape
from onetape.recorder import Recorder
from onetape.schema import Event
from onetape.tape import Head
from rehearsal import broken


def recorded(*lines: list[d.Draft]) -> list[Event]:
    """Of what was said line by line, after a first message."""
    recorder = Recorder(Head(agent="mock"), "sess_x", "x")
    said = [[d.BeginTurn("t"), d.UserMessage([schema.Text("go")])], *lines]
    events = [event for drafts in said for event in recorder.record(tape.record(0.0, "recv", {}), drafts)]
    return [*events, *recorder.finish()]


def completed(events: list[Event], kind: str) -> list[schema.Item]:
    items = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    return [item for item in items if item.kind == kind and item.role != "user"]


def test_a_message_whose_end_was_lost_ends_when_its_key_is_used_again() -> None:
    events = recorded([d.Open("m"), d.Add("m", "first")], [d.Open("m"), d.Add("m", "second")], [d.Close("m")], [d.EndTurn()])
    assert broken(events) == []
    assert [(item.status, item.content) for item in completed(events, "message")] == [
        ("failed", [schema.Text("first")]), ("completed", [schema.Text("second")])
    ]  # fmt: skip


def test_a_status_whose_end_was_lost_ends_when_its_key_is_used_again() -> None:
    events = recorded([d.OpenNote("c", "compaction")], [d.OpenNote("c", "compaction")], [d.CloseNote("c", "told")], [d.EndTurn()])
    assert broken(events) == []
    assert [item.status for item in completed(events, "status")] == ["failed", "completed"]


def test_a_call_that_runs_on_has_begun_to_even_if_that_was_said_before_it() -> None:
    events = recorded([d.Running("c", background=True)], [d.Call("c", "shell", "{}")], [d.EndTurn()], [d.Result("c", "done")])
    assert broken(events) == []
    assert [item.status for item in completed(events, "tool_result")] == ["completed"]


@pytest.mark.parametrize("before", [[], [d.Call("b", "task", "{}", under="a")]], ids=["alone", "after another"])
def test_no_call_is_a_part_of_itself(before: list[d.Draft]) -> None:
    events = recorded(before, [d.Call("c", "task", "{}", under="c")], [d.EndTurn()])
    assert broken(events) == []
    assert len(completed(events, "tool_result")) == len(completed(events, "tool_call"))


def test_an_ask_names_the_tool_as_its_call_did_also_when_that_is_over() -> None:
    asked = d.Ask("p", "Bash", "c")
    events = recorded([d.Call("c", "shell", "{}"), d.Result("c", "done")], [asked, d.Answer("p", "accept")], [d.EndTurn()])
    assert broken(events) == []
    assert [event.data.action for event in events if isinstance(event, schema.PermissionRequested)] == ["shell"]
