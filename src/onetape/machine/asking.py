"""Which models an agent offers: asked of the program itself, in a process of its own that ends with the answer."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from onetape import paths
from onetape.agents.agent import Agent, Inquiry, LaunchOptions, Models
from onetape.drivers import driver_for
from onetape.drivers.driver import Driver
from onetape.errors import AgentFailed, NotInstalled, Unparsed
from onetape.machine.finding import Found
from onetape.tape import Record

SECONDS = 60.0


async def models(agent: Agent, found: Found, cwd: str, env: Mapping[str, str] = os.environ) -> Models:
    if not callable(agent.models):
        return agent.models or Models([])
    if found.path is None or agent.launch is None:
        raise NotInstalled(f"{agent.title} is not installed: `onetape install {agent.name}`")
    key = f"models-{secrets.token_hex(8)}"
    launch = agent.launch(LaunchOptions(found.path, cwd, key, version=found.version, help=found.help))
    began = time.monotonic()
    private = paths.private(paths.data_dir(env) / "run") / key
    driver = driver_for(launch, clock=lambda: time.monotonic() - began, key=key, env=env, private=private)
    try:
        async with asyncio.timeout(SECONDS):
            return await _talk(agent.models(), driver, agent.title)
    except TimeoutError:
        raise AgentFailed(f"{agent.title} did not tell its models within {SECONDS:.0f} s") from None


async def _talk(inquiry: Inquiry, driver: Driver, title: str) -> Models:
    await driver.start()
    heard = driver.heard()
    try:
        return await _say(inquiry, driver, inquiry.open()) or await _answer(inquiry, driver, heard, title)
    finally:
        await driver.stop()
        async for _ in heard:
            pass  # to its end: a driver keeps what nobody has asked for


async def _answer(inquiry: Inquiry, driver: Driver, heard: AsyncIterator[list[Record]], title: str) -> Models:
    last = ""
    async for record in _each(heard):
        if record.dir == "stderr":
            last = str(record.line, "utf-8", "replace")
        elif record.dir == "recv" and (told := await _say(inquiry, driver, inquiry.feed(_native(record)))):
            return told
    raise AgentFailed(f"{title} ended before it told its models{f': {last}' if last else ''}")


async def _each(heard: AsyncIterator[list[Record]]) -> AsyncIterator[Record]:
    async for batch in heard:
        for record in batch:
            yield record


async def _say(inquiry: Inquiry, driver: Driver, wanted: list[Any] | Models) -> Models | None:
    """Sends what is wanted, and what the answers to that make it want; the models once it has them."""
    while isinstance(wanted, list) and wanted:
        record = await driver.send(wanted[0])
        more = inquiry.feed(_native(record))
        wanted = more if isinstance(more, Models) else [*wanted[1:], *more]
    return wanted if isinstance(wanted, Models) else None


def _native(record: Record) -> Any:
    """None for a server's log and for what is not JSON: an inquiry knows no such message."""
    try:
        return record.native() if not record.silent else None
    except Unparsed:
        return None
