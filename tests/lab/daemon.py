"""A daemon in a process of its own, with a home that is nobody's, and its HTTP API.

Everything that an agent could read of the user's, or reach beyond this machine, is taken away: the environment is made
from nothing but the PATH, and what would leave the machine ends at a proxy that does not exist.
"""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from onetape import tape

TOKEN = "lab-token"
NOWHERE = "http://127.0.0.1:9"
STOP_SECONDS = 20.0
# Longer than anything here takes: so that a test ends and says where, when something is stuck.
ANSWER_SECONDS = 60.0
HEARTBEATS = 7


def environment(home: Path, bin: Path) -> dict[str, str]:
    scratch = home / "tmp"
    scratch.mkdir()
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    return {
        "HOME": str(home), "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "dumb",
        "TMPDIR": str(scratch),  # Codex refuses to keep its helpers below the system's, where a test's home is
        "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", **proxies,
    }  # fmt: skip


class Daemon:
    def __init__(self, place: Path, env: dict[str, str]) -> None:
        self.data = place / "data"
        self.log = place / "daemon.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "onetape", "server", "--host", "127.0.0.1", "--port", "0"],
                cwd=place, env=env | {"ONETAPE_DATA_DIR": str(self.data), "ONETAPE_TOKEN": TOKEN},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        self._http = httpx.Client(
            base_url=self._address(), headers={"Authorization": f"Bearer {TOKEN}"}, timeout=ANSWER_SECONDS, trust_env=False,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    def get(self, path: str) -> Any:
        return self._answer(self._http.get(path))

    def post(self, path: str, body: Any = None) -> Any:
        return self._answer(self._http.post(path, json=body))

    def patch(self, path: str, body: Any) -> Any:
        return self._answer(self._http.patch(path, json=body))

    def follow(self, session: str) -> Generator[dict[str, Any], None, None]:
        """A session's events as they come. Its silence is measured in heartbeats."""
        silent = 0
        with self._http.stream("GET", f"/v1/sessions/{session}/events/sse", timeout=ANSWER_SECONDS) as response:
            for line in tape.lines(response.iter_raw()):
                silent = silent + 1 if line.startswith(b":") else 0 if line else silent
                assert silent < HEARTBEATS, "nothing happens any more"
                if line.startswith(b"data:"):
                    yield msgspec.json.decode(line[5:])

    def stop(self) -> None:
        """Ends it politely; every agent goes with it."""
        assert self._process.stdout is not None
        self._http.close()
        self._process.terminate()
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._process.stdout.close()
        assert code == 0, f"the daemon ended with {code}:\n{self.log.read_text()}"

    def _answer(self, response: httpx.Response) -> Any:
        assert response.is_success, f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def _address(self) -> str:
        """What it prints once it listens."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("Onetape listens on "), f"the daemon did not come up: {line}{self.log.read_text()}"
        return line.split()[-1]
