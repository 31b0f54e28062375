"""Promises of one item by itself: the role and the parts that its kind demands. Knows nothing of other events."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from onetape import schema
from onetape.promises.group import Fault
from onetape.schema import ContentPart, Item

_ROLES: dict[str, tuple[str | None, ...]] = {
    "message": ("user", "assistant"),
    "tool_call": ("assistant",),
    "tool_result": ("tool",),
    "system": ("system",),
    "status": (None,),
}  # of `unknown` nothing is known, its role included
_LABELS = frozenset(get_args(schema.StatusLabel))

PROSE = schema.Text | schema.Json | schema.FileRef | schema.Image
"""What may stand in any text; calls, results, statuses and reasoning have items of their own."""


class Command(Struct, frozen=True, forbid_unknown_fields=True):
    """The json part of a command's result: all keys, null where untold."""

    command: str | None
    cwd: str | None
    exit_code: int | None
    stdout: str | None
    stderr: str | None
    duration_ms: int | None


class Step(Struct, frozen=True):
    text: str
    status: Literal["pending", "in_progress", "completed"]


def faults_of(item: Item) -> Iterator[Fault]:
    """The faults of an item as it starts or as it is completed."""
    if item.role not in _ROLES.get(item.kind, (item.role,)):
        yield "item_role", f"a {item.kind} with the role {item.role}"
    match item.kind, item.content:
        case "message", parts:
            yield from _assistant(parts) if item.role == "assistant" else _user(parts)
        case "tool_call", [schema.ToolCall() as call]:
            yield from _call(call, item.status)
        case "tool_call", _:
            yield "call_content", "a call has one tool_call part and nothing else"
        case "tool_result", [schema.ToolResult(), *rest]:
            yield from _result(rest, item.status)
        case "tool_result", _:
            yield "result_content", "the first part of a result is not tool_result"
        case "status", [schema.Status(label=label), *rest]:
            yield from _status(label, rest)
        case "status", _:
            yield "status_content", "the first part of a status item is not status"
        case "system", parts if not _is_prose(parts):
            yield "message_content", "a system item holds a call, a result, a status or reasoning"
        case "unknown", parts if not (len(parts) == 1 and isinstance(parts[0], schema.Json)):
            yield "unknown_content", "an unknown item has one json part and nothing else"
        case _:
            pass


def _is_prose(parts: Sequence[ContentPart]) -> bool:
    return all(isinstance(part, PROSE) for part in parts)


def _user(parts: list[ContentPart]) -> Iterator[Fault]:
    for part in parts:
        if not isinstance(part, schema.Text | schema.Image | schema.FileRef):
            yield "message_content", f"a user message holds a {_tag(part)} part, not only text, images and files"
        elif isinstance(part, schema.FileRef) and part.action != "read":
            yield "message_content", f"the attached file {part.path} has the action {part.action}, not read"


def _assistant(parts: list[ContentPart]) -> Iterator[Fault]:
    thoughts = [part for part in parts if isinstance(part, schema.Reasoning)]
    if not thoughts:
        if not _is_prose(parts):
            yield "message_content", "an assistant message holds a call, a result or a status"
    elif len(thoughts) < len(parts):
        yield "reasoning_content", "reasoning shares its item with other parts"
    elif len({thought.visibility for thought in thoughts if thought.text}) > 1:  # encrypted thinking is an empty part
        yield "reasoning_content", "public and private reasoning share an item"


def _call(call: schema.ToolCall, status: schema.ItemStatus) -> Iterator[Fault]:
    if call.name.startswith("mcp__"):
        yield "tool_name", f"the MCP tool {call.name} is not called server.tool"
    # Empty: the call was before the recording began, and its arguments are not known.
    if status == "completed" and call.arguments and not _is_json(call.arguments):
        yield "arguments", f"the final arguments of call {call.call_id} are not JSON"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)  # not msgspec: lone surrogates and long numbers are a model's right
    except (ValueError, RecursionError):
        return False
    return True


def _result(rest: list[ContentPart], status: schema.ItemStatus) -> Iterator[Fault]:
    if not _is_prose(rest):
        yield "result_content", "a result holds a call, a status, reasoning or another result"
    if rest and isinstance(rest[0], schema.Json) and _looks_like_command(rest[0].json):
        yield from _command(rest[0].json, status)
    for part in rest:
        if isinstance(part, schema.FileRef):
            yield from _file(part, status)


def _looks_like_command(value: Any) -> bool:
    """A tool's own structured answer may stand here too, and may be about commands."""
    return isinstance(value, dict) and "command" in value and len(value.keys() & set(Command.__struct_fields__)) > 1


def _command(value: Any, status: schema.ItemStatus) -> Iterator[Fault]:
    try:
        run = msgspec.convert(value, Command)
    except msgspec.ValidationError as error:
        yield "command_content", f"the command part of a result is malformed: {error}"
        return
    if run.exit_code and status == "completed":
        yield "exit_code", f"the command exited with {run.exit_code}, and its result is not failed"


def _file(part: schema.FileRef, status: schema.ItemStatus) -> Iterator[Fault]:
    if part.action != "read" and status == "failed":
        yield "file_ref", f"the result failed, and yet {part.path} was changed"
    if part.diff is not None and not _is_diff(part.diff):
        yield "diff", f"the diff of {part.path} is not unified (---, +++, hunks, a newline at its end)"


def _is_diff(diff: str) -> bool:
    if diff.startswith("diff --git "):  # an empty file or a mere move has no hunks, and git needs this line
        return diff.endswith("\n")
    lines = diff.split("\n", 2)
    return len(lines) == 3 and lines[0].startswith("--- ") and lines[1].startswith("+++ ") and diff.endswith("\n")


def _status(label: str, rest: list[ContentPart]) -> Iterator[Fault]:
    if label not in _LABELS:
        yield "status_label", f"there is no status {label}"
    if not _is_prose(rest):
        yield "status_content", "a status item holds a call, a result, reasoning or another status"
    if label == "plan" and rest and isinstance(rest[0], schema.Json):
        try:
            msgspec.convert(rest[0].json, list[Step])
        except msgspec.ValidationError as error:
            yield "plan_content", f"the list of a plan is malformed: {error}"


def _tag(part: ContentPart) -> object:
    return part.__struct_config__.tag
