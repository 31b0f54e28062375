"""What the lab must know of an agent, beyond what the product knows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from lab.script import Answer, Tool


class Subject(Struct, frozen=True, kw_only=True):
    name: str
    settle: Callable[[Path, str], dict[str, str]]
    """Writes its configuration below a home directory, so that it asks the model at this address; gives its environment."""

    # Its tools, in the spelling of the model API that it asks.
    shell: Callable[[str], Tool]
    edit: Callable[[Path, str, str], list[Answer]]
    """What the model says to have these words of a file replaced by those; some agents want it read before."""
    ask: Callable[[str, list[str]], Tool] | None = None
    mcp: Callable[[str, str, dict[str, Any]], Tool] | None = None

    model: str | None = None
    """A model to choose that is not its default, as a client names it."""
    variant: str | None = None
    heard: tuple[str, str | None] = ("", None)
    """The model and the effort that then reach the model API."""
    questions: dict[str, str] = field(default_factory=dict)
    """What a session must be created with to be asked questions."""
    streams: bool = True
    """It tells an answer piece by piece."""
    steers: bool = False
    """It takes a message while a turn runs."""
    stops_when_rejected: bool = False
    """A rejected ask ends its turn: the model is not told."""
    ends_with_an_error: bool = False
    """An error of the model ends the process."""
    forgets_when_cut_off: bool = False
    """Interrupted in its first answer it leaves nothing behind that could be gone on with."""
    lacks: dict[str, str] = field(default_factory=dict)
    """Scenarios that it cannot play, and why."""


def choices(options: list[str]) -> list[dict[str, str]]:
    """What a question lets one choose from; the same in every agent's tool."""
    return [{"label": option, "description": f"Take {option}"} for option in options]
