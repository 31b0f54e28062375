"""Tape to transcript: the one function behind convert, import, reconvert and verify.

    for event in transcribe(open("session.tape.jsonl", "rb"), agent="…"):
        ...

A pure function of the bytes: same events, same ids, same times, on any machine.
It streams: nothing here grows with the length of the tape.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Raw

from onetape import tape
from onetape.agents import registry
from onetape.agents.agent import Agent
from onetape.drafts import Blob, Draft, Unreadable
from onetape.errors import Refused, Unparsed
from onetape.recorder import Recorder
from onetape.schema import Event
from onetape.tape import Head, Line, Record
from onetape.translator import MALFORMED, NOT_HOT, Send, Translator

# How many records may pass before a dialect is recognised; then the agent's main one is taken.
UNDECIDED = 64
# So many records are read at most before the first of them is recorded.
HANDFUL = 128
# An answer's next words are looked for at every so many records: they seldom come in fewer.
STRIDE = 16

# glibc hands what is freed at the end of its heap back to the system, and asks for it again with the next piece: a tenth of the time.
# It keeps twice as much as the largest block that was ever freed (mallopt(3), M_TRIM_THRESHOLD), so one is, untouched.
len(bytes(4 << 20))


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
    transcriber, batches = _opened(_batches(source), agent, dialect, session_id, include_raw)
    return transcriber.transcript(batches)


def opened(
    source: bytes | Iterable[bytes] | Iterable[Record], agent: str | Agent | None = None, *, session_id: str | None = None
) -> tuple["Transcriber", Iterator[Record]]:
    """What transcribes a tape, and the tape's records, none of which it has taken yet."""
    transcriber, batches = _opened(_batches(source), agent, None, session_id, False)
    return transcriber, chain.from_iterable(batches)


