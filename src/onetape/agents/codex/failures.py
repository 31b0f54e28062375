"""What Codex says of a failure beyond its message: `codexErrorInfo` is a word, or an object with the word as its only key."""

from typing import Any

from onetape.agents.codex.content import told


def code_of(error: dict[str, Any]) -> str | None:
    match error.get("codexErrorInfo"):
        case str(word):
            return word
        case {**info} if info:
            return str(next(iter(info)))
        case _:
            return None


def details_of(error: dict[str, Any]) -> Any:
    """A word for `codexErrorInfo` is the code already."""
    info = error.get("codexErrorInfo")
    return told(
        codexErrorInfo=info if isinstance(info, dict) else None,
        additionalDetails=error.get("additionalDetails"),
        misalignment=error.get("misalignment"),
    ) or None
