"""What a turn was billed: out of Claude Code's running totals on the wire, out of its messages in a history.

`result.usage` counts the main loop alone and is 0 after /compact, an abort or a
budget stop though tokens were billed; `modelUsage` is a total since the process
began (2.1.326: since the session began, also across --resume). So: what 2.1.326
tells as `model_usage_since_last_result`, else the difference of the totals.
"""

from typing import Any

from onetape.recent import Recent
from onetape.schema import Usage

_COUNTS = {
    "inputTokens": "input_tokens", "outputTokens": "output_tokens", "thinkingTokens": "reasoning_tokens",
    "cacheReadInputTokens": "cache_read_tokens", "cacheCreationInputTokens": "cache_write_tokens", "costUSD": "cost_usd",
}  # fmt: skip


class Meter:
    def __init__(self) -> None:
        self._total: dict[str, float] = {}

    def reset(self) -> None:
        """A new process counts from the beginning."""
        self._total = {}

    def read(self, result: dict[str, Any], model: str | None) -> Usage | None:
        """The usage of the turn that this result ends."""
        if isinstance(since := result.get("model_usage_since_last_result"), dict):
            return _usage(_sum(since), model)
        if not isinstance(models := result.get("modelUsage"), dict):
            return None
        total, before = _sum(models), self._total
        self._total = total
        if any(total.get(name, 0) < value for name, value in before.items()):
            before = {}  # it was reset (/clear)
        return _usage({name: value - before.get(name, 0) for name, value in total.items()}, model)


_MESSAGE_COUNTS = {
    "input_tokens": "input_tokens", "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens", "cache_creation_input_tokens": "cache_write_tokens",
}  # fmt: skip

# Lines of one message follow each other closely; a message this far back is not told again.
REMEMBERED = 1024


class MessageMeter:
    """A history tells usage per message, on each of its lines, and not always the final one on the first.

    So the last line of a message counts, and once. What a message cost is not told.
    """

    def __init__(self) -> None:
        self._counted: Recent[str, dict[str, int]] = Recent(REMEMBERED)
        self._turn: dict[str, int] = {}

    def add(self, message: str, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counts, before = _counts(usage), self._counted.get(message)
        if counts == before and counts.keys() <= self._turn.keys():
            return  # it stands on each line of its message
        self._counted[message] = counts
        for name, count in counts.items():
            self._turn[name] = self._turn.get(name, 0) + count - (before.get(name, 0) if before else 0)

    def take(self, model: str | None) -> Usage | None:
        """What was billed since the last turn end."""
        told, self._turn = self._turn, {}
        return Usage(**told, model=model) if told else None


def _counts(usage: dict[str, Any]) -> dict[str, int]:
    counts = {ours: usage[theirs] for theirs, ours in _MESSAGE_COUNTS.items() if isinstance(usage.get(theirs), int)}
    match usage:
        case {"output_tokens_details": {"thinking_tokens": int(thinking)}}:
            counts["reasoning_tokens"] = thinking
        case _:
            pass  # 2.1.197 and older do not tell them apart
    return counts


def _sum(models: dict[str, Any]) -> dict[str, float]:
    total: dict[str, float] = {}
    for counts in models.values():
        for native, ours in _COUNTS.items():
            if isinstance(value := counts.get(native), int | float):
                total[ours] = total.get(ours, 0) + value
    return total


def _usage(told: dict[str, float], model: str | None) -> Usage:
    def tokens(name: str) -> int | None:
        return int(told[name]) if name in told else None

    return Usage(
        input_tokens=tokens("input_tokens") if told else 0,
        output_tokens=tokens("output_tokens") if told else 0,
        reasoning_tokens=tokens("reasoning_tokens"),
        cache_read_tokens=tokens("cache_read_tokens") if told else 0,
        cache_write_tokens=tokens("cache_write_tokens") if told else 0,
        cost_usd=round(told.get("cost_usd", 0.0), 12),
        model=model,
    )
