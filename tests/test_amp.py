"""Amp against what its three builds really said: recordings, thread files, and its permission helper run for real.

`tests/captures/amp/<month>/` are stdout and stdin of the programs of January, May and September 2026 on a scripted model
(`lab-live-*`: driven by our own launch, helper and translator); `threads/` are the files that January kept of its runs.
"""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread as Worker
from typing import Any

import msgspec
import pytest

from onetape import schema, tape, transcribe
from onetape.agents.agent import LaunchOptions
from onetape.agents.amp import AGENT, helper, results
from onetape.agents.amp.launch import launch
from onetape.errors import Refused, Unparsed
from onetape.schema import Event, type_of
from onetape.tape import Head, Record
from rehearsal import Rehearsal, broken

RECORDINGS = Path(__file__).parent / "captures" / "amp"
CAPTURES = sorted(RECORDINGS.glob("2026-*/*.jsonl"))
THREADS = sorted(RECORDINGS.glob("threads/*.json"))
CASES = Path(results.__file__).parent / "cases"


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


# --- recordings -------------------------------------------------------------


@pytest.mark.parametrize("bare", [False, True], ids=["tape", "bare"])
@pytest.mark.parametrize("capture", CAPTURES, ids=named)
def test_recordings_are_understood_whole(capture: Path, bare: bool) -> None:
    records = list(tape.read([capture.read_bytes()]))
    if bare:
        records = [Record(0.0, "recv", record.payload, record.encoding) for record in records if record.dir == "recv"]
    events = list(transcribe(records, "amp"))
    babble = [record for record in records if record.dir == "recv" and is_text(record)]
    assert sum(type_of(event) == "agent.unparsed" for event in events) == len(babble)
    assert [item for item in completed(events) if item.kind == "unknown"] == []
    assert broken(events, bare=bare) == []


def is_text(record: Record) -> bool:
    return bytes(record.payload).startswith(b'"') and bool(record.line.strip())


@pytest.mark.parametrize("thread", THREADS, ids=named)
def test_threads_are_understood_whole(thread: Path) -> None:
    events = list(transcribe(AGENT.history.read(thread), "amp"))
    assert [item for item in completed(events) if item.kind == "unknown"] == []
    assert broken(events) == []
    assert {type_of(event) for event in events} >= {"session.started", "turn.ended"}
    assert "session.ended" not in {type_of(event) for event in events}, "a thread may still grow"


def completed(events: list[Event]) -> list[schema.Item]:
    return [event.data.item for event in events if isinstance(event, schema.ItemCompleted)]


# --- the wire and the file tell the same ------------------------------------


def live(*names: str) -> list[tuple[Any, ...]]:
    """What the wire told of a run, and of the run that resumed it."""
    return [entry for name in names for entry in told(transcribe((RECORDINGS / "2026-01" / f"{name}.jsonl").read_bytes(), "amp"))]


def kept(name: str) -> list[tuple[Any, ...]]:
    return told(transcribe(AGENT.history.read(RECORDINGS / "threads" / f"{name}.json"), "amp"))


@pytest.mark.parametrize("name", ["03-shell", "lab-edits", "lab-live-sub"])
def test_live_and_history_agree(name: str) -> None:
    """But for what only one of them knows: see `told`."""
    assert len(kept(name)) > 3
    assert kept(name) == live(name)


def test_live_and_history_agree_on_a_stopped_and_resumed_run() -> None:
    """But for the tool that SIGINT stopped: the wire has no result of it, and the file gives the reason at the resume."""
    wire, file = live("lab-live-perm", "lab-live-resume"), kept("lab-live-perm")
    differing = [(ours[3][0].output, theirs[3][0].output) for ours, theirs in zip(wire, file, strict=True) if ours != theirs]
    assert differing == [("", "Tool execution cancelled: system:safety")]
    assert [entry[0] for entry in file if len(entry) == 2] == ["completed", "interrupted", "completed"]


def told(events: Iterator[Event]) -> list[tuple[Any, ...]]:
    """Items and ends of turns, without: the model and the numbers of messages (the file alone), asks, tools and modes
    that the session told of itself (the wire alone), and times."""
    entries: list[tuple[Any, ...]] = []
    parents: dict[str, int] = {}
    for event in events:
        if isinstance(event, schema.ItemCompleted) and event.data.item.kind != "status":
            item = event.data.item
            parents[item.item_id] = len(entries)
            entries.append((item.kind, item.role, item.status, item.content, parents.get(item.parent_id or "")))
        elif isinstance(event, schema.TurnEnded):
            usage = event.data.metadata.usage
            entries.append((event.data.metadata.status, msgspec.structs.replace(usage, model=None) if usage else None))
    return entries


