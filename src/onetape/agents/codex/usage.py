"""What a turn was billed, out of Codex's running totals.

`tokenUsage.total` counts a thread from its birth, over resumes and forks; `last` is
an estimate around a compaction (capture 27) and is never summed. So: differences of
totals, over the session's thread and those of its subagents, since the last turn end.
"""

from typing import Any

from onetape.schema import Usage

_COUNTS = ("input", "cached", "written", "output", "reasoning")
_WIRE = ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens")
_SNAKE = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")

Counts = tuple[int, ...]
ZERO: Counts = (0,) * len(_COUNTS)


class Meter:
    def __init__(self) -> None:
        self._totals: dict[str, Counts] = {}
        self._billed: Counts = ZERO
        self._was_told = False

    def born(self, thread: str) -> None:
        """A thread that has used nothing yet."""
        self._totals.setdefault(thread, ZERO)

    def told(self, thread: str, total: Any, last: Any, *, in_turn: bool) -> None:
        """A new total. The first one of a thread that goes on is its baseline, less what it was just billed."""
        now, latest = counts(total), counts(last)
        before = self._totals.get(thread)
        if before is None:
            before = _less(now, latest) if in_turn else now
        self._totals[thread] = now
        self._was_told = self._was_told or in_turn or now != before
        self._billed = tuple(sum(pair) for pair in zip(self._billed, _less(now, before), strict=True))

    def baseline(self, thread: str, total: Any) -> None:
        self._totals[thread] = counts(total)

    def take(self, model: Any) -> Usage | None:
        """What was billed since this was last asked; None where nothing was told. `model`: as the settings told it."""
        billed, was_told = self._billed, self._was_told
        self._billed, self._was_told = ZERO, False
        if not was_told:
            return None
        read, cached, written, output, reasoning = billed
        return Usage(
            input_tokens=max(0, read - cached - written), output_tokens=output, reasoning_tokens=reasoning,
            cache_read_tokens=cached, cache_write_tokens=written,
            model=model if isinstance(model, str) else None,
        )  # fmt: skip


def counts(told: Any) -> Counts:
    """The five counts of a total, in camelCase (wire) or snake_case (rollout, exec); older versions lack some."""
    names = _WIRE if "inputTokens" in told else _SNAKE
    return tuple(int(told.get(name) or 0) for name in names)


def _less(now: Counts, before: Counts) -> Counts:
    # A total that shrank was begun anew: a reverted thread counts from where it was reverted to.
    return tuple(max(0, after - earlier) for after, earlier in zip(now, before, strict=True))
