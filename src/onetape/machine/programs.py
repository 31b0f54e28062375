"""Runs other programs for their output: bounded in time, nothing on stdin, nothing left behind."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from onetape import tasks

CANNOT_START = 127
LONGEST_LINE = 1 << 20


class Outcome(Struct, frozen=True):
    code: int | None
    """None: it took too long."""
    output: str
    errors: str = ""


async def run(argv: Sequence[str], env: Mapping[str, str], *, seconds: float) -> Outcome:
    """What a short program printed; one that cannot be started has the exit code that a shell would give it."""
    try:
        async with asyncio.timeout(seconds), _started(argv, env=dict(env), stderr=PIPE) as process:
            output, errors = await process.communicate()
    except TimeoutError:
        return Outcome(None, "")
    except OSError as error:
        return Outcome(CANNOT_START, "", error.strerror or str(error))
    return Outcome(process.returncode, output.decode(errors="replace"), errors.decode(errors="replace"))


async def watch(argv: Sequence[str], env: Mapping[str, str], cwd: Path, hear: Callable[[str], None]) -> int:
    """Runs a program that may take long, and tells each line that it prints; its exit code."""
    async with _started(argv, env=dict(env), cwd=cwd, stderr=STDOUT, limit=LONGEST_LINE) as process:
        assert process.stdout is not None
        async for line in process.stdout:
            hear(line.decode(errors="replace").rstrip())
        return await process.wait()


@asynccontextmanager
async def _started(argv: Sequence[str], **options: Any) -> AsyncIterator[Process]:
    """The program, in a group of its own, which is ended whole if we do not come to its end: a launcher's child would outlive it."""
    starting = tasks.start(_spawned(argv, options), f"start {argv[0]}")
    try:
        # Shielded: asyncio, when cancelled here, would end the launcher alone.
        process = await asyncio.shield(starting)
        if isinstance(process, OSError):
            raise process
        yield process
    except BaseException:
        await _end(await starting)
        raise


async def _spawned(argv: Sequence[str], options: Mapping[str, Any]) -> Process | OSError:
    try:
        return await asyncio.create_subprocess_exec(*argv, stdin=DEVNULL, stdout=PIPE, start_new_session=True, **options)
    except OSError as error:
        return error


async def _end(process: Process | OSError) -> None:
    if isinstance(process, Process):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
