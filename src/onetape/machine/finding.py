"""Where an agent's program is on this machine: what we installed first, then what is on PATH.

The program itself is wanted, not its launcher: a launcher stands between us and the signals, and
outlives or is outlived by what it started. A program counts as found once it has told its version.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from onetape import paths
from onetape.agents.agent import Agent
from onetape.machine.versions import Versions

Origin = Literal["path", "installed", "builtin"]


class Found(Struct, frozen=True):
    path: str | None = None
    version: str | None = None
    origin: Origin | None = None
    help: str = ""
    """What `--help` prints, of agents that want it (Agent.wants_help)."""
    problem: str | None = None
    """Why what is there was not taken."""


async def find(agent: Agent, env: Mapping[str, str] = os.environ) -> Found:
    if agent.binary is None:
        return Found(sys.executable, next(iter(agent.versions), None), "builtin")
    home = installed_in(agent, env)
    return await first_that_runs(agent, [*_labelled("installed", inside(agent, home)), *_labelled("path", on_path(agent, env))], env)


def installed_in(agent: Agent, env: Mapping[str, str]) -> Path:
    """The directory of our own installation, whether there is one or not."""
    return paths.private(paths.data_dir(env) / "agents") / agent.name


async def first_that_runs(agent: Agent, candidates: list[tuple[Origin, Path]], env: Mapping[str, str]) -> Found:
    versions, problem = Versions(paths.data_dir(env) / "agents", env), None
    for origin, path in candidates:
        told = await versions.of(path, wants_help=agent.wants_help)
        if told.problem is None:
            return Found(str(path), told.version, origin, told.help)
        problem = problem or f"{path} does not run: {told.problem}"
    return Found(problem=problem)


def inside(agent: Agent, home: Path) -> Iterator[Path]:
    """The programs of an installation of ours: the launcher that we wrote, native ones, npm's link."""
    modules = home / "node_modules"
    yield from filter(_is_program, [home / "bin" / str(agent.binary), *_natives(agent, modules), modules / ".bin" / str(agent.binary)])


def on_path(agent: Agent, env: Mapping[str, str]) -> Iterator[Path]:
    if (link := shutil.which(str(agent.binary), path=env.get("PATH", ""))) is None:
        return
    for directory in Path(link).resolve().parents:
        if directory.name == "node_modules":
            yield from _natives(agent, directory)
            yield from _natives(agent, directory / str(agent.package) / "node_modules")
    yield Path(link)


def _natives(agent: Agent, modules: Path) -> Iterator[Path]:
    for pattern in agent.natives:
        yield from filter(_is_program, sorted(modules.glob(pattern)))


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _labelled(origin: Origin, found: Iterator[Path]) -> list[tuple[Origin, Path]]:
    return [(origin, path) for path in found]
