"""Whatever the bytes are: no traceback, no lost line, and a transcript that keeps its promises."""

import hashlib
import json

import pytest

import onetape
from onetape import schema
from onetape.agents import registry
from onetape.transcribe import recognise
from recordings import CAPTURES
from rehearsal import broken

DEEP = b'{"type":"x","deep":' + b"[" * 2000 + b"]" * 2000 + b"}"
HUGE = b'{"type":"result","is_error":' + b"9" * 400 + b"}"
LONG = b'{"type":"novel","text":"' + b"a" * 10_000_000 + b'"}'
BAD_LINES = {
    "not_json": b"Warning: something",
    "truncated": b'{"type":"assistant","mess',
    "invalid_utf8": b'{"type":"\xff\xfe"}',
    "deep": DEEP,
    "nan": b'{"type":"novel","n":NaN}',
    "infinity": b'{"type":"novel","n":-Infinity}',
    "overflow": b'{"type":"novel","n":1e999}',
    "huge_integer": HUGE,
    "long": LONG,
    "duplicate_keys": b'{"type":"novel","type":"result","a":1,"a":2}',
    "bare_list": b"[1,2,3]",
    "bare_number": b"42",
    "bare_null": b"null",
    "bare_string": b'"hello"',
    "empty_object": b"{}",
    "typeless": b'{"kind":"x"}',
    "type_is_number": b'{"type":7}',
    "type_is_null": b'{"type":null}',
    "lone_surrogate": b'{"type":"novel","text":"\\ud83d"}',
    "null_byte": b'{"type":"novel","text":"\\u0000"}',
    "line_separator": '{"type":"novel","text":"a\u2028b"}'.encode(),
}


def strange(events: list[schema.Event]) -> int:
    """Records that made `agent.unparsed` or an unknown item."""
    unknown = sum(isinstance(event, schema.ItemCompleted) and event.data.item.kind == "unknown" for event in events)
    return unknown + sum(isinstance(event, schema.AgentUnparsed) for event in events)


def test_the_raw_of_a_line_that_is_a_string_behind_blanks_stands_for_all_of_it() -> None:
    (unparsed,) = [event for event in onetape.transcribe(b'  "x"\n{}', "mock", include_raw=True) if isinstance(event, schema.AgentUnparsed)]
    assert unparsed.raw is not None and json.loads(bytes(unparsed.raw)) == '  "x"'
    assert unparsed.data.raw_hash == hashlib.sha256(b'  "x"').hexdigest()


def test_a_call_that_is_said_to_be_a_part_of_itself_ends_with_its_turn() -> None:
    use = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}
    message = {"id": "m", "role": "assistant", "model": "model-1", "content": [use], "stop_reason": "tool_use"}
    said = {"type": "assistant", "session_id": "s", "uuid": "u", "parent_tool_use_id": "a", "message": message}
    ended = {"type": "result", "subtype": "success", "session_id": "s", "uuid": "v", "is_error": False, "result": ""}
    events = list(onetape.transcribe(b"\n".join(json.dumps(line).encode() for line in (said, ended)), "claude"))
    assert broken(events, bare=True) == []
    assert [event.data.item.status for event in events if isinstance(event, schema.ItemCompleted)] == ["completed", "failed"]


@pytest.mark.parametrize("more", [b"", b',"encoding":"base64"'])
@pytest.mark.parametrize("payload", [b'"\\q"', b'"a\xffb"', b'"\\ud83d"', b'"no end', b'{"a":"\xff"}', b'{"a":"\\q"}', b"x", b""])
@pytest.mark.parametrize("dir", ["recv", "send", "stderr", "exit", "end", "cmd", "note"])
def test_a_tape_whose_payloads_are_damaged_is_read_to_its_end(dir: str, payload: bytes, more: bytes) -> None:
    """Strangers write tapes too."""
    head = b'{"t":0,"dir":"head","payload":{"agent":"mock","cwd":"\\ud83d"}}\n'
    last = b'{"t":2,"dir":"recv","payload":{"type":"nobody knows"}}\n'
    events = list(onetape.transcribe(head + b'{"t":1,"dir":"%s","payload":%s%s}\n' % (dir.encode(), payload, more) + last))
    assert broken(events) == []
    assert strange(events) >= (dir != "end"), "what comes after is still heard, unless the session is over"
    for event in events:
        onetape.to_json(event)


@pytest.mark.parametrize("agent", registry.names())
@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_kept(agent: str, line: bytes) -> None:
    events = list(onetape.transcribe(line + b"\n", agent))
    assert broken(events, bare=True) == []
    assert strange(events) == 1
    for event in events:
        onetape.to_json(event)
        if isinstance(event, schema.AgentUnparsed):
            assert event.data.raw_hash == hashlib.sha256(line).hexdigest()


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_on_a_tape_too(line: bytes) -> None:
    """Spliced in as it is, as a careless recorder would: the records around it are not lost."""
    good = b'{"t":0,"dir":"recv","payload":{"type":"ready","session":"s","version":"1","model":"m","mode":"b","permission_mode":"d"}}\n'
    tape = good + b'{"t":1,"dir":"recv","payload":' + line + b"}\n" + good.replace(b'"model":"m"', b'"model":"n"')
    events = list(onetape.transcribe(tape, "mock"))
    assert broken(events) == []
    assert strange(events) == 1
    assert [part.json["model"] for event in events if isinstance(event, schema.ItemCompleted) for part in event.data.item.content
            if isinstance(part, schema.Json) and isinstance(part.json, dict) and "model" in part.json] == ["n"]  # fmt: skip