def _opened(
    batches: Iterator[Sequence[Record]], agent: str | Agent | None, dialect: str | None, session_id: str | None, include_raw: bool
) -> tuple["Transcriber", Iterator[Sequence[Record]]]:
    taken, leading, head = _leading(batches, agent)
    transcriber = Transcriber(_agent(agent, head), head, leading, dialect=dialect, session_id=session_id, include_raw=include_raw)
    return transcriber, chain(taken, batches)


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
        if head.agent not in (None, agent.name):
            head = msgspec.structs.replace(head, dialect=None)  # another agent's tape: its words mean nothing here
        head = msgspec.structs.replace(head, agent=agent.name, session_id=session_id, key=key)
        self.agent = agent
        self.session_id = session_id
        self.translator: Translator = agent.translator(dialect or head.dialect, _said(leading[:UNDECIDED]))(head)
        self._last: Record | None = None
        """What the agent said last: the cause of what it makes us say when the tape is over."""
        self._recorder = Recorder(
            head, session_id, key, include_raw=include_raw, chatty=self.translator.stderr_is_chatter, spent=self.translator.spent
        )

    def take_blobs(self) -> list[Blob]:
        """What the records that were taken last brought. Who does not want it need not ask: the next ones make it forgotten."""
        blobs, self._recorder.blobs = self._recorder.blobs, []
        return blobs

    def transcript(self, batches: Iterable[Sequence[Record]]) -> Iterator[Event]:
        """All events of a whole tape."""
        return chain.from_iterable(self._by_the_handful(batches))

    def _by_the_handful(self, batches: Iterable[Sequence[Record]]) -> Iterator[list[Event]]:
        """Together, so that whoever encodes them has the processor's caches to himself for that long."""
        for batch in batches:
            at = 0
            while at < len(batch):
                if events := self.run(batch, at):
                    at += len(events)
                    yield events
                else:
                    kept, events, _, _ = self.together(batch, at)
                    at += len(kept)
                    yield events
        yield self.finish()

    def together(self, records: Sequence[Record], at: int) -> tuple[Sequence[Record], list[Event], list[int], list[Send]]:
        """What `step` does with the record at this place, and with those after it that are ordinary, up to the first that demands an
        answer: the records as the tape must keep them, their events, how many those are after each, and what the agent demands.

        All are read before the first is recorded. A part of the work that is done again and again, with no other between, has the
        processor's caches to itself, and takes half the time. (A translator asks nothing of the recorder.)"""
        drafts, demanded = self._read_together(records, at)
        if not drafts:
            kept, events, demanded = self.step(records[at])
            return [kept], events, [len(events)], demanded
        heard = records[at : at + len(drafts)]
        self._last = heard[-1]
        return heard, *self._recorder.heard(heard, drafts), demanded

    def _read_together(self, records: Sequence[Record], at: int) -> tuple[list[list[Draft]], list[Send]]:
        """What is said from this place on, up to a line that is no object or that the agent did not say, or to an answer's next words,
        or to one that demands an answer."""
        told: list[list[Draft]] = []
        demanded: list[Send] = []
        translator, lines = self.translator, tape.said(records, at, self._words_after(records, at))
        while len(told) < len(lines):
            for message in self._often(lines, len(told)):
                try:
                    drafts = translator.read_often(message)
                except MALFORMED as error:
                    drafts = translator.unreadable(error)
                if drafts is not None:
                    told.append(drafts)
                elif not self._feed(lines[len(told)], told, demanded):
                    return told, demanded
            if len(told) < len(lines) and not self._feed(lines[len(told)], told, demanded):
                break
        return told, demanded

    def _often(self, lines: Sequence[Line], at: int) -> list[Any]:
        """The messages from this line on that come often, up to one that does not, or about which something is odd."""
        messages: list[Any] = []
        if (often := self.translator.often) is not None:
            try:  # noqa: SIM105 - this is on the way of most lines
                messages.extend(map(often.decode, lines[at:]))
            except NOT_HOT:
                pass  # those before it are in the list
        return messages

    def _feed(self, line: Line, told: list[list[Draft]], demanded: list[Send]) -> bool:
        """The ordinary way. Whether more may follow in the same go."""
        try:
            native = tape.quick(line)
        except NOT_HOT:
            return False
        if type(native) is not dict:
            return False
        outputs: list[Any] = self.translator.feed(native)
        if not outputs or Send not in map(type, outputs):
            told.append(outputs)
            return True
        drafts, sends = _apart(outputs)
        told.append(drafts)
        demanded += sends
        return False

    def _words_after(self, records: Sequence[Record], at: int) -> int:
        """Where the next words of an answer begin, behind this place; else how far one may go."""
        until = min(at + HANDFUL, len(records))
        if (hot := self.translator.hot) is None:
            return until
        for place in range(at + 1, until - 1, STRIDE):
            if hot.may_be(records, place) and hot.may_be(records, place + 1):
                while place > at + 1 and hot.may_be(records, place - 1):
                    place -= 1
                return place
        return until

    def run(self, records: Sequence[Record], at: int) -> list[Event]:
        """The short way: if an answer's next words begin here, their events, one for each record as far as they go on. Else none."""
        hot = self.translator.hot
        if hot is None or not self._recorder.open or not hot.may_be(records, at):
            return []
        try:
            message = hot.decode(tape.said(records, at, at + 1)[0])
        except NOT_HOT:
            return []
        said = self.translator.glance(message)
        item = self._recorder.speaking(said.key) if said is not None and said.text else None
        if item is None:
            return []
        texts = [hot.words(message), *hot.following(records, at + 1, hot.place(message))]
        taken = records[at : at + len(texts)]
        self._last = taken[-1]
        return self._recorder.words(taken, item, texts)

    def take(self, record: Record) -> list[Event]:
        """The events of one record. What the agent demands in answer is on the tape already."""
        return self.step(record)[1]

    def step(self, record: Record) -> tuple[Record, list[Event], list[Send]]:
        """One record as the tape must keep it, its events, and what the agent demands in answer to it."""
        # Every line goes through here: what is written out is so in place of a call.
        if record.dir != "recv" or record.stream is not None or record.note is not None:  # as is_heard says
            return record, self._other(record), []
        self._last = record
        try:
            native = tape.quick(record.payload)
        except NOT_HOT:
            native = None
        if type(native) is not dict:
            try:
                native = record.native()
            except Unparsed as error:
                return self._unparsed(record, str(error))
        outputs = self.translator.feed(native)
        if outputs and Send in map(type, outputs):
            drafts, demanded = _apart(outputs)
            return record, self._recorder.record(record, drafts), demanded
        return record, self._recorder.record(record, outputs), []  # type: ignore[arg-type]

    def _other(self, record: Record) -> list[Event]:
        match record.dir:
            case "send":
                return self._sent(record)
            case "head":
                return self._recorder.record(record, self.translator.begin())
            case "exit":
                code = _code(record)
                return self._recorder.exit(record, code, self.translator.close(code))
            case "end":
                verdict = _quietly(record)
                return self._recorder.end(record, verdict if isinstance(verdict, dict) else {})
            case "stderr" if record.note is not None and isinstance(count := _quietly(record), int):
                self._recorder.stderr_left_out(count)
                return []
            case "stderr":
                self._recorder.stderr(record.line.decode(errors="replace"))
                return []
            case _:
                return []  # remarks and audit: on the tape, no event

    def finish(self) -> list[Event]:
        """The tape is over. A history's is not: it may still grow."""
        drafts = self.translator.finish()
        events = self._recorder.record(self._last, drafts) if drafts and self._last is not None else []
        return events if self.translator.is_history else events + self._recorder.finish()

    def _unparsed(self, record: Record, why: str) -> tuple[Record, list[Event], list[Send]]:
        record = record if tape.is_quoted(record) else tape.quoted(record)
        if not record.line.strip():
            return record, [], []  # a blank line says nothing, on a tape as between bare lines
        return record, self._recorder.record(record, [Unreadable(why, "line")]), []

    def _sent(self, record: Record) -> list[Event]:
        match _quietly(record):
            case None:
                return []  # not JSON: the agent could not read it either
            case {"signal": name}:
                return self._recorder.signal(record, name)
            case native:
                return self._recorder.record(record, self.translator.sent(native))


