"""Servers to measure: our daemon, or the bare program, on a data directory of its own, with the light agent."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from readers import Told

HERE = Path(__file__).parent
AGENT = "claude"
LIMIT_SECONDS = 120


class Server(Struct, frozen=True):
    pid: int
    port: int
    get: str
    post: str
    mark: str
    """What the last frame of an answer holds."""

    def read(self, readers: int) -> Told:
        """A message, and so many readers of its answer."""
        words = [str(self.port), str(readers), self.get, self.post, self.mark]
        read = subprocess.run([sys.executable, HERE / "readers.py", *words], capture_output=True, timeout=LIMIT_SECONDS, check=True)
        return msgspec.json.decode(read.stdout, type=Told)


@contextlib.contextmanager
def bare(answer: str) -> Iterator[Server]:
    with _directory() as directory:
        process = _start([sys.executable, str(HERE / "bare.py"), str(directory)], answer, directory)
        with _ending(process):
            yield Server(process.pid, int(process.stdout.readline()), "/", "/", '"result"')  # type: ignore[union-attr]


@contextlib.contextmanager
def daemon(answer: str = "true", **variables: str) -> Iterator[Server]:
    """With one session."""
    with _directory() as directory:
        process = _start([sys.executable, "-m", "onetape", "server", "--no-token", "--port", "0"], answer, directory, **variables)
        with _ending(process):
            port = int(process.stdout.readline().rpartition(b":")[2])  # type: ignore[union-attr]
            post(port, "/v1/sessions/s", {"agent": AGENT})
            yield Server(process.pid, port, "/v1/sessions/s/events/sse", "/v1/sessions/s/messages", '"turn.ended"')


def post(port: int, path: str, body: Any) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", msgspec.json.encode(body), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
        return bytes(answer.read())


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="onetape-bench-", ignore_cleanup_errors=True) as name:
        programs = Path(name, "bin")
        programs.mkdir()
        (programs / AGENT).symlink_to(HERE / "agent.sh")
        yield Path(name)


def _start(argv: list[str], answer: str, directory: Path, **variables: str) -> "subprocess.Popen[bytes]":
    env = os.environ | {"PATH": f"{directory / 'bin'}:{os.environ['PATH']}", "ONETAPE_DATA_DIR": str(directory), "BENCH_ANSWER": answer}
    env.pop("ONETAPE_TOKEN", None)
    return subprocess.Popen(
        argv, cwd=directory, env=env | variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


@contextlib.contextmanager
def _ending(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    try:
        yield
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()  # type: ignore[union-attr]


# --- what the system says of a process ---------------------------------------


def resident(pid: int) -> int:
    """Its memory in bytes (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak() -> int:
    """The most that this process ever had, in bytes (Linux). `getrusage` would tell what its parent had when it was started."""
    told = Path("/proc/self/status").read_text()
    return int(told.partition("VmHWM:")[2].split()[0]) * 1024


def seconds_used(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(pid: int, seconds: float) -> float:
    """How much of one processor a process uses that has nothing to do."""
    before, begin = seconds_used(pid), time.monotonic()
    time.sleep(seconds)
    return (seconds_used(pid) - before) / (time.monotonic() - begin)
