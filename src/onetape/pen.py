"""Events written down: each with its number, its time and the session's names around it.

Knows what one tape record causes, and that a session begins with its start and says
nothing after its end. Which events follow from what is the recorder's to say.

Whether an event is synthetic follows from its cause: what a `recv` says is the
agent's, all else (a send, an exit, a promise kept) is ours.
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any

from msgspec import Raw

from onetape.clock import Clock
from onetape.items import OpenItem
from onetape.schema import (
    ContentPart,
    DeltaData,
    EndedData,
    Event,
    Item,
    ItemCompleted,
    ItemData,
    ItemDelta,
    ItemKind,
    ItemRole,
    ItemStarted,
    ItemStatus,
    Party,
    SessionEnded,
    SessionStarted,
)
from onetape.tape import Heard, Record


class Pen:
    def __init__(self, session_id: str, key: str, started: str | None, *, include_raw: bool, preface: Callable[[], None]) -> None:
        """`preface`: starts the session, where something else would be its first event."""
        self._session_id = session_id
        self.native_session_id: str | None = None
        self._prefix = f"evt_{key}_"
        self._clock = Clock(started)
        self.t = 0.0
        """The tape's time of what is written, and the same in words."""
        self._time = self._clock.at(self.t)
        self.includes_raw = include_raw
        self._preface = preface
        self.sequence = 0
        self.is_over = False
        self._goes_on = False
        """The session has started and is not over."""
        self.events: list[Event] = []
        """What was written since the pen was last dipped."""
        self._raw: Raw | None = None
        self._is_native = False

    def dip(self, cause: Record) -> None:
        """What follows is caused by this."""
        self.events = []
        self._is_native = cause.dir == "recv"
        self.dip_again(cause)

    def dip_again(self, cause: Record) -> None:
        """What follows now is caused by this, which the agent said too: beside what was written already."""
        if self.includes_raw:
            self._raw = cause.payload
        if cause.t != self.t:
            self._at(cause.t)

    def _at(self, t: float) -> None:
        self.t, self._time = t, self._clock.at(t)

    def lift(self) -> None:
        """Nothing on the tape causes what follows."""
        self.events, self._raw, self._is_native = [], None, False

    def tell(self, kind: type[Any], data: Any, ours: bool = False) -> None:
        """One event. `ours`: made to keep a promise, whatever the cause."""
        if not self._goes_on and not self._begins(kind is SessionStarted):
            return
        self.sequence = sequence = self.sequence + 1
        synthetic = ours or not self._is_native
        self.events.append(
            kind(
                f"{self._prefix}{sequence}", sequence, self._time, self._session_id, self.native_session_id,
                synthetic, "daemon" if synthetic else "agent", data, self._raw,
            )
        )  # fmt: skip

    def tell_end(self, data: EndedData) -> None:
        """The last event: nothing is written after it."""
        self.tell(SessionEnded, data, ours=True)
        self._goes_on, self.is_over = False, True

    def _begins(self, with_itself: bool) -> bool:
        """Before the first event, and for all that comes after the last: whether there is something to write."""
        if self.is_over:
            return False
        self._goes_on = True
        if not with_itself:
            self._preface()
        return True

    def tell_item(self, kind: type[Any], item: OpenItem, content: list[ContentPart], status: ItemStatus, ours: bool = False) -> None:
        """The start or the end of an item."""
        told = Item(item.item_id, item.native_id, item.parent_id, item.kind, item.role, content, status)
        self.tell(kind, ItemData(told), ours)

    def tell_whole(
        self, item_id: str, native_id: str | None, parent_id: str | None, kind: ItemKind, role: ItemRole | None,
        first: list[ContentPart], whole: list[ContentPart], status: ItemStatus, text: str = "", ours: bool = False,
    ) -> None:  # fmt: skip
        """An item that is told at once: its start, its text where there is one, and its end. The same as three times `tell`; nine
        items of ten that were not streamed are told so."""
        if not self._goes_on and not self._begins(False):
            return
        synthetic = ours or not self._is_native
        source: Party = "daemon" if synthetic else "agent"
        prefix, session_id, native, raw, time = self._prefix, self._session_id, self.native_session_id, self._raw, self._time
        events, begin = self.events, self.sequence + 1
        started = ItemData(Item(item_id, native_id, parent_id, kind, role, first, "in_progress"))
        events.append(ItemStarted(f"{prefix}{begin}", begin, time, session_id, native, synthetic, source, started, raw))
        end = begin + 1
        if text:
            delta = DeltaData(item_id, native_id, text)
            events.append(ItemDelta(f"{prefix}{end}", end, time, session_id, native, True, "daemon", delta, raw))
            end += 1
        completed = ItemData(Item(item_id, native_id, parent_id, kind, role, whole, status))
        events.append(ItemCompleted(f"{prefix}{end}", end, time, session_id, native, synthetic, source, completed, raw))
        self.sequence = end

    def tell_words(self, causes: Sequence[Record], item_id: str, native_id: str | None, texts: list[str]) -> list[Event]:
        """The next words of an item, one cause and one event each."""
        first, self.sequence = self.sequence + 1, self.sequence + len(texts)
        # Bare lines have all one time, and nobody asks for the lines of a long answer.
        is_one_time = causes[0].t == self.t if isinstance(causes, Heard) else set(map(_TIME, causes)) == {self.t}
        times = repeat(self._time) if is_one_time else [self._clock.at(cause.t) for cause in causes]
        self._at(causes[-1].t)
        # Mapped and not written out: nothing comes more often, and so no step of it is Python's.
        numbers = range(first, self.sequence + 1)
        return [
            *map(
                ItemDelta,
                map(self._prefix.__add__, map(str, numbers)), numbers, times, repeat(self._session_id), repeat(self.native_session_id),
                repeat(False), repeat("agent"), map(DeltaData, repeat(item_id), repeat(native_id), texts),
                [cause.payload for cause in causes] if self.includes_raw else repeat(None),
            )
        ]  # fmt: skip


_TIME = attrgetter("t")
