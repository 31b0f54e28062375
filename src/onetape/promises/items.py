"""Promises of items: started, streamed and completed once, under one id, inside a turn."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from onetape import schema
from onetape.promises.content import faults_of
from onetape.promises.envelope import Envelopes
from onetape.promises.group import Fault
from onetape.promises.turns import Turns
from onetape.schema import Event, Item, ItemKind, ItemRole

# What may begin while no turn is open. A root result is here because its call must have one, begun, when
# the turn ends (`result_missing`): if it begins later, the fault is the turn's and was told there.
OUTSIDE_TURNS = frozenset({"status", "system", "tool_result"})
# What may be open when a turn ends: a status lasts until told, a tool may still run.
OUTLIVING = frozenset({"status", "tool_result"})


class Known(Struct):
    """What is remembered of an item."""

    kind: ItemKind
    role: ItemRole | None
    parent_id: str | None
    native_id: str | None
    call_id: str | None
    is_nested: bool
    """Its parent leads to a tool call: part of a subagent, which may go on while no turn is open."""
    told: set[str] | None = None
    """Faults of its content that were named at its start, and need no repetition."""


class Items:
    def __init__(self, envelopes: Envelopes, turns: Turns, *, bare: bool) -> None:
        self._envelopes = envelopes
        self._turns = turns
        self._bare = bare
        self.known: dict[str, Known] = {}
        self._open: dict[str, list[str]] = {}
        self._overdue: set[str] = set()
        self._others_began: str | None = None
        self._has_user_message = False

    def see(self, event: Event) -> Iterator[Fault]:
        match event:
            case schema.ItemDelta(data=data):
                yield from self._delta(data)
            case schema.ItemStarted(data=data):
                yield from self._start(data.item, event.time)
            case schema.ItemCompleted(data=data):
                yield from self._complete(data.item)
            case schema.TurnStarted():
                self._others_began, self._has_user_message = None, False
            case schema.TurnEnded():
                yield from self._end_turn()
            case schema.SessionEnded():
                yield from self._left_open(self._open, "session")
            case _:
                pass

    # --- start --------------------------------------------------------------

    def _start(self, item: Item, time: str) -> Iterator[Fault]:
        if item.item_id in self.known:
            yield "item_twice", f"item {item.item_id} starts a second time"
            return
        # The text of the contract has no "_" before the number, the recorder writes one: both are fine.
        if self._envelopes.key and not re.fullmatch(rf"itm_{re.escape(self._envelopes.key)}_?\d+", item.item_id):
            yield "item_id", f"item_id {item.item_id} is not itm_, the session's key and a number"
        if item.status != "in_progress":
            yield "item_status", f"item {item.item_id} starts as {item.status}"
        yield from self._parent_faults(item)
        known = self._remember(item)
        self._open[item.item_id] = []
        yield from self._place(item, known, time)
        yield from _content(item, known)

    def _parent_faults(self, item: Item) -> Iterator[Fault]:
        if item.parent_id is None:
            return
        parent = self.known.get(item.parent_id)
        if parent is None:
            yield "parent_unknown", f"the parent {item.parent_id} of item {item.item_id} did not come before it"
        elif parent.kind not in ("message", "tool_call"):
            yield "parent_kind", f"the parent of item {item.item_id} is a {parent.kind}, and neither a message nor a call"

    def _remember(self, item: Item) -> Known:
        parent = self.known.get(item.parent_id) if item.parent_id is not None else None
        # An unknown parent is a fault already; that the item may be in the wrong place too would be a guess.
        is_nested = item.parent_id is not None and (parent is None or parent.kind == "tool_call" or parent.is_nested)
        known = Known(item.kind, item.role, item.parent_id, item.native_item_id, _call_id(item), is_nested)
        self.known[item.item_id] = known
        return known

    def _place(self, item: Item, known: Known, time: str) -> Iterator[Fault]:
        """Where root items may begin."""
        if known.is_nested or item.kind == "status":
            return
        if self._turns.current is None:
            if item.kind not in OUTSIDE_TURNS:
                yield "item_outside_turn", f"the {item.kind} {item.item_id} begins while no turn is open"
        elif (item.kind, item.role) == ("message", "user"):
            if self._is_late(self._turns.current):
                yield "user_message_late", f"the turn's first user message {item.item_id} comes after other items of the turn"
            self._has_user_message = True
        elif item.kind != "tool_result" and self._others_began is None:  # a result may be of an earlier turn's call
            self._others_began = time

    def _is_late(self, turn: schema.TurnStarted) -> bool:
        """Whether this user message should have been the first item of the turn.

        Only if the turn was opened for it. The agent may open a turn by itself and be steered later, and then
        the message rightly follows other items; so nothing can be said of a turn whose start the agent told.
        A start of ours is from a send, or was put before an item that came while no turn was open (again the
        agent's own turn). The latter has the time of that item, since one record caused both.
        """
        if self._bare or self._has_user_message or self._others_began is None:
            return False
        return turn.synthetic and turn.time != self._others_began

    # --- deltas and completion ----------------------------------------------

    def _delta(self, data: schema.DeltaData) -> Iterator[Fault]:
        chunks = self._open.get(data.item_id)
        if chunks is None:
            state = "is completed" if data.item_id in self.known else "never started"
            yield "delta_without_item", f"a delta of item {data.item_id}, which {state}"
            return
        known = self.known[data.item_id]
        if known.kind == "tool_call":
            yield "argument_delta", f"a delta of the call {data.item_id}: arguments are not streamed"
        if data.native_item_id != known.native_id:
            yield "item_changed", f"a delta of item {data.item_id} names the native id {data.native_item_id}, not {known.native_id}"
        if (known.kind, known.role) == ("message", "assistant"):  # output of a tool may be long, and is not compared
            chunks.append(data.delta)

    def _complete(self, item: Item) -> Iterator[Fault]:
        known = self.known.get(item.item_id)
        if known is None:
            self._remember(item)
            yield "item_not_started", f"item {item.item_id} is completed and never started"
            return
        chunks = self._open.pop(item.item_id, None)
        if chunks is None:
            yield "item_twice", f"item {item.item_id} is completed a second time"
            return
        if item.status == "in_progress":
            yield "item_status", f"item {item.item_id} is completed as in_progress"
        yield from _changes(item, known)
        yield from _content(item, known)
        if (item.kind, item.role) == ("message", "assistant"):
            yield from _delta_faults(item, "".join(chunks))

    # --- what is left open --------------------------------------------------

    def _end_turn(self) -> Iterator[Fault]:
        # Nested items may be background work, which a transcript does not mark: the session's end is their limit.
        bound = [id for id in self._open if self.known[id].kind not in OUTLIVING and not self.known[id].is_nested]
        yield from self._left_open(bound, "turn")

    def _left_open(self, ids: Iterable[str], what: str) -> Iterator[Fault]:
        for id in ids:
            if id not in self._overdue:
                self._overdue.add(id)
                yield "item_not_completed", f"the {what} ended and the {self.known[id].kind} {id} is not completed"


def _call_id(item: Item) -> str | None:
    match item.content:
        case [schema.ToolCall(call_id=call_id) | schema.ToolResult(call_id=call_id), *_]:
            return call_id
        case _:
            return None


def _content(item: Item, known: Known) -> Iterator[Fault]:
    for rule, message in faults_of(item):
        if rule not in (known.told or ()):
            known.told = {*(known.told or ()), rule}
            yield rule, f"{item.item_id}: {message}"


def _changes(item: Item, known: Known) -> Iterator[Fault]:
    was = (known.kind, known.role, known.parent_id, known.native_id, known.call_id)
    now = (item.kind, item.role, item.parent_id, item.native_item_id, _call_id(item) or known.call_id)
    for name, before, after in zip(("kind", "role", "parent_id", "native_item_id", "call_id"), was, now, strict=True):
        if before != after:
            yield "item_changed", f"item {item.item_id} started with {name} {before} and is completed with {after}"


def _delta_faults(item: Item, streamed: str) -> Iterator[Fault]:
    final = "".join(part.text for part in item.content if isinstance(part, schema.Text | schema.Reasoning))
    if final == streamed:
        return
    if final.startswith(streamed):  # silence or stopping short is no contradiction: the rest is owed as a delta
        yield "delta_missing", f"the last {len(final) - len(streamed)} characters of message {item.item_id} came in no delta"
    else:
        yield "delta_mismatch", f"the deltas of message {item.item_id} do not add up to its text"
