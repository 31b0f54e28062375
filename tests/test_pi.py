"""Pi over its recordings: three versions, three dialects, live against history, and what our extension must share with us.

The recordings named `own-…` were made with the real programs, our launch and our extension.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import onetape
from onetape import schema, tape
from onetape.agents import registry
from onetape.agents.agent import LaunchOptions
from onetape.agents.pi import changes, dialogs
from onetape.agents.pi.launch import GATE, launch
from onetape.agents.pi.reader import OTHER_BRANCH, SessionFiles
from onetape.errors import Refused
from onetape.schema import Event, type_of
from onetape.tape import Record
from onetape.transcribe import transcribe
from pi_types import FILE
from pi_types import WIRE as PUBLISHED
from rehearsal import broken

CAPTURES = Path(__file__).parent / "captures" / "pi"
WIRE = sorted(CAPTURES.glob("[01].*/*.jsonl"))
HISTORIES = sorted(CAPTURES.glob("history/*.jsonl"))
# Its deltas have a blank line more than its text: Pi's own contradiction.
CONTRADICTS_ITSELF = "13c-thinking-responses"
MAIN = 'def greet(name):\n    return "Hello, " + name\n\n\nif __name__ == "__main__":\n    print(greet("world"))\n'


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def records_of(file: Path) -> list[Record]:
    return list(tape.read([file.read_bytes()]))


def bare(records: list[Record]) -> list[Record]:
    """What is left where nobody kept the sends and the times."""
    return [Record(0.0, "recv", record.payload) for record in records if record.dir == "recv"]


def heard_in_vain(records: list[Record]) -> int:
    return sum(record.dir == "recv" and bytes(record.payload).startswith(b'"') for record in records)


def items(events: list[Event], *kinds: str) -> list[schema.Item]:
    done = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    return [item for item in done if item.kind in kinds]


# --- every recording --------------------------------------------------------


@pytest.mark.parametrize("is_bare", [False, True], ids=["tape", "bare"])
@pytest.mark.parametrize("file", WIRE, ids=name_of)
def test_a_recording(file: Path, is_bare: bool) -> None:
    records = bare(records_of(file)) if is_bare else records_of(file)
    events = list(transcribe(records, "pi"))
    assert not items(events, "unknown")
    assert sum(type_of(event) == "agent.unparsed" for event in events) == heard_in_vain(records)
    assert broken(events, bare=is_bare) == []
    warned = [fault.rule for fault in onetape.check(events, bare=is_bare)]
    assert warned == (["delta_mismatch"] if file.stem == CONTRADICTS_ITSELF else [])
    if records:
        assert type_of(events[0]) == "session.started" and type_of(events[-1]) == "session.ended"


# --- the published types ----------------------------------------------------


@pytest.mark.parametrize(("dialect", "natives"), [("rpc", PUBLISHED), ("json", PUBLISHED), ("session", FILE)])
def test_every_published_type_is_known(dialect: str, natives: list[Any]) -> None:
    # together, and each alone: whoever tunes in late hears any of them first
    for told in [natives, *([native] for native in natives)]:
        lines = [json.dumps(native).encode() + b"\n" for native in told]
        events = list(transcribe(lines, "pi", dialect=dialect))
        assert not items(events, "unknown"), told
        assert all(type_of(event) != "agent.unparsed" for event in events), told
        assert broken(events, bare=True) == [], told


# --- what is said -----------------------------------------------------------


@pytest.mark.parametrize("file", [file for file in WIRE if any(record.dir == "send" for record in records_of(file))], ids=name_of)
def test_user_messages_are_what_was_sent(file: Path) -> None:
    """Each accepted prompt once, in its own words; refused and handled ones not at all."""
    wire = said_in(file)
    declined = {told["id"] for told, sent in wire if not sent and "id" in told and is_declined(told)}
    prompts = [told for told, sent in wire if sent and told.get("type") in ("prompt", "steer", "follow_up") and "message" in told]
    typed = [re.sub(r"(?s)<file name=.*</file>\n", "", told["message"]) for told in prompts if told["id"] not in declined]
    typed = [text for text in typed if not text.startswith(f"/{dialogs.MODE_COMMAND}")]  # before 1.0 nothing tells that it was handled
    messages = [item for item in items(list(transcribe(records_of(file), "pi")), "message") if item.role == "user"]
    assert sorted(item.content[0].text for item in messages) == sorted(typed)  # type: ignore[union-attr]


def said_in(file: Path) -> list[tuple[Any, bool]]:
    """What was said on this wire, and whether by us."""
    spoken = [record for record in records_of(file) if record.dir in ("send", "recv") and bytes(record.payload).startswith(b"{")]
    return [(record.native(), record.dir == "send") for record in spoken]


def is_declined(told: dict[str, Any]) -> bool:
    is_prompt = told["type"] == "response" and told["command"] == "prompt"
    return is_prompt and (not told["success"] or told.get("data") == {"disposition": "handled"})


@pytest.mark.parametrize("file", [*WIRE, *HISTORIES], ids=name_of)
def test_the_dialect_is_told_by_the_first_lines(file: Path) -> None:
    said = said_in(file)
    wanted = "session" if file in HISTORIES else "json" if said[0][0]["type"] == "session" else "rpc"
    for heard in (said, [(native, sent) for native, sent in said if not sent]):
        assert registry.find("pi").translator(None, heard).dialect == wanted


# --- live against history ---------------------------------------------------

# What a session file does not tell, and why the two transcripts then differ:
#   statuses       who Pi is, retries' numbers, queues, extensions' displays, failed compactions are said on the wire alone
#   cwd            the rpc wire does not say it (a live tape's head does), the file's header does
#   asks           dialogs leave no trace in the file
#   nested output  the file keeps names and errors of the calls that codemode made, not their output
BOTH = ["03-shell", "05-write-edit", "13-thinking-completions", "16-two-turns", "27-compaction-manual", "own-codemode", "own-errors"]


def story(events: list[Event]) -> list[Any]:
    """The conversation and the outcome of its turns, without ids and without what a file cannot tell."""
    told: list[Any] = []
    for event in events:
        match event:
            case schema.ItemCompleted(data=schema.ItemData(item)) if item.kind in ("message", "tool_call", "tool_result", "system"):
                is_nested = isinstance(first := item.content[0], schema.ToolResult) and "/" in first.call_id
                told.append((item.kind, item.role, item.status, [] if is_nested else list(map(comparable, item.content))))
            case schema.TurnEnded(data=data):
                told.append(data.metadata)
            case _:
                pass
    return told


def comparable(part: schema.ContentPart) -> Any:
    match part:
        case schema.Json(json={"exit_code": _} as run):
            return {**run, "cwd": None}
        case _:
            return part


@pytest.mark.parametrize("name", BOTH)
def test_live_and_history_agree(name: str) -> None:
    live = story(list(transcribe(records_of(CAPTURES / "1.5.0" / f"{name}.jsonl"), "pi")))
    read = story(list(transcribe(SessionFiles().read(CAPTURES / "history" / f"{name}.jsonl"), "pi")))
    assert read == live


@pytest.mark.parametrize("name", ["own-branches", "30-session-commands"])
def test_a_file_tells_the_last_of_a_live_session(name: str) -> None:
    """A branch that was left is in another part of the tree, a session that was left in another file."""
    live = story(list(transcribe(records_of(CAPTURES / "1.5.0" / f"{name}.jsonl"), "pi")))
    read = story(list(transcribe(SessionFiles().read(CAPTURES / "history" / f"{name}.jsonl"), "pi")))
    assert read[-3:] == live[-3:]


@pytest.mark.parametrize("file", HISTORIES, ids=name_of)
def test_a_history(file: Path) -> None:
    for source in (SessionFiles().read(file), bare_lines(file)):
        events = list(transcribe(source, "pi"))
        assert not items(events, "unknown") and not [event for event in events if type_of(event) == "agent.unparsed"]
        assert broken(events) == []
        assert type_of(events[-1]) == "turn.ended", "a history has no end of its own"


def bare_lines(file: Path) -> list[Record]:
    return [tape.recv(0.0, line) for line in file.read_bytes().splitlines()]


# --- the reader -------------------------------------------------------------


def test_the_reader_keeps_every_line_and_lets_one_branch_speak() -> None:
    file = CAPTURES / "history" / "own-branches.jsonl"
    head, *records = SessionFiles().read(file)
    assert [record.line for record in records] == file.read_bytes().splitlines()
    assert head.native()["started"] == records[0].native()["timestamp"] and records[-1].t > records[0].t == 0.0
    silent = [record.native() for record in records if record.note == OTHER_BRANCH]
    assert [entry["message"]["role"] for entry in silent] == ["user", "assistant"]


def test_other_branches_are_reachable() -> None:
    file = CAPTURES / "history" / "own-branches.jsonl"
    left, active = SessionFiles().branches(file)
    assert words(file) == words(Path(f"{file}#{active}")) == ["First", "One.", "Second again", "Two, again."]
    assert words(Path(f"{file}#{left}")) == ["First", "One.", "Second", "Two, first."]
    with pytest.raises(Refused, match=f"its branches end at: {left}, {active}"):
        words(Path(f"{file}#nowhere"))


def words(path: Path) -> list[str]:
    return [item.content[0].text for item in items(list(transcribe(SessionFiles().read(path), "pi")), "message")]  # type: ignore[union-attr]


def test_the_reader_finds_and_recognises_sessions(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--workspace-demo--"
    folder.mkdir(parents=True)
    session, other = folder / "2026_a.jsonl", folder / "notes.jsonl"
    session.write_bytes((CAPTURES / "history" / "03-shell.jsonl").read_bytes() + b'{"type":"message","id":"cut')
    other.write_text('{"type":"note"}\n')
    reader = SessionFiles()
    assert list(reader.places(tmp_path, {})) == [session, other]
    assert list(reader.places(tmp_path, {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "nowhere")})) == []
    assert list(reader.places(Path("/nowhere"), {"PI_CODING_AGENT_DIR": str(tmp_path / ".pi" / "agent")})) == [session, other]
    assert [reader.recognises(path) for path in (session, other, tmp_path / "missing")] == [True, False, False]
    events = list(transcribe(reader.read(session), "pi"))
    assert type_of(events[-1]) == "agent.unparsed", "a line that was cut off is told, and breaks no branch"
    assert len(items(events, "message")) == 3
    with pytest.raises(Refused, match="no session of Pi's"):
        list(reader.read(other))


@pytest.mark.parametrize("damage", [{"id": []}, {"id": 7}, {"parentId": {}}, {"timestamp": 7}])
def test_an_entry_without_a_proper_place_breaks_no_branch(tmp_path: Path, damage: dict[str, Any]) -> None:
    file = tmp_path / "s.jsonl"
    lines = (CAPTURES / "history" / "03-shell.jsonl").read_bytes().splitlines(keepends=True)
    extra = {"type": "label", "id": "stray", "parentId": None, "timestamp": "2026-11-18T05:21:00Z", "targetId": "x"} | damage
    file.write_bytes(b"".join([lines[0], json.dumps(extra).encode() + b"\n", *lines[1:]]))
    assert words(file) == words(CAPTURES / "history" / "03-shell.jsonl")
    assert len(SessionFiles().branches(file)) in (1, 2)


# --- file changes -----------------------------------------------------------


def patches(file: Path) -> list[schema.FileRef]:
    results = items(list(transcribe(records_of(file), "pi")), "tool_result")
    return [part for item in results for part in item.content if isinstance(part, schema.FileRef) and part.diff is not None]


def apply(folder: Path, diff: str) -> None:
    subprocess.run(["git", "apply", "--check", "-p0", "-"], input=diff.encode(), cwd=folder, check=True)
    subprocess.run(["git", "apply", "-p0", "-"], input=diff.encode(), cwd=folder, check=True)


@pytest.mark.parametrize("file", [file for file in WIRE if patches(file)], ids=name_of)
def test_diffs_apply_one_after_the_other(file: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    for change in patches(file):
        assert change.diff is not None and change.diff.endswith("\n")
        apply(tmp_path, change.diff)
    wrote = [file for file in ("w.txt", "b.txt") if (tmp_path / file).exists()]
    assert (tmp_path / "main.py").read_text() != MAIN or wrote


# As 0.73.1 writes them (its generateDiffString, run on these texts).
LINES = "".join(f"line {number}\n" for number in range(1, 31))
NUMBERED = [
    (
        LINES,
        LINES.replace("line 3\n", "line three\nand a half\n").replace("line 20\n", "").replace("line 28", "line XXVIII"),
        "  1 line 1\n  2 line 2\n- 3 line 3\n+ 3 line three\n+ 4 and a half\n  4 line 4\n  5 line 5\n  6 line 6\n  7 line 7\n    ...\n"
        " 16 line 16\n 17 line 17\n 18 line 18\n 19 line 19\n-20 line 20\n 21 line 21\n 22 line 22\n 23 line 23\n 24 line 24\n 25 line 25\n"
        " 26 line 26\n 27 line 27\n-28 line 28\n+28 line XXVIII\n 29 line 29\n 30 line 30",
    ),
    ("a\nb\n", "z\na\nb\n", "+1 z\n 1 a\n 2 b"),
]


@pytest.mark.parametrize(("old", "new", "numbered"), NUMBERED, ids=["far apart", "at the top"])
def test_numbered_lines_become_a_patch(old: str, new: str, numbered: str, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text(old)
    change = changes.file_of("edit", {"path": "f.txt"}, {"diff": numbered})
    assert change is not None and change.diff is not None
    apply(tmp_path, change.diff)
    assert (tmp_path / "f.txt").read_text() == new


@pytest.mark.parametrize(("old", "new"), [("a\nb\n", "a\nc"), ("a", "a\n"), ("x\r\ny\n", "x\r\nz\n"), ("", "one\n"), ("one\n", "")])
def test_written_files_become_a_patch(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(old.encode())
    change = changes.file_of("write", {"path": "f.txt", "content": new}, {"before": old})
    assert change is not None and change.diff is not None
    apply(tmp_path, change.diff)
    left = tmp_path / "f.txt"
    assert (left.read_bytes().decode() if left.exists() else "") == new


OTHER_TEXTS = [("a\r\nb\r\n", "a\r\nB\r\n"), ("\ufeffa\nb\n", "\ufeffA\nb\n"), ("keep  \nit\u2019s\n", "keep\nit was\n")]


@pytest.mark.parametrize(("old", "new"), OTHER_TEXTS, ids=["crlf", "bom", "rough"])
def test_an_edit_of_another_text_than_the_files(old: str, new: str, tmp_path: Path) -> None:
    """Pi's patch is of what it worked on; where our extension saw that the file is not that, it adds both texts."""
    (tmp_path / "f.txt").write_bytes(old.encode())
    told = {"patch": "--- f.txt\n+++ f.txt\n@@ -1 +1 @@\n-x\n+y\n", "diff": "-1 x\n+1 y", "before": old, "after": new}
    change = changes.file_of("edit", {"path": "@f.txt"}, told)
    assert change is not None and change.path == "f.txt" and change.diff is not None
    apply(tmp_path, change.diff)
    assert (tmp_path / "f.txt").read_bytes().decode() == new


