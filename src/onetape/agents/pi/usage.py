"""What a turn was billed: the sum of what its messages, summaries and tools tell.

Each assistant message tells its own usage, once, at its end; nothing here is a running total
(`message_update.usage` is one, within a message, and is not read). A compaction between two turns
counts for the next one. `reasoning` is a part of `output` (docs/message-types.md), and `input`
is without cached tokens already.
"""

from collections import defaultdict
from typing import Any

from onetape.schema import Usage

_NUMBER = (int, float)
_COUNTS = ("input", "output", "reasoning", "cacheRead", "cacheWrite")


class Meter:
    def __init__(self) -> None:
        self._sums: defaultdict[str, int] = defaultdict(int)
        self._cost: float | None = None
        self._model: str | None = None

    def add(self, told: Any, model: Any = None) -> None:
        """`told`: a native usage, or nothing where a version does not tell it."""
        self._model = model if isinstance(model, str) else self._model
        if not isinstance(told, dict):
            return
        sums = self._sums
        for name in _COUNTS:
            count = told.get(name)
            if type(count) is int:  # always, in practice
                sums[name] += count
            elif isinstance(count, _NUMBER):
                sums[name] += int(count)
        cost = told.get("cost")  # None for a model without prices
        if isinstance(cost, dict) and isinstance(dollars := cost.get("total"), _NUMBER):
            self._cost = (self._cost or 0.0) + dollars

    def read(self) -> Usage | None:
        """Everything since the last reading; None where nothing was told."""
        sums, cost = self._sums, self._cost
        self._sums, self._cost = defaultdict(int), None
        if not sums:
            return None
        return Usage(
            input_tokens=sums.get("input"),
            output_tokens=sums.get("output"),
            reasoning_tokens=sums.get("reasoning"),
            cache_read_tokens=sums.get("cacheRead"),
            cache_write_tokens=sums.get("cacheWrite"),
            cost_usd=None if cost is None else round(cost, 12),
            model=self._model,
        )
