"""What is right and wrong with each agent on this machine, and what to do about it: the findings of `onetape doctor`."""

import asyncio
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from onetape import paths
from onetape.agents.agent import Agent
from onetape.errors import Refused
from onetape.machine import programs
from onetape.machine.finding import Found, Origin, find
from onetape.machine.login import credentials

READY = "ready"


class AgentHealth(Struct, frozen=True, rename="camel", tag_field="subject", tag="agent"):
    agent: str
    title: str
    path: str | None
    origin: Origin | None
    version: str | None
    tested: bool
    logged_in: bool
    advice: str

    @property
    def is_ready(self) -> bool:
        return self.advice == READY


class NpmHealth(Struct, frozen=True, rename="camel", tag_field="subject", tag="npm"):
    path: str | None
    version: str | None
    advice: str


class DataHealth(Struct, frozen=True, rename="camel", tag_field="subject", tag="dataDirectory"):
    path: str | None
    writable: bool
    advice: str


async def examine(agents: Iterable[Agent], env: Mapping[str, str] = os.environ, home: Path | None = None) -> list[AgentHealth]:
    return list(await asyncio.gather(*(_examine(agent, env, home or Path.home()) for agent in agents)))


async def _examine(agent: Agent, env: Mapping[str, str], home: Path) -> AgentHealth:
    found = await find(agent, env)
    tested, logged_in = found.version in agent.versions, credentials(agent, home, env)
    advice = "; ".join(_advice(agent, found, tested, logged_in)) or READY
    return AgentHealth(agent.name, agent.title, found.path, found.origin, found.version, tested, logged_in, advice)


def _advice(agent: Agent, found: Found, tested: bool, logged_in: bool) -> Iterable[str]:
    if found.path is None:
        yield f"{found.problem}: `onetape install {agent.name}`" if found.problem else f"`onetape install {agent.name}`"
    elif not tested:
        yield f"tested with {', '.join(agent.versions)}: `onetape install {agent.name}` brings one of them"
    if not logged_in and agent.login is not None:
        yield agent.login.advice.replace("{program}", str(found.path if found.origin == "installed" else agent.binary))


async def npm(env: Mapping[str, str] = os.environ) -> NpmHealth:
    path = shutil.which("npm", path=env.get("PATH", ""))
    if path is None:
        return NpmHealth(None, None, "`onetape install` needs it: install Node.js, which brings it")
    told = await programs.run([path, "--version"], env, seconds=10)
    return NpmHealth(path, told.output.strip() or None, READY if told.code == 0 else f"it does not run: {told.errors.strip()}")


def data_directory(env: Mapping[str, str] = os.environ) -> DataHealth:
    try:
        path = paths.data_dir(env)
    except Refused as error:
        return DataHealth(None, False, str(error))
    writable = os.access(path, os.W_OK | os.X_OK)
    return DataHealth(str(path), writable, READY if writable else f"it cannot be written to: set {paths.VARIABLE} to another place")