def _apart(outputs: list[Draft | Send]) -> tuple[list[Draft], list[Send]]:
    return [each for each in outputs if not isinstance(each, Send)], [each for each in outputs if isinstance(each, Send)]


# --- who is speaking --------------------------------------------------------


def recognise(source: bytes) -> Agent | None:
    """Whose recording this is, by its first lines."""
    _, leading, head = _leading(tape.batches(source))
    if head is not None and head.agent in registry.names():
        return registry.find(head.agent)
    said = list(_said(leading))
    return next((agent for agent in registry.every() if agent.recognise(said) is not None), None)


def _batches(source: bytes | Iterable[bytes] | Iterable[Record]) -> Iterator[Sequence[Record]]:
    if isinstance(source, bytes):
        return tape.batches(source)
    items: Iterator[Any] = iter(source)
    first = next(items, None)
    if first is None:
        return iter(())
    if not isinstance(first, Record):
        return tape.batches(chain([first], items))
    # Whoever has records may be waiting for the next one; only what lies there already is taken together.
    return _sliced([first, *items]) if isinstance(source, list | tuple) else ([record] for record in chain([first], items))


def _sliced(records: list[Record]) -> Iterator[Sequence[Record]]:
    return (records[at : at + tape.TOGETHER] for at in range(0, len(records), tape.TOGETHER))


def _leading(
    batches: Iterator[Sequence[Record]], agent: str | Agent | None = None
) -> tuple[list[Sequence[Record]], list[Record], Head | None]:
    """What must be read to know whose tape this is and in which dialect, the first records of it, and its head. No more: the next may be
    long in coming."""
    taken: list[Sequence[Record]] = []
    leading: list[Record] = []
    head: Head | None = None
    whose = registry.find(agent) if isinstance(agent, str) else agent
    for batch in batches:
        taken.append(batch)
        first = batch[: UNDECIDED - len(leading)]  # however many come together
        leading += first
        head = head or next((head_of(record) for record in first if record.dir == "head"), None)
        is_told = head is not None and head.dialect is not None
        if is_told or len(leading) == UNDECIDED or (whose is not None and whose.recognise(_said(first)) is not None):
            break
    return taken, leading, head


def head_of(record: Record) -> Head:
    """Whose tape this is, by its first record."""
    try:
        return msgspec.convert(record.native(), Head)
    except (msgspec.ValidationError, Unparsed) as error:
        raise Refused(f"the head of this tape is malformed: {error}") from None


def _agent(agent: str | Agent | None, head: Head | None) -> Agent:
    if isinstance(agent, Agent):
        return agent
    name = agent or (head.agent if head else None)
    if name is None:
        raise Refused("this tape does not say which agent it is of: name the agent")
    return registry.find(name)


def _said(leading: Sequence[Record]) -> Iterator[tuple[Any, bool]]:
    """What was said first, and whether by us. One by one: the first often tells enough."""
    spoken = ((_quietly(record), record.dir == "send") for record in leading if record.dir in ("recv", "send") and not record.silent)
    return ((native, sent) for native, sent in spoken if native is not None)


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
