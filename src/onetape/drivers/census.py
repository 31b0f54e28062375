"""Which processes there are on this machine: from /proc, or from `ps` where there is none (macOS).

A number alone is no identity, since numbers are used again: a process is its number
and the moment it was born.
"""

import asyncio
import os
import subprocess
import sys

from msgspec import Struct

from onetape import tasks

MARK = "ONETAPE_SESSION"
"""The environment variable that everything of a session inherits, wherever it hides."""

_HAS_PROC = sys.platform == "linux"
_PS = ("ps", "-A", "-E", "-ww", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command=")

Identity = tuple[int, int | str]


class Seen(Struct, frozen=True):
    """A living process."""

    pid: int
    parent: int
    group: int
    session: int
    born: int | str
    mark: str | None
    """The session that it was started in; other users' processes cannot be asked, and are not ours."""

    @property
    def identity(self) -> Identity:
        """What stays when its parent dies, or when it changes its group."""
        return self.pid, self.born


class Census:
    """Counts for many at once. A count takes some hundredths of a second, and when a daemon ends
    two hundred sessions ask for one: all who ask before it begins share it."""

    def __init__(self) -> None:
        self._running: asyncio.Task[list[Seen]] | None = None
        self._next: asyncio.Task[list[Seen]] | None = None

    async def take(self) -> list[Seen]:
        """Who is there, by a count that begins from now on."""
        if self._next is None or self._next.done():
            self._next = tasks.start(self._count(), "count processes")
        return await asyncio.shield(self._next)

    async def _count(self) -> list[Seen]:
        if self._running is not None and not self._running.done():
            await asyncio.wait([self._running])
        self._running, self._next = self._next, None
        return await asyncio.to_thread(everyone)


def everyone() -> list[Seen]:
    """All but ourselves."""
    found = map(_in_proc, filter(str.isdigit, os.listdir("/proc"))) if _HAS_PROC else map(_in_ps, _ps())
    return [seen for seen in found if seen is not None and seen.pid != os.getpid()]


def _in_proc(pid: str) -> Seen | None:
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None  # it ended while we were looking
    # The name stands in brackets and may hold anything, brackets too.
    state, parent, group, session, *others = stat[stat.rindex(b")") + 2 :].split()
    if state in (b"Z", b"X"):
        return None
    environment = _read(f"/proc/{pid}/environ").decode(errors="replace").split("\0")
    return Seen(int(pid), int(parent), int(group), int(session), born=int(others[15]), mark=_mark(environment))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _in_ps(words: list[str]) -> Seen | None:
    pid, parent, group, state, *others = words
    if state.startswith("Z"):
        return None
    try:
        # `lstart` is five words; the arguments and, after them, the environment are the rest.
        return Seen(int(pid), int(parent), int(group), os.getsid(int(pid)), " ".join(others[:5]), _mark(others[5:]))
    except OSError:
        return None


def _ps() -> list[list[str]]:
    output = subprocess.run(_PS, capture_output=True, text=True, errors="replace", check=False).stdout
    return [line.split() for line in output.splitlines()]


def _mark(environment: list[str]) -> str | None:
    return next((setting.partition("=")[2] for setting in environment if setting.startswith(f"{MARK}=")), None)
