"""What looks like a rewind in Claude Code's histories and is none, and the times of what a fork copies."""

from pathlib import Path

from test_claude import lines
from test_claude_history import AT, READER, TEXT, File, items, statuses, told, words

COMMAND = "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>"
BASH = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "sleep 5"}}


def test_a_call_that_a_resumed_program_drops_was_made(tmp_path: Path) -> None:
    """2.1.197: the next prompt hangs on the words before a call that never had its result."""
    file = File(tmp_path, version="2.1.197")
    file.says("a")
    said = file.answers(TEXT, stop=None)
    file.answers(BASH, stop="tool_use")
    file.says("b", parentUuid=said)
    file.answers(TEXT)
    events = told(file.path)
    assert words(events, "user") == ["a", "b"] and len(items(events, "tool_call")) == 1
    assert statuses(events) == ["interrupted", "completed"]


def test_a_control_request_that_is_written_late_leaves_nothing_behind(tmp_path: Path) -> None:
    """2.1.197 writes it with the next prompt, and hangs it on the line that was last when it came."""
    file = File(tmp_path, version="2.1.197")
    file.says("a")
    called = file.answers(BASH, stop="tool_use")
    file.says([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}])
    file.answers(TEXT)
    file.says(COMMAND, parentUuid=called, timestamp=AT.format(1))
    file.says("b")
    file.answers(TEXT)
    assert words(told(file.path), "assistant") == ["Yes.", "Yes."]
    assert [record.note for record in READER.read(file.path) if record.note] == []


def test_what_a_fork_copies_keeps_its_times(tmp_path: Path) -> None:
    """Its first prompt is queued before the copy is written."""
    file = File(tmp_path)
    file.says("a", timestamp=AT.format(10))
    file.answers(TEXT, timestamp=AT.format(12))
    file.says("b", timestamp=AT.format(41))
    queued = {"type": "queue-operation", "operation": "enqueue", "content": "b", "sessionId": "s1", "timestamp": AT.format(40)}
    file.path.write_bytes(b"".join(lines(queued)) + file.path.read_bytes())
    head, *rest = READER.read(file.path)
    assert head.native()["started"] == AT.format(10)
    assert [record.t for record in rest] == [0.0, 0.0, 2.0, 31.0]


def test_an_answer_that_is_written_before_its_prompt_follows_it(tmp_path: Path) -> None:
    """2.1.197 in a terminal: the first lines of a session are written as their writers come to it."""
    file = File(tmp_path, version="2.1.197")
    file.says("a", timestamp=AT.format(1))
    file.answers(TEXT, stop=None, timestamp=AT.format(2))
    answered = file.answers(BASH, stop="tool_use", timestamp=AT.format(3))
    file.says([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}], timestamp=AT.format(4))
    file.says("b", parentUuid=answered, timestamp=AT.format(5))
    prompt, text, call, *rest = file.path.read_bytes().splitlines(keepends=True)
    file.path.write_bytes(b"".join([text, call, prompt, *rest]))
    events = told(file.path)
    assert words(events, "user") == ["a", "b"] and [item.status for item in items(events, "tool_result")] == ["completed"]
    assert [record.t for record in READER.read(file.path)] == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]


def test_lines_that_follow_each_other_in_a_circle_are_all_told(tmp_path: Path) -> None:
    file = File(tmp_path)
    file.says("a", parentUuid="s1-1")
    file.answers(TEXT)
    file.says("b", parentUuid="s1-0")
    assert sorted(words(told(file.path), "user")) == ["a", "b"]
