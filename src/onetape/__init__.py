"""Onetape: one transcript of any coding agent's session, streamed or re-derived from the original bytes.

    import onetape

    for event in onetape.transcribe(open("session.jsonl", "rb"), agent="…"):
        print(event.sequence, onetape.type_of(event))

Names are loaded when they are first used: `import onetape` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onetape.promises import Violation, check
    from onetape.schema import Event, Item, to_json, type_of
    from onetape.transcribe import Transcriber, transcribe

__all__ = ["transcribe", "Transcriber", "check", "Violation", "Event", "Item", "to_json", "type_of"]

_HOMES = {
    "transcribe": "onetape.transcribe",
    "Transcriber": "onetape.transcribe",
    "check": "onetape.promises",
    "Violation": "onetape.promises",
    "Event": "onetape.schema",
    "Item": "onetape.schema",
    "to_json": "onetape.schema",
    "type_of": "onetape.schema",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'onetape' has no attribute {name!r}")
    # `onetape.transcribe` is a function and a module: the function is what people mean.
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