# --- dialogs ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        ("Allow once", "accept"), ("Yes", "accept"), ("Approve", "accept"), ("once", "accept"),
        ("Allow for this session", "accept_for_session"), ("Always allow", "accept_for_session"), ("session", "accept_for_session"),
        ("Deny", "reject"), ("No", "reject"), ("Don't allow", "reject"), ("Deny for this session", "reject"), ("reject", "reject"),
        ("Red", None), ("Notes", None),
    ],
)  # fmt: skip
def test_what_a_label_means(label: str, meaning: str | None) -> None:
    assert dialogs._meaning(label) == meaning


def test_the_extension_speaks_our_language() -> None:
    """Two languages, one protocol: what both sides must spell alike is compared."""
    source = GATE.read_text()
    assert set(re.findall(r'"(\w+)"', re.search(r"MODES = new Set\((.*?)\)", source)[1])) == set(dialogs.MODES)  # type: ignore[index]
    assert source.count(f'"{dialogs.MODE_COMMAND}"') == 2
    assert f"`{dialogs._PERMISSION}$" in source and f"`{dialogs._QUESTION}$" in source
    options = json.loads(re.search(r'ui\.select\(title, (\[.*?\])', source)[1])  # type: ignore[index]
    assert [dialogs._meaning(option) for option in options] == ["accept", "accept_for_session", "reject"]