def test_what_only_a_thread_knows() -> None:
    events = list(transcribe(AGENT.history.read(RECORDINGS / "threads" / "03-shell.json"), "amp"))
    (ended,) = [event for event in events if isinstance(event, schema.TurnEnded)]
    assert ended.data.metadata.usage.model == "claude-opus-4-5-20251101"
    assert [item.native_item_id for item in completed(events)] == ["0", "1", "toolu_000007", "toolu_000007", "3"]
    assert events[0].time == "2026-11-18T05:14:52.814Z"
    assert ended.time == "2026-11-18T05:14:53.344Z"


# --- thread files -----------------------------------------------------------


def test_a_thread_loses_nothing_but_its_layout() -> None:
    for thread in THREADS:
        head, facts, *messages = AGENT.history.read(thread)
        whole = json.loads(thread.read_text())
        assert [json.loads(bytes(message.payload)) for message in messages] == whole.pop("messages")
        assert json.loads(bytes(facts.payload)) == whole
        assert b"\n" not in b"".join(bytes(record.payload) for record in (head, facts, *messages))
        assert sorted(record.t for record in messages) == [record.t for record in messages]


def test_a_whole_thread_on_one_line_is_understood() -> None:
    for thread in THREADS:
        line = json.dumps(json.loads(thread.read_text())).encode()
        assert told(transcribe(line, "amp")) == told(transcribe(AGENT.history.read(thread), "amp"))


def test_threads_are_recognised_by_content(tmp_path: Path) -> None:
    assert all(map(AGENT.history.recognises, THREADS))
    for name, content in (("a.json", '{"id": "T-1"}'), ("b.json", "[]"), ("c.json", "{"), ("d.json", '{"id": "T-1"}\n{"id": "T-2"}')):
        (tmp_path / name).write_text(content)
        assert not AGENT.history.recognises(tmp_path / name)
    (tmp_path / "thread").write_bytes(THREADS[0].read_bytes())
    assert AGENT.history.recognises(tmp_path / "thread"), "whatever it is called"


@pytest.mark.parametrize("field", ["created", "meta", "env", "title"])
@pytest.mark.parametrize("value", [None, 7, "x", [7], {"traces": 7, "initial": 7}, {"traces": [7], "initial": {"trees": [7], "tags": 7}}])
def test_a_damaged_thread_loses_nothing_else(tmp_path: Path, field: str, value: Any) -> None:
    (tmp_path / "T-1.json").write_text(json.dumps(json.loads(THREADS[0].read_text()) | {field: value}))
    events = list(transcribe(AGENT.history.read(tmp_path / "T-1.json"), "amp"))
    assert len(completed(events)) == 5 and broken(events) == []


def test_a_thread_without_a_list_of_messages_is_none(tmp_path: Path) -> None:
    (tmp_path / "T-1.json").write_text(json.dumps(json.loads(THREADS[0].read_text()) | {"messages": {}}))
    with pytest.raises(Unparsed, match="not a thread of Amp"):
        list(AGENT.history.read(tmp_path / "T-1.json"))


@pytest.mark.parametrize("message", [7, {"meta": 7, "usage": 7}, {"usage": {"timestamp": "x"}}, {"messageId": []}])
def test_a_damaged_message_of_a_thread_is_unparsed_or_unknown(tmp_path: Path, message: Any) -> None:
    thread = json.loads(THREADS[0].read_text())
    (tmp_path / "T-1.json").write_text(json.dumps(thread | {"messages": [message, *thread["messages"]]}))
    events = list(transcribe(AGENT.history.read(tmp_path / "T-1.json"), "amp"))
    assert completed(events)[0].kind == "unknown" and len(completed(events)) == 6


def test_threads_are_where_the_system_keeps_data(tmp_path: Path) -> None:
    assert list(AGENT.history.places(tmp_path, {})) == [tmp_path / ".local/share/amp/threads"]
    assert list(AGENT.history.places(tmp_path, {"XDG_DATA_HOME": "/data"})) == [Path("/data/amp/threads")]


# --- diffs ------------------------------------------------------------------


def all_diffs() -> list[schema.FileRef]:
    events = [event for capture in CAPTURES for event in transcribe(capture.read_bytes(), "amp")]
    events += [event for thread in THREADS for event in transcribe(AGENT.history.read(thread), "amp")]
    refs = [part for item in completed(events) for part in item.content if isinstance(part, schema.FileRef)]
    for case in CASES.glob("*.case"):
        for line in re.findall(r"^< item\.completed (\{.*\})$", case.read_text(), re.MULTILINE):
            parts = json.loads(line)["item"]["content"]
            refs += [msgspec.convert(part, schema.FileRef) for part in parts if part["type"] == "file_ref"]
    return [ref for ref in refs if ref.diff is not None]


