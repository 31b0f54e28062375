"""`onetape server` as a process of its own, on loopback and a data directory of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import PATIENCE


class Daemon:
    def __init__(self, data: Path, port: int = 0) -> None:
        self.env = {**os.environ, "ONETAPE_DATA_DIR": str(data)}
        self.env.pop("ONETAPE_TOKEN", None)
        self.env.pop("ONETAPE_URL", None)
        words = [sys.executable, "-m", "onetape", "server", "--port", str(port), "--log-level", "error"]
        self._process = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True, cwd=data)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]
        """Said once it serves."""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        self._process.send_signal(number)
        self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def daemon(data: Path, port: int = 0) -> Iterator[Daemon]:
    running = Daemon(data, port)
    try:
        yield running
    finally:
        running.stop()
