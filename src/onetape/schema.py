"""The universal schema: every event, item and part that a transcript may hold.

Types and their JSON form, nothing else: no rule about order (promises.py) and
no rule about how an agent's words become these (recorder.py, agents/).

"Omitted when empty" is `UNSET`; "null when untold" is `None`. An event is a
tagged union on `type`, so a typed reader is one call:

    msgspec.json.decode(line, type=schema.Event)

`gc=False`: nothing here can hold itself, so the cycle collector need not look.
"""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

ItemKind: TypeAlias = Literal["message", "tool_call", "tool_result", "system", "status", "unknown"]
ItemRole: TypeAlias = Literal["user", "assistant", "system", "tool"]
ItemStatus: TypeAlias = Literal["in_progress", "completed", "failed"]
TurnStatus: TypeAlias = Literal["completed", "failed", "interrupted"]
PermissionStatus: TypeAlias = Literal["requested", "accept", "accept_for_session", "reject"]
QuestionStatus: TypeAlias = Literal["requested", "answered", "rejected"]
FileAction: TypeAlias = Literal["read", "write", "patch"]
Visibility: TypeAlias = Literal["public", "private"]
EndReason: TypeAlias = Literal["completed", "error", "terminated"]
Party: TypeAlias = Literal["agent", "daemon"]

# The closed list: a front end may have a rendering for each.
StatusLabel: TypeAlias = Literal[
    "agent.ready", "retry", "rate_limit", "compaction", "plan", "mode", "model", "mcp", "subagent", "hook", "progress", "notice",
]  # fmt: skip


# --- parts of an item -------------------------------------------------------


class Part(Struct, frozen=True, gc=False, tag_field="type"):
    """What items are made of; the subclasses are the whole list."""


class Text(Part, tag="text", frozen=True):
    text: str


class Json(Part, tag="json", frozen=True):
    json: Any


class ToolCall(Part, tag="tool_call", frozen=True):
    name: str
    arguments: str
    call_id: str


class ToolResult(Part, tag="tool_result", frozen=True):
    call_id: str
    output: str


class FileRef(Part, tag="file_ref", frozen=True):
    path: str
    action: FileAction
    diff: str | None = None


class Reasoning(Part, tag="reasoning", frozen=True):
    text: str
    visibility: Visibility


class Image(Part, tag="image", frozen=True):
    path: str
    mime: str | None = None


class Status(Part, tag="status", frozen=True):
    label: StatusLabel
    detail: str | None = None


ContentPart: TypeAlias = Text | Json | ToolCall | ToolResult | FileRef | Reasoning | Image | Status


class Item(Struct, frozen=True, gc=False):
    item_id: str
    native_item_id: str | None
    parent_id: str | None
    kind: ItemKind
    role: ItemRole | None
    content: list[ContentPart]
    status: ItemStatus


# --- data of each event -----------------------------------------------------


class StartedData(Struct, frozen=True, gc=False):
    metadata: dict[str, Any]


class Stderr(Struct, frozen=True, gc=False):
    truncated: bool
    head: str | UnsetType = UNSET
    tail: str | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET


class EndedData(Struct, frozen=True, gc=False):
    reason: EndReason
    terminated_by: Party
    message: str | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    stderr: Stderr | UnsetType = UNSET


