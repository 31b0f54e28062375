"""The agents on this machine: which there are, what they can do, and getting one."""

import asyncio
import logging
from pathlib import Path

from litestar import get, post
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from onetape import machine
from onetape.agents import registry
from onetape.agents.agent import Agent, Models
from onetape.server.daemon import Daemon, TheDaemon
from onetape.server.problems import Refusal

_log = logging.getLogger(__name__)


class AgentInfo(Struct, frozen=True, rename="camel", omit_defaults=True):
    id: str
    installed: bool
    credentials_available: bool
    capabilities: dict[str, bool]
    version: str | None = None
    path: str | None = None


class AgentList(Struct, frozen=True):
    agents: list[AgentInfo]


class Mode(Struct, frozen=True):
    id: str
    name: str
    description: str


class ModeList(Struct, frozen=True):
    modes: list[Mode]


class Install(Struct, frozen=True):
    reinstall: bool | None = None


def agent_named(name: str) -> Agent:
    if name not in registry.names():
        raise Refusal("unsupported_agent", f"no agent is called {name!r}; there are: {', '.join(registry.names())}", agent=name)
    return registry.find(name)


@get("/v1/agents", tags=["agents"], summary="Which agents there are, and what they can do")
async def list_agents(daemon: TheDaemon) -> AgentList:
    return AgentList(list(await asyncio.gather(*(_info(agent, daemon) for agent in registry.every()))))


async def _info(agent: Agent, daemon: Daemon) -> AgentInfo:
    found = await machine.find(agent, daemon.env)
    logged_in = await asyncio.to_thread(machine.credentials, agent, Path.home(), daemon.env)
    return AgentInfo(agent.name, found.path is not None, logged_in, machine.capabilities(agent), found.version, found.path)


@post("/v1/agents/{agent:str}/install", tags=["agents"], summary="Install an agent into the data directory", status_code=204)
async def install_agent(agent: FromPath[str], daemon: TheDaemon, data: JSONBody[Install | None] = None) -> None:
    def progress(line: str) -> None:
        _log.info("installing", extra={"agent": agent, "progress": line})

    reinstall = bool(data and data.reinstall)
    await machine.install(agent_named(agent), reinstall=reinstall, progress=progress, env=daemon.env)


@get("/v1/agents/{agent:str}/modes", tags=["agents"], summary="An agent's own modes", sync_to_thread=False)
def list_modes(agent: FromPath[str]) -> ModeList:
    return ModeList([Mode(**mode) for mode in machine.modes(agent_named(agent))])


@get("/v1/agents/{agent:str}/models", tags=["agents"], summary="The models that an agent offers")
async def list_models(agent: FromPath[str], daemon: TheDaemon) -> Models:
    whose = agent_named(agent)
    return await machine.models(whose, await machine.find(whose, daemon.env), str(daemon.sessions.root), daemon.env)


ROUTES = (list_agents, install_agent, list_modes, list_models)
