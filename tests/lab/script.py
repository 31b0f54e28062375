"""What the scripted model says, in no model API's spelling.

    Text("Hello, world.")                           one request is answered by these words, in three pieces
    Tool("Bash", {"command": "ls"}), Text("Done.")  a call; and when its result comes back, the last words
    (Thinking("Hm."), Text("Yes."))                 several blocks in one answer
    Text("Once upon a time", hold=1)                one piece, then silence until the test lets the model go on

An answer is a step or a tuple of steps; a script is a list of answers, one per request of the agent's main loop.
Nothing here waits or looks at the clock: whoever plays the script does (server.py).
"""

from typing import Any, TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True):
    text: str
    chunks: int = 3
    hold: int | None = None
    """After so many pieces the stream stays open and silent until it is released. 0: before the first."""


class Thinking(Struct, frozen=True):
    text: str
    chunks: int = 2


class Tool(Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | str
    """A string is the input of a freeform tool, which is not JSON."""


class ApiError(Struct, frozen=True):
    """The request is refused. 403 is what no agent tries again: Claude Code answers a 400 by asking for less."""

    status: int = 403
    message: str = "the model refuses this request"


class Hold(Struct, frozen=True):
    """Not said, done: the stream stays open and silent until it is released."""


Step: TypeAlias = Text | Thinking | Tool | ApiError
Answer: TypeAlias = Step | tuple[Step, ...]


def steps(answer: Answer) -> tuple[Step, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def pieces(text: str, count: int) -> list[str]:
    """The text in about so many parts; at least one, which may be empty."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def said(step: Text | Thinking) -> list[str | Hold]:
    """The pieces of a text, and where the model falls silent between them."""
    parts: list[str | Hold] = list(pieces(step.text, step.chunks))
    if isinstance(step, Text) and step.hold is not None:
        parts.insert(step.hold, Hold())
    return parts
