"""The lines that most of a session with many tools is made of, as structs of the few fields that matter.

One block a line, and nothing odd beside it: a field that is None here makes any line
that says something there take the ordinary way, as does any other shape.
"""

from typing import Any, Literal

from msgspec import Struct


class Text(Struct, tag="text", frozen=True, gc=False):
    text: str


class Use(Struct, tag="tool_use", frozen=True, gc=False):
    id: str
    name: str
    input: dict[str, Any]
    server_name: None = None


class Result(Struct, frozen=True, gc=False):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str
    is_error: bool = False


class Answer(Struct, frozen=True, gc=False):
    id: str
    model: str
    content: tuple[Text | Use]


class Results(Struct, frozen=True, gc=False):
    content: tuple[Result]


class Assistant(Struct, tag="assistant", frozen=True, gc=False):
    session_id: str
    message: Answer
    parent_tool_use_id: str | None = None
    error: None = None
    aborted: None = None
    agent_id: None = None


class User(Struct, tag="user", frozen=True, gc=False):
    session_id: str
    message: Results
    parent_tool_use_id: str | None = None
    tool_use_result: dict[str, Any] | None = None
    tool_result_meta: None = None
