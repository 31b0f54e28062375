"""The commands as a user meets them: real processes, exit codes, one-line errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from onetape import __version__, coverage
from onetape.agents import registry

READY = '{"type":"ready","session":"s","version":"1.0","model":"m","mode":"build","permission_mode":"default"}\n'
TURN = '{"type":"turn_start","turn":"t"}\n{"type":"user","id":"u","text":"hi \\u001b[31mred\\u001b[0m"}\n'
ANSWER = '{"type":"block_start","block":"b"}\n{"type":"block_delta","block":"b","text":"hello"}\n{"type":"block_end","block":"b"}\n'
END = '{"type":"turn_end","turn":"t","status":"completed"}\n'
SESSION = READY + TURN + ANSWER + END


def onetape(*words: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
    given = stdin.encode() if isinstance(stdin, str) else stdin
    run = subprocess.run([sys.executable, "-m", "onetape", *words], input=given, capture_output=True, timeout=60)
    assert b"Traceback" not in run.stderr
    return subprocess.CompletedProcess(run.args, run.returncode, run.stdout.decode(), run.stderr.decode())


def test_convert_and_check() -> None:
    converted = onetape("convert", "mock", stdin=SESSION)
    assert (converted.returncode, converted.stderr) == (0, "")
    events = [json.loads(line) for line in converted.stdout.splitlines()]
    assert [event["type"] for event in events][-2:] == ["turn.ended", "session.ended"]
    assert all(event["raw"] is None for event in events)
    checked = onetape("check", "-", stdin=converted.stdout)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_convert_reads_a_file_with_raw(tmp_path: Path) -> None:
    file = tmp_path / "native.jsonl"
    file.write_text(SESSION)
    converted = onetape("convert", "mock", str(file), "--include-raw", "--session-id", "sess_mine")
    first = json.loads(converted.stdout.splitlines()[0])
    assert first["session_id"] == "sess_mine"
    assert first["raw"] == json.loads(READY)


def test_pretty_obeys_no_escape_sequences() -> None:
    shown = onetape("convert", "mock", "--pretty", stdin=SESSION)
    assert shown.returncode == 0
    assert "› hi red" in shown.stdout and "hello" in shown.stdout and "\x1b" not in shown.stdout


@pytest.mark.parametrize("more", ["not json\n", '{"type":"hologram"}\n'])
def test_strange_records_exit_1(more: str) -> None:
    converted = onetape("convert", "mock", stdin=READY + more)
    assert converted.returncode == 1
    assert "1 records could not be parsed, 0 are" in converted.stderr or "0 records could not be parsed, 1 are" in converted.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("convert", "mock", "/no/such/file"), "cannot read /no/such/file"),
        (("convert", "mock", "/"), "cannot read /"),
        (("convert", "mock"), "stdin is empty"),
        (("convert", "nobody"), "no agent is called 'nobody'"),
        (("convert", "mock", "--dialect", "smoke"), "no dialect 'smoke'"),
        (("check",), "stdin is empty"),
    ],
)
def test_refusals_are_one_line_and_exit_2(words: tuple[str, ...], complaint: str) -> None:
    run = onetape(*words, stdin=SESSION if "--dialect" in words else "")
    assert run.returncode == 2
    assert complaint in run.stderr and run.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("convert", "amp"), ("drift",), ("replay", "--port", "0")])
def test_a_damaged_history_is_refused_in_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    thread = json.loads(next((Path(__file__).parent / "captures" / "amp" / "threads").glob("*.json")).read_text())
    damaged = tmp_path / "T-1.json"
    damaged.write_text(json.dumps(thread | {"messages": "gone"}))
    run = onetape(command[0], *command[1:], str(damaged))
    assert run.returncode == 2
    assert f"{damaged} is damaged, or of a form that is not known here" in run.stderr and run.stderr.count("\n") == 1


def test_another_agents_recording_gets_a_hint() -> None:
    """Made of the mock's lines, which no other agent speaks."""
    other = next(name for name in registry.names() if name != "mock")
    converted = onetape("convert", other, stdin=SESSION)
    assert converted.returncode == 1
    assert "looks like Mock: try `onetape convert mock" in converted.stderr.splitlines()[-1]


def test_check_names_what_is_broken() -> None:
    lines = onetape("convert", "mock", stdin=SESSION).stdout.splitlines()
    checked = onetape("check", stdin="\n".join(lines[:3] + lines[4:]))
    assert checked.returncode == 1
    sequence, rule, _ = checked.stdout.splitlines()[0].split("\t")
    assert (sequence, rule) == ("5", "sequence")


def test_check_of_a_tape_says_so() -> None:
    checked = onetape("check", stdin='{"t":0,"dir":"recv","payload":{}}\n')
    assert checked.returncode == 1 and "looks like a tape" in checked.stderr


def test_agents() -> None:
    told = [json.loads(line) for line in onetape("agents", "--json").stdout.splitlines()]
    assert [agent["name"] for agent in told] == list(registry.names())
    assert onetape("agents", "--matrix").stdout.strip() == coverage.matrix((agent.name, agent.title) for agent in registry.every())
    narrow = subprocess.run([sys.executable, "-m", "onetape", "agents"], env=os.environ | {"COLUMNS": "40"}, capture_output=True, text=True)
    assert all(name in narrow.stdout for name in registry.names())  # they are what other commands want to hear


def test_the_schema_describes_what_convert_writes() -> None:
    schema = json.loads(onetape("schema").stdout)
    events = [shape for shape in schema["$defs"].values() if "sequence" in shape.get("properties", {})]
    required = {shape["properties"]["type"]["enum"][0]: set(shape["required"]) for shape in events}
    for line in onetape("convert", "mock", stdin=SESSION).stdout.splitlines():
        event = json.loads(line)
        assert set(event) == required[event["type"]]


def test_typescript() -> None:
    types = onetape("schema", "--typescript").stdout
    assert "export type Event = " in types and 'type: "item.delta";' in types and "delta: string;" in types


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m onetape convert mock - | head -n 1"
    run = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], input=(SESSION * 3000).encode(), capture_output=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, b"")


def test_the_list_of_commands_cuts_no_sentence() -> None:
    listed = onetape("--help").stdout.partition("Commands:")[2]
    assert "run" in listed and "..." not in listed


def test_the_version() -> None:
    assert onetape("--version").stdout == f"onetape {__version__}\n"