def test_diffs_apply(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    refs = all_diffs()
    assert len(refs) > 15
    for ref in refs:
        old = tmp_path / ref.path.lstrip("/")
        if not ref.diff.startswith("--- /dev/null") and "\nnew file mode " not in ref.diff:
            old.parent.mkdir(parents=True, exist_ok=True)
            old.write_text(before(ref.diff))
        run = subprocess.run(["git", "apply", "--check", "-"], input=ref.diff, text=True, cwd=tmp_path, capture_output=True)
        assert run.returncode == 0, f"{run.stderr}\n{ref.diff}"
        old.unlink(missing_ok=True)


def before(diff: str) -> str:
    """A file that the diff was made of, as far as the diff tells."""
    lines: list[str] = []
    previous = ""
    for line in diff.splitlines(keepends=True)[2:]:
        if head := re.match(r"@@ -(\d+)", line):
            lines += ["?\n"] * (int(head[1]) - 1 - len(lines))
        elif line[0] in " -":
            lines.append(line[1:])
        elif line[0] == "\\" and previous[0] in " -":
            lines[-1] = lines[-1].removesuffix("\n")
        previous = line
    return "".join(lines)


# --- the permission helper --------------------------------------------------


@pytest.fixture
def run_helper(tmp_path: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, Any]]]:
    """Runs the helper as Amp does, by the wrapper that the launch describes, against a session that answers thus."""
    place = tmp_path / "it's a place"
    place.mkdir()
    address = place / "s"
    wrapper = launched().files["delegate"].replace("{socket}", str(address).replace("'", "'\\''"))
    (place / "delegate").write_text(wrapper)
    (place / "delegate").chmod(0o700)

    def run(answer: bytes | None, env: dict[str, str], stdin: str = '{"cmd": "ls"}') -> tuple[Any, dict[str, Any]]:
        asked: list[bytes] = []
        with socket.socket(socket.AF_UNIX) as session:
            if answer is not None:
                session.bind(str(address))
                session.listen()
                worker = Worker(target=lambda: answer_one(session, answer, asked))
                worker.start()
            done = subprocess.run([place / "delegate"], input=stdin, env=env, text=True, capture_output=True, timeout=20)
            if answer is not None:
                worker.join()
        return done, json.loads(asked[0]) if asked else {}

    return run


def answer_one(session: socket.socket, answer: bytes, asked: list[bytes]) -> None:
    asking, _ = session.accept()
    with asking, asking.makefile("rb") as lines:
        asked.append(lines.readline())
        asking.sendall(answer)


AMP_ENV = {"AGENT": "amp", "AGENT_TOOL_NAME": "Bash", "AGENT_TOOL_USE_ID": "toolu_1", "AMP_THREAD_ID": "T-1"}


def test_helper_allows(run_helper: Any) -> None:
    done, asked = run_helper(b'{"channel":"delegate","decision":"allow"}\n', AMP_ENV)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert re.fullmatch("[0-9a-f]{16}", asked.pop("id"))
    assert asked == {"channel": "delegate", "tool": "Bash", "input": {"cmd": "ls"}, "tool_use_id": "toolu_1", "thread_id": "T-1"}


def test_helper_rejects_with_the_users_words(run_helper: Any) -> None:
    done, _ = run_helper(b'{"decision":"reject","message":"Use rg."}\n', AMP_ENV)
    assert (done.returncode, done.stderr) == (2, "The user rejected this tool call. Use rg.\n")


def test_helper_does_without_the_calls_id(run_helper: Any) -> None:
    done, asked = run_helper(b'{"decision":"allow"}\n', {"AGENT_TOOL_NAME": "shell_command"})
    assert done.returncode == 0
    assert (asked["tool"], asked["tool_use_id"], asked["thread_id"]) == ("shell_command", None, None)


@pytest.mark.parametrize("answer", [None, b"", b"[]\n", b"nonsense\n"], ids=["nobody", "gone", "malformed", "noise"])
def test_helper_rejects_when_nobody_can_be_asked(run_helper: Any, answer: bytes | None) -> None:
    """Never 1, which would be "ask": it hangs January and ends May."""
    done, _ = run_helper(answer, AMP_ENV)
    assert done.returncode == 2
    assert done.stderr.startswith("This tool call was rejected because nobody could be asked: ")


def test_helper_rejects_what_it_cannot_read(run_helper: Any) -> None:
    done, _ = run_helper(None, AMP_ENV, stdin="no JSON")
    assert done.returncode == 2


