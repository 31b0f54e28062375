"""Drivers against real child processes: the mock agent, and small programs that misbehave in one way each.

What both kinds of driver promise is tested with both (`wire`); a program that stands for a
server listens first and does its own thing then.
"""

import asyncio
import fcntl
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onetape import schema, tape, transcribe
from onetape.agents.agent import Launch, LaunchOptions
from onetape.agents.amp.launch import launch as launch_with_helper
from onetape.agents.mock import AGENT
from onetape.drivers import Driver, census, driver_for, end_leftovers, family, process
from onetape.errors import AgentFailed, Refused
from onetape.tape import Record
from patience import PATIENCE
from rehearsal import broken

Made = Callable[..., Driver]
FAKE_SERVER = Path(__file__).with_name("fake_server.py")
LISTEN = "import socket, sys; socket.create_server(('127.0.0.1', int(sys.argv[1]))).accept()\n"  # until we knocked


KEY = f"key{os.getpid()}"
"""Whatever carries it is ended with its session: two suites that run at once must not end each other's."""


@pytest.fixture(params=["stdio", "http"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A driver of a program in Python, or of any launch."""
    monkeypatch.setattr("onetape.drivers.http.QUIET_SECONDS", 0.0)  # these servers print no address

    def make(program: str | Launch, *, wire: str = "stdio", key: str = KEY, env: Mapping[str, str] = os.environ, **launch: Any) -> Driver:
        if isinstance(program, str):
            words = [program] if wire == "stdio" else [LISTEN + program, "{port}"]
            program = Launch([sys.executable, "-c", *words], str(tmp_path), wire=wire, **launch)  # type: ignore[arg-type]
        ticks = count()
        return driver_for(program, clock=lambda: float(next(ticks)), key=key, env=env, private=tmp_path / "private")

    return make


async def everything(batches: AsyncIterator[list[Record]]) -> list[Record]:
    return [record async for batch in batches for record in batch]


async def run(driver: Driver) -> list[Record]:
    await driver.start()
    return await everything(driver.heard())


async def hear(batches: AsyncIterator[list[Record]], wanted: bytes) -> list[Record]:
    """Listens until something with these words is said."""
    heard: list[Record] = []
    async for batch in batches:
        heard += batch
        if any(wanted in record.line for record in batch):
            return heard
    raise AssertionError(f"it never said {wanted!r}: {told(heard)}")


def told(records: list[Record]) -> list[tuple[str, bytes]]:
    return [(record.dir, record.line) for record in records]


def within(work: Coroutine[Any, Any, Any]) -> Any:
    """A limit against tests that hang; nothing depends on its length."""

    async def limited() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(limited())


def lives(pid: int) -> bool:
    return any(seen.pid == pid for seen in census.everyone())


# --- lines ------------------------------------------------------------------


def test_a_conversation_with_the_mock(made: Made, tmp_path: Path) -> None:
    async def talk() -> list[Record]:
        driver = made(AGENT.launch(LaunchOptions(executable="mock", cwd=str(tmp_path), session_key="key", permission_mode="acceptEdits")))
        await driver.start()
        heard = driver.heard()
        records = [await driver.send({"type": "user", "id": "u1", "text": "permission"})]
        records += await hear(heard, b'"ask_permission"')
        ask = next(record.native()["ask"] for record in records if b'"ask_permission"' in record.line)
        records.append(await driver.send({"type": "permission", "ask": ask, "reply": "once"}))
        records += await hear(heard, b'"turn_end"')
        await driver.stop()
        return records + await everything(heard)

    records = within(talk())
    assert told(records)[-1] == ("exit", b"0")
    assert [record.t for record in records] == sorted(record.t for record in records)
    events = list(transcribe(b"".join(map(tape.encode, records)), "mock"))
    assert broken(events) == []
    assert {"permission.resolved", "turn.ended"} <= {schema.type_of(event) for event in events}


def test_lines_are_cut_at_newlines_alone(made: Made) -> None:
    program = """
import os
for piece in (b'{"a"', b':1}\\n{"b":2}\\r\\n\\n  \\n{"c":"\\xe2\\x80', b'\\xa8"}\\n"string"\\nbabble \\xff\\n', b'{"last":1}'):
    os.write(1, piece)
"""
    records = within(run(made(program)))
    assert told(records) == [
        ("recv", b'{"a":1}'), ("recv", b'{"b":2}'), ("recv", '{"c":"\u2028"}'.encode()), ("recv", b'"string"'), ("recv", b"babble \xff"),
        ("recv", b'{"last":1}'), ("exit", b"0"),
    ]  # fmt: skip
    assert bytes(records[3].payload) == b'"\\"string\\""'
    assert records[4].encoding == "base64"
    assert told(list(tape.read(map(tape.encode, records)))) == told(records)


def test_a_line_of_ten_megabytes(made: Made) -> None:
    records = within(run(made("print('{\"a\":\"' + 'x' * 10_000_000 + '\"}\\n{}')")))
    assert [len(record.line) for record in records] == [10_000_008, 2, 1]


def test_lines_that_come_together_are_one_batch(made: Made) -> None:
    async def batches() -> list[int]:
        driver = made("import os; os.write(1, b'{}\\n' * 1000)")
        await driver.start()
        return [len(batch) async for batch in driver.heard()]

    assert within(batches()) == [1000, 1]


# --- stderr -----------------------------------------------------------------


@pytest.mark.parametrize("lines", [0, 1, 20, 21, 70, 71, 1000])
def test_stderr_is_bounded(made: Made, wire: str, lines: int) -> None:
    records = within(run(made(f"import os\nfor n in range({lines}): os.write(2, b'line %d\\n' % n)\nraise SystemExit(3)", wire=wire)))
    kept = [record.line.decode() for record in records if record.dir == "stderr" and record.note is None]
    every = [f"line {n}" for n in range(lines)]
    assert kept == (every if lines <= 70 else every[:20] + every[-50:])
    assert [record.note for record in records if record.note] == ([f"stderr: {lines - 70} lines left out"] if lines > 70 else [])
    ended = list(transcribe(records, "mock"))[-1]
    assert isinstance(ended, schema.SessionEnded)
    if lines:
        assert isinstance(ended.data.stderr, schema.Stderr)
        assert (ended.data.stderr.total_lines, ended.data.stderr.truncated) == (lines, lines > 70)


def test_a_line_on_stderr_is_bounded_too(made: Made) -> None:
    records = within(run(made("import os; os.write(2, b'\\xc3\\xa4' * 100_000 + b'\\nnext')")))
    assert [len(record.line) for record in records] == [1 << 16, 4, 1]
    assert records[0].encoding is None, "it is cut between two characters"


def test_what_a_server_prints_is_a_log(made: Made) -> None:
    records = within(run(made("for n in range(100): print(n)", wire="http")))
    assert [record.line for record in records if record.note is None] == [b"%d" % n for n in (*range(20), *range(50, 100), 0)]
    assert {record.stream for record in records[:-1]} == {"log"} and {record.dir for record in records[:-1]} == {"recv"}
    assert [record.note for record in records if record.note] == ["log: 30 lines left out"]


# --- ends -------------------------------------------------------------------


@pytest.mark.parametrize("has_pidfd", [True, False])
@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(7)", b"7"), ("import os; os.kill(os.getpid(), 9)", b"-9")])
def test_exit_codes(made: Made, wire: str, end: str, code: bytes, has_pidfd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert told(within(run(made(end, wire=wire)))) == [("exit", code)]


READY = "print('ready', flush=True)\n"
POLITE = {
    "close_stdin": READY + "import sys; sys.stdin.read(); print('bye')",
    "SIGINT": f"try:\n    {READY}    import time; time.sleep(600)\nexcept KeyboardInterrupt: print('bye')",
    "SIGTERM": f"import signal, sys\ndef bye(*_): print('bye'); sys.exit()\nsignal.signal(15, bye)\n{READY}signal.pause()",
}


@pytest.mark.parametrize("way", POLITE)
def test_it_is_asked_politely(made: Made, way: str) -> None:
    async def ask() -> list[Record]:
        driver = made(POLITE[way], stop=way)
        await driver.start()
        heard = driver.heard()
        await hear(heard, b"ready")
        await asyncio.gather(driver.stop(60), driver.stop())
        await driver.stop()
        return await everything(heard)

    assert told(within(ask())) == [("recv", b"bye"), ("exit", b"0")]


@pytest.mark.parametrize("program", ["signal.signal(15, signal.SIG_IGN)", "pass"])
def test_who_does_not_listen_is_ended(made: Made, wire: str, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TERM_SECONDS", 0.05 if "SIG_IGN" in program else 60)

    async def end() -> list[Record]:
        way = "SIGINT" if program == "pass" else "SIGTERM"
        driver = made(f"import signal; {program}\n{READY}while True: signal.pause()", wire=wire, stop=way)
        await driver.start()
        heard = driver.heard()
        await hear(heard, b"ready")
        await driver.stop(0.05)
        return await everything(heard)

    code = {"pass": (b"-2", b"1")}.get(program, (b"-9",))  # Python dies of SIGINT with a traceback
    assert told(within(end()))[-1][1] in code


def test_it_may_be_stopped_before_anybody_listens(made: Made, wire: str) -> None:
    async def end() -> list[Record]:
        driver = made("import signal; signal.pause()", wire=wire, stop="SIGTERM")
        await driver.stop()
        await driver.start()
        await driver.stop()
        assert driver.pid is not None and not lives(driver.pid)
        return await everything(driver.heard())

    assert told(within(end()))[-1] == ("exit", b"-15")


# How tools hide: in a session of their own, without our mark, as orphans, in a group of their own; deaf to SIGTERM, and holding stdout.
SLEEPER = "import signal; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); signal.pause()"
UNMARKED = f"os.execve(sys.executable, [sys.executable, '-c', {'import os; ' + SLEEPER!r}], {{}})"
HIDING = {
    "setsid": "if not os.fork(): os.setsid(); " + SLEEPER,
    "setsid_unmarked": "if not os.fork(): os.setsid(); " + UNMARKED,
    "orphan": "if not os.fork():\n    if os.fork(): os._exit(0)\n    os.setsid(); " + SLEEPER,
    "orphan_in_the_session": "if not os.fork():\n    if os.fork(): os._exit(0)\n    os.setpgid(0, 0); " + UNMARKED,
}


# Without a mark and without a parent nothing tells whose it is: only an agent that lived until we looked has such found.
@pytest.mark.parametrize(
    ("hiding", "how"), [(hiding, how) for hiding in HIDING for how in ("stop", "killed") if (hiding, how) != ("setsid_unmarked", "killed")],
)  # fmt: skip
def test_hidden_children_are_ended(made: Made, hiding: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "_LOOKS", ((signal.SIGTERM, (0.005,)), (signal.SIGKILL, (0.005,) * 1000)))

    async def end() -> int:
        driver = made(f"import os, signal, sys\n{HIDING[hiding]}\nsignal.pause()", stop="SIGTERM")
        await driver.start()
        heard = driver.heard()
        child = int((await hear(heard, b""))[0].line)
        assert lives(child)
        if how == "stop":
            await driver.stop()
            assert not lives(child)
        else:
            assert driver.pid is not None
            os.kill(driver.pid, signal.SIGKILL)
        assert (await everything(heard))[-1].dir == "exit"
        return child

    assert not lives(within(end()))


def test_leftovers_of_a_dead_daemon_are_ended(tmp_path: Path) -> None:
    async def end() -> int:
        left = await asyncio.create_subprocess_exec("sleep", "600", env={**os.environ, census.MARK: "of-the-dead"}, start_new_session=True)
        await end_leftovers("of-another")
        assert lives(left.pid)
        await end_leftovers("of-the-dead")
        return await left.wait()

    assert within(end()) == -15


def test_processes_are_found_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen(["sleep", "600"], env={**os.environ, census.MARK: "mine"}, start_new_session=True)
    try:
        there = {seen.pid: msgspec.structs.replace(seen, born="") for seen in census.everyone()}
        monkeypatch.setattr(census, "_HAS_PROC", False)
        if sys.platform == "linux":  # the same question in the words of its `ps`
            monkeypatch.setattr(census, "_PS", ("ps", "axeww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="))
        found = {seen.pid: msgspec.structs.replace(seen, born="") for seen in census.everyone()}
    finally:
        child.kill()
        child.wait()
    assert found[child.pid] == there[child.pid] == census.Seen(child.pid, os.getpid(), child.pid, child.pid, "", "mine")


def test_many_share_a_count_that_begins_after_they_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setattr(census, "everyone", lambda: counts.append(len(counts)) or [len(counts)])

    async def ask() -> None:
        counting = census.Census()
        assert await asyncio.gather(*(counting.take() for _ in range(50))) == [[1]] * 50
        assert await counting.take() == [2]

    within(ask())


# --- backpressure, and saying things ----------------------------------------


def waiting_in(pid: int) -> int:
    """How many bytes wait in its stdout."""
    pipe = os.open(f"/proc/{pid}/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0])
    finally:
        os.close(pipe)


def written_by(pid: int) -> int:
    return int(dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())["wchar"])


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_flood_waits_until_it_is_asked_for(made: Made) -> None:
    full = 1 << 16

    async def watch() -> None:
        driver = made("import os\nwhile True: os.write(1, b'x' * 4095 + b'\\n')", stop="SIGTERM")
        await driver.start()
        assert driver.pid is not None
        heard = driver.heard()
        for asked in range(4):
            while waiting_in(driver.pid) < full:
                await asyncio.sleep(0)  # a full pipe is the child's state to come to, not ours to hurry
            assert written_by(driver.pid) <= (asked + 1) * (full + 4096), "only what was asked for was read"
            await anext(heard)
        await driver.stop()
        await everything(heard)

    within(watch())


def test_a_long_message_to_an_agent_that_is_busy_talking(made: Made) -> None:
    program = """
import os, sys
for _ in range(100): os.write(1, b'{}\\n' * 5000)
print(len(sys.stdin.readline()))
"""

    async def talk() -> list[Record]:
        driver = made(program)
        await driver.start()
        await driver.send({"text": "x" * 5_000_000})  # returns, though the agent reads nothing before it is heard
        return await everything(driver.heard())

    assert told(within(talk()))[-2:] == [("recv", b"5000012"), ("exit", b"0")]


def test_the_dead_cannot_be_spoken_to(made: Made, wire: str) -> None:
    async def talk() -> None:
        driver = made("raise SystemExit(5)", wire=wire)
        await driver.start()
        await everything(driver.heard())
        for message in ({"method": "GET", "path": "/"}, {"signal": "SIGINT"}):
            with pytest.raises(AgentFailed, match="has ended, with exit code 5"):
                await driver.send(message)

    within(talk())


def test_who_closed_its_ears_is_told_nothing(made: Made) -> None:
    async def talk() -> None:
        driver = made(f"import os, signal; os.close(0)\n{READY}signal.pause()", stop="SIGTERM")
        await driver.start()
        heard = driver.heard()
        await hear(heard, b"ready")
        with pytest.raises(AgentFailed, match="no longer listens"):
            await driver.send({})
        await driver.stop()
        await everything(heard)

    within(talk())


def test_a_signal_goes_to_the_process_alone(made: Made) -> None:
    program = f"""
import os, signal, time
child = os.fork()
if not child: signal.pause()
signal.signal(signal.SIGUSR1, lambda *_: (print(os.waitpid(child, os.WNOHANG), flush=True), os._exit(0)))
{READY}
while True: signal.pause()
"""

    async def talk() -> list[Record]:
        driver = made(program)
        await driver.start()
        heard = driver.heard()
        await hear(heard, b"ready")
        with pytest.raises(Refused, match="there is no signal SIGNONE"):
            await driver.send({"signal": "SIGNONE"})
        assert told([await driver.send({"signal": "USR1"})]) == [("send", b'{"signal":"USR1"}')]
        return await everything(heard)

    assert told(within(talk())) == [("recv", b"(0, 0)"), ("exit", b"0")]


# --- starts -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "mode", "why"),
    [
        (None, 0, "it was not found"),
        ("#!/bin/sh\n", 0o600, "it is not executable"),
        ("#!/nowhere/sh\n", 0o700, "the interpreter that its first line names was not found"),
        ("\x7fELF", 0o700, "Exec format error"),
    ],
)
def test_why_it_cannot_be_started(made: Made, tmp_path: Path, wire: str, script: str | None, mode: int, why: str) -> None:
    program = tmp_path / "agent"
    if script is not None:
        program.write_text(script)
        program.chmod(mode)
    driver = made(Launch([str(program), "{port}"], str(tmp_path), wire=wire, files={"a": "b"}))  # type: ignore[arg-type]
    with pytest.raises(AgentFailed) as failed:
        within(driver.start())
    assert str(failed.value) == f"cannot start {program}: {why}"
    assert not (tmp_path / "private").exists()


def test_a_directory_that_is_not_there(made: Made, tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match="there is no directory /nowhere"):
        within(made(Launch(["true"], "/nowhere")).start())


PREPARED = """
import json, os, stat, sys
mode = lambda path: oct(stat.S_IMODE(os.stat(path).st_mode))
paths = {name: f"{sys.argv[-1]}/{name}" for name in ("run", "set.json")}
files = {name: [mode(path), open(path).read()] for name, path in paths.items()}
print(json.dumps([sys.argv[1:], os.environ["WHERE"], os.environ["SECRET"], mode(sys.argv[-1]), files]))
"""


def test_placeholders_and_private_files(made: Made, tmp_path: Path) -> None:
    launch = Launch(
        [sys.executable, "-c", PREPARED, "{secret}", "{other}", "{port}", "{dir}"], str(tmp_path),
        env={"WHERE": "{dir}/{port}", "SECRET": "{secret}"}, files={"run": "#!/bin/sh\n{secret}", "set.json": '{"dir": "{dir}"}'},
    )  # fmt: skip
    records = within(run(made(launch)))
    (arguments, where, secret, mode, files) = records[0].native()
    private = tmp_path / "private"
    assert arguments[:2] == ["{secret}", "{other}"], "no secret where everybody can read it"
    assert int(arguments[2]) > 1023 and arguments[3] == str(private) and where == f"{private}/{arguments[2]}" and len(secret) > 30
    assert (mode, files) == ("0o700", {"run": ["0o700", f"#!/bin/sh\n{secret}"], "set.json": ["0o600", json.dumps({"dir": str(private)})]})
    assert not private.exists(), "nothing is left"


# --- servers ----------------------------------------------------------------


def server(tmp_path: Path, **launch: Any) -> Launch:
    options = {"login": "me:{secret}", "stop": "SIGTERM", **launch}
    return Launch([sys.executable, str(FAKE_SERVER), "{port}"], str(tmp_path), env={"FAKE_LOGIN": "me:{secret}"}, wire="http", **options)


def request(method: str, path: str, body: Any = None) -> dict[str, Any]:
    return {"method": method, "path": path, "body": body}


def test_requests_and_events(made: Made, tmp_path: Path) -> None:
    async def talk() -> tuple[list[Any], list[Record]]:
        driver = made(server(tmp_path))
        await driver.start()
        heard = driver.heard()
        sent = [await driver.send(request("GET", "/event"))]
        records = await hear(heard, b"server.connected")
        sent.append(await driver.send(request("POST", "/echo", {"a": 1})))
        for path in ("/page", "/nothing", "/pretty"):
            sent.append(await driver.send(request("GET", path)))
        long = f'event: x\nid: 1\ndata: {{"b":"{"x" * 3_000_000}"}}\n\n'
        await driver.send(request("POST", "/push", f': beat\n\ndata:{{"a":\r\ndata: 1}}\r\n\r\n{long}data: "c"\n\ndata:\n\n'))
        records += await hear(heard, b'"c"')
        await driver.stop()
        return [record.native() for record in sent], records + await everything(heard)

    sent, records = within(talk())
    assert sent == [
        request("GET", "/event") | {"status": 200, "response": None},
        request("POST", "/echo", {"a": 1}) | {"status": 200, "response": {"method": "POST", "body": {"a": 1}}},
        request("GET", "/page") | {"status": 200, "response": "<html>\n</html>"},
        request("GET", "/nothing") | {"status": 204, "response": None},
        request("GET", "/pretty") | {"status": 200, "response": {"a": 1}},
    ]
    said = [record.line for record in records if record.dir == "recv" and record.stream is None]
    assert [line[:8] for line in said] == [b'{"type":', b'{"a": 1}', b'{"b":"xx', b'"c"'] and len(said[2]) == 3_000_008
    assert [record.line[:9] for record in records if record.stream == "log"] == [b"listening"]
    assert ("stderr", b"a warning") in told(records)
    assert told(records)[-1] == ("exit", b"-15")


def test_the_login_is_needed(made: Made, tmp_path: Path) -> None:
    async def talk() -> Any:
        driver = made(server(tmp_path, login="me:wrong"))
        await driver.start()
        answer = await driver.send(request("GET", "/event"))
        await driver.stop()
        await everything(driver.heard())
        return answer.native()

    assert within(talk())["status"] == 401


def test_a_stream_that_breaks_off_ends_the_agent(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onetape.drivers.http.AFTERMATH_SECONDS", 0.05)

    async def talk() -> list[Record]:
        driver = made(server(tmp_path))
        await driver.start()
        await driver.send(request("GET", "/event"))
        await driver.send(request("POST", "/break"))
        return await everything(driver.heard())

    records = within(talk())
    assert told(records)[-2:] == [("stderr", b"onetape: its event stream broke off while it was still running"), ("exit", b"-9")]
    assert b"server.connected" in b"".join(record.line for record in records)


def test_a_server_that_dies_in_mid_request(made: Made, tmp_path: Path) -> None:
    async def talk() -> list[Record]:
        driver = made(server(tmp_path))
        await driver.start()
        await driver.send(request("GET", "/event"))
        with pytest.raises(AgentFailed, match="POST /exit was not answered"):
            await driver.send(request("POST", "/exit", 9))
        return await everything(driver.heard())

    records = within(talk())
    assert told(records)[-1] == ("exit", b"9") and b"server.connected" in b"".join(record.line for record in records)


@pytest.mark.parametrize(("program", "why"), [("raise SystemExit('no luck')", "no luck"), ("raise SystemExit(4)", "exit code 4")])
def test_a_server_that_never_listens(made: Made, tmp_path: Path, program: str, why: str) -> None:
    driver = made(Launch([sys.executable, "-c", program], str(tmp_path), wire="http"))
    with pytest.raises(AgentFailed, match=f"ended before it listened: {why}"):
        within(driver.start())
    assert not (tmp_path / "private").exists()


def test_a_server_is_believed_when_it_prints_its_address(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import socket, sys
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
door.settimeout(0.2)
try:
    door.accept()
except TimeoutError:
    print(f"listening on http://127.0.0.1:{sys.argv[1]}", flush=True)
    door.settimeout(60)
    door.accept()
else:
    raise SystemExit("too early")
"""
    driver = made(Launch([sys.executable, "-c", program, "{port}"], str(tmp_path), wire="http"))
    monkeypatch.setattr("onetape.drivers.http.QUIET_SECONDS", 60.0)
    assert [record.dir for record in within(run(driver))] == ["recv", "exit"]


def test_a_server_that_must_not_be_knocked_at(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "print('up and listening', flush=True); import time; time.sleep(600)"  # nobody would answer
    driver = made(Launch([sys.executable, "-c", program], str(tmp_path), wire="http", stop="SIGTERM", listening="and listening"))
    monkeypatch.setattr("onetape.drivers.http.QUIET_SECONDS", 0.0)

    async def talk() -> list[Record]:
        await driver.start()
        await driver.stop()
        return await everything(driver.heard())

    assert told(within(talk())) == [("recv", b"up and listening"), ("exit", b"-15")]


def test_patience_with_a_server_has_an_end(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onetape.drivers.http.START_SECONDS", 0.0)
    driver = made(Launch(["sleep", "600"], str(tmp_path), wire="http", stop="SIGTERM"))
    with pytest.raises(AgentFailed, match="sleep did not listen on port"):
        within(driver.start())
    assert driver.pid is not None and not lives(driver.pid)


# --- the side channel -------------------------------------------------------

ASKING = """
import json, subprocess, sys
helper = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
helper.stdin.write(b'{"cmd": "ls"}')
helper.stdin.close()
if sys.argv[2] == "leave":
    sys.stdin.readline()
    helper.kill()
print(json.dumps([helper.wait(), helper.stderr.read().decode()]), flush=True)
sys.stdin.read()
"""


def asking(tmp_path: Path, what: str = "stay") -> Launch:
    """A program that runs the real helper as its agent would."""
    launch = launch_with_helper(LaunchOptions(executable="", cwd=str(tmp_path), session_key="key"))
    return msgspec.structs.replace(launch, argv=[sys.executable, "-c", ASKING, "{dir}/delegate", what], stop="close_stdin")


async def asked(driver: Driver) -> tuple[AsyncIterator[list[Record]], dict[str, Any]]:
    await driver.start()
    heard = driver.heard()
    question = (await hear(heard, b'"delegate"'))[0].native()
    assert question["input"] == {"cmd": "ls"}
    return heard, question


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"decision": "allow"}, [0, ""]),
        ({"decision": "reject", "message": "Not now."}, [2, "The user rejected this tool call. Not now.\n"]),
    ],
)
@pytest.mark.parametrize("folder", ["", "deep" * 40])
def test_a_helper_is_answered(made: Made, tmp_path: Path, answer: dict[str, Any], outcome: list[Any], folder: str) -> None:
    async def talk() -> list[Record]:
        driver = driver_for(asking(tmp_path), clock=lambda: 0.0, key=KEY, env=os.environ, private=tmp_path / folder / "private")
        heard, question = await asked(driver)
        message = {"channel": "delegate", "id": question["id"], **answer}
        assert (await driver.send(message)).native() == message
        records = await hear(heard, b"[")
        with pytest.raises(Refused, match="nobody waits"):
            await driver.send(message)
        await driver.stop()
        return records + await everything(heard)

    records = within(talk())
    assert records[0].native() == outcome and told(records)[1:] == [("exit", b"0")]


