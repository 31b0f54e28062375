"""What a turn was billed: Amp tells each model call's usage and never a sum, a cost or (on the wire) the model."""

from typing import Any

from onetape.agents.amp import plain
from onetape.schema import Usage

# A thread file's names, and those of the wire.
_COUNTS = {
    "inputTokens": "input_tokens", "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens", "cacheCreationInputTokens": "cache_creation_input_tokens",
}  # fmt: skip
_NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# So many calls of the model are summed at once, and the sum stands for them.
_TOGETHER = 64


class Meter:
    """The sums since they were last taken; a count that was never told is none."""

    def __init__(self) -> None:
        self._calls: list[plain.Usage] = []
        self._model: str | None = None

    def add(self, told: Any, model: Any = None) -> None:
        if not isinstance(told, dict):
            return
        counts = {_COUNTS.get(native, native): int(count) for native, count in told.items() if isinstance(count, int)}
        self.count(plain.Usage(*map(counts.get, _NAMES)))  # type: ignore[arg-type]
        model = told.get("model") or model
        self._model = model if isinstance(model, str) else self._model

    def count(self, told: plain.Usage) -> None:
        self._calls.append(told)
        if len(self._calls) == _TOGETHER:
            self._calls = [_summed(self._calls)]

    def take(self) -> Usage | None:
        """The usage since it was last taken; None if none was told."""
        if not self._calls:
            return None
        told = self._calls[0] if len(self._calls) == 1 else _summed(self._calls)
        self._calls = []
        usage = Usage(
            told.input_tokens, told.output_tokens, None, told.cache_read_input_tokens, told.cache_creation_input_tokens, None, self._model
        )
        return None if all(getattr(told, name) is None for name in _NAMES) else usage


def _summed(calls: list[plain.Usage]) -> plain.Usage:
    return plain.Usage(*(_sum([getattr(call, name) for call in calls]) for name in _NAMES))  # type: ignore[arg-type]


def _sum(counts: list[int | None]) -> int | None:
    told = [count for count in counts if count is not None]
    return sum(told) if told else None