def test_the_helpers_words_are_known_as_a_refusal() -> None:
    assert {helper.REJECTED, helper.UNASKED} <= set(results.REFUSALS)


# --- launch -----------------------------------------------------------------

SEPTEMBER = "--no-ide --stream-json-thinking --no-archive-after-execute --mode"
MAY = "--no-ide --stream-json-thinking --mode --effort"


def launched(**options: Any) -> Any:
    return launch(LaunchOptions(**{"executable": "amp", "cwd": "/w", "session_key": "k", **options}))


def test_launch_probes_for_options() -> None:
    base = ["amp", "--execute", "--stream-json", "--stream-json-input"]
    rules = ["--settings-file", "{dir}/settings.json"]
    assert launched().argv == base + rules
    assert launched(help=SEPTEMBER).argv == [*base, "--no-ide", "--stream-json-thinking", "--no-archive-after-execute", *rules]
    assert launched(help=SEPTEMBER, resume="T-1").argv[:4] == ["amp", "threads", "continue", "T-1"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"variant": "rush"}, ["--mode", "rush"]),
        ({"mode": "rush"}, ["--mode", "rush"]),
        ({"variant": "max", "help": MAY}, ["--effort", "max"]),
        ({"variant": "max", "mode": "smart", "help": MAY}, ["--mode", "smart", "--effort", "max"]),
        ({"variant": "high", "help": SEPTEMBER}, ["--mode", "high"]),
    ],
)
def test_launch_takes_modes_for_variants(options: dict[str, Any], wanted: list[str]) -> None:
    argv = launched(**options).argv
    assert argv[argv.index(wanted[0]) :][: len(wanted)] == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"model": "opus"},
        {"permission_mode": "plan"},
        {"mode": "low", "variant": "high"},
        {"mcp": {"x": {"command": "x", "cwd": "/"}}},
    ],
)
def test_launch_refuses_what_amp_has_not(options: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="Amp"):
        launched(**options)


def test_launch_puts_the_helper_between_amp_and_its_tools() -> None:
    described = launched()
    asks = {"tool": "*", "action": "delegate", "to": "{dir}/delegate"}
    assert json.loads(described.files["settings.json"])["amp.permissions"] == [asks]
    assert described.files["delegate"].startswith("#!/bin/sh\n")
    assert sys.executable in described.files["delegate"] and "{socket}" in described.files["delegate"]
    *edits, last = json.loads(launched(permission_mode="acceptEdits").files["settings.json"])["amp.permissions"]
    assert last == asks and {"tool": "edit_file", "action": "allow"} in edits
    bypass = launched(permission_mode="bypass")
    assert "--dangerously-allow-all" in bypass.argv and bypass.files == {}


def test_launch_hands_mcp_servers_over_in_a_private_file() -> None:
    described = launched(
        mcp={
            "local": {"type": "local", "command": ["npx", "-y"], "args": ["demo"], "env": {"A": "1"}},
            "remote": {"type": "remote", "url": "https://x.invalid", "bearerTokenEnvVar": "TOKEN", "envHeaders": {"X-Key": "KEY"}},
            "off": {"command": "x", "enabled": False},
        }
    )
    assert described.argv[-2:] == ["--mcp-config", "{dir}/mcp.json"]
    assert json.loads(described.files["mcp.json"]) == {
        "local": {"command": "npx", "args": ["-y", "demo"], "env": {"A": "1"}},
        "remote": {"url": "https://x.invalid", "headers": {"X-Key": "${KEY}", "Authorization": "Bearer ${TOKEN}"}},
    }


# --- hangs ------------------------------------------------------------------


def test_an_answer_that_was_cut_off_is_not_waited_for_for_ever() -> None:
    session = Rehearsal(AGENT, Head(session_id="sess_case"))
    translator = session.transcriber.translator
    assert translator.patience is None
    for record in tape.read([(RECORDINGS / "2026-05" / "lab-maxtok.jsonl").read_bytes()]):
        if record.dir == "recv":
            session.add(record)
    assert translator.patience == 60.0
    session.heard(b'{"type":"result","subtype":"error_during_execution","is_error":true,"error":"x"}')
    assert translator.patience is None


def test_dialects_tell_themselves() -> None:
    line = (RECORDINGS / "2026-05" / "01-text.jsonl").read_bytes()
    assert AGENT.recognise([(json.loads(line.splitlines()[0])["payload"], False)]) is AGENT.translators[0]
    facts = list(AGENT.history.read(THREADS[0]))[1]
    assert AGENT.recognise([(facts.native(), False)]) is AGENT.translators[1]
    assert AGENT.recognise([({"type": "system", "subtype": "init", "session_id": "not ours"}, False)]) is None
