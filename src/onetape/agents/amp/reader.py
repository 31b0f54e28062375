"""The reader of Amp's thread files: each is one JSON document, of which a tape takes the messages one by one.

A document is laid out over many lines, a tape record is one: white space between the tokens is left out, and not
another byte is changed. Times are the document's own, for what tells one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from onetape import tape
from onetape.agents.agent import Histories, is_document
from onetape.agents.amp.history import Thread, identity
from onetape.clock import LAST, moment, written
from onetape.errors import Unparsed
from onetape.tape import Head, Record
from onetape.translator import MALFORMED

_TOKENS = re.compile(rb'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


class Threads(Histories):
    changes_in_place = True

    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else home / ".local" / "share"
        return [data / "amp" / "threads"]

    def recognises(self, path: Path) -> bool:
        if not is_document(path, b'"T-'):
            return False
        try:
            thread = _fields(path.read_bytes())
        except Unparsed:
            return False
        return {"v", "created", "messages"} <= thread.keys() and bytes(thread.get("id", Raw(b""))).startswith(b'"T-')

    def read(self, path: Path, *, growing: bool = False) -> Iterator[Record]:
        fields = _fields(path.read_bytes())
        messages = _list(fields.pop("messages", Raw(b"[]")))
        facts = b"{" + b",".join(msgspec.json.encode(name) + b":" + bytes(value) for name, value in fields.items()) + b"}"
        thread = msgspec.json.decode(facts)
        clock = _Clock(thread)
        yield tape.record(0.0, "head", _head(thread))
        yield Record(0.0, "recv", Raw(facts))
        for message in messages:
            yield Record(clock.at(msgspec.json.decode(message)), "recv", message)


def _fields(document: bytes) -> dict[str, Raw]:
    try:
        return msgspec.json.decode(_TOKENS.sub(lambda token: token[1] or b"", document), type=dict[str, Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unparsed(f"not a thread of Amp: {error}") from None


def _list(told: Raw) -> list[Raw]:
    try:
        return msgspec.json.decode(told, type=list[Raw])
    except msgspec.ValidationError as error:
        raise Unparsed(f"not a thread of Amp: {error}") from None


def _head(thread: dict[str, Any]) -> Head:
    try:
        told = identity(thread)
    except MALFORMED:
        told = {}  # the translator says so, of the record that follows
    return tape.head(
        agent="amp", dialect=Thread.dialect, version=told.get("agent_version"), cwd=told.get("cwd"), model=told.get("model"),
        mode=told.get("mode"), started=written(_created(thread) * 1000),
    )  # fmt: skip


def _created(thread: dict[str, Any]) -> float:
    told = thread.get("created")
    return told / 1000 if isinstance(told, int) and 0 <= told <= LAST else 0.0


class _Clock:
    """Seconds since the thread was created; what tells no time happened with what came before it."""

    def __init__(self, thread: dict[str, Any]) -> None:
        self._created = _created(thread)
        self._now = 0.0
        self._tools: dict[int, str] = {}
        """When the tools of a message were done, by its number."""
        match thread:
            case {"meta": {"traces": [*traces]}}:
                self._tools = {number: end for trace in traces for number, end in _tools_of(trace)}
            case _:
                pass

    def at(self, message: Any) -> float:
        told = self._told(message)
        if told is not None:
            self._now = max(self._now, round(told - self._created, 3))
        return self._now

    def _told(self, message: Any) -> float | None:
        match message:
            case {"meta": {"sentAt": int(sent)}}:
                return sent / 1000
            case {"usage": {"timestamp": str(ended)}}:
                return _read(ended)
            case {"messageId": int(number)} if number - 1 in self._tools:
                # Results come in the message after the one that called for them, whose number the trace of the tools has.
                return _read(self._tools[number - 1])
            case _:
                return None


def _tools_of(trace: Any) -> Iterator[tuple[int, str]]:
    match trace:
        case {"name": "tools", "endTime": str(end), "context": {"messageId": int(number)}}:
            yield number, end
        case _:
            pass


def _read(time: str) -> float | None:
    told = moment(time)
    return told.timestamp() if told else None
