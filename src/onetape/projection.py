"""What is kept of events besides themselves: a session's summary, its asks, its words for search, its turns for the ledger.

Pure. One pass, and none at all over the words of an answer, which nine events of ten are.
"""

import hashlib
from typing import Any

import msgspec
from msgspec import Struct, field

from onetape import schema
from onetape.clock import milliseconds
from onetape.recent import Recent
from onetape.schema import ContentPart, Event, Item
from onetape.spacing import spaced
from onetape.summary import Ask, Summary

WORDS_MOST = 1 << 18
"""Of a longer output only the first part is found again: nobody searches for the millionth line of a log."""
CALLS_REMEMBERED = 4096
KINDS = ("message", "reasoning", "tool_call", "tool_result", "system", "status", "error", "unknown")
"""Of passages."""


class Passage(Struct, frozen=True, gc=False):
    """Words that can be searched for, and where they stand."""

    sequence: int
    time: int
    kind: str
    """One of KINDS."""
    item_id: str | None
    tool: str | None
    paths: str
    """One a line."""
    words: str


class Turn(Struct, frozen=True, gc=False):
    """What a turn was billed. `mark` is the same for a copy of it in another session, as forks have them."""

    sequence: int
    time: int
    usage: schema.Usage
    mark: str


class Rows(Struct, gc=False):
    asks: list[Ask] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    def extend(self, more: "Rows") -> None:
        self.asks += more.asks
        self.passages += more.passages
        self.turns += more.turns


class Projection:
    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._tools: Recent[str, str] = Recent(CALLS_REMEMBERED)
        self._ids = hashlib.sha256()
        """Of what the agent itself named in this turn."""

    def see(self, events: list[Event]) -> Rows:
        """Takes in the next events; what is to be kept of them."""
        rows = Rows(self._summary.see(events))
        for event in events:
            if (keep := _KEPT.get(type(event))) is not None:
                keep(self, event, rows)
        return rows

    def _item(self, event: schema.ItemCompleted, rows: Rows) -> None:
        item = event.data.item
        if item.role == "assistant" and item.native_item_id is not None:
            self._ids.update(item.native_item_id.encode())
        kind, tool = self._kind(item)
        paths = [part.path for part in item.content if isinstance(part, _WITH_PATH)]
        words = spaced("\n".join(filter(None, [*map(_words, item.content), *paths]))[:WORDS_MOST])
        if words and not words.isspace():
            rows.passages.append(Passage(event.sequence, milliseconds(event.time), kind, item.item_id, tool, "\n".join(paths), words))

    def _kind(self, item: Item) -> tuple[str, str | None]:
        match item.content:
            case [schema.ToolCall(name=name, call_id=call), *_]:
                self._tools[call] = name
                return item.kind, name
            case [schema.ToolResult(call_id=call), *_]:
                return item.kind, self._tools.get(call)
            case [schema.Reasoning(), *_]:
                return "reasoning", None
            case _:
                return item.kind, None

    def _turn(self, event: schema.TurnEnded, rows: Rows) -> None:
        if isinstance(usage := event.data.metadata.usage, schema.Usage):
            self._ids.update(event.time.encode() + msgspec.json.encode(usage))
            rows.turns.append(Turn(event.sequence, milliseconds(event.time), usage, self._ids.hexdigest()[:32]))
        self._ids = hashlib.sha256()

    def _error(self, event: schema.Error, rows: Rows) -> None:
        rows.passages.append(Passage(event.sequence, milliseconds(event.time), "error", None, None, "", spaced(event.data.message)))


_KEPT: dict[type, Any] = {schema.ItemCompleted: Projection._item, schema.TurnEnded: Projection._turn, schema.Error: Projection._error}
_WITH_PATH = (schema.FileRef, schema.Image)


def _words(part: ContentPart) -> str:
    match part:
        case schema.Text(text=text) | schema.Reasoning(text=text):
            return text
        case schema.ToolCall(name=name, arguments=arguments):
            return f"{name}\n{_values(arguments)}"
        case schema.ToolResult(output=output):
            return output
        case schema.Json(json={"command": str(command), "exit_code": _}):
            return command
        case schema.Status(detail=str(detail)):
            return detail
        case _:
            return ""


def _values(arguments: str) -> str:
    """What was handed to a tool, without the names and marks of JSON; escapes would hide words."""
    try:
        told = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    return "\n".join(_leaves(told))


def _leaves(value: object) -> list[str]:
    match value:
        case dict():
            return [leaf for inner in value.values() for leaf in _leaves(inner)]
        case list():
            return [leaf for inner in value for leaf in _leaves(inner)]
        case None | bool():
            return []
        case _:
            return [str(value)]
