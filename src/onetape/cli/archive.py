"""`onetape search` and `onetape usage`: found again, and counted."""

import sys
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
BAR_MOST, BESIDE_BARS = 24, 96
"""How wide a bar may be, and what stands beside it: on a narrow terminal there are none."""


def search(
    words: Annotated[list[str], typer.Argument(help="The words; they mean themselves and nothing else.")],
    agent: Annotated[str | None, typer.Option(help="Only of this agent.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only calls and results of this tool.")] = None,
    path: Annotated[str | None, typer.Option(help="Only where a file is named whose path contains this.")] = None,
    since: Annotated[str | None, typer.Option(help="A day, a time, or how long ago: 2026-11-18, 7d, 12h.")] = None,
    kind: Annotated[str | None, typer.Option(help="message, reasoning, tool_call, tool_result, system, status or error.")] = None,
    limit: Annotated[int, typer.Option(help="How many hits at most.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Find words in all transcripts: messages, reasoning, tool arguments, commands, outputs, file paths. The best hits first.

    Exit code 0: found. 1: nothing found.
    """
    from onetape.agents import registry
    from onetape.cli.shelf import opened
    from onetape.errors import Refused
    from onetape.projection import KINDS
    from onetape.stores.store import Sought

    if agent is not None:
        registry.find(agent)
    if kind is not None and kind not in KINDS:
        raise Refused(f"there is no kind {kind!r}; there are: {', '.join(KINDS)}")
    with opened() as store:
        hits = store.search(Sought(" ".join(words), agent, kind, tool, path, _moment(since), limit))
    for hit in hits:
        _print_json(hit) if json else _print_hit(hit)
    if not hits and not json:
        print("nothing was found", file=sys.stderr)
    raise typer.Exit(0 if hits else 1)


def _print_json(hit: Any) -> None:
    from onetape.schema import to_json
    from onetape.stores.store import BEGINS, ENDS

    passage = hit.passage
    told = {
        "sessionId": hit.session_id, "sequence": passage.sequence, "itemId": passage.item_id, "agent": hit.agent, "kind": passage.kind,
        "tool": passage.tool, "time": passage.time, "snippet": hit.snippet.replace(BEGINS, "").replace(ENDS, ""),
    }  # fmt: skip
    print(to_json(told).decode())


def _print_hit(hit: Any) -> None:
    from datetime import UTC, datetime

    from rich.console import Console
    from rich.text import Text

    from onetape.cli.pretty import visible
    from onetape.stores.store import BEGINS, ENDS

    passage = hit.passage
    day = datetime.fromtimestamp(passage.time / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    console = Console(highlight=False)
    what = f"{passage.kind} {passage.tool}" if passage.tool else passage.kind
    console.print(Text(f"{hit.session_id}:{passage.sequence}", "bold"), Text(f"  {hit.agent} · {what} · {day}", "dim"))
    line = Text("  ")
    for at, piece in enumerate(" ".join(hit.snippet.split()).replace(ENDS, BEGINS).split(BEGINS)):
        line.append(visible(piece), "bold yellow" if at % 2 else "")
    console.print(line)


def usage(
    by: Annotated[str, typer.Option(help="day, agent, model, session or directory.")] = "day",
    since: Annotated[str | None, typer.Option(help="A day, a time, or how long ago: 2026-11-18, 7d, 12h.")] = None,
    until: Annotated[str | None, typer.Option(help="The same.")] = None,
    json: Json = False,
) -> None:
    """Tokens and cost by day, agent, model, session or directory. Days are UTC, as all times here.

    A cost is what the agent told; where it tells none, it is computed from a dated price list and marked ≈. Models without a price are
    counted as unpriced, never as free.
    """
    from onetape.cli.shelf import opened
    from onetape.ledger import ledger
    from onetape.schema import to_json

    with opened() as store:
        rows = ledger(store.billed(_moment(since), _moment(until)), by)
    if json:
        for row in rows:
            print(to_json(row).decode())
    elif rows:
        _print_usage(rows, by)
    else:
        print("no turn with a bill is in the archive: `onetape import` brings histories in", file=sys.stderr)


def _print_usage(rows: list[Any], by: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from onetape.ledger import total
    from onetape.prices import table

    console = Console(highlight=False)
    width = max(0, min(BAR_MOST, console.width - BESIDE_BARS))
    shown = Table(box=None, pad_edge=False)
    shown.add_column(by, overflow="fold", min_width=12)  # a name may go over two lines, a number is never cut
    for name in ("turns", "input", "output", "cache read", "cache write", "cost"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("")
    most = max(_weight(row) for row in rows) or 1
    for row in rows:
        shown.add_row(row.key or "–", *_numbers(row), "█" * round(width * _weight(row) / most))
    if len(rows) > 1:
        shown.add_row("total", *_numbers(total(rows)), "", style="bold")
    console.print(shown)
    whole = total(rows)
    if whole.computed_usd is not None:
        print(f"≈ in part computed from list prices of {table().date}")
    if whole.unpriced_tokens:
        print(f"{whole.unpriced_tokens:,} tokens are of models without a price")


def _weight(row: Any) -> float:
    """What a bar shows: money where there is any, else tokens."""
    return float(row.cost_usd if row.cost_usd is not None else 0.0)


def _numbers(row: Any) -> list[str]:
    cost = "unpriced" if row.cost_usd is None else f"{'≈' if row.computed_usd else ''}${row.cost_usd:,.4f}"
    tokens = (row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
    return [f"{row.turns:,}", *(f"{count:,}" for count in tokens), cost]


def _moment(text: str | None) -> int | None:
    from datetime import UTC, datetime

    from onetape.moments import milliseconds_of

    return None if text is None else milliseconds_of(text, datetime.now(UTC))