@pytest.mark.parametrize("version", ["1.5.0", "0.87.1", "0.73.1"])
def test_the_extension_works_in_every_version(version: str) -> None:
    """Once, for the session (the second write is not asked for), refused with a reason, a question, plan mode, an abort while asked."""
    events = list(transcribe(records_of(CAPTURES / version / "own-gate.jsonl"), "pi"))
    resolved = [(event.data.metadata["call_id"], event.data.status) for event in events if isinstance(event, schema.PermissionResolved)]
    assert resolved == [
        ("call_1", "accept"), ("call_2", "accept_for_session"), ("call_4", "reject"), ("call_5", "accept"), ("call_9", "reject"),
    ]  # fmt: skip
    answered = [event.data.questions for event in events if isinstance(event, schema.QuestionResolved)]
    assert [[question.answers for question in questions] for questions in answered] == [[["Green"], ["Ada"]]]  # type: ignore[union-attr]
    outputs = {item.content[0].call_id: item.content[0].output for item in items(events, "tool_result")}  # type: ignore[union-attr]
    assert outputs["call_4"] == "Rejected by the user: too dangerous"
    assert outputs["call_8"].startswith("Plan mode: ")
    ended = [event.data.metadata.status for event in events if isinstance(event, schema.TurnEnded)]
    assert ended == ["completed", "completed", "interrupted"]


