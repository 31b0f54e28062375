"""What a turn was billed: Amp tells each model call's usage and never a sum, a cost or (on the wire) the model."""

from typing import Any

from msgspec import UNSET

from onetape.agents.amp import plain
from onetape.schema import Usage

# The wire's names and those of a thread file.
_COUNTS = {
    "input_tokens": "input_tokens", "inputTokens": "input_tokens",
    "output_tokens": "output_tokens", "outputTokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens", "cacheReadInputTokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens", "cacheCreationInputTokens": "cache_write_tokens",
}  # fmt: skip


class Meter:
    """The sums since they were last taken; a count that was never told is none."""

    def __init__(self) -> None:
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cache_read_tokens: int | None = None
        self.cache_write_tokens: int | None = None
        self._model: str | None = None

    def add(self, told: Any, model: Any = None) -> None:
        if not isinstance(told, dict):
            return
        for native, count in told.items():
            if native in _COUNTS and isinstance(count, int):
                ours = _COUNTS[native]
                setattr(self, ours, (getattr(self, ours) or 0) + count)
        model = told.get("model") or model
        self._model = model if isinstance(model, str) else self._model

    def count(self, told: plain.Usage) -> None:
        """The same of what most messages tell."""
        if (count := told.input_tokens) is not UNSET:
            self.input_tokens = (self.input_tokens or 0) + count
        if (count := told.output_tokens) is not UNSET:
            self.output_tokens = (self.output_tokens or 0) + count
        if (count := told.cache_read_input_tokens) is not UNSET:
            self.cache_read_tokens = (self.cache_read_tokens or 0) + count
        if (count := told.cache_creation_input_tokens) is not UNSET:
            self.cache_write_tokens = (self.cache_write_tokens or 0) + count

    def take(self) -> Usage | None:
        """The usage since it was last taken; None if none was told."""
        input, output, read, write = self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens
        if input is output is read is write is None:
            return None
        self.input_tokens = self.output_tokens = self.cache_read_tokens = self.cache_write_tokens = None
        return Usage(input, output, None, read, write, None, self._model)
