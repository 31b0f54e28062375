"""`onetape sessions` and `onetape show`: what is kept, read without a daemon."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onetape.cli import options

if TYPE_CHECKING:
    from onetape.info import SessionInfo

MOST = 30
"""Of a list for a person; programs get all."""
SHORT = 13
"""As much of an id of ours as tells sessions apart."""
COLUMNS = ("session", "agent", "status", "last", "title", "spent", "directory")
STATUS, TITLE = COLUMNS.index("status"), COLUMNS.index("title")
ENOUGH = 24
"""Cells of a title that tell what it is."""
STYLES = {"running": "green", "waiting": "bold yellow", "idle": "cyan", "died": "red"}


def sessions(
    words: Annotated[str | None, typer.Argument(help="Only those whose title, directory or id has this in it.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent's.", autocompletion=options.complete_agents)] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help=f"At most so many. Default for people: {MOST}.")] = None,
    json: options.Json = False,
) -> None:
    """List the sessions, newest first."""
    from onetape.cli.shelf import shelf
    from onetape.schema import to_json

    with shelf() as kept:
        if json:
            for info in kept.infos(agent=agent, q=words, limit=limit):
                sys.stdout.buffer.write(to_json(info) + b"\n")
            sys.stdout.buffer.flush()
            return
        found = kept.infos(agent=agent, q=words, limit=limit or MOST + 1)
        died = {info.session_id for info in found if not info.ended and (owner := kept.owner(info.session_id)) and not owner.is_alive}
    _print_table(found[: limit or MOST], died)
    if not found:
        print("no sessions", file=sys.stderr)
    elif limit is None and len(found) > MOST:
        print(f"and older ones: `onetape sessions --limit N` shows more (this is {MOST})", file=sys.stderr)


def show(
    session: options.AnySession = None,
    json: Annotated[bool, typer.Option("--json", help="The events as they are stored, one a line.")] = False,
    include_raw: Annotated[bool, typer.Option("--include-raw", help="With --json: beside each event what the agent said.")] = False,
) -> None:
    """Show the transcript of a session."""
    from onetape.cli.shelf import find, shelf

    with shelf() as kept:
        events = kept.events(find(kept, session).session_id, raw=include_raw and json)
        if json:
            for event in events:
                sys.stdout.buffer.write(event + b"\n")
            sys.stdout.buffer.flush()
            return
        import msgspec

        from onetape.cli.pretty import Pretty
        from onetape.schema import Event

        pretty, decode = Pretty(), msgspec.json.Decoder(Event).decode
        for event in events:
            pretty.show(decode(event))


def _print_table(found: "list[SessionInfo]", died: set[str]) -> None:
    from rich.text import Text

    from onetape.cli.pretty import screen

    console, rows = screen(), [_cells(info, found, died) for info in found]
    widths = _widths(rows, console.width)
    for row in [COLUMNS, *rows] if rows else []:
        line = Text()
        for at, width in enumerate(widths):
            cell = Text(row[at], "dim" if row is COLUMNS else STYLES.get(row[at], "dim") if at == STATUS else "")
            cell.truncate(width, overflow="ellipsis", pad=at < len(widths) - 1)
            line.append_text(cell).append("  ")
        line.rstrip()
        console.print(line, soft_wrap=True)


def _widths(rows: list[tuple[str, ...]], room: int) -> list[int]:
    """Of each column that fits: where there is little room the last ones are left out, then titles are cut, and nothing else."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    while True:
        left = room - sum(widths) + widths[TITLE] - 2 * (len(widths) - 1)
        if left >= min(widths[TITLE], ENOUGH) or len(widths) == TITLE + 1:
            return [*widths[:TITLE], max(ENOUGH // 2, min(widths[TITLE], left)), *widths[TITLE + 1 :]]
        widths.pop()


def _cells(info: "SessionInfo", among: "list[SessionInfo]", died: set[str]) -> tuple[str, ...]:
    from onetape.cli.pretty import visible

    status = "died" if info.session_id in died else info.status
    spent = " · ".join(filter(None, (f"{info.turns} turns" if info.turns != 1 else "1 turn", _cost(info.usage.cost_usd))))
    told = _short(info.session_id, among), info.agent, status, _ago(info.updated_at), info.title or "", spent, _home(info.directory)
    return tuple(map(visible, told))


def _short(id: str, among: "list[SessionInfo]") -> str:
    """Enough of it to name it by."""
    short = id[:SHORT]
    return short if sum(other.session_id.startswith(short) for other in among) == 1 else id


def _ago(milliseconds: int) -> str:
    seconds = max(0, int(time.time() - milliseconds / 1000))
    for length, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds // length}{unit} ago"
    return f"{seconds}s ago"


def _cost(dollars: float | None) -> str:
    return f"${dollars:.4f}" if dollars and dollars >= 0.00005 else ""


def _home(directory: str | None) -> str:
    home = str(Path.home())
    return f"~{directory[len(home) :]}" if directory and (directory + "/").startswith(home + "/") else directory or ""
