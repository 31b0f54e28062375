"""The mock's wire: one JSON object a line, both ways, told apart by `type`.

These types are the wire: the brain speaks them, the translator reads them, and
README.md explains them. Keys that a type does not name pass unread; a key left
out has its default. Nothing here knows what a message means for a transcript.
"""

from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from onetape.errors import Unparsed

VERSION = "1.0"


class Message(Struct, frozen=True, omit_defaults=True, tag_field="type"):
    """One line."""


# --- pieces of messages -----------------------------------------------------


class File(Struct, frozen=True, omit_defaults=True):
    """An attachment of a user message."""

    path: str
    mime: str | None = None


class Picture(Struct, frozen=True):
    """An image with its bytes, in base64."""

    mime: str
    data: str


class Run(Struct, frozen=True, omit_defaults=True):
    """A command's run: what is to run with the call, how it went with the result."""

    command: str | None = None
    cwd: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    duration_ms: int | None = None


class Change(Struct, frozen=True, omit_defaults=True):
    """A file that a tool read, wrote or patched."""

    path: str
    action: Literal["read", "write", "patch"]
    diff: str | None = None


class Choice(Struct, frozen=True, omit_defaults=True):
    label: str
    description: str | None = None


class Question(Struct, frozen=True, omit_defaults=True):
    id: str
    prompt: str
    header: str | None = None
    options: list[Choice] = []
    multi_select: bool = False


class PlanStep(Struct, frozen=True):
    text: str
    status: Literal["pending", "in_progress", "completed"]


