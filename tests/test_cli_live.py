"""The everyday commands as a user meets them: real processes, a real daemon, a real terminal, the mock agent."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons import Daemon, daemon
from onetape import promises, schema
from onetape.client import Client, calls
from onetape.info import SessionInfo
from patience import PATIENCE
from terminal import CTRL_C, CTRL_D, Terminal


class Shell:
    """A user with a data directory."""

    def __init__(self, data: Path, env: dict[str, str] | None = None) -> None:
        self.env = env or {**os.environ, "ONETAPE_DATA_DIR": str(data)}
        for name in ("ONETAPE_URL", "ONETAPE_TOKEN", "NO_COLOR", "FORCE_COLOR"):
            self.env.pop(name, None)
        self.directory = data

    def __call__(self, *words: str, stdin: str | None = None, code: int = 0) -> str:
        """Runs a command to its end; what it printed. Its errors are in `errors`."""
        run = subprocess.run(
            [sys.executable, "-m", "onetape", *words], input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True, text=True, env=self.env, cwd=self.directory, timeout=PATIENCE,
        )  # fmt: skip
        assert "Traceback" not in run.stderr, run.stderr
        assert run.returncode == code, f"exit code {run.returncode}: {run.stderr}"
        self.errors = run.stderr
        return run.stdout

    def terminal(self, *words: str) -> Terminal:
        return Terminal(*words, env=self.env)

    def infos(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self("sessions", "--json").splitlines()]


@pytest.fixture
def alone(tmp_path: Path) -> Shell:
    """Without a daemon."""
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.fixture
def served(running: Daemon) -> Shell:
    return Shell(Path(running.env["ONETAPE_DATA_DIR"]), dict(running.env))


@pytest.fixture
def client(running: Daemon) -> Iterator[Client]:
    found = calls.daemon(None, None, running.env)
    with Client(found.url, found.token) as connected:
        yield connected


def types(lines: str) -> list[str]:
    return [json.loads(line)["type"] for line in lines.splitlines()]


# --- without a daemon ---------------------------------------------------------


def test_run_and_read_again(alone: Shell) -> None:
    told = alone("run", "mock", "tool", "--json", "--model", "m7", "--title", "A title")
    assert alone.errors == ""
    assert not list(promises.check(promises.decode(told.encode().splitlines())))
    assert types(told)[0] == "session.started" and types(told)[-1] == "session.ended"
    assert alone("show", "--json") == told
    [info] = alone.infos()
    assert list(info) == list(SessionInfo.__struct_encode_fields__)
    assert (info["title"], info["model"], info["status"], info["directory"]) == ("A title", "m7", "ended", str(alone.directory))
    shown = alone("show", str(info["sessionId"])[5:10])
    assert "› tool\nLet me look.\n● read  hello.py\n" in shown and "turn completed" in shown and "\x1b" not in shown
    assert '"raw":{' in alone("show", "--json", "--include-raw")
    assert str(info["sessionId"])[:13] in alone("sessions") and "A title" in alone("sessions", "title")
    assert alone("sessions", "nothing like it") == "" and "no sessions" in alone.errors


def test_run_says_how_it_went_by_its_exit_code(alone: Shell) -> None:
    assert "the model refused to go on" in alone("run", "mock", "error", code=1)
    assert "crashed as asked" in alone("run", "mock", "crash", code=1)
    assert "Goodbye." in alone("run", "mock", "end")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("run", "nobody", "hi"), "no agent is called 'nobody'"),
        (("run", "mock", " "), "nothing to say"),
        (("run", "mock", "hi", "--mode", "singing"), "has no mode 'singing'"),
        (("run", "mock", "hi", "--permission-mode", "never"), "no permission mode 'never'"),
        (("run", "mock", "hi", "--cwd", "/no/such/place"), "no directory /no/such/place"),
        (("run", "mock", "hi", "--file", "missing.txt"), "cannot attach missing.txt"),
        (("run", "mock", "hi", "--mcp", "{nothing}"), "--mcp: "),
        (("run", "mock", "hi", "--keep"), "`onetape server` starts one"),
        (("show",), "there are no sessions yet"),
        (("show", "sess_none"), "there is no session sess_none"),
        (("send", "sess_none", "hi"), "there is no session sess_none"),
        (("answer",), "no daemon runs on this machine"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_2(alone: Shell, words: tuple[str, ...], complaint: str) -> None:
    alone(*words, code=2)
    assert complaint in alone.errors and alone.errors.startswith("onetape: ") and alone.errors.count("\n") == 1


def test_nobody_to_ask(alone: Shell) -> None:
    refused = alone("run", "mock", "permission")
    assert "The command was refused, the write was refused." in refused
    assert "bash needs a permission and nobody is here to give it" in alone.errors
    assert "The command ran, the write ran." in alone("run", "mock", "permission", "--yes") and alone.errors == ""
    assert "no answer; no answer" in alone("run", "mock", "question", "--yes") and "'Which colour?' is asked" in alone.errors


def test_a_session_goes_on(alone: Shell) -> None:
    (alone.directory / "notes.txt").write_text("A note.")
    alone("run", "mock", "-", "--json", "-f", "notes.txt", stdin="echo one\n")
    first = alone.infos()[0]
    shown = alone("show")
    assert "› echo one" in shown and "notes.txt" in shown
    again = alone("resume", str(first["sessionId"]), "echo two", "--json")
    assert json.loads(again.splitlines()[0])["data"]["metadata"]["resumed_from"] == first["sessionId"]
    alone("run", "mock", "echo three", "--resume", str(alone.infos()[0]["sessionId"])[:12])
    alone("run", "mock", "echo four", "--resume", str(first["nativeSessionId"]))
    four, three, two, one = alone.infos()
    assert [two["resumedFrom"], three["resumedFrom"]] == [one["sessionId"], two["sessionId"]]
    assert len({info["nativeSessionId"] for info in (one, two, three, four)}) == 1
    alone("show", "sess_", code=2)
    assert "sess_ may be any of 4 sessions" in alone.errors
    assert len(alone("tail", "--json", "-n", "2").splitlines()) == 2
    assert alone("tail", "--json") == alone("show", "--json")
    alone("send", str(one["sessionId"]), "more", code=2)
    assert f"`onetape resume {one['sessionId']}` goes on with it" in alone.errors


def test_whoever_reads_may_have_enough(alone: Shell) -> None:
    script = f"{sys.executable} -m onetape run mock 'big 20000' | head -n 1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", script], env=alone.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stderr, run.stdout.count("\n")) == (0, "", 1)
    assert alone.infos()[0]["status"] == "ended"


@pytest.mark.parametrize("json", ["", "--json"])
def test_nothing_goes_on_for_whoever_has_enough(served: Shell, json: str) -> None:
    script = f"{sys.executable} -m onetape run mock slow {json} | head -n 1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", script], env=served.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stderr, run.stdout.count("\n")) == (0, "", 1)
    assert served.infos()[0]["status"] == "ended"


# --- at a terminal ------------------------------------------------------------


def test_a_permission_is_asked_in_the_terminal(alone: Shell) -> None:
    with alone.terminal("run", "mock", "permission") as terminal:
        assert "command: rm -rf build" in terminal.read("or [r]eject and why › ")
        terminal.type("perhaps\n")
        terminal.read("or [r]eject and why › ")
        terminal.type("o\n")
        asked = terminal.read("or [r]eject and why › ")
        assert "removed build" in asked and "+Permission was given." in asked
        terminal.type("r not that file\n")
        terminal.read("The user refused: not that file")
        assert terminal.end() == 0
    assert "The command ran, the write was refused." in terminal.screen
    assert "\x1b[" in terminal.raw and "onetape resume sess_" in terminal.screen


def test_questions_are_asked_in_the_terminal(alone: Shell) -> None:
    with alone.terminal("run", "mock", "question") as terminal:
        assert "? Colour: Which colour?\n  1  red: like a rose\n  2  blue: like the sea\n" in terminal.read("Ctrl-D gives none › ")
        terminal.type("a warm one\n")
        terminal.read("numbers, or words of your own; Ctrl-D gives none › ")
        terminal.type("7\n")
        terminal.read("Ctrl-D gives none › ")
        terminal.type("1, large\n")
        terminal.read("You chose: a warm one; small, large.")
        assert terminal.end() == 0


def test_ctrl_c_interrupts_and_then_ends(alone: Shell) -> None:
    with alone.terminal("run", "mock", "hang") as terminal:
        terminal.read("I hang until you interrupt me")
        terminal.type(CTRL_C)
        terminal.read("interrupting the turn; Ctrl-C again ends the session")
        terminal.read("turn interrupted")
        assert terminal.end() == 1
    with alone.terminal("run", "mock") as terminal:  # a conversation
        terminal.read("› ")
        terminal.type("echo hello\n")
        assert terminal.read("turn completed").count("echo hello") == 1
        terminal.read("› ")
        terminal.type("hang\n")
        terminal.read("I hang until you interrupt me")
        terminal.type(CTRL_C)
        terminal.read("turn interrupted")
        terminal.read("› ")
        terminal.type(CTRL_C)
        assert terminal.end() == 1
    assert [info["status"] for info in alone.infos()] == ["ended", "ended"]


def test_a_terminal_that_goes_away_ends_the_session(alone: Shell) -> None:
    with alone.terminal("run", "mock", "hang") as terminal:
        terminal.read("I hang until you interrupt me")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 1
    assert types(alone("show", "--json"))[-1] == "session.ended"


# --- with a daemon ------------------------------------------------------------


def test_commands_to_a_session_of_the_daemon(served: Shell, client: Client) -> None:
    id = served("run", "mock", "--keep").strip()
    session = client.attach(id)
    assert session.info()["status"] == "idle"
    served("send", id[:12], "permission")
    assert f"sent to {id}" in served.errors
    _until(session, schema.PermissionRequested)
    [told] = [json.loads(line) for line in served("answer", "--json").splitlines()]
    assert (told["sessionId"], told["type"]) == (id, "permission")
    assert 'bash {"command":"rm -rf build"}' in served("answer", id)
    served("answer", id, "perhaps", code=2)
    assert "say once, always, or reject and why" in served.errors
    served("answer", id, "once")
    _until(session, schema.PermissionRequested, 2)
    assert json.loads(served("answer", id, "reject", "not", "that", "--json"))["sessionId"] == id
    events = _until(session, schema.TurnEnded)
    assert [event.data.status for event in events if isinstance(event, schema.PermissionResolved)] == ["accept", "reject"]
    served("answer", id, "once", code=2)
    assert "asks nothing" in served.errors

    session.post("question")
    _until(session, schema.QuestionRequested)
    assert "Which colour?  [red / blue]" in served("answer") and "onetape answer SESSION" in served.errors
    served("answer", id, "red", "blue", code=2)
    assert "wants 1 answer and was given 2: " in served.errors
    served("answer", id, "2")
    _until(session, schema.QuestionRequested, 2)
    served("answer", id, "--reject")
    _until(session, schema.TurnEnded, 2)

    session.post("hang")
    _until(session, schema.TurnStarted, 3)
    served("interrupt", id)
    assert _until(session, schema.TurnEnded, 3)[-1].data.metadata.status == "interrupted"
    assert json.loads(served("terminate", id, "--json"))["status"] == "ended"
    served("terminate", id)
    served("attach", id, code=2)
    assert "is over" in served.errors
    assert served("tail", id, "--json") == served("show", id, "--json")
    served("tail", id)
    assert served.errors == ""


def test_attach(served: Shell, client: Client) -> None:
    """Run in one terminal, watched and answered in another."""
    with served.terminal("run", "mock", "permission") as first:
        first.read("or [r]eject and why › ")
        id = served.infos()[0]["sessionId"]
        with served.terminal("attach", str(id)) as second:
            assert second.read("or [r]eject and why › ").count("rm -rf build") == 2  # the call, and the ask once
            second.type("always\n")
            first.read("accept for session")
            first.read("or [r]eject and why › ")
            first.type("o\n")
            second.read("accept\n")
            second.read("The command ran, the write ran.")
            second.read("session terminated")
            assert (first.end(), second.end()) == (0, 0)

    session = client.create("mock")
    with served.terminal("attach", session.id) as terminal:
        terminal.read("› ")
        terminal.type("echo said from another terminal\n")
        terminal.read("\nsaid from another terminal\n")
        terminal.read("› ")
        session.post("echo said by somebody else")  # the prompt makes way
        terminal.read("› echo said by somebody else\nsaid by somebody else\n")
        terminal.read("› ")
        terminal.type(CTRL_D)
        terminal.read("which goes on")
        assert terminal.end() == 0
    assert session.info()["status"] == "idle"
    session.terminate()


def test_run_goes_through_the_daemon(served: Shell, running: Daemon, client: Client) -> None:
    told = served("run", "mock", "echo hi", "--json")
    id = json.loads(told.splitlines()[0])["session_id"]
    assert served("show", id, "--json") == told
    elsewhere = Shell(served.directory, {**served.env, "ONETAPE_DATA_DIR": str(served.directory / "other")})
    elsewhere.env |= {"ONETAPE_URL": running.url, "ONETAPE_TOKEN": str(calls.daemon(None, None, running.env).token)}
    assert elsewhere("show", id[:10], "--json") == told
    assert id in elsewhere("sessions", "--json")
    elsewhere.env["ONETAPE_TOKEN"] = "wrong"
    elsewhere("sessions", code=2)
    assert "token" in elsewhere.errors


def test_tab_completion(served: Shell, client: Client) -> None:
    session = client.create("mock", title="To be completed")
    try:
        for words, wanted in (
            (f"onetape show {session.id[:8]}", session.id),
            ("onetape run mo", "mock"),
            ("onetape run mock --mode p", "plan"),
            ("onetape run mock --permission-mode by", "bypass"),
            ("onetape term", "terminate"),
        ):
            env = {**served.env, "_ONETAPE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
            run = subprocess.run([Path(sys.executable).with_name("onetape")], env=env, capture_output=True, text=True, timeout=PATIENCE)
            assert wanted in run.stdout.split(), (words, run.stdout, run.stderr)
    finally:
        session.terminate()


def _until(session: object, kind: type, count: int = 1) -> list[schema.Event]:
    """The events of a session up to the so many-th of this kind."""
    seen: list[schema.Event] = []
    for event in session.follow():  # type: ignore[attr-defined]
        seen.append(event)
        if sum(isinstance(one, kind) for one in seen) == count:
            return seen
    raise AssertionError(f"it ended without {kind.__name__}")