def test_a_helper_that_hangs_up_has_withdrawn_its_question(made: Made, tmp_path: Path) -> None:
    async def talk() -> tuple[dict[str, Any], list[Any]]:
        driver = made(asking(tmp_path, "leave"))
        heard, question = await asked(driver)
        await driver.send({})
        records = await hear(heard, b"closed")
        with pytest.raises(Refused, match="nobody waits"):
            await driver.send({"channel": "delegate", "id": question["id"], "decision": "allow"})
        await driver.stop()
        await everything(heard)
        return question, [record.native() for record in records if b"closed" in record.line]

    question, closed = within(talk())
    assert closed == [{"channel": "delegate", "id": question["id"], "closed": True}]


def test_a_helper_whose_session_is_gone_rejects(made: Made, tmp_path: Path) -> None:
    async def talk() -> list[tuple[int | None, bytes]]:
        launch = asking(tmp_path)
        driver = made(msgspec.structs.replace(launch, argv=["cat"]))
        await driver.start()
        private = tmp_path / "private"
        command = (private / "delegate").read_text().replace("exec ", "").splitlines()[1]
        address = Path(command.split("'")[-2])
        assert stat.S_IMODE(address.stat().st_mode) == 0o600 and stat.S_IMODE(address.parent.stat().st_mode) == 0o700
        outcomes = []
        helper = await asyncio.create_subprocess_shell(f"exec {command}", stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
        heard = driver.heard()
        await hear(heard, b'"delegate"')
        await driver.stop()
        outcomes.append((await helper.communicate())[1])
        late = await asyncio.create_subprocess_shell(f"exec {command}", stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
        outcomes.append((await late.communicate())[1])
        assert told(await everything(heard)) == [("exit", b"0")], "an end is no withdrawal"
        assert not address.exists()
        return list(zip([helper.returncode, late.returncode], outcomes, strict=True))

    (open_code, open_words), (late_code, late_words) = within(talk())
    assert (open_code, late_code) == (2, 2)
    assert b"nobody could be asked: the session is gone" in open_words and b"No such file" in late_words


def test_what_is_no_question_is_heard_and_not_answered(made: Made, tmp_path: Path) -> None:
    async def talk() -> tuple[list[Record], bytes]:
        driver = made(Launch(["cat"], str(tmp_path), env={"CHANNEL": "{socket}"}))
        await driver.start()
        reader, writer = await asyncio.open_unix_connection(tmp_path / "private" / "channel")
        writer.write(b"babble\n")
        heard = driver.heard()
        records = await hear(heard, b"babble")
        rest = await reader.read()
        writer.close()
        await driver.stop()
        return records + await everything(heard), rest

    records, rest = within(talk())
    assert (told(records), rest) == ([("recv", b"babble"), ("exit", b"0")], b"")
