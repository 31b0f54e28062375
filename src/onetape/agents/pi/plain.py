"""The lines that most of a session is made of, as structs of the few fields that matter.

A field that is None here makes any line that says something there take the ordinary way, as does any other shape.
"""

from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

# --- what a message holds ---


class Text(Struct, tag="text", frozen=True, gc=False):
    text: str


class Thinking(Struct, tag="thinking", frozen=True, gc=False):
    thinking: str
    redacted: Any = None
    thinkingSignature: Any = None


class ToolCall(Struct, tag="toolCall", frozen=True, gc=False):
    id: str
    name: str
    arguments: Any


Block = Text | Thinking | ToolCall


# --- what is told while a message is made ---


class At(Struct, frozen=True, gc=False):
    """Of the block at this place. Its start and its end say nothing: the first words open it, and the end of the message completes it."""

    contentIndex: int


class TextStart(At, tag="text_start", frozen=True):
    pass


class TextEnd(At, tag="text_end", frozen=True):
    pass


class ThinkingStart(At, tag="thinking_start", frozen=True):
    pass


class CallDelta(At, tag="toolcall_delta", frozen=True):
    pass


class CallEnd(At, tag="toolcall_end", frozen=True):
    pass


class CallStart(At, tag="toolcall_start", frozen=True):
    id: str
    toolName: str


class TextDelta(At, tag="text_delta", frozen=True):
    delta: str


class ThinkingDelta(At, tag="thinking_delta", frozen=True):
    delta: str


Update = TextStart | TextEnd | ThinkingStart | CallDelta | CallEnd | CallStart | TextDelta | ThinkingDelta


# --- messages ---


class Begun(Struct, frozen=True, gc=False):
    role: str


class Answer(Struct, tag_field="role", tag="assistant", frozen=True, gc=False):
    content: list[Block]
    stopReason: str
    model: Any = None
    usage: dict[str, Any] | None = None
    errorMessage: None = None


class ToolResult(Struct, tag_field="role", tag="toolResult", frozen=True, gc=False):
    """Says again what the end of the tool's run said."""

    toolCallId: str
    isError: bool
    content: Raw
    usage: None = None


# --- a tool's run ---


class Words(Struct, frozen=True, gc=False):
    type: Literal["text"]
    text: str


class Partial(Struct, frozen=True, gc=False):
    content: list[Words]


# --- lines ---


class MessageUpdate(Struct, tag="message_update", frozen=True, gc=False):
    assistantMessageEvent: Update


class MessageStart(Struct, tag="message_start", frozen=True, gc=False):
    message: Begun


class MessageEnd(Struct, tag="message_end", frozen=True, gc=False):
    message: Answer | ToolResult


class ToolStart(Struct, tag="tool_execution_start", frozen=True, gc=False):
    toolCallId: str
    toolName: str
    args: Any
    parentToolCallId: str | None = None


class ToolUpdate(Struct, tag="tool_execution_update", frozen=True, gc=False):
    toolCallId: str
    toolName: str
    partialResult: Partial


class ToolEnd(Struct, tag="tool_execution_end", frozen=True, gc=False):
    toolCallId: str
    toolName: str
    result: Any
    isError: bool = False
    durationMs: int | float | UnsetType = UNSET


Line = MessageUpdate | MessageStart | MessageEnd | ToolStart | ToolUpdate | ToolEnd