class Usage(Struct, frozen=True, omit_defaults=True):
    """Of this turn alone; `input` without cached tokens, `output` with reasoning."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost_usd: float | None = None
    model: str | None = None


# --- what the agent says ----------------------------------------------------


class Ready(Message, tag="ready", frozen=True):
    """First and unasked: who speaks."""

    session: str
    version: str
    model: str
    mode: str
    permission_mode: str
    variant: str | None = None
    cwd: str | None = None
    tools: list[str] = []
    resumed: bool = False


class TurnStart(Message, tag="turn_start", frozen=True):
    turn: str


class TurnEnd(Message, tag="turn_end", frozen=True):
    turn: str
    status: Literal["completed", "failed", "interrupted"]
    usage: Usage | None = None


class Echo(Message, tag="user", frozen=True):
    """The user message that the turn is for, right after its `turn_start`."""

    id: str
    text: str
    attachments: list[File] = []


class Queued(Message, tag="queued", frozen=True):
    """A message came during a turn and has its own afterwards."""

    id: str
    waiting: int


class BlockStart(Message, tag="block_start", frozen=True):
    """`message` is shared by the blocks and calls of one answer; `parent` is the call of the subagent that speaks."""

    block: str
    kind: Literal["text", "reasoning"] = "text"
    visibility: Literal["public", "private"] = "public"
    message: str | None = None
    parent: str | None = None


class BlockDelta(Message, tag="block_delta", frozen=True, gc=False):
    block: str
    text: str


class BlockEnd(Message, tag="block_end", frozen=True):
    """`text` left out: what the deltas said (told whole where there are images). Not `ok`: the attempt is abandoned."""

    block: str
    text: str | None = None
    images: list[Picture] = []
    ok: bool = True


class Prompt(Message, tag="prompt", frozen=True):
    """What a subagent is told to do."""

    parent: str
    text: str


class ToolCall(Message, tag="tool_call", frozen=True):
    """Said once with the name alone, and again with the input when that is whole; or once with both."""

    call: str
    name: str
    input: dict[str, Any] | None = None
    run: Run | None = None
    message: str | None = None
    parent: str | None = None


class ToolRunning(Message, tag="tool_running", frozen=True):
    call: str


class ToolOutput(Message, tag="tool_output", frozen=True):
    call: str
    text: str


class ToolResult(Message, tag="tool_result", frozen=True):
    """`output` left out: what was streamed. `refused`: it never ran, because a permission was denied."""

    call: str
    output: str | None = None
    ok: bool = True
    refused: bool = False
    run: Run | None = None
    files: list[Change] = []
    images: list[Picture] = []


class AskPermission(Message, tag="ask_permission", frozen=True):
    ask: str
    tool: str
    call: str
    input: dict[str, Any]
    reason: str | None = None
    diff: str | None = None


class AskQuestion(Message, tag="ask_question", frozen=True):
    ask: str
    questions: list[Question]


class Withdrawn(Message, tag="ask_withdrawn", frozen=True):
    """Nobody needs to answer any more: the turn was interrupted."""

    ask: str


class Plan(Message, tag="plan", frozen=True):
    steps: list[PlanStep]


class Status(Message, tag="status", frozen=True):
    label: Literal["mcp", "subagent", "hook", "progress", "notice"]
    detail: str | None = None


class ModelNow(Message, tag="model", frozen=True):
    model: str
    variant: str | None = None


class ModeNow(Message, tag="mode", frozen=True):
    mode: str


class CompactionStart(Message, tag="compaction_start", frozen=True):
    id: str


class CompactionEnd(Message, tag="compaction_end", frozen=True):
    id: str
    summary: str | None = None


class Retry(Message, tag="retry", frozen=True):
    attempt: int
    reason: str


class RateLimit(Message, tag="rate_limit", frozen=True):
    reason: str


class Failed(Message, tag="error", frozen=True):
    """Why the turn fails; its `turn_end` follows."""

    message: str
    code: str | None = None
    details: Any = None


class Goodbye(Message, tag="goodbye", frozen=True):
    """The last line: the process exits with 0."""


FromAgent: TypeAlias = (
    BlockDelta | BlockStart | BlockEnd | Ready | TurnStart | TurnEnd | Echo | Queued | Prompt
    | ToolCall | ToolRunning | ToolOutput | ToolResult | AskPermission | AskQuestion | Withdrawn
    | Plan | Status | ModelNow | ModeNow | CompactionStart | CompactionEnd | Retry | RateLimit | Failed | Goodbye
)  # fmt: skip


# --- what it is told --------------------------------------------------------


class User(Message, tag="user", frozen=True):
    id: str
    text: str
    attachments: list[File] = []


class AnswerPermission(Message, tag="permission", frozen=True):
    ask: str
    reply: Literal["once", "always", "reject"]
    message: str | None = None


class AnswerQuestion(Message, tag="question", frozen=True):
    """One list of labels or free texts per question; null: the user does not want to answer."""

    ask: str
    answers: list[list[str]] | None


class Interrupt(Message, tag="interrupt", frozen=True):
    """Ends the running turn, the session goes on."""


class SetModel(Message, tag="model", frozen=True):
    model: str | None = None
    variant: str | None = None


class SetMode(Message, tag="mode", frozen=True):
    mode: str


ToAgent: TypeAlias = User | AnswerPermission | AnswerQuestion | Interrupt | SetModel | SetMode


# --- reading ----------------------------------------------------------------


def _types(union: Any) -> frozenset[str]:
    return frozenset(message.__struct_config__.tag for message in get_args(union))


FROM_AGENT = _types(FromAgent)
TO_AGENT = _types(ToAgent)


def from_agent(native: Any) -> FromAgent | None:
    """What the agent said; None if its type is a stranger's, `Unparsed` if it lacks what its type must have."""
    message: FromAgent | None = _read(native, FROM_AGENT, FromAgent)
    return message


def to_agent(native: Any) -> ToAgent | None:
    """What it was told; None and `Unparsed` as above."""
    message: ToAgent | None = _read(native, TO_AGENT, ToAgent)
    return message


def _read(native: Any, types: frozenset[str], union: Any) -> Any:
    match native:
        case {"type": str(type)} if type in types:
            try:
                return msgspec.convert(native, union)
            except msgspec.ValidationError as error:
                raise Unparsed(str(error)) from None
        case _:
            return None
