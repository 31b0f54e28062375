"""What a turn was billed: Amp tells each model call's usage and never a sum, a cost or (on the wire) the model."""

from typing import Any

from onetape.schema import Usage

# The wire's names and those of a thread file.
_COUNTS = {
    "input_tokens": "input_tokens", "inputTokens": "input_tokens",
    "output_tokens": "output_tokens", "outputTokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens", "cacheReadInputTokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens", "cacheCreationInputTokens": "cache_write_tokens",
}  # fmt: skip


class Meter:
    def __init__(self) -> None:
        self._sum: dict[str, int] = {}
        self._model: str | None = None

    def add(self, told: Any, model: Any = None) -> None:
        if not isinstance(told, dict):
            return
        sums = self._sum
        for native, count in told.items():
            if native in _COUNTS and isinstance(count, int):
                ours = _COUNTS[native]
                sums[ours] = sums[ours] + count if ours in sums else count
        model = told.get("model") or model
        self._model = model if isinstance(model, str) else self._model

    def take(self) -> Usage | None:
        """The usage since it was last taken; None if none was told."""
        told, self._sum = self._sum, {}
        if not told:
            return None
        count = told.get
        return Usage(
            count("input_tokens"), count("output_tokens"), None, count("cache_read_tokens"), count("cache_write_tokens"), None, self._model
        )
