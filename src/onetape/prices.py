"""What tokens cost where an agent does not say: from a dated table of list prices that is shipped with onetape.

A model that is not in the table has no price, and never the price of another.
"""

import re
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from onetape.schema import Usage

_DATE = re.compile(r"[-@](20\d{6}|20\d\d-\d\d-\d\d|latest)$")
MILLION = 1_000_000


class Price(Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class Table(Struct, frozen=True):
    date: str
    models: dict[str, Price]


@cache
def table() -> Table:
    return msgspec.json.decode((files("onetape") / "prices.json").read_bytes(), type=Table)


def price_of(model: str | None) -> Price | None:
    """By its name; a provider in front of it and a date behind it make no difference."""
    if model is None:
        return None
    name = model.rpartition("/")[2]
    models = table().models
    return models.get(name) or models.get(_DATE.sub("", name))


def cost_of(usage: Usage) -> float | None:
    """What a turn cost by the list; None where its model, or something that it used, has no price there."""
    price = price_of(usage.model)
    if price is None:
        return None
    parts = (
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens, price.cache_read),
        # Vendors that list no price for writing to the cache charge it as input.
        (usage.cache_write_tokens, price.cache_write if price.cache_write is not None else price.input),
    )
    if any(tokens and cost is None for tokens, cost in parts):
        return None
    return sum(tokens * (cost or 0.0) for tokens, cost in parts if tokens) / MILLION