# --- the launch -------------------------------------------------------------


def options(**more: Any) -> LaunchOptions:
    return LaunchOptions(executable="pi", cwd="/project", session_key="k", **more)


def test_launch() -> None:
    described = launch(options(model="openai/gpt", variant="high", resume="pi-1", permission_mode="acceptEdits"))
    assert described.argv == [
        "pi", "--mode", "rpc", "-e", str(GATE), "--model", "openai/gpt", "--thinking", "high", "--session", "pi-1",
    ]  # fmt: skip
    assert described.env["ONETAPE_PI_MODE"] == "acceptEdits" and described.files == {} and GATE.is_file()
    assert launch(options(mode="plan")).env["ONETAPE_PI_MODE"] == "plan"


def test_launch_with_mcp_servers() -> None:
    servers = {
        "local": {"type": "local", "command": ["npx", "-y"], "args": ["server"], "env": {"A": "1"}, "timeoutMs": 1500, "enabled": True},
        "remote": {"url": "https://example.com/mcp", "headers": {"X": "y"}, "bearerTokenEnvVar": "TOKEN", "envHeaders": {"Z": "ZED"}},
    }
    described = launch(options(mcp=servers))
    assert described.env["ONETAPE_PI_MCP"] == "{dir}/mcp.json"
    assert json.loads(described.files["mcp.json"]) == {
        "local": {"exposure": "direct", "enabled": True, "timeout": 1.5, "command": "npx", "args": ["-y", "server"], "env": {"A": "1"}},
        "remote": {
            "exposure": "direct",
            "url": "https://example.com/mcp",
            "headers": {"X": "y", "Z": "${ZED}", "Authorization": "Bearer ${TOKEN}"},
        },
    }


@pytest.mark.parametrize(
    ("version", "server", "why"),
    [
        ("0.87.1", {"command": "x"}, "has no MCP"),
        ("1.5.0", {"url": "https://example.com/sse", "transport": "sse"}, "not SSE"),
        ("1.5.0", {"type": "local"}, "neither a command nor a url"),
    ],
)
def test_a_launch_is_refused(version: str, server: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        launch(options(version=version, mcp={"demo": server}))
