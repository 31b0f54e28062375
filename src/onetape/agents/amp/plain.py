"""The lines that most of a session is made of, as structs.

Every field is named that any build prints there, and no other may stand beside them: a message that is
printed again is told from a new one by comparing the whole of it. Any other line takes the ordinary way.
"""

from typing import Any, Literal

from msgspec import Struct


class Text(Struct, tag="text", frozen=True, gc=False, forbid_unknown_fields=True):
    text: str


class Thinking(Struct, tag="thinking", frozen=True, gc=False, forbid_unknown_fields=True):
    thinking: str


class Use(Struct, tag="tool_use", frozen=True, gc=False, forbid_unknown_fields=True):
    id: str
    name: str
    input: dict[str, Any]


class Usage(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    max_tokens: int | None = None
    service_tier: str | None = None


class Answer(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    type: Literal["message"]
    role: Literal["assistant"]
    content: list[Text | Thinking | Use]
    stop_reason: str
    usage: Usage


class Result(Struct, frozen=True, gc=False):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str
    is_error: bool = False


class Results(Struct, frozen=True, gc=False):
    content: tuple[Result]


class Assistant(Struct, tag="assistant", frozen=True, gc=False):
    session_id: str
    message: Answer
    parent_tool_use_id: str | None = None


class User(Struct, tag="user", frozen=True, gc=False):
    session_id: str
    message: Results
    parent_tool_use_id: str | None = None
