"""Tape to transcript: the one function behind convert, import, reconvert and verify.

    for event in transcribe(open("session.tape.jsonl", "rb"), agent="…"):
        ...

A pure function of the bytes: same events, same ids, same times, on any machine.
It streams: nothing here grows with the length of the tape.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from onetape import tape
from onetape.agents import registry
from onetape.agents.agent import Agent
from onetape.drafts import Draft, Unreadable
from onetape.errors import Refused, Unparsed
from onetape.recorder import Recorder
from onetape.schema import Event
from onetape.tape import Head, Record
from onetape.translator import Send, Translator

# How many records may pass before a dialect is recognised; then the agent's main one is taken.
UNDECIDED = 64


def transcribe(
    source: bytes | Iterable[bytes] | Iterable[Record],
    agent: str | Agent | None = None,
    *,
    dialect: str | None = None,
    session_id: str | None = None,
    include_raw: bool = False,
) -> Iterator[Event]:
    """The events of a tape, or of an agent's bare native lines.

    `source`: the bytes, any iterable of chunks of them (an open file), or records.
    `agent` and `dialect` may be left out where the tape's head names them.
    """
    records = _records(source)
    leading, head = _leading(records)
    transcriber = Transcriber(_agent(agent, head), head, leading, dialect=dialect, session_id=session_id, include_raw=include_raw)
    for record in leading:
        yield from transcriber.take(record)
    for record in records:
        yield from transcriber.take(record)
    yield from transcriber.finish()


class Transcriber:
    """A translator and a recorder over one tape: what a live session and a replay have in common."""

    def __init__(
        self, agent: Agent, head: Head | None, leading: Iterable[Record] = (), *,
        dialect: str | None = None, session_id: str | None = None, include_raw: bool = False,
    ) -> None:  # fmt: skip
        leading = list(leading)
        head = head or Head()
        session_id = session_id or head.session_id or _session_id(leading)
        key = head.key or hashlib.sha256(session_id.encode()).hexdigest()[:12]
        head = msgspec.structs.replace(head, agent=agent.name, session_id=session_id, key=key)
        self.translator: Translator = agent.translator(dialect or head.dialect, _said(leading))(head)
        self._recorder = Recorder(head, session_id, key, include_raw=include_raw, chatty=self.translator.stderr_is_chatter)

    @property
    def blobs(self) -> list[Any]:
        return self._recorder.blobs

    def take(self, record: Record) -> list[Event]:
        """The events of one record. What the agent demands in answer is on the tape already."""
        return self.step(record)[0]

    def step(self, record: Record) -> tuple[list[Event], list[Send]]:
        """The events of one record, and what the agent demands in answer to it."""
        match record.dir:
            case "recv" if not record.silent:
                return self._heard(record)
            case "send":
                return self._sent(record), []
            case "head":
                return self._recorder.record(record, self.translator.begin()), []
            case "exit":
                code = _code(record)
                return self._recorder.exit(record, code, self.translator.close(code)), []
            case "end":
                verdict = _quietly(record)
                return self._recorder.end(record, verdict if isinstance(verdict, dict) else {}), []
            case "stderr":
                self._recorder.stderr(record.line.decode(errors="replace"))
                return [], []
            case _:
                return [], []  # remarks and audit: on the tape, no event

    def finish(self) -> list[Event]:
        """The tape is over. A history's is not: it may still grow."""
        return [] if self.translator.is_history else self._recorder.finish()

    def _heard(self, record: Record) -> tuple[list[Event], list[Send]]:
        try:
            native = record.native()
        except Unparsed as error:
            record = record if record.payload[:1] == b'"' else tape.quoted(record)
            return self._recorder.record(record, [Unreadable(str(error), "line")]), []
        outputs = self.translator.feed(native)
        drafts: list[Draft] = [output for output in outputs if not isinstance(output, Send)]
        return self._recorder.record(record, drafts), [output for output in outputs if isinstance(output, Send)]

    def _sent(self, record: Record) -> list[Event]:
        match _quietly(record):
            case None:
                return []  # not JSON: the agent could not read it either
            case {"signal": name}:
                return self._recorder.signal(record, name)
            case native:
                return self._recorder.record(record, self.translator.sent(native))


# --- who is speaking --------------------------------------------------------


def _records(source: bytes | Iterable[bytes] | Iterable[Record]) -> Iterator[Record]:
    if isinstance(source, bytes):
        return tape.read([source])
    items = iter(source)
    first = next(items, None)
    if first is None:
        return iter(())
    if isinstance(first, Record):
        return _chain(first, items)
    return tape.read(_chain(first, items))


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _leading(records: Iterator[Record]) -> tuple[list[Record], Head | None]:
    """The records needed to know whose tape this is, and its head."""
    leading: list[Record] = []
    head: Head | None = None
    for record in records:
        leading.append(record)
        if record.dir == "head":
            head = _head(record)
        if len(leading) == UNDECIDED or (head is not None and head.dialect is not None):
            break
    return leading, head


def _head(record: Record) -> Head:
    try:
        return msgspec.json.decode(record.payload, type=Head)
    except msgspec.ValidationError as error:
        raise Refused(f"the head of this tape is malformed: {error}") from None


def _agent(agent: str | Agent | None, head: Head | None) -> Agent:
    if isinstance(agent, Agent):
        return agent
    name = agent or (head.agent if head else None)
    if name is None:
        raise Refused("this tape does not say which agent it is of: name the agent")
    return registry.find(name)


def _said(leading: list[Record]) -> list[tuple[Any, bool]]:
    """What was said first, and whether by us."""
    spoken = ((_quietly(record), record.dir == "send") for record in leading if record.dir in ("recv", "send") and not record.silent)
    return [(native, sent) for native, sent in spoken if native is not None]


def _session_id(leading: list[Record]) -> str:
    first = leading[0] if leading else Record(0.0, "note", Raw(b"null"))
    return "sess_" + tape.hash_of(first.line)[:16]


def _quietly(record: Record) -> Any:
    try:
        return record.native()
    except Unparsed:
        return None


def _code(record: Record) -> int | None:
    code = _quietly(record)
    return code if isinstance(code, int) else None
