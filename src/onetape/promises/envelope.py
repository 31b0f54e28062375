"""Promises of each event by itself and of the session as a whole: numbers, ids, times, the first and the last event."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import UNSET

from onetape import schema
from onetape.promises.group import Fault
from onetape.schema import Event, Item

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


class Envelopes:
    def __init__(self) -> None:
        self._next = 1
        self._prefix = ""
        self._session_id: str | None = None
        self._has_native_id = False

    @property
    def key(self) -> str:
        """The session key inside all ids; empty until an event told it."""
        return self._prefix[4:-1]

    def skip(self) -> None:
        """An event that could not be read had a number too."""
        self._next += 1

    def see(self, event: Event) -> Iterator[Fault]:
        if event.sequence != self._next:
            yield "sequence", f"event {self._next} was due, and this is {event.sequence}"
        self._next = event.sequence + 1
        yield from self._ids(event)
        if not _is_time(event.time):
            yield "time", f"{event.time!r} is not a UTC time with milliseconds and Z"
        if (event.source == "daemon") != event.synthetic:
            yield "source", f"source is {event.source}, but synthetic is {str(event.synthetic).lower()}"

    def _ids(self, event: Event) -> Iterator[Fault]:
        prefix = event.event_id.removesuffix(str(event.sequence))
        if not re.fullmatch(r"evt_.+_", prefix) or prefix != (self._prefix or prefix):
            yield "event_id", f"event_id {event.event_id} is not evt_, the session's one key, and _{event.sequence}"
        else:
            self._prefix = prefix
        self._session_id = self._session_id or event.session_id
        if event.session_id != self._session_id:
            yield "session_id", f"session {event.session_id} in a transcript of {self._session_id}"
        if event.native_session_id is None and self._has_native_id:
            yield "native_session_lost", "native_session_id is null again after it was told"
        self._has_native_id = event.native_session_id is not None


def _is_time(text: str) -> bool:
    try:
        return _TIME.fullmatch(text) is not None and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


class Sessions:
    def __init__(self) -> None:
        self._is_first = True
        self._has_started = self._has_ended = self._was_told = False
        self._announced: Any = None

    def see(self, event: Event) -> Iterator[Fault]:
        if self._is_first and not isinstance(event, schema.SessionStarted):
            yield "session_started_first", f"the first event is {schema.type_of(event)}"
        self._is_first = False
        if self._has_ended and not isinstance(event, schema.SessionEnded) and not self._was_told:
            self._was_told = True  # once: every event from here on is too late
            yield "session_ended_last", f"{schema.type_of(event)} after session.ended"
        match event:
            case schema.SessionStarted(data=data):
                yield from self._start(data)
            case schema.SessionEnded(data=data):
                if self._has_ended:
                    yield "session_ended_twice", "the session had already ended"
                self._has_ended = True
                yield from _end_faults(data)
            case schema.ItemCompleted(data=schema.ItemData(Item(kind="status", content=[schema.Status("agent.ready"), *rest]))):
                yield from self._ready(rest)
            case schema.AgentUnparsed(data=data) if not re.fullmatch(r"[0-9a-f]{64}", data.raw_hash):
                yield "raw_hash", f"raw_hash {data.raw_hash!r} is not a sha256 in hex"
            case _:
                pass

    def _start(self, data: schema.StartedData) -> Iterator[Fault]:
        if self._has_started:
            yield "session_started_twice", "the session had already started"
        self._has_started, self._announced = True, data.metadata
        if not data.metadata.get("agent"):
            yield "session_without_agent", "session.started does not name the agent"

    def _ready(self, rest: list[schema.ContentPart]) -> Iterator[Fault]:
        match rest:
            case [schema.Json(json={"agent": _} as told), *_]:
                if told == self._announced:
                    yield "ready_repeated", "agent.ready repeats what was announced before"
                self._announced = told
            case _:
                yield "ready_content", "the second part of agent.ready is not json with the keys of session.started"


def _end_faults(data: schema.EndedData) -> Iterator[Fault]:
    if data.reason == "error" and not data.message:
        yield "session_end_data", "the session ended with an error and does not say which"
    if data.reason != "error" and (data.message, data.exit_code, data.stderr) != (UNSET, UNSET, UNSET):
        yield "session_end_data", f"a session that ended as {data.reason} has no message, exit_code or stderr"
    if isinstance(data.stderr, schema.Stderr) and not _is_cut_right(data.stderr):
        yield "stderr", "stderr is neither whole (up to 70 lines, in head) nor cut to its first 20 and last 50 lines"


def _is_cut_right(stderr: schema.Stderr) -> bool:
    head, tail = (part.count("\n") + 1 if isinstance(part, str) else 0 for part in (stderr.head, stderr.tail))
    total = stderr.total_lines if isinstance(stderr.total_lines, int) else None
    if stderr.truncated:
        return (head, tail) == (20, 50) and (total is None or total > 70)
    return head <= 70 and tail == 0 and total in (None, head)