READY = {"type": "ready", "session": "s", "version": "1.0", "model": "m", "mode": "build", "permission_mode": "default"}


@pytest.mark.parametrize(
    "disguise",
    [
        lambda lines: b"\xef\xbb\xbf" + b"\n".join(lines),
        lambda lines: b"\r\n".join(lines) + b"\r\n",
        lambda lines: b"\n\n \n".join(lines),
        lambda lines: b"\n".join(lines),
    ],
    ids=["bom", "crlf", "blank_lines", "no_last_newline"],
)
def test_what_editors_do_to_files(disguise) -> None:  # type: ignore[no-untyped-def]
    turn = {"type": "turn_start", "turn": "t"}, {"type": "turn_end", "turn": "t", "status": "completed"}
    lines = [json.dumps(native).encode() for native in (READY, *turn)]
    plain = list(onetape.transcribe(b"\n".join(lines) + b"\n", "mock", session_id="s"))
    assert list(onetape.transcribe(disguise(lines), "mock", session_id="s")) == plain
    assert strange(plain) == 0


@pytest.mark.parametrize(
    ("t", "time"), [(b"1e999", "9999-12-31T23:59:59.999Z"), (b"-1e999", "1970-01-01T00:00:00.000Z"), (b"9" * 400, None)],
)  # fmt: skip
def test_a_time_that_no_clock_shows(t: bytes, time: str | None) -> None:
    """It is shown as far as clocks go; a number that nobody can read at all makes the line no record, and it is kept."""
    events = list(onetape.transcribe(b'{"t":0,"dir":"note","payload":1}\n{"t":%s,"dir":"recv","payload":{"type":"novel"}}\n' % t, "mock"))
    assert broken(events) == [] and strange(events) == 1
    assert time is None or events[-1].time == time


def test_nothing_is_no_transcript() -> None:
    assert list(onetape.transcribe(b"", "mock")) == []
    assert list(onetape.transcribe(b"\n \n", "mock")) == []


@pytest.mark.parametrize("name", ["{}", "[]", "null", '"SIGWHAT"'])
def test_a_signal_that_is_none_stops_nothing(name: str) -> None:
    ready = b'{"t":0,"dir":"recv","payload":' + json.dumps(READY).encode() + b"}\n"
    tape = ready + b'{"t":1,"dir":"send","payload":{"signal":%s}}\n' % name.encode()
    assert isinstance(ended := list(onetape.transcribe(tape, "mock"))[-1], schema.SessionEnded) and ended.data.reason == "completed"


def test_a_malformed_head_is_refused() -> None:
    with pytest.raises(onetape.Refused, match="head"):
        list(onetape.transcribe(b'{"t":0,"dir":"head","payload":{"agent":7}}\n', "mock"))


def test_a_tape_that_names_nobody_is_refused() -> None:
    with pytest.raises(onetape.Refused, match="name the agent"):
        list(onetape.transcribe(b'{"t":0,"dir":"recv","payload":{}}\n'))


def test_a_tape_may_end_at_any_byte() -> None:
    ready = b'{"t":0,"dir":"recv","payload":' + json.dumps(READY).encode() + b"}\n"
    for end in range(len(ready), 2 * len(ready)):
        events = list(onetape.transcribe((ready + ready)[:end], "mock"))
        assert broken(events) == []
        # All of the payload is there where only the last brace or the newline is missing.
        assert strange(events) == (0 if end in (len(ready), 2 * len(ready) - 2, 2 * len(ready) - 1) else 1)


@pytest.mark.parametrize("name", ["session", "turn"])
@pytest.mark.parametrize("value", [7, [], {}, True])
def test_an_id_that_is_no_text_is_unparsed(name: str, value: object) -> None:
    """It would pass as a key, and turn up in every later event."""
    lines = [json.dumps(native).encode() + b"\n" for native in (READY | {name: value}, {"type": "turn_start", "turn": "t", name: value})]
    events = list(onetape.transcribe(b"".join(lines), "mock"))
    assert broken(events, bare=True) == []
    assert any(isinstance(event, schema.AgentUnparsed) for event in events)


@pytest.mark.parametrize("agent", registry.names())
def test_no_recording_is_taken_for_another_agents(agent: str) -> None:
    for file in sorted((CAPTURES / agent).rglob("*.jsonl")):
        whose = recognise(file.read_bytes())
        assert whose is None or whose.name == agent, file  # none: a process that died before it said anything of its own
