"""Which daemon runs on a data directory: at most one, and the commands find it here.

    daemon.lock   held by the daemon while it lives; says {"pid", "url"}
    token         the token it made for itself, readable by the user alone

Knows nothing of HTTP and imports no framework: every command reads this.
"""

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from onetape.errors import Conflict, Refused

LOCK = "daemon.lock"
TOKEN = "token"
_TRIES = 20
_PAUSE = 0.05


class Running(Struct, frozen=True):
    pid: int
    url: str
    """Where to reach it from this machine, e.g. `http://127.0.0.1:2468`."""


class Held:
    """The lock of a data directory, in the hands of this process."""

    def __init__(self, file: int) -> None:
        self._file = file

    def tell(self, running: Running) -> None:
        """Says where the daemon is. Until then it is one that starts."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, msgspec.json.encode(running), 0)


@contextlib.contextmanager
def hold(data: Path) -> Iterator[Held]:
    """Makes this process the one daemon of the directory; `Conflict` where there is another."""
    try:
        file = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refused(f"cannot use the data directory {data}: {error.strerror}; set ONETAPE_DATA_DIR to another place") from None
    try:
        # Tried again: who only looks whether somebody holds it holds it himself for a moment.
        for _ in range(_TRIES):
            if _locks(file):
                break
            time.sleep(_PAUSE)
        else:
            raise Conflict(_why(data, file))
        os.ftruncate(file, 0)  # what the last one said
        yield Held(file)
        os.ftruncate(file, 0)
    finally:
        os.close(file)


def find(data: Path) -> Running | None:
    """The daemon that runs on this directory, if one does and is ready."""
    try:
        file = os.open(data / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if _locks(file, fcntl.LOCK_SH) else _told(file)
    finally:
        os.close(file)


def token(data: Path) -> str | None:
    """The token that the daemon made for itself, if it ever did."""
    try:
        return (data / TOKEN).read_text().strip() or None
    except FileNotFoundError:
        return None


def make_token(data: Path) -> str:
    """The same for ever: links and clients keep working when the daemon starts again."""
    if (known := token(data)) is not None:
        _check_private(data / TOKEN)
        return known
    made = secrets.token_urlsafe(24)
    with os.fdopen(os.open(data / TOKEN, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(made + "\n")
    return made


def _check_private(file: Path) -> None:
    if file.stat().st_mode & 0o077:
        raise Refused(f"{file} can be read by others: `chmod 600` it, or delete it and a new token is made")


def _locks(file: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _told(file: int) -> Running | None:
    try:
        return msgspec.json.decode(os.pread(file, 4096, 0), type=Running)
    except msgspec.DecodeError:
        return None  # it starts


def _why(data: Path, file: int) -> str:
    there = _told(file)
    told = f": process {there.pid} at {there.url}" if there else ""
    return f"a daemon runs on {data} already{told}; set ONETAPE_DATA_DIR to run another"
