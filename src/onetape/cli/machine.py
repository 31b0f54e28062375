"""`onetape install` and `onetape doctor`: the agents on this machine."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from onetape.machine.health import AgentHealth

def install(
    agent: Annotated[str, typer.Argument(help="Which one (`onetape agents` lists them).")],
    reinstall: Annotated[bool, typer.Option("--reinstall", help="Also where it is there already.")] = False,
    version: Annotated[str | None, typer.Option("--version", help="Another version than the newest tested one.")] = None,
    json: Annotated[bool, typer.Option("--json", help="What was installed, as a JSON object.")] = False,
) -> None:
    """Install an agent with npm, into Onetape's data directory."""
    from onetape import machine
    from onetape.agents import registry
    from onetape.schema import to_json

    whose = registry.find(agent)
    with _progress() as progress:
        found = asyncio.run(machine.install(whose, version=version, reinstall=reinstall, progress=progress))
    if json:
        print(to_json({"agent": agent, "version": found.version, "path": found.path}).decode())
    else:
        print(f"{whose.title} {found.version}: {found.path}")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Lines on stderr; on a terminal one line that changes."""
    if not sys.stderr.isatty():
        yield lambda line: print(line, file=sys.stderr)
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("…") as status:
        yield lambda line: status.update(escape(line))


def doctor(json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False) -> None:
    """Say for each agent where it is, whether it was tested and is logged in, and what to do.

    Exit code 1: the data directory cannot be used, so nothing can be.
    """
    from onetape.agents import registry
    from onetape.machine import health
    from onetape.schema import to_json

    data = health.data_directory()
    agents = asyncio.run(health.examine(registry.every())) if data.writable else []
    npm = asyncio.run(health.npm())
    if json:
        for told in (*agents, npm, data):
            print(to_json(told).decode())
    else:
        if agents:
            _show(agents)
        print(f"\nnpm             {npm.path or 'not found'} {npm.version or ''} · {npm.advice}")
        print(f"data directory  {data.path or 'none'} · {data.advice}")
    raise typer.Exit(0 if data.writable else 1)


def _show(agents: "list[AgentHealth]") -> None:
    """What is, as a table that cuts no path short; then what to do."""
    rows = [("agent", "version", "tested", "logged in", "found"), *map(_row, agents)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if wanting := [told for told in agents if not told.is_ready]:
        print("\nWhat to do:")
        for told in wanting:
            print(f"  {told.agent.ljust(widths[0])}  {told.advice}")


def _row(told: "AgentHealth") -> tuple[str, ...]:
    tested = ("yes" if told.tested else "no") if told.path else "–"
    where = "built in" if told.origin == "builtin" else told.path or "no"
    return told.agent, told.version or "–", tested, "yes" if told.logged_in else "no", where
