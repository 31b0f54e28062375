"""A real `onetape server` for the browser tests: its own data directory, its own port, stopped and started at will."""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

TOKEN = "browser-tests"


class Daemon:
    def __init__(self, place: Path) -> None:
        self.data, self.root = place / "data", place / "project"
        self.root.mkdir(parents=True)
        # A port of our own, so that a restarted daemon is found where the page looks for it.
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30)
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Until it listens: it says so in its first line."""
        options = {"--port": str(self.port), "--token": TOKEN, "--root": str(self.root), "--log-level": "error"}
        command = [sys.executable, "-m", "onetape", "server", *(word for option in options.items() for word in option)]
        env = {**os.environ, "ONETAPE_DATA_DIR": str(self.data)}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("Onetape listens"), "the daemon did not start"

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self._process is not None and self._process.stdout is not None
        self._process.send_signal(how)
        self._process.wait(20)
        self._process.stdout.close()

    def close(self) -> None:
        self.http.close()
        if self._process is not None and self._process.poll() is None:
            self.stop()

    # --- what a client says ---

    def session(self, **options: Any) -> str:
        """A new session of the mock agent."""
        answer = self.http.post("/v1/sessions", json={"agent": "mock", **options})
        assert answer.is_success, answer.text
        return str(answer.json()["sessionId"])

    def say(self, session: str, message: str) -> None:
        assert self.http.post(f"/v1/sessions/{session}/messages", json={"message": message}).is_success

    def ask(self, session: str, message: str) -> None:
        """Says it and waits for the end of the turn, or for what the turn asks."""
        assert self.http.post(f"/v1/sessions/{session}/messages/stream", json={"message": message}).is_success

    def events(self, session: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self.http.get(f"/v1/sessions/{session}/events").json()["events"]
        return events


class Wire:
    """A network between the page and the daemon that can be cut in mid-sentence: every byte goes through it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._whole = True
        self._open: list[socket.socket] = []

    def __enter__(self) -> "Wire":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        # A listener that is only closed would leave its thread waiting.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def cut(self) -> None:
        self._whole = False
        for end in self._open:
            _hang_up(end)
        self._open.clear()

    def mend(self) -> None:
        self._whole = True

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._whole:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._port))
            self._open += [near, far]
            for here, there in ((near, far), (far, near)):
                threading.Thread(target=_carry, args=(here, there), daemon=True).start()


def _carry(here: socket.socket, there: socket.socket) -> None:
    with suppress(OSError):
        while chunk := here.recv(65536):
            there.sendall(chunk)
    _hang_up(here)
    _hang_up(there)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):  # the other side may have been quicker
        end.shutdown(socket.SHUT_RDWR)
    end.close()
