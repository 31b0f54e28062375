"""What an agent's recordings witness: the cells of the coverage matrix.

A feature is claimed only where a golden case shows it, so the matrix cannot lie.
Each agent's `features.json` says which case is the witness; a test makes it anew
from the cases and fails when it is stale.
"""

from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import Any, TypeAlias

import msgspec

from onetape import schema
from onetape.commands import Command, Interrupt, SetMode, SetModel
from onetape.schema import Event, Item
from onetape.tape import Head


class Evidence(msgspec.Struct, frozen=True):
    """One session: what it was started as, what was commanded and what was recorded."""

    head: Head
    is_history: bool
    commands: list[Command]
    events: list[Event]

    def items(self) -> Iterable[Item]:
        return (event.data.item for event in self.events if isinstance(event, schema.ItemCompleted))

Shown: TypeAlias = Callable[[Evidence], bool]


def _item(wanted: Callable[[Item], bool]) -> Shown:
    return lambda evidence: any(map(wanted, evidence.items()))


def _part(kind: type[schema.Part]) -> Shown:
    return _item(lambda item: any(isinstance(part, kind) for part in item.content))


def _status(*labels: str) -> Shown:
    return _item(lambda item: isinstance(first := item.content[0], schema.Status) and first.label in labels)


def _is_command(item: Item) -> bool:
    return any(isinstance(part, schema.Json) and isinstance(part.json, dict) and "exit_code" in part.json for part in item.content)


def _is_change(item: Item) -> bool:
    return any(isinstance(part, schema.FileRef) and part.action != "read" and part.diff is not None for part in item.content)


def _is_mcp(item: Item) -> bool:
    return any(isinstance(part, schema.ToolCall) and "." in part.name for part in item.content)


def _is_attachment(item: Item) -> bool:
    return item.role == "user" and any(isinstance(part, schema.FileRef) for part in item.content)


def _answered(evidence: Evidence) -> bool:
    return any(isinstance(event, schema.QuestionResolved) and event.data.status == "answered" for event in evidence.events)


def _allowed(evidence: Evidence) -> bool:
    return any(isinstance(event, schema.PermissionResolved) and event.data.status != "reject" for event in evidence.events)


def _usage(evidence: Evidence) -> bool:
    return any(isinstance(event, schema.TurnEnded) and event.data.metadata.usage for event in evidence.events)


def _interrupted(evidence: Evidence) -> bool:
    ended = any(isinstance(event, schema.TurnEnded) and event.data.metadata.status == "interrupted" for event in evidence.events)
    return ended and any(isinstance(command, Interrupt) for command in evidence.commands)


def _planned(evidence: Evidence) -> bool:
    chosen = {evidence.head.mode, evidence.head.permission_mode, *(wish.mode for wish in evidence.commands if isinstance(wish, SetMode))}
    return "plan" in chosen and not evidence.is_history


def _started(evidence: Evidence) -> bool:
    """An item of the agent's that was announced before it was complete."""
    begun = {
        event.data.item.item_id: event.time for event in evidence.events if isinstance(event, schema.ItemStarted) and not event.synthetic
    }
    return not evidence.is_history and any(
        begun.get(event.data.item.item_id, event.time) < event.time for event in evidence.events if isinstance(event, schema.ItemCompleted)
    )


_LIFE: set[type[Any]] = {schema.SessionStarted, schema.TurnStarted, schema.TurnEnded, schema.SessionEnded}

FEATURES: dict[str, Shown] = {
    "text": _item(lambda item: (item.kind, item.role) == ("message", "assistant") and isinstance(item.content[0], schema.Text)),
    "tool calls": _item(lambda item: item.kind == "tool_call"),
    "tool results": _item(lambda item: item.kind == "tool_result"),
    "questions": _answered,
    "permissions": _allowed,
    "plan mode": _planned,
    "images": _part(schema.Image),
    "file attachments": _item(_is_attachment),
    "lifecycle": lambda evidence: set(map(type, evidence.events)) >= _LIFE,
    "errors": lambda evidence: any(isinstance(event, schema.Error) for event in evidence.events),
    "reasoning": _part(schema.Reasoning),
    "command execution": _item(_is_command),
    "file changes": _item(_is_change),
    "MCP tools": _item(_is_mcp),
    "deltas": lambda evidence: any(isinstance(event, schema.ItemDelta) and not event.synthetic for event in evidence.events),
    "started items": _started,
    "variants": lambda evidence: any(isinstance(command, SetModel) and command.variant for command in evidence.commands)
    or evidence.head.variant is not None,
    "usage": _usage,
    "subagents": _item(lambda item: item.kind == "message" and item.parent_id is not None),
    "plan": _status("plan"),
    "compaction": _status("compaction"),
    "retries and rate limits": _status("retry", "rate_limit"),
    "interrupt": _interrupted,
    "resume": lambda evidence: evidence.head.resumed_from is not None,
    "history": lambda evidence: evidence.is_history,
}


def witnessed(evidence: Evidence) -> list[str]:
    return [feature for feature, shown in FEATURES.items() if shown(evidence)]


def of(agent: str) -> dict[str, str]:
    """Which case witnesses each feature of this agent."""
    file = files(f"onetape.agents.{agent}") / "features.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, str]) if file.is_file() else {}


def matrix(agents: Iterable[tuple[str, str]]) -> str:
    """The coverage matrix as a Markdown table, of agents by name and title."""
    columns = [(title, of(name)) for name, title in agents]
    lines = [f"| | {' | '.join(title for title, _ in columns)} |", f"|---|{':-:|' * len(columns)}"]
    for feature in FEATURES:
        lines.append(f"| {feature} | {' | '.join('✓' if feature in shown else '–' for _, shown in columns)} |")
    return "\n".join(lines)
