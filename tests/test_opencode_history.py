"""OpenCode's histories: database, export and JSON files, against what was told live.

`captures/opencode/history` holds the real program's exports and databases (the latter
as SQL, of the three tables that are read). Most recordings end with an answer to
`GET /session/{id}/message`, which is an export's list of messages: so each of them is
compared with the history that the same run left behind.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

import onetape
from onetape import schema
from onetape.agents.opencode import AGENT
from onetape.agents.opencode.reader import Reader
from onetape.archive.finding import DAMAGED
from onetape.errors import Refused
from onetape.schema import Event
from onetape.transcribe import transcribe
from rehearsal import broken
from test_opencode import ROOT, SERVED, name, natives, records, strange

HISTORY = ROOT.parent / "history"
READER = Reader()


def export_of(scenario: str) -> Path:
    return HISTORY / scenario / "export.json"


def database_of(scenario: str, folder: Path) -> Path:
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((HISTORY / scenario / "opencode.sql").read_text())
    return path


def told_live(capture: Path) -> dict[str, Any] | None:
    """The export that the server would have given at the end of a recording."""
    created = next((n["properties"]["info"] for n in natives(capture, "recv") if n.get("type") == "session.created"), None)
    lists = [
        native["response"] for native in natives(capture, "send")
        if created and (native["method"], native["path"], native["status"]) == ("GET", f"/session/{created['id']}/message", 200)
    ]  # fmt: skip
    return {"info": created, "messages": lists[-1]} if lists and lists[-1] else None


def said(events: Iterable[Event]) -> list[str]:
    """What a transcript says in the end: turns, errors and items, in the order in which they began; without our ids and times."""
    events = list(events)
    ends = {event.data.item.item_id: event.data.item for event in events if isinstance(event, schema.ItemCompleted)}
    return [line for event in events if (line := _line(event, ends)) is not None]


def _line(event: Event, ends: dict[str, schema.Item]) -> str | None:
    match event:
        case schema.ItemStarted(data=schema.ItemData(item)):
            end = ends.get(item.item_id, item)
            return f"{end.kind} {end.role} {end.status} {end.native_item_id} {msgspec.json.encode(end.content).decode()}"
        case schema.TurnStarted() | schema.TurnEnded() | schema.Error():
            return f"{onetape.type_of(event)} {msgspec.json.encode(event.data).decode()}"
        case _:
            return None


def differences(live: list[str], history: list[str]) -> tuple[list[str], list[str]]:
    """What only one of them says; what both say must be in the same order."""
    shared = [line for line in live if line in history]
    assert shared == [line for line in history if line in live], "in another order"
    return [line for line in live if line not in history], [line for line in history if line not in live]


def assert_only(lines: list[str], marks: Iterable[str]) -> None:
    marks = list(marks)
    assert len(lines) == len(marks), lines
    for line, mark in zip(lines, marks, strict=True):
        assert mark in line


# --- live and history -------------------------------------------------------

# Where a live transcript and the history of the same session differ, and why. All else must be the same.
LIVE_ALONE = {
    "14f-error-context-overflow.serve": ['"retry"'],  # an error that OpenCode overcame is not kept
    # An export is of one session: a subagent's words and cost are in its own.
    "19-subagent.serve": ["Count the files", "call_0082_0", "call_0082_0", "There are 2 files.", '"input_tokens":800'],
    "31-agent-and-subtask-parts.serve": [
        "Look around", "Explored.", '"input_tokens":600', "Please do it.", "Subtask result.", '"input_tokens":400',
    ],
    # Streamed words are stored when they end; a death is not stored at all.
    "22-sigkill.serve": ["Once upon a time", "exit code -9", "exit code -9"],
    "43-sigkill-in-tool.serve": ["process_exit", '"failed"'],
    # A prompt that the server refused leaves nothing, or only itself.
    "24-models-variants.serve": ["Model not found", "Model not found", "Agent not found", "server error", "server error"],
    # What was removed is gone; and the recording went on after the list was asked for.
    "32-misc-api.serve": ["part removed", "message removed", "Expected array", "turn.started", '"x"', "exhausted", "turn.ended", "deleted"],
    "more-refused.serve": ["Agent not found", "server error", "server error"],
    "more-overflow-again.serve": ['"retry"'],
    "more-abort-in-retry.serve": ['"retry"'],
    # What an attempt had said before it was given up is stored as nothing, or, when it was the last one, as if it were whole.
    "more-abort-after-error.serve": ["half ", '"retry"', '"interrupted"'],
    "more-error-in-call.serve": ["half ", '"output":""', '"retry"'],
    "more-attachments.serve": ["File not found"],
    "more-background.serve": ["do CCC", "child speaks", "call_0004_0", "call_0004_0", "child done", '"input_tokens":600'],
    "more-commands.serve": ["Look at main.py", "child looked", '"input_tokens":400', "Command not found"],
    # Whose tool it is shows in the list of servers alone.
    "more-mcp.serve": ["my_srv.slow_one", "tools changed"],
    "more-nested.serve": [
        "do OUTER", "I will delegate", "Delegating", "call_0003_0", "call_0003_0", "do INNER", "call_0004_0", "call_0004_0", "inner done",
        "exhausted", '"input_tokens":1200',
    ],
}  # fmt: skip
HISTORY_ALONE = {
    "19-subagent.serve": ['"input_tokens":400'],
    "31-agent-and-subtask-parts.serve": ['"input_tokens":400', '"input_tokens":200'],
    "22-sigkill.serve": ['"text":""', '"interrupted"'],
    "43-sigkill-in-tool.serve": ['"interrupted"'],
    "24-models-variants.serve": ['"interrupted"'],
    "more-refused.serve": ['"interrupted"'],
    "more-abort-after-error.serve": ["half ", '"completed"'],
    "more-error-in-call.serve": ['"text":""', "Tool execution aborted"],
    "more-background.serve": ['"input_tokens":200'],
    "more-commands.serve": ['"input_tokens":200'],
    "more-mcp.serve": ["my.srv_slow_one"],
    "more-nested.serve": ['"input_tokens":400'],
}
WITH_LISTS = [path for path in SERVED if told_live(path)]


@pytest.mark.parametrize("capture", WITH_LISTS, ids=name)
def test_live_and_history_agree(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text(json.dumps(told_live(capture)))
    history = list(transcribe(READER.read(tmp_path / "export.json"), AGENT))
    assert (strange(history), broken(history)) == ([], [])
    live_alone, history_alone = differences(said(transcribe(iter(records(capture)), AGENT)), said(history))
    assert_only(live_alone, LIVE_ALONE.get(capture.stem, ()))
    assert_only(history_alone, HISTORY_ALONE.get(capture.stem, ()))


def test_most_recordings_are_compared() -> None:
    assert len(WITH_LISTS) >= 38 and {*LIVE_ALONE, *HISTORY_ALONE} <= {path.stem for path in WITH_LISTS}


@pytest.mark.parametrize("scenario", ["01-text", "05-write-edit", "19-subagent"])
def test_a_database_has_all_that_was_told_live(scenario: str, tmp_path: Path) -> None:
    """Subagents too."""
    live = said(transcribe(iter(records(ROOT / f"{scenario}.serve.jsonl")), AGENT))
    assert differences(live, said(transcribe(READER.read(database_of(scenario, tmp_path)), AGENT))) == ([], [])


@pytest.mark.parametrize("scenario", ["01-text", "05-write-edit"])
def test_an_export_has_all_that_was_told_live(scenario: str) -> None:
    live = said(transcribe(iter(records(ROOT / f"{scenario}.serve.jsonl")), AGENT))
    assert differences(live, said(transcribe(READER.read(export_of(scenario)), AGENT))) == ([], [])


@pytest.mark.parametrize("form", ["database", "export", "files"])
def test_a_fork_has_what_it_copied(form: str, tmp_path: Path) -> None:
    """Its messages are as old as they were, and their parts new: each stays with its message."""
    document = json.loads(export_of("fork").read_text())
    forms: dict[str, Callable[[], Path]] = {
        "database": lambda: database_of("fork", tmp_path) / document["info"]["id"],
        "export": lambda: export_of("fork"),
        "files": lambda: spread(document, tmp_path, is_first_layout=False),
    }
    events = list(transcribe(READER.read(forms[form]()), AGENT))
    turns = [event.data.turn_id for event in events if isinstance(event, schema.TurnStarted)]
    assert turns == [message["info"]["id"] for message in document["messages"] if message["info"]["role"] == "user"]
    items = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    told = [(item.role, part.text) for item in items for part in item.content if isinstance(part, schema.Text)]
    assert told == [("user", "one"), ("assistant", "One."), ("user", "three"), ("assistant", "Three in the fork.")]


# --- the forms --------------------------------------------------------------


def spread(document: dict[str, Any], folder: Path, *, is_first_layout: bool) -> Path:
    """An export as the JSON files that OpenCode kept before its database, by the migrations in 1.18.33."""
    info = document["info"]
    storage = folder / ("project/workspace-demo/storage/session" if is_first_layout else "storage")
    session = (storage / "info" if is_first_layout else storage / "session" / "ae972667ce11") / f"{info['id']}.json"
    files = {session: info}
    for message in document["messages"]:
        id = message["info"]["id"]
        files[storage / "message" / info["id"] / f"{id}.json"] = message["info"]
        parts = storage / "part" / (f"{info['id']}/{id}" if is_first_layout else id)
        files |= {parts / f"{part['id']}.json": part for part in message["parts"]}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2))
    return session


@pytest.mark.parametrize("scenario", ["01-text", "05-write-edit"])
@pytest.mark.parametrize("form", ["export", "files", "first files", "database", "session in database"])
def test_every_form_says_the_same(scenario: str, form: str, tmp_path: Path) -> None:
    document = json.loads(export_of(scenario).read_text())
    forms: dict[str, Callable[[], Path]] = {
        "export": lambda: export_of(scenario),
        "files": lambda: spread(document, tmp_path, is_first_layout=False),
        "first files": lambda: spread(document, tmp_path, is_first_layout=True),
        "database": lambda: database_of(scenario, tmp_path),
        "session in database": lambda: database_of(scenario, tmp_path) / document["info"]["id"],
    }
    path = forms[form]()
    assert READER.recognises(path)
    events = list(transcribe(READER.read(path), AGENT))
    assert (strange(events), broken(events)) == ([], [])
    assert said(events) == said(transcribe(READER.read(export_of(scenario)), AGENT))
    assert events[0].session_id == next(iter(transcribe(READER.read(export_of(scenario)), AGENT))).session_id
    assert not any(isinstance(event, schema.SessionEnded) for event in events)


def test_a_history_has_its_own_times_and_identity() -> None:
    first, *rest = transcribe(READER.read(export_of("01-text")), AGENT)
    assert isinstance(first, schema.SessionStarted)
    info = json.loads(export_of("01-text").read_text())["info"]
    assert first.native_session_id == info["id"]
    assert first.data.metadata["agent_version"] == "1.18.33"
    assert first.time.startswith("20") and rest[-1].time > first.time


def test_the_whole_export_in_one_line(tmp_path: Path) -> None:
    """What `opencode export ID | onetape convert opencode -` is given."""
    line = msgspec.json.encode(json.loads(export_of("05-write-edit").read_text()))
    events = list(transcribe(line, AGENT))
    assert (strange(events), broken(events)) == ([], [])
    assert said(events) == said(transcribe(READER.read(export_of("05-write-edit")), AGENT))


@pytest.mark.parametrize("in_one_line", [False, True])
@pytest.mark.parametrize(("field", "value", "error"), [
    ("state", {"status": "completed"}, "a tool's state 'completed' without the fields it must have"), ("callID", 7, "'callID' is no text"),
])  # fmt: skip
def test_a_record_that_cannot_be_read_takes_no_others_with_it(in_one_line: bool, field: str, value: Any, error: str) -> None:
    """Neither the prompt that was held back until it came, nor the rest of a document in one line."""
    document = json.loads(export_of("05-write-edit").read_text())
    whole = list(transcribe(_lines(document, in_one_line), AGENT, dialect="export"))
    spoiled = next(part for message in document["messages"] for part in message["parts"] if part["type"] == "tool")
    spoiled[field] = value
    document["messages"][1]["parts"] = [spoiled]
    events = list(transcribe(_lines(document, in_one_line), AGENT, dialect="export"))
    assert [event.data.error for event in events if isinstance(event, schema.AgentUnparsed)] == [error]
    assert prompts(events) == prompts(whole) != []
    assert isinstance(events[-1], schema.TurnEnded)


@pytest.mark.parametrize(("where", "field", "value"), [
    ("part", "id", None), ("part", "id", 7), ("message", "time", "soon"), ("message", "id", None), ("message", "time", {"created": 1e300}),
])  # fmt: skip
def test_a_record_without_its_place_takes_no_others_with_it(where: str, field: str, value: Any, tmp_path: Path) -> None:
    """The reader puts records in the order of their times and ids."""
    document = json.loads(export_of("05-write-edit").read_text())
    whole = list(transcribe(READER.read(export_of("05-write-edit")), AGENT))
    last = document["messages"][-1]
    (last["info"] if where == "message" else last["parts"][-1])[field] = value
    (tmp_path / "export.json").write_text(json.dumps(document))
    events = list(transcribe(READER.read(tmp_path / "export.json"), AGENT))
    assert broken(events) == []
    assert said(events)[: len(said(whole)) // 2] == said(whole)[: len(said(whole)) // 2]


def test_a_damaged_database_is_refused_or_read_and_never_a_traceback(tmp_path: Path) -> None:
    whole = database_of("01-text", tmp_path).read_bytes()
    damaged = tmp_path / "damaged.db"
    for at in range(100, len(whole), 211):
        damaged.write_bytes(whole[:at] + bytes(255 - byte for byte in whole[at : at + 40]) + whole[at + 40 :])
        with suppress(OSError, Refused):
            if READER.recognises(damaged):
                for session in READER.sessions(damaged):
                    with suppress(*DAMAGED):  # what Found.read refuses, and an import reports
                        for event in transcribe(READER.read(session), AGENT):
                            onetape.to_json(event)


def prompts(events: list[Event]) -> list[Any]:
    return [event.data.item.content for event in events if isinstance(event, schema.ItemCompleted) and event.data.item.role == "user"]


def _lines(document: dict[str, Any], in_one_line: bool) -> bytes:
    records = [document["info"], *(record for message in document["messages"] for record in (message["info"], *message["parts"]))]
    return b"".join(json.dumps(record).encode() + b"\n" for record in ([document] if in_one_line else records))


def test_where_histories_lie(tmp_path: Path) -> None:
    data = tmp_path / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    database = database_of("19-subagent", data)
    document = json.loads(export_of("01-text").read_text())
    old = spread(document, data, is_first_layout=False)
    oldest = spread(document, data, is_first_layout=True)
    child = READER.read(database)
    assert next(iter(child)).dir == "head"
    places = list(READER.places(tmp_path, {}))
    assert places == [database, old, oldest]
    assert [path.parent for path in READER.sessions(database)] == [database], "a subagent's session is no session of its own"
    assert list(READER.places(Path("/nowhere"), {"XDG_DATA_HOME": str(tmp_path / ".local" / "share")})) == places
    assert next(iter(READER.places(tmp_path, {"OPENCODE_DB": str(database)}))) == places[0]


STRANGERS = [b"", b"not json", b"{}", b"[]", b'{"info":{"id":"x"},"messages":[]}', b'{"id":"ses_1"}', b"SQLite format 3\x00"]


@pytest.mark.parametrize("content", STRANGERS)
def test_other_files_are_not_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert not READER.recognises(tmp_path / "x.json")


def test_other_databases_are_not_ours(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("create table session (id text)")
    assert not READER.recognises(tmp_path / "x.db")
    with pytest.raises(Refused, match="no database of OpenCode"):
        READER.read(tmp_path / "x.db")


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    database = database_of("01-text", tmp_path)
    (tmp_path / "x.json").write_text("[]")
    for path in (database / "ses_nobody", tmp_path / "x.json", tmp_path / "missing.json"):
        with pytest.raises(Refused):
            READER.read(path)
