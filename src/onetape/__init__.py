"""Onetape: one transcript of any coding agent's session, streamed or re-derived from the original bytes.

    import onetape

    for event in onetape.transcribe(open("session.jsonl", "rb"), agent="…"):
        print(event.sequence, onetape.type_of(event))
"""

from typing import TYPE_CHECKING, Any

from onetape.digest import digest
from onetape.errors import AgentFailed, OnetapeError, Refused, Unparsed
from onetape.schema import Event, Item, to_json, type_of
from onetape.transcribe import Transcriber, transcribe

__version__ = "0.1.0"

__all__ = [
    "transcribe", "Transcriber", "digest", "check", "Violation", "Event", "Item", "to_json", "type_of",
    "OnetapeError", "Unparsed", "Refused", "AgentFailed",
]  # fmt: skip

if TYPE_CHECKING:
    from onetape.promises import Violation, check


def __getattr__(name: str) -> Any:
    """The checker is imported when it is asked for: who only reads transcripts starts faster without it."""
    if name in ("check", "Violation"):
        from onetape import promises

        return getattr(promises, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
