"""What an agent calls a message: the words by which it tells its own messages apart, outermost first.

`stream_event:content_block_delta:text_delta`, `item/completed:commandExecution`. No agent's words are known here, only
where agents put them; a translator whose agent does it otherwise says so (`Translator.kind_of`).
"""

import re
from typing import Any

UNTYPED = 3
"""How many fields name a message that has no word for itself."""

_TAGS = ("type", "method", "subtype", "kind", "role", "channel")
_MESSAGE = ("role",)
"""The type of a message within a message says nothing: it is a message."""
_TOLD_BY = 2
"""How many tags of one object count: more of them are details, not types."""
_INNER = (
    "event", "assistantMessageEvent", "request", "response", "payload", "params", "properties", "attachment", "item", "part", "delta",
    "message", "info", "data", "msg",
)  # fmt: skip
_DEPTH = 4
_WORD = re.compile(r"[\w./$-]{1,60}")


def kind_of(native: dict[str, Any]) -> str:
    words, told = _tags(native), native
    for _ in range(_DEPTH):
        name = next((name for name in _INNER if isinstance(told.get(name), dict)), None)
        if name is None:
            break
        told = told[name]
        words += [word for word in _tags(told, _MESSAGE if name == "message" else _TAGS) if word not in words]
    return ":".join(words) or "{" + ",".join(sorted(native)[:UNTYPED])[:60] + "}"


def tag_of(told: dict[str, Any]) -> str | None:
    """The word for one of several things that may stand in a list."""
    return next(iter(_tags(told)), None)


def _tags(told: dict[str, Any], names: tuple[str, ...] = _TAGS) -> list[str]:
    found = (told.get(name) for name in names)
    return [word for word in found if isinstance(word, str) and _WORD.fullmatch(word)][:_TOLD_BY]