class Usage(Struct, frozen=True, gc=False):
    """What one turn was billed; null where the agent does not tell."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None


class TurnStartedData(Struct, frozen=True, gc=False):
    phase: Literal["started"]
    turn_id: str
    metadata: dict[str, Any] | UnsetType = UNSET


class TurnOutcome(Struct, frozen=True, gc=False):
    status: TurnStatus
    usage: Usage | UnsetType = UNSET
    error: str | UnsetType = UNSET


class TurnEndedData(Struct, frozen=True, gc=False):
    phase: Literal["ended"]
    turn_id: str
    metadata: TurnOutcome


class ItemData(Struct, frozen=True, gc=False):
    item: Item


class DeltaData(Struct, frozen=True, gc=False):
    item_id: str
    native_item_id: str | None
    delta: str


class ErrorData(Struct, frozen=True, gc=False):
    message: str
    code: str | None = None
    details: Any = None


class PermissionData(Struct, frozen=True, gc=False):
    permission_id: str
    action: str
    status: PermissionStatus
    metadata: dict[str, Any]


class Option(Struct, frozen=True, gc=False):
    label: str
    description: str | None = None


class Question(Struct, frozen=True, gc=False):
    id: str
    header: str | None
    prompt: str
    options: list[Option]
    multi_select: bool = False
    answers: list[str] | UnsetType = UNSET


class QuestionData(Struct, frozen=True, gc=False):
    question_id: str
    prompt: str
    options: list[str]
    status: QuestionStatus
    response: str | None = None
    questions: list[Question] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class UnparsedData(Struct, frozen=True, gc=False):
    error: str
    location: str
    raw_hash: str


# --- events -----------------------------------------------------------------


class Envelope(Struct, frozen=True, gc=False, tag_field="type"):
    """What every event carries; the subclasses add `data`, and their tag is `type`."""

    event_id: str
    sequence: int
    time: str
    session_id: str
    native_session_id: str | None
    synthetic: bool
    source: Party


class SessionStarted(Envelope, tag="session.started", frozen=True):
    data: StartedData
    raw: Raw | None = None


class SessionEnded(Envelope, tag="session.ended", frozen=True):
    data: EndedData
    raw: Raw | None = None


class TurnStarted(Envelope, tag="turn.started", frozen=True):
    data: TurnStartedData
    raw: Raw | None = None


class TurnEnded(Envelope, tag="turn.ended", frozen=True):
    data: TurnEndedData
    raw: Raw | None = None


class ItemStarted(Envelope, tag="item.started", frozen=True):
    data: ItemData
    raw: Raw | None = None


class ItemDelta(Envelope, tag="item.delta", frozen=True):
    data: DeltaData
    raw: Raw | None = None


class ItemCompleted(Envelope, tag="item.completed", frozen=True):
    data: ItemData
    raw: Raw | None = None


class Error(Envelope, tag="error", frozen=True):
    data: ErrorData
    raw: Raw | None = None


class PermissionRequested(Envelope, tag="permission.requested", frozen=True):
    data: PermissionData
    raw: Raw | None = None


class PermissionResolved(Envelope, tag="permission.resolved", frozen=True):
    data: PermissionData
    raw: Raw | None = None


class QuestionRequested(Envelope, tag="question.requested", frozen=True):
    data: QuestionData
    raw: Raw | None = None


class QuestionResolved(Envelope, tag="question.resolved", frozen=True):
    data: QuestionData
    raw: Raw | None = None


class AgentUnparsed(Envelope, tag="agent.unparsed", frozen=True):
    data: UnparsedData
    raw: Raw | None = None


Event: TypeAlias = (
    SessionStarted | SessionEnded | TurnStarted | TurnEnded | ItemStarted | ItemDelta | ItemCompleted
    | Error | PermissionRequested | PermissionResolved | QuestionRequested | QuestionResolved | AgentUnparsed
)  # fmt: skip


def type_of(event: Event) -> str:
    """The event's `type`, e.g. "item.delta"."""
    return event.__struct_config__.tag  # type: ignore[return-value]


_encode = msgspec.json.Encoder().encode


def to_json(value: Any) -> bytes:
    """JSON of anything a transcript may hold, numbers no encoder takes included."""
    try:
        return _encode(value)
    except (OverflowError, UnicodeEncodeError):
        # Integers beyond 64 bits (an agent's tool may print any number) keep their digits as text.
        return _encode(_tame(msgspec.to_builtins(value)))


def _tame(value: Any) -> Any:
    match value:
        case dict():
            return {key: _tame(inner) for key, inner in value.items()}
        case list():
            return [_tame(inner) for inner in value]
        case bool():
            return value
        case int() if not -(2**63) <= value < 2**64:
            return str(value)
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case _:
            return value
