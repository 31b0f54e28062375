"""`onetape run` and `onetape resume`: an agent at work, here and now, in the daemon or without one."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onetape.cli import options
from onetape.errors import OnetapeError, Refused

if TYPE_CHECKING:
    from onetape.cli.lines import Exchange, Line

Opened = Callable[["Exchange"], Awaitable["Line"]]


def run(
    agent: options.AgentName,
    prompt: options.Prompt = None,
    model: options.Model = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    permission_mode: options.PermissionMode = None,
    cwd: options.Cwd = None,
    mcp: options.Mcp = None,
    resume: Annotated[
        str | None,
        typer.Option(help="Go on with this session: ours, or one of the agent's own by its id.", autocompletion=options.complete_sessions),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What lists call it.")] = None,
    file: options.Files = None,
    yes: options.Yes = False,
    keep: options.Keep = False,
    json: options.Json = False,
) -> None:
    """Run an agent: what it does is shown as it happens, what it asks is asked here.

    Ctrl-C interrupts the turn, twice it ends the session. Exit code 0: the turn was completed. 1: it failed or was
    interrupted. 2: it could not be started.
    """
    from onetape.agents import registry

    registry.find(agent)
    told = {
        "model": model, "variant": variant, "agent_mode": mode, "permission_mode": permission_mode, "title": title,
        "mcp": options.mcp_servers(mcp),
    }  # fmt: skip
    directory = _directory(cwd)

    async def opened(exchange: "Exchange") -> "Line":
        known = _known(resume, agent) if resume is not None else None
        if known is not None:
            changes = {**told, "directory": directory if cwd is not None else None}
            return await exchange.resume(known, {name: value for name, value in changes.items() if value is not None})
        return await exchange.create(agent, directory, {**told, "resume": resume})

    _talk(opened, prompt, file, yes=yes, keep=keep, json=json)


def resume(
    session: options.SessionName,
    prompt: options.Prompt = None,
    model: options.Model = None,
    variant: options.Variant = None,
    mode: options.Mode = None,
    permission_mode: options.PermissionMode = None,
    file: options.Files = None,
    yes: options.Yes = False,
    keep: options.Keep = False,
    json: options.Json = False,
) -> None:
    """Go on with a session that is over, as a new one. Exit codes as of `run`."""
    from onetape.cli.shelf import find, shelf

    with shelf() as kept:
        known = find(kept, session).session_id
    told = {"model": model, "variant": variant, "agent_mode": mode, "permission_mode": permission_mode}
    changes = {name: value for name, value in told.items() if value is not None}
    _talk(lambda exchange: exchange.resume(known, changes), prompt, file, yes=yes, keep=keep, json=json)


def _talk(opened: Opened, prompt: str | None, file: list[Path] | None, *, yes: bool, keep: bool, json: bool) -> None:
    files = options.attached(file)
    message = _message(prompt, may_be_empty=keep)
    raise typer.Exit(asyncio.run(_hold(opened, message, files, yes=yes, keep=keep, json=json)))


async def _hold(opened: Opened, message: str | None, files: list[str], *, yes: bool, keep: bool, json: bool) -> int:
    from onetape.cli.asking import whoever_is_here
    from onetape.cli.lines import exchange
    from onetape.cli.screens import Ndjson, Readable
    from onetape.cli.talk import Talk

    screen = Ndjson() if json else Readable()
    async with exchange() as sessions:
        if keep and not sessions.is_daemon:
            raise Refused("--keep leaves the session to a daemon, and none runs here: `onetape server` starts one")
        line = await opened(sessions)
        if message is None and not sys.stdin.isatty():
            print(line.id)
            return 0
        talk = Talk(line, screen, whoever_is_here(allows=yes), converses=message is None, owns=not keep)
        try:
            is_well = await talk.hold(message, files)
        except OnetapeError as error:
            screen.say(f"onetape: {error}")
            return 1
        if not json and sys.stderr.isatty():
            screen.say(f"{'attach to it' if keep else 'go on'}: onetape {'attach' if keep else 'resume'} {line.id}")
        return 0 if is_well else 1


def _message(prompt: str | None, *, may_be_empty: bool) -> str | None:
    """What to say first; None: it is typed, or nothing is said at all."""
    if prompt is None and sys.stdin.isatty():
        return None
    said = sys.stdin.read() if prompt in (None, "-") else prompt
    if not said.strip():
        if may_be_empty:
            return None
        raise Refused("there is nothing to say: the prompt is empty")
    return said.rstrip("\n") if prompt != said else said


def _directory(cwd: Path | None) -> str:
    directory = (cwd or Path.cwd()).resolve()
    if not directory.is_dir():
        raise Refused(f"there is no directory {directory}")
    return str(directory)


def _known(name: str, agent: str) -> str | None:
    """Our session of this name; None: it is the agent's own word."""
    from onetape.cli.shelf import find, shelf
    from onetape.errors import Missing

    try:
        with shelf() as kept:
            known = find(kept, name)
    except Missing:
        return None
    if known.agent != agent:
        raise Refused(f"session {known.session_id} is one of {known.agent}, not of {agent}")
    return known.session_id
