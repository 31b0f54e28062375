"""Start: how long until something can be done, against the import of what it cannot do without."""

import compileall
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import onetape
from measure import Figure, Section, in_turns, milliseconds, quotients, show

TIMES = 11
PYTHON = sys.executable
ONETAPE = str(Path(PYTHON).with_name("onetape"))


def run() -> Section:
    # As an installed package is; a checkout may be newer than its bytecode.
    compileall.compile_dir(Path(onetape.__file__).parent, quiet=2)
    msgspec, litestar = _python("import msgspec"), _python("import litestar, uvicorn")
    return Section(
        "Start",
        "Whole processes, against `python -c` with the import that each cannot do without: msgspec, msgspec, and litestar with uvicorn.",
        [
            _figure("import onetape", _python("import onetape"), msgspec, 2.0),
            _figure("onetape --help", _program([ONETAPE, "--help"]), msgspec, 4.0),
            _figure("onetape server until healthy", _until_healthy, litestar, 3.0),
        ],
    )


def _figure(name: str, ours: Callable[[], None], floor: Callable[[], None], goal: float) -> Figure:
    floors, mine = in_turns(floor, ours, TIMES)
    return Figure(name, milliseconds(mine), milliseconds(floors), quotients(mine, floors), goal)


def _program(argv: list[str]) -> Callable[[], None]:
    def start() -> None:
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)

    return start


def _python(script: str) -> Callable[[], None]:
    return _program([PYTHON, "-c", script])


def _until_healthy() -> None:
    """It is killed then: how it ends is not measured."""
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="onetape-bench-", ignore_cleanup_errors=True) as directory:
        argv = [ONETAPE, "server", "--no-token", "--port", str(port)]
        env = os.environ | {"ONETAPE_DATA_DIR": directory}
        process = subprocess.Popen(argv, cwd=directory, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not _answers(port):
                time.sleep(0.005)
        finally:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            return b" 200 " in connection.recv(1024)
    except ConnectionError:
        return False


if __name__ == "__main__":
    show(run())
