"""Events written down: each with its number, its time and the session's names around it.

Knows what one tape record causes, and that a session begins with its start and says
nothing after its end. Which events follow from what is the recorder's to say.

Whether an event is synthetic follows from its cause: what a `recv` says is the
agent's, all else (a send, an exit, a promise kept) is ours.
"""

from collections.abc import Callable
from itertools import count, repeat
from typing import Any

from msgspec import Raw

from onetape.clock import Clock
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
from onetape.tape import Record


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
        self._include_raw = include_raw
        self._preface = preface
        self.sequence = 0
        self.is_over = False
        self.cause: Record | None = None
        self.events: list[Event] = []
        """What was written since the pen was last dipped."""
        self._raw: Raw | None = None
        self._is_native = False

    def dip(self, cause: Record) -> None:
        """What follows is caused by this."""
        self.events = []
        self.cause = cause
        self._raw = cause.payload if self._include_raw else None
        self._is_native = cause.dir == "recv"
        if cause.t != self.t:
            self._at(cause.t)

    def dip_again(self, cause: Record) -> None:
        """What follows now is caused by this, which the agent said too: beside what was written already."""
        self.cause = cause
        if self._include_raw:
            self._raw = cause.payload
        if cause.t != self.t:
            self._at(cause.t)

    def _at(self, t: float) -> None:
        self.t, self._time = t, self._clock.at(t)

    def lift(self) -> None:
        """Nothing on the tape causes what follows."""
        self.events, self.cause, self._raw, self._is_native = [], None, None, False

    def tell(self, kind: type[Any], data: Any, ours: bool = False) -> None:
        """One event. `ours`: made to keep a promise, whatever the cause."""
        if not self.sequence and kind is not SessionStarted:
            self._preface()
        if self.is_over:
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
        self.is_over = True

    def tell_whole(
        self, item_id: str, native_id: str | None, parent_id: str | None, kind: ItemKind, role: ItemRole | None,
        first: list[ContentPart], whole: list[ContentPart], status: ItemStatus, text: str = "", ours: bool = False,
    ) -> None:  # fmt: skip
        """An item that is told at once: its start, its text where there is one, and its end. The same as three times `tell`; nine
        items of ten that were not streamed are told so."""
        if not self.sequence:
            self._preface()
        if self.is_over:
            return
        synthetic = ours or not self._is_native
        source: Party = "daemon" if synthetic else "agent"
        prefix, session_id, native, raw, time = self._prefix, self._session_id, self.native_session_id, self._raw, self._time
        begin = self.sequence + 1
        started = ItemData(Item(item_id, native_id, parent_id, kind, role, first, "in_progress"))
        self.events.append(ItemStarted(f"{prefix}{begin}", begin, time, session_id, native, synthetic, source, started, raw))
        end = begin + 1
        if text:
            delta = DeltaData(item_id, native_id, text)
            self.events.append(ItemDelta(f"{prefix}{end}", end, time, session_id, native, True, "daemon", delta, raw))
            end += 1
        completed = ItemData(Item(item_id, native_id, parent_id, kind, role, whole, status))
        self.events.append(ItemCompleted(f"{prefix}{end}", end, time, session_id, native, synthetic, source, completed, raw))
        self.sequence = end

    def tell_words(self, causes: list[Record], item_id: str, native_id: str | None, texts: list[str]) -> list[Event]:
        """The next words of an item, one cause and one event each."""
        first, self.sequence = self.sequence + 1, self.sequence + len(texts)
        prefix, session_id, native_session_id = self._prefix, self._session_id, self.native_session_id
        # Bare lines have all one time, and nobody asks for the lines of a long answer.
        is_one_time = {cause.t for cause in causes} == {self.t}
        times = repeat(self._time) if is_one_time else [self._clock.at(cause.t) for cause in causes]
        self._at(causes[-1].t)
        lines = [cause.payload for cause in causes] if self._include_raw else repeat(None)
        return [
            ItemDelta(
                f"{prefix}{number}", number, time, session_id, native_session_id, False, "agent", DeltaData(item_id, native_id, text), raw
            )
            for number, text, time, raw in zip(count(first), texts, times, lines)
        ]
