"""Promises of tool calls: each has exactly one result, which names it and hangs on the same parent."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from onetape import schema
from onetape.promises.group import Fault
from onetape.promises.items import Items
from onetape.schema import Event, Item


class Call(Struct, frozen=True):
    item_id: str
    name: str
    parent_id: str | None
    is_nested: bool


class Calls:
    def __init__(self, items: Items) -> None:
        self._items = items
        self._seen: dict[str, Call] = {}
        self._waiting: dict[str, Call] = {}
        """Calls without a result, by call_id. That a result which began is completed is its own item's promise."""
        self._overdue: set[str] = set()

    def name_of(self, call_id: object) -> str | None:
        """The tool of a call that was seen."""
        call = self._seen.get(call_id) if isinstance(call_id, str) else None
        return call.name if call else None

    def see(self, event: Event) -> Iterator[Fault]:
        match event:
            case schema.ItemStarted(data=schema.ItemData(Item(kind="tool_call", content=[schema.ToolCall() as part, *_]) as item)):
                yield from self._call(item, part)
            case schema.ItemStarted(data=schema.ItemData(Item(kind="tool_result", content=[schema.ToolResult() as part, *_]) as item)):
                yield from self._result(item, part.call_id)
            case schema.TurnEnded():
                # A root call of a tool that still runs has its result begun; nested ones may be background work.
                yield from self._missing([id for id, call in self._waiting.items() if not call.is_nested], "turn")
            case schema.SessionEnded():
                yield from self._missing(self._waiting, "session")
            case _:
                pass

    def _call(self, item: Item, part: schema.ToolCall) -> Iterator[Fault]:
        # An id used again after its result is no fault: agents number calls as their models do.
        if part.call_id in self._waiting:
            yield "call_twice", f"two calls without a result are called {part.call_id}: a result could be of either"
        known = self._items.known[item.item_id]
        call = Call(item.item_id, part.name, item.parent_id, known.is_nested)
        self._seen[part.call_id] = self._waiting[part.call_id] = call

    def _result(self, item: Item, call_id: str) -> Iterator[Fault]:
        call = self._seen.get(call_id)
        if call is None:
            yield "call_unknown", f"the result {item.item_id} names the call {call_id}, which did not come before it"
            return
        if self._waiting.pop(call_id, None) is None:
            yield "result_twice", f"the call {call_id} gets a second result {item.item_id}"
        if item.parent_id != call.parent_id:
            yield "result_parent", f"the result {item.item_id} has the parent {item.parent_id}, its call {call.parent_id}"

    def _missing(self, call_ids: Iterable[str], what: str) -> Iterator[Fault]:
        for call_id in call_ids:
            if call_id not in self._overdue:
                self._overdue.add(call_id)
                yield "result_missing", f"the {what} ended and the call {call_id} has no result"
