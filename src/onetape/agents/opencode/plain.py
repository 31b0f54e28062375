"""The events that most of a session is made of, as structs of the few fields that matter, and the parts that every dialect reads as such.

What a call's state and a message's times hold is looked at field by field, as it varies. A field that is None here
makes any event that says something there take the ordinary way, as does any other shape.
"""

from typing import Any, Literal

from msgspec import UNSET, Struct

from onetape.agents.opencode import wire


class Times(Struct, frozen=True, gc=False):
    created: Any = None
    completed: Any = None
    start: Any = UNSET
    end: Any = None


class Text(Struct, tag="text", frozen=True, gc=False):
    id: str
    messageID: str
    sessionID: str
    text: str
    time: Times | None = None


class Reasoning(Text, tag="reasoning", frozen=True, gc=False):
    metadata: dict[str, Any] | None = None


class State(Struct, frozen=True, gc=False):
    """What there is of a call. Each tool tells what it likes."""

    status: Any = None
    input: Any = None
    output: Any = None
    error: Any = None
    metadata: Any = None
    time: Any = None
    attachments: Any = None


class Tool(Struct, tag="tool", frozen=True, gc=False):
    id: str
    messageID: str
    sessionID: str
    tool: str
    callID: str
    state: State


class StepStart(Struct, tag="step-start", frozen=True, gc=False):
    id: str
    messageID: str
    sessionID: str


class Cached(Struct, frozen=True, gc=False):
    read: int = 0
    write: int = 0


class Tokens(Struct, frozen=True, gc=False):
    input: int
    output: int
    reasoning: int = 0
    cache: Cached = Cached()


class StepFinish(Struct, tag="step-finish", frozen=True, gc=False):
    id: str
    messageID: str
    sessionID: str
    tokens: Tokens
    cost: Any = None


Part = Text | Reasoning | Tool | StepStart | StepFinish


class Path(Struct, frozen=True, gc=False):
    cwd: Any = None


class Info(Struct, frozen=True, gc=False):
    """A call of the model."""

    id: str
    sessionID: str
    role: Literal["assistant"]
    providerID: Any = None
    modelID: Any = None
    time: Times | None = None
    path: Path | None = None
    summary: Any = None
    finish: Any = None
    error: Any = None


class Parted(Struct, frozen=True, gc=False):
    sessionID: str
    part: Part


class Informed(Struct, frozen=True, gc=False):
    sessionID: str
    info: Info
    part: None = None


class PartUpdated(Struct, tag="message.part.updated", frozen=True, gc=False):
    properties: Parted
    payload: None = None


class PartDelta(Struct, tag="message.part.delta", frozen=True, gc=False):
    properties: wire.Words
    payload: None = None


class MessageUpdated(Struct, tag="message.updated", frozen=True, gc=False):
    properties: Informed
    payload: None = None


# --- the same of what was looked at field by field ---


def times(told: Any) -> Times | None:
    return Times(told.get("created"), told.get("completed"), told.get("start", UNSET), told.get("end")) if told else None


def path(told: Any) -> Path | None:
    return Path(told.get("cwd")) if isinstance(told, dict) else None


def info(told: dict[str, Any]) -> Info:
    model = told.get("providerID"), told.get("modelID")
    rest = (told.get(name) for name in ("summary", "finish", "error"))
    return Info(told["id"], told["sessionID"], "assistant", *model, times(told.get("time")), path(told.get("path")), *rest)


def text(part: dict[str, Any]) -> Text | Reasoning:
    told = part["id"], part["messageID"], part["sessionID"], part["text"], times(part.get("time"))
    return Text(*told) if part["type"] == "text" else Reasoning(*told, part.get("metadata"))


def tool(part: dict[str, Any]) -> Tool:
    told = part["state"]
    state = State(*map(told.get, State.__struct_fields__))
    return Tool(part["id"], part["messageID"], part["sessionID"], part["tool"], part["callID"], state)


def tokens(told: dict[str, Any]) -> Tokens:
    cache, written, reasoning = told.get("cache") or {}, told["output"], told.get("reasoning") or 0
    cached = Cached(int(cache.get("read") or 0), int(cache.get("write") or 0))
    return Tokens(int(told["input"] or 0), int(written + reasoning) - int(reasoning), int(reasoning), cached)
