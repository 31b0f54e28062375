"""Claude Code's wire: every recorded line is understood, every published type is known, every diff applies."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claude_types import PUBLISHED, begins, heard, said, streamed, system, wants
from onetape import drafts, schema, tape
from onetape.agents.agent import LaunchOptions
from onetape.agents.claude import AGENT
from onetape.schema import Event, type_of
from onetape.tape import Record
from onetape.transcribe import transcribe
from rehearsal import broken

FOLDER = Path(__file__).parent / "captures" / "claude"
NONSENSE = 2
"""Messages in the capture of bad input that no client should send: an unknown type and a line that is not JSON."""
CAPTURES = sorted(FOLDER.glob("2.*/*.jsonl"))


def records(capture: Path) -> list[Record]:
    return list(tape.read([capture.read_bytes()]))


def bare(told: Iterable[Record]) -> list[bytes]:
    """What the program printed, and nothing else."""
    return [record.line + b"\n" for record in told if record.dir == "recv" and not record.silent]


def unknown(events: list[Event]) -> list[Any]:
    return [event.data.item.content for event in events if isinstance(event, schema.ItemStarted) and event.data.item.kind == "unknown"]


def unparsed(events: list[Event]) -> list[str]:
    return [event.data.error for event in events if isinstance(event, schema.AgentUnparsed)]


def files(events: list[Event]) -> list[schema.FileRef]:
    items = [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]
    return [part for item in items for part in item.content if isinstance(part, schema.FileRef)]


def test_both_versions_are_recorded() -> None:
    assert {capture.parent.name for capture in CAPTURES} == set(AGENT.versions)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: f"{capture.parent.name}/{capture.stem}")
@pytest.mark.parametrize("is_bare", [False, True], ids=["tape", "bare"])
def test_capture(capture: Path, is_bare: bool) -> None:
    told = records(capture)
    source = bare(told) if is_bare else told
    if not source:
        pytest.skip("it said nothing")
    events = list(transcribe(source, AGENT))
    not_json = [record for record in told if record.dir == "recv" and not record.silent and bytes(record.payload).startswith(b'"')]
    assert unknown(events) == []
    assert len(unparsed(events)) == len(not_json)
    assert broken(events, bare=is_bare) == []


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: f"{capture.parent.name}/{capture.stem}")
def test_every_send_is_understood(capture: Path) -> None:
    """What other clients said to it, but for nonsense that it did not understand itself."""
    translator = AGENT.translators[0](tape.Head())
    said = [msgspec.json.decode(record.payload) for record in records(capture) if record.dir == "send"]
    unheard = [draft.native for native in said for draft in translator.sent(native) if isinstance(draft, drafts.Unheard)]
    assert len(unheard) == {"33-bad-input": NONSENSE}.get(capture.stem, 0)


# --- diffs ------------------------------------------------------------------


def before(diff: str) -> str | None:
    """A file that a diff could have been made from; None if it makes the file."""
    if diff.startswith("--- /dev/null"):
        return None
    lines: list[str] = []
    for line in diff.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start = int(line.split()[1].split(",")[0].removeprefix("-"))
            lines += [f"filler {at}\n" for at in range(len(lines) + 1, start)]
        elif line[0] in " -":
            lines.append(line[1:])
        elif line.startswith("\\") and lines:
            lines[-1] = lines[-1].removesuffix("\n")
    return "".join(lines)


def assert_applies(file: schema.FileRef, folder: Path) -> None:
    assert file.diff is not None
    subprocess.run(["git", "init", "-q", folder], check=True)
    target = folder / file.path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if (content := before(file.diff)) is not None:
        target.write_text(content)
    applied = subprocess.run(["git", "apply", "--check", "-"], cwd=folder, input=file.diff, text=True, capture_output=True)
    assert applied.returncode == 0, applied.stderr + file.diff


DIFFS = [
    (capture.stem, at, file)
    for capture in CAPTURES
    for at, file in enumerate(files(list(transcribe(records(capture), AGENT))))
    if file.diff
]  # fmt: skip


@pytest.mark.parametrize(("name", "at", "file"), DIFFS, ids=[f"{name}-{at}" for name, at, _ in DIFFS])
def test_diff_applies(name: str, at: int, file: schema.FileRef, tmp_path: Path) -> None:
    assert_applies(file, tmp_path)


def test_there_are_diffs_of_every_kind() -> None:
    kinds = {(file.action, file.diff.startswith("--- /dev/null")) for _, _, file in DIFFS if file.diff}
    assert kinds >= {("write", True), ("write", False), ("patch", False)}


# --- the published types ----------------------------------------------------


def lines(*natives: Any) -> list[bytes]:
    return [msgspec.json.encode(native) + b"\n" for native in natives]


def test_every_published_type_is_known() -> None:
    natives = [{"session_id": "s", "uuid": f"u{at}", **native} for at, native in enumerate(PUBLISHED)]
    events = list(transcribe(lines(*natives), AGENT))
    assert unknown(events) == []
    assert unparsed(events) == []
    assert broken(events, bare=True) == []


@pytest.mark.parametrize("at", range(len(PUBLISHED)))
def test_every_published_type_may_come_alone(at: int) -> None:
    events = list(transcribe(lines({"session_id": "s", "uuid": "u", **PUBLISHED[at]}), AGENT, dialect="stream-json"))
    assert (unknown(events), unparsed(events), broken(events, bare=True)) == ([], [], [])


@pytest.mark.parametrize("native", [
    {"type": "assistant"}, {"type": "assistant", "message": {"id": "m", "content": "text"}}, said({"type": "text"}),
    said({"type": "tool_use", "id": "t"}), {"type": "user"}, heard([{"type": "tool_result"}]), heard(7), heard([{}], isReplay=True),
    {"type": "result"}, {"type": "stream_event"}, begins("text") | {"event": {"type": "content_block_start"}},
    {"type": "system"}, system("init"), system("api_retry"), system("hook_started"), system("task_started"), system("task_progress"),
    {"type": "rate_limit_event"}, {"type": "control_request"}, wants("can_use_tool"), wants("elicitation"), {"type": "control_response"},
    {"type": "control_cancel_request"}, {"type": "tool_progress"}, {"type": "conversation_reset"}, {"type": "prompt_suggestion"},
], ids=str)  # fmt: skip
def test_a_known_type_without_its_fields_is_unparsed(native: dict[str, Any]) -> None:
    events = list(transcribe(lines(native), AGENT, dialect="stream-json"))
    assert len(unparsed(events)) == 1
    assert unknown(events) == []


def test_tokens_that_nobody_can_count_are_unparsed() -> None:
    result = b'{"type":"result","subtype":"success","is_error":false,"modelUsage":{"m":{"inputTokens":1e999}}}\n'
    events = list(transcribe([result], AGENT, dialect="stream-json"))
    assert len(unparsed(events)) == 1 and broken(events, bare=True) == []


@pytest.mark.parametrize("native", [
    {"type": "novelty"}, system("novelty"), wants("novelty"), said({"type": "novelty"}), streamed(type="novelty"), {"kind": "else"}, [1],
], ids=str)  # fmt: skip
def test_a_stranger_is_unknown(native: Any) -> None:
    events = list(transcribe(lines(native), AGENT, dialect="stream-json"))
    assert len(unknown(events)) == 1
    assert unparsed(events) == []


# --- the launch -------------------------------------------------------------


def options(**fields: Any) -> LaunchOptions:
    return LaunchOptions(executable="claude", cwd="/project", session_key="key", **fields)


def test_launch_speaks_the_wire() -> None:
    assert AGENT.launch is not None
    told = AGENT.launch(options(model="opus", variant="high", permission_mode="bypass"))
    words = " ".join(told.argv)
    assert told.argv[0] == "claude" and told.cwd == "/project" and told.stop == "close_stdin"
    assert "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio" in words
    assert "--include-partial-messages --replay-user-messages" in words
    assert "--model opus --effort high --permission-mode bypassPermissions --session-id " in words
    assert not told.files and "--mcp-config" not in words and "--resume" not in words


@pytest.mark.parametrize(("ours", "theirs"), [("default", "default"), ("plan", "plan"), ("acceptEdits", "acceptEdits")])
def test_permission_modes(ours: Any, theirs: str) -> None:
    assert AGENT.launch is not None
    argv = AGENT.launch(options(permission_mode=ours)).argv
    assert argv[argv.index("--permission-mode") + 1] == theirs
    assert theirs in AGENT.modes


def test_a_resumed_session_keeps_its_id() -> None:
    assert AGENT.launch is not None
    argv = AGENT.launch(options(resume="native")).argv
    assert argv[argv.index("--resume") + 1] == "native" and "--session-id" not in argv


def test_secrets_of_mcp_servers_are_in_a_private_file_alone() -> None:
    assert AGENT.launch is not None
    told = AGENT.launch(options(mcp={
        "files": {"type": "local", "command": ["npx", "files"], "args": ["--all"], "env": {"TOKEN": "secret"}, "cwd": "/data",
                  "timeoutMs": 9000},
        "web": {"type": "remote", "url": "https://example.com/mcp", "headers": {"X": "secret"}, "bearerTokenEnvVar": "BEARER",
                "envHeaders": {"Y": "VAR"}},
        "old": {"type": "remote", "url": "https://example.com/sse", "transport": "sse"},
        "off": {"type": "local", "command": "x", "enabled": False},
    }))  # fmt: skip
    assert "secret" not in " ".join([*told.argv, *told.env.values()])
    assert told.argv[told.argv.index("--mcp-config") + 1] == "{dir}/mcp.json"
    assert msgspec.json.decode(told.files["mcp.json"]) == {"mcpServers": {
        "files": {"type": "stdio", "command": "sh", "args": ["-c", 'cd "$0" && exec "$@"', "/data", "npx", "files", "--all"],
                  "env": {"TOKEN": "secret"}, "timeout": 9000},
        "web": {"type": "http", "url": "https://example.com/mcp",
                "headers": {"X": "secret", "Y": "${VAR}", "Authorization": "Bearer ${BEARER}"}},
        "old": {"type": "sse", "url": "https://example.com/sse", "headers": {}},
    }}  # fmt: skip


def test_types_of_events_over_all_captures() -> None:
    """All that a transcript can hold but `unparsed` is witnessed by the recordings."""
    seen = {type_of(event) for capture in CAPTURES for event in transcribe(records(capture), AGENT)}
    assert seen >= {
        "session.started", "session.ended", "turn.started", "turn.ended", "item.started", "item.delta", "item.completed", "error",
        "permission.requested", "permission.resolved", "question.requested", "question.resolved",
    }  # fmt: skip
