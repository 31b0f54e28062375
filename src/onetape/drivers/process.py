"""A child process in a session and process group of its own, watched until its end.

Not asyncio's: that reads ahead without being asked, and learns of an end only when
every grandchild has closed the pipes.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from io import FileIO
from typing import cast

from onetape.drivers.census import MARK
from onetape.drivers.family import Family
from onetape.drivers.pipes import Inlet, Outlet
from onetape.errors import AgentFailed

TERM_SECONDS = 3.0
KILL_SECONDS = 10.0


class Process:
    def __init__(
        self, argv: list[str], cwd: str, env: Mapping[str, str], key: str, *, talks: bool, news: Callable[[], None],
    ) -> None:  # fmt: skip
        """Starts it. `talks`: it reads stdin; else that is empty. `news` is rung when there is something to read, and at the end."""
        self._news = news
        self._child = _spawn(argv, cwd, {**env, MARK: key}, subprocess.PIPE if talks else subprocess.DEVNULL)
        self.pid = self._child.pid
        self.stdin = Outlet(cast(FileIO, self._child.stdin)) if talks else None
        self.stdout = Inlet(cast(FileIO, self._child.stdout), news)
        self.stderr = Inlet(cast(FileIO, self._child.stderr), news)
        self.family = Family(key, self.pid)
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._watch()

    @property
    def is_gone(self) -> bool:
        return self.exit.done()

    def signal(self, number: int) -> None:
        """To the process alone."""
        if not self.is_gone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def signal_group(self, number: int) -> None:
        # The number is not given to another group as long as its leader has not been waited for.
        if not self.is_gone:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def stop(self, ask: Callable[[], None], polite_seconds: float) -> None:
        """Asks it to end, then says so, then ends it. Whoever is in a hurry is so at each step."""
        await self._until_gone(ask, polite_seconds)
        await self._until_gone(lambda: self.signal_group(signal.SIGTERM), min(polite_seconds, TERM_SECONDS))
        await self.kill()

    async def kill(self) -> None:
        await self._until_gone(lambda: self.signal_group(signal.SIGKILL), KILL_SECONDS)

    async def _until_gone(self, act: Callable[[], None], patience: float) -> None:
        if not self.is_gone:
            await self.family.remember()
            act()
            await asyncio.wait([self.exit], timeout=patience)

    # --- its end ------------------------------------------------------------

    def _watch(self) -> None:
        try:
            watch = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # macOS, or a sandbox without it
            threading.Thread(target=self._wait, args=(asyncio.get_running_loop(),), daemon=True).start()
        else:
            asyncio.get_running_loop().add_reader(watch, self._reap, watch)

    def _reap(self, watch: int) -> None:
        asyncio.get_running_loop().remove_reader(watch)
        os.close(watch)
        self._ended(self._child.wait())

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        code = self._child.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
            loop.call_soon_threadsafe(self._ended, code)

    def _ended(self, code: int) -> None:
        if self.stdin is not None:
            self.stdin.abandon()
        self.exit.set_result(code)
        self._news()


def _spawn(argv: list[str], cwd: str, env: Mapping[str, str], stdin: int) -> subprocess.Popen[bytes]:
    if not os.path.isdir(cwd):
        raise AgentFailed(f"cannot start {argv[0]}: there is no directory {cwd}")
    try:
        return subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise AgentFailed(f"cannot start {argv[0]}: {_why(argv[0], error)}") from None


def _why(program: str, error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError() if os.path.exists(program):
            return "the interpreter that its first line names was not found"
        case FileNotFoundError():
            return "it was not found"
        case PermissionError():
            return "it is not executable"
        case OSError(strerror=str(words)):
            return words
        case _:
            return str(error)
