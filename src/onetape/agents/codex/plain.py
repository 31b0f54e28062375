"""The notifications that most of a session is made of, as structs of the few fields that matter.

A field that is None here makes any line that says something there take the ordinary way, as does any other shape.
"""

from msgspec import Struct


class Message(Struct, tag="agentMessage", frozen=True, gc=False):
    id: str
    text: str


class Action(Struct, frozen=True, gc=False):
    type: str
    path: str | None = None


class Command(Struct, tag="commandExecution", frozen=True, gc=False):
    id: str
    command: str
    cwd: str
    status: str
    source: str | None = None
    commandActions: list[Action] = []
    aggregatedOutput: str | None = None
    exitCode: int | None = None
    durationMs: int | None = None
    stderr: None = None


class ItemParams(Struct, frozen=True, gc=False):
    threadId: str
    turnId: str
    item: Message | Command


class OutputParams(Struct, frozen=True, gc=False):
    threadId: str
    turnId: str
    itemId: str
    delta: str


class Started(Struct, tag_field="method", tag="item/started", frozen=True, gc=False):
    params: ItemParams
    id: None = None


class Completed(Struct, tag_field="method", tag="item/completed", frozen=True, gc=False):
    params: ItemParams
    id: None = None


class Words(Struct, tag_field="method", tag="item/agentMessage/delta", frozen=True, gc=False):
    params: OutputParams
    id: None = None


class Output(Struct, tag_field="method", tag="item/commandExecution/outputDelta", frozen=True, gc=False):
    params: OutputParams
    id: None = None
