"""What programs print for `--version`, remembered by path and time of change: asking takes up to a second each.

A script may be a shim that starts now this version and now that, while the shim stays the same. So scripts are
remembered by this process alone, programs and our own installations also on disk.
"""

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from onetape.machine import programs

SECONDS = 30.0
"""Long enough for a first start from a cold disk on a busy machine."""

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?[^\s(),]*")
_FILE = "versions.json"


class Told(Struct, frozen=True, omit_defaults=True):
    version: str | None = None
    help: str = ""
    problem: str | None = None


_asked: dict[str, Told] = {}


class Versions:
    def __init__(self, directory: Path, env: Mapping[str, str]) -> None:
        self._directory = directory
        self._env = env

    async def of(self, path: Path, *, wants_help: bool) -> Told:
        try:
            key = _key(path)
        except OSError as error:  # replaced just now
            return Told(problem=error.strerror)
        if (told := _asked.get(key)) is None and (told := self._kept().get(key)) is None:
            told = await self._ask(path, wants_help)
            if told.problem is None:
                with suppress(OSError):  # a full or a read-only disk costs speed, no more
                    self._keep(path, key, told)
        if told.problem is None:  # what is wrong today may be mended tomorrow
            _asked[key] = told
        return told

    async def _ask(self, path: Path, wants_help: bool) -> Told:
        told = await programs.run([str(path), "--version"], self._env, seconds=SECONDS)
        version = _VERSION.search(told.output)
        if told.code != 0 or version is None:
            return Told(problem=_reason(told))
        more = await programs.run([str(path), "--help"], self._env, seconds=SECONDS) if wants_help else None
        return Told(version[0], more.output if more else "")

    def _kept(self) -> dict[str, Told]:
        try:
            return msgspec.json.decode((self._directory / _FILE).read_bytes(), type=dict[str, Told])
        except (OSError, msgspec.DecodeError):
            return {}

    def _keep(self, path: Path, key: str, told: Told) -> None:
        """Replaced whole, so that a reader never sees half of it. Of two writers one may be forgotten, which costs it a question."""
        if _is_script(path) and not path.is_relative_to(self._directory):
            return
        there = {known: old for known, old in self._kept().items() if Path(known.partition("|")[0]).exists()}
        handle, name = tempfile.mkstemp(dir=self._directory, prefix=".versions-")
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(there | {key: told}))
        os.replace(name, self._directory / _FILE)


def _key(path: Path) -> str:
    """The file behind all links, and what changes when it is replaced."""
    real = path.resolve()
    now = real.stat()
    return f"{real}|{now.st_mtime_ns}|{now.st_size}|{now.st_ino}"


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _reason(told: programs.Outcome) -> str:
    if told.code is None:
        return f"it does not answer to --version within {SECONDS:.0f} s"
    lines = [line.strip() for line in (told.errors or told.output).splitlines() if line.strip()]
    # Node prints the line of code first, then what is wrong with it.
    said = next((line for line in lines if "Error" in line), lines[-1] if lines else "it says nothing")
    return f"{said} (exit code {told.code})"
