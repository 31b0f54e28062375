"""Tokens and money, by day, agent, model, session or directory, each cost with where it comes from.

Turns are the unit: what a turn was billed is said once, at its end, subagents and
compactions included, as a difference and never as a running total (the recorder's
and the translators' work). A turn that stands in several sessions, as forks have
them, is given here once (the store's work). So all that is left is to add.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from onetape.errors import Refused
from onetape.prices import cost_of
from onetape.projection import Turn
from onetape.schema import Usage

By: TypeAlias = Literal["session", "agent", "model", "day", "directory"]
GROUPINGS: tuple[str, ...] = get_args(By)


class Bill(Struct, frozen=True):
    """One turn, and whose it was."""

    session_id: str
    agent: str
    directory: str | None
    turn: Turn


class Row(Struct, rename="camel"):
    """What was used under one heading. `cost_usd` is the sum of what agents told and what the price list makes of the rest."""

    key: str | None
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    told_usd: float | None = None
    computed_usd: float | None = None
    unpriced_tokens: int = 0
    """Tokens of models that nobody has told a price of: they are in no sum of money."""

    def add(self, usage: Usage) -> None:
        self.turns += 1
        for name in TOKENS:
            setattr(self, name, getattr(self, name) + (getattr(usage, name) or 0))
        if usage.cost_usd is not None:
            self.told_usd = (self.told_usd or 0.0) + usage.cost_usd
        elif (cost := cost_of(usage)) is not None:
            self.computed_usd = (self.computed_usd or 0.0) + cost
        else:
            # Reasoning is part of the output.
            self.unpriced_tokens += sum(getattr(usage, name) or 0 for name in TOKENS if name != "reasoning_tokens")
        if self.told_usd is not None or self.computed_usd is not None:
            self.cost_usd = (self.told_usd or 0.0) + (self.computed_usd or 0.0)


TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")


def ledger(bills: Iterable[Bill], by: str = "day") -> list[Row]:
    """One row a heading: days in their order, all else the dearest first."""
    if by not in GROUPINGS:
        raise Refused(f"usage is told by {', '.join(GROUPINGS)}, not by {by!r}")
    rows: dict[str | None, Row] = {}
    for bill in bills:
        key = _key(bill, by)
        rows.setdefault(key, Row(key)).add(bill.turn.usage)
    if by == "day":
        return sorted(rows.values(), key=lambda row: row.key or "")
    return sorted(rows.values(), key=lambda row: (-(row.cost_usd or 0.0), -row.output_tokens, row.key or ""))


def total(rows: Iterable[Row]) -> Row:
    whole = Row("total")
    for row in rows:
        whole.turns += row.turns
        whole.unpriced_tokens += row.unpriced_tokens
        for name in (*TOKENS, "cost_usd", "told_usd", "computed_usd"):
            if (value := getattr(row, name)) is not None:
                setattr(whole, name, (getattr(whole, name) or 0) + value)
    return whole


def _key(bill: Bill, by: str) -> str | None:
    match by:
        case "session":
            return bill.session_id
        case "agent":
            return bill.agent
        case "model":
            return bill.turn.usage.model
        case "directory":
            return bill.directory
        case _:
            return datetime.fromtimestamp(bill.turn.time / 1000, UTC).date().isoformat()
