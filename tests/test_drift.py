"""Drift is told precisely, nothing is lost by it, and recordings do not drift from themselves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import onetape
from onetape import agents, drift, schema, shapes, tape
from onetape.agents import registry
from onetape.drift import Verdict, Watch
from onetape.kinds import kind_of
from onetape.schema import type_of
from onetape.shapes import Known, Observed
from onetape.tape import Record
from onetape.transcribe import recognise
from recordings import CAPTURES, recorded, rehearsed, slimmed_away, tapes, written
from test_cli import onetape as command

CAPTURE = CAPTURES / "claude" / "2.1.326" / "03-shell.jsonl"


def verdicts(records: list[Record], agent: str = "claude") -> list[Verdict]:
    watch = Watch()
    watch.take(iter(records), registry.find(agent), "tape")
    return [verdict for verdict in watch.verdicts() if verdict.is_drift]


def changed(record: Record, edit: Callable[[Any], Any]) -> Record:
    return msgspec.structs.replace(record, payload=msgspec.Raw(msgspec.json.encode(edit(record.native()))))


@pytest.mark.parametrize("agent", registry.names())
def test_the_baseline_is_what_the_recordings_hold(agent: str, golden: Callable[[Path, str], None]) -> None:
    whose = registry.find(agent)
    made = drift.shapes_of(recorded(whose), slimmed_away(whose), rehearsed(whose))
    golden(Path(agents.__path__[0]) / agent / "shapes.json", written(made))


@pytest.mark.parametrize("agent", registry.names())
def test_recordings_do_not_drift_from_themselves(agent: str) -> None:
    watch = Watch()
    for name, records in tapes(registry.find(agent)):
        watch.take(records, registry.find(agent), name)
    strange = [verdict for verdict in watch.verdicts() if verdict.is_drift]
    # The programs' own words on stdout before they speak JSON are unparsed by promise, and told.
    assert {verdict.type for verdict in strange} <= {drift.NOT_JSON}


def test_an_invented_type_and_a_renamed_field_are_told_precisely() -> None:
    """A real capture in which one event of a new type was put, and one field of every `assistant` line has another name."""
    before = list(tape.read([CAPTURE.read_bytes()]))
    renamed = [
        changed(record, _rename) if record.dir == "recv" and record.native().get("type") == "assistant" else record for record in before
    ]  # fmt: skip
    at = next(number for number, record in enumerate(renamed) if record.dir == "recv" and record.native().get("type") == "assistant")
    invented = tape.record(renamed[at].t, "recv", {"type": "telepathy", "thought": "I know", "session_id": "s"})
    records = [*renamed[:at], invented, *renamed[at:]]

    found = {verdict.type: verdict for verdict in verdicts(records)}
    assert set(found) == {"telepathy", "assistant"}
    assert (found["telepathy"].unknown, found["telepathy"].place) == (1, ("tape", at + 1))
    assert found["telepathy"].agent == "claude" and found["telepathy"].version == "2.1.326"
    told = [(field.change, field.path, field.types, field.was, field.place) for field in found["assistant"].fields]
    assert told == [
        ("appeared", "sessionName", ["string"], [], ("tape", at + 2)),
        ("vanished", "session_id", [], ["string"], ("tape", at + 2)),
    ]

    # Nothing is lost: the stranger is an item, and all that was there before is there still.
    def said(some: list[Record]) -> list[tuple[str, bytes]]:
        told = [(event, onetape.to_json(event.data)) for event in onetape.transcribe(iter(some), "claude")]
        return [(type_of(event), data) for event, data in told if b'"unknown"' not in data]

    (stranger,) = [
        event.data.item.content for event in onetape.transcribe(iter(records), "claude")
        if isinstance(event, schema.ItemCompleted) and event.data.item.kind == "unknown"
    ]  # fmt: skip
    assert isinstance(stranger[0], schema.Json) and stranger[0].json["thought"] == "I know"
    assert [kind for kind, _ in said(records)] == [kind for kind, _ in said(before)]


def _rename(native: dict[str, Any]) -> dict[str, Any]:
    return {"sessionName" if name == "session_id" else name: value for name, value in native.items()}


def test_a_field_that_is_renamed_in_one_message_alone_is_told_too() -> None:
    before = list(tape.read([CAPTURE.read_bytes()]))
    at = max(number for number, record in enumerate(before) if record.dir == "recv" and record.native().get("type") == "assistant")
    (found,) = verdicts([*before[:at], changed(before[at], _rename), *before[at + 1 :]])
    assert found.type == "assistant" and found.known > 1
    assert [(field.change, field.path, field.place) for field in found.fields] == [
        ("appeared", "sessionName", ("tape", at + 1)), ("vanished", "session_id", ("tape", at + 1)),
    ]  # fmt: skip


@pytest.mark.parametrize("agent", sorted(path.name for path in CAPTURES.iterdir() if path.name in registry.names()))
def test_a_recording_without_a_head_tells_whose_it_is(agent: str) -> None:
    for file in (CAPTURES / agent).rglob("*.jsonl"):
        if "history" not in file.parts and b'"dir":"recv","payload":{' in (told := file.read_bytes()):
            found = recognise(told)
            assert found is not None and found.name == agent, file


def test_a_type_that_no_recording_has_but_the_translator_knows() -> None:
    """`plan` steps of the mock are known; take the type out of its baseline and it was never seen before."""
    watch = Watch()
    line = {"type": "plan", "steps": [{"text": "x", "status": "pending"}]}
    watch.take(iter([tape.record(0.0, "recv", line)]), registry.find("mock"), "t")
    (verdict,) = watch.verdicts()
    assert not verdict.is_drift
    kept = drift.baseline("mock")["stdio"].pop("plan")
    try:
        (verdict,) = watch.verdicts()
        assert verdict.never_seen and verdict.known == 1 and verdict.is_drift
    finally:
        drift.baseline("mock")["stdio"]["plan"] = kept


def known(**fields: str) -> shapes.Shape:
    return {path: Known.parse(text) for path, text in fields.items()}


def differences(messages: list[dict[str, Any]], shape: shapes.Shape) -> list[tuple[str, str]]:
    observed = Observed()
    for number, message in enumerate(messages, 1):
        observed.see(message, ("t", number))
    return [(told.change, told.path) for told in observed.differences(shape)]


def test_optional_fields_are_no_drift() -> None:
    shape = known(a="string", b="number?", c="null|string?")
    assert differences([{"a": "x"}], shape) == []
    assert differences([{"a": "x", "b": 1, "c": "s"}, {"a": "x"}], shape) == []
    assert differences([{"a": "x"}, {}], shape) == [], "missing in some is no drift"
    assert differences([{"a": "x", "b": None, "new": None}], shape) == [], "null is how a field is left out"
    assert differences([{}], shape) == [("vanished", "a")]
    assert differences([{"a": 1}], shape) == [("changed type", "a")]


def test_lists_are_told_apart_by_what_is_in_them() -> None:
    observed = Observed()
    observed.see({"content": [{"type": "text", "text": "x"}, {"type": "image", "data": "y"}]}, ("t", 1))
    shape = observed.shape()
    assert str(shape["content[text].text"]) == "string" and str(shape["content[image].data"]) == "string"
    assert differences([{"content": [{"type": "text", "words": "x"}]}], shape) == [
        ("appeared", "content[text].words"), ("vanished", "content[text].text"),
    ]  # fmt: skip
    assert differences([{"content": [{"type": "video", "data": "y"}]}], shape) == [("appeared", "content[video]")]
    assert differences([{"content": []}], shape) == []


def test_what_others_made_up_is_not_looked_at() -> None:
    observed = Observed()
    observed.see({"input": {"command": "ls"}, "models": {"some-model-4-5": {"cost": 1}}}, ("t", 1))
    assert sorted(observed.shape()) == ["input", "models", "models.*", "models.*.cost"]
    assert differences([{"input": {"anything": 1}, "models": {"other-model-5-0": {"cost": 2}}}], observed.shape()) == []


def test_memory_stays_flat_whatever_comes() -> None:
    watch, agent = Watch(), registry.find("mock")
    hostile = (tape.record(0.0, "recv", {"type": f"t{n}", f"field{n}": {f"k{n}": n}, "table": {f"x{i}": n for i in range(n % 70)}})
               for n in range(drift.MOST_KINDS + 500))  # fmt: skip
    watch.take(hostile, agent, "t")
    kinds = {verdict.type: verdict for verdict in watch.verdicts()}
    assert len(kinds) == drift.MOST_KINDS + 1 and kinds[drift.OTHERS].unknown == 500
    observed = Observed()
    for n in range(shapes.MOST_PATHS):
        observed.see({"type": "x", f"name_{'abcdefghij'[n % 10]}{chr(97 + n // 10 % 26)}{chr(97 + n // 260)}": {"a": 1, "b": 2}}, ("t", n))
    assert len(observed.fields) <= shapes.MOST_PATHS


@pytest.mark.parametrize(
    ("native", "kind"),
    [
        ({"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta"}}},
         "stream_event:content_block_delta:text_delta"),
        ({"method": "item/completed", "params": {"item": {"type": "commandExecution"}}}, "item/completed:commandExecution"),
        ({"type": "assistant", "message": {"type": "message", "role": "assistant"}}, "assistant"),
        ({"id": 1, "result": {}}, "{id,result}"),
        ({"type": "<script> " * 9}, "{type}"),
    ],
)  # fmt: skip
def test_kinds(native: dict[str, Any], kind: str) -> None:
    assert kind_of(native) == kind


def test_the_command(tmp_path: Path) -> None:
    run = command("drift", str(CAPTURE))
    assert (run.returncode, run.stderr) == (0, "") and run.stdout.startswith("0 of ")
    spoilt = tmp_path / "spoilt.jsonl"
    spoilt.write_bytes(CAPTURE.read_bytes() + b'{"t":99,"dir":"recv","payload":{"type":"telepathy","session_id":"s"}}\n')
    run = command("drift", "--json", str(spoilt))
    told = [json.loads(line) for line in run.stdout.splitlines()]
    (stranger,) = [one for one in told if one["drift"]]
    lines = len(spoilt.read_bytes().splitlines())
    assert run.returncode == 1 and (stranger["type"], stranger["unknown"], stranger["record"]) == ("telepathy", 1, lines)
    assert stranger["session"] == str(spoilt)
    assert "telepathy: 1 unknown" in command("drift", str(spoilt)).stdout
    nothing = tmp_path / "notes.txt"
    nothing.write_text("hello\n")
    run = command("drift", str(nothing))
    assert run.returncode == 2 and "no tape and no history" in run.stderr


def test_stored_sessions_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONETAPE_DATA_DIR", str(tmp_path))
    assert command("import", "pi", str(CAPTURES / "pi" / "history")).returncode == 0
    run = command("drift")
    assert run.returncode == 0 and "0 of " in run.stdout, run.stdout
