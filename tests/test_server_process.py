"""`onetape server` as a process: its lock, its token, its logs and its end."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from onetape.cli.main import app
from onetape.cli.server import origin
from onetape.errors import Conflict, Refused
from onetape.server import logs, running, serving
from patience import PATIENCE


class Process:
    def __init__(self, data: Path, *flags: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onetape", "server", "--port", "0", *flags], cwd=data, text=True, bufsize=1,
            env=_environment(data) | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline(), self.process.stdout.readline()]
        self.url = self.lines[0].split()[-1]

    def end(self, number: int = signal.SIGTERM) -> str:
        """Its last words."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return errors


def _environment(data: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "ONETAPE_TOKEN"} | {"ONETAPE_DATA_DIR": str(data)}


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    started = Process(tmp_path, "--log-level", "debug")
    yield started
    if started.process.poll() is None:
        started.process.kill()
        started.process.communicate()


def refused(data: Path, *flags: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "onetape", "server", "--port", "0", *flags],
        env=_environment(data), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert run.returncode == 2 and run.stderr.count("\n") == 1, run.stderr
    return run.stderr


def test_a_life(process: Process, tmp_path: Path) -> None:
    token = running.token(tmp_path)
    assert token is not None and process.lines[1] == f"Open {process.url}/#token={token}\n"
    for file in (running.TOKEN, running.LOCK, "onetape.db"):
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o600, file
    assert running.find(tmp_path) == running.Running(process.process.pid, process.url)
    assert f"process {process.process.pid} at {process.url}" in refused(tmp_path)

    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=process.url, headers=headers, timeout=PATIENCE) as http:
        assert http.get("/v1/health").json() == {"status": "ok"}
        assert http.post("/v1/sessions/a", json={"agent": "mock"}).json()["healthy"] is True
        assert http.post("/v1/sessions/a/messages", json={"message": "hang on to this secret"}).status_code == 204
        with http.stream("GET", "/v1/sessions/a/events/sse") as answer:
            chunks = answer.iter_text()
            text = next(chunks)
            while '"turn.started"' not in text:
                text += next(chunks)
            process.process.send_signal(signal.SIGTERM)
            text += "".join(chunks)  # to its end, which is the session's
    assert '"session.ended"' in text and '"interrupted"' in text
    log = process.end()
    assert process.process.returncode == 0
    assert re.search(r"level=info what=listening url=http://127.0.0.1:\d+", log)
    assert "path=/v1/sessions/a/messages status=204" in log
    assert "secret" not in log and token not in log
    assert running.find(tmp_path) is None and running.token(tmp_path) == token


def test_all_that_its_end_waits_for_is_over_within_five_seconds() -> None:
    """As is promised of SIGTERM, whatever agents and readers do then."""
    assert serving.STOP_SECONDS + serving.LAST_WORDS_SECONDS < 5


def test_control_c_ends_it_cleanly(process: Process) -> None:
    assert "Traceback" not in process.end(signal.SIGINT)
    assert process.process.returncode == 0


def test_a_token_of_ones_own(tmp_path: Path) -> None:
    started = Process(tmp_path, ONETAPE_TOKEN="mine & mine")
    try:
        assert started.lines[1].endswith("#token=mine%20%26%20mine\n") and running.token(tmp_path) is None
        answer = httpx.get(f"{started.url}/v1/pending", auth=("", "mine & mine"), timeout=PATIENCE)
        assert answer.status_code == 200
    finally:
        started.end()


def test_without_a_token(tmp_path: Path) -> None:
    started = Process(tmp_path, "--no-token")
    try:
        assert started.lines[1] == f"Open {started.url}/\n"
        assert httpx.get(f"{started.url}/v1/pending", timeout=PATIENCE).status_code == 200
    finally:
        started.end()


def test_what_is_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONETAPE_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(logs, "begin", lambda level: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for flags, reason in (
            ("--no-token --host 0.0.0.0", "loopback"),
            ("--no-token --host somewhere.example", "loopback"),
            ("--no-token --token x", "contradict"),
            ("--token=", "empty"),
            ("--root none", "no directory"),
            ("--cors-allow-credentials --cors-allow-origin *", "by name"),
            ("--cors-allow-origin page.example", "is an origin"),
            ("--cors-allow-origin https://page.example/page", "is an origin"),
            ("--host 256.256.256.256", "cannot listen"),
            (f"--port {taken.getsockname()[1]}", "in use"),
        ):
            with pytest.raises(Refused, match=reason):
                app(["server", "--port", "0", *flags.split()], standalone_mode=False)


@pytest.mark.parametrize(
    ("typed", "sent"),
    [("http://localhost:5173/", "http://localhost:5173"), ("https://Page.example", "https://page.example"), ("tauri://localhost", "tauri://localhost")],
)
def test_origins_are_taken_as_browsers_send_them(typed: str, sent: str) -> None:
    assert origin(typed) == sent


# --- the lock and the token ---------------------------------------------------------


def test_the_lock_is_held_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_PAUSE", 0)
    assert running.find(tmp_path) is None
    with running.hold(tmp_path) as held:
        assert running.find(tmp_path) is None  # it starts
        with pytest.raises(Conflict), running.hold(tmp_path):
            pass
        held.tell(running.Running(7, "http://127.0.0.1:1"))
        assert running.find(tmp_path) == running.Running(7, "http://127.0.0.1:1")
    assert running.find(tmp_path) is None
    with running.hold(tmp_path):
        pass


def test_a_data_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / running.LOCK).mkdir()
    with pytest.raises(Refused, match="cannot use the data directory"), running.hold(tmp_path):
        pass


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    token = running.make_token(tmp_path)
    assert running.make_token(tmp_path) == token and len(token) >= 32
    (tmp_path / running.TOKEN).chmod(0o644)
    with pytest.raises(Refused, match="chmod"):
        running.make_token(tmp_path)


def test_help_waits_for_no_framework() -> None:
    script = "import sys; from onetape.cli.main import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.splitlines()[-1].split()}
    assert not loaded & {"litestar", "uvicorn", "uvloop", "httpx", "anyio"}
