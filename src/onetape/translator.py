"""The two-way, sans-I/O heart: native messages <-> the transcript.

A translator never reads, writes, waits, or looks at the clock. Somebody else
(a driver, a pipe, a history reader, a test) owns the I/O and calls:

    begin()          the head of the tape is known -> drafts
    open()           a live session starts         -> the first sends
    feed(native)     the agent said this           -> drafts, and sends it demands
    sent(native)     we said this to the agent     -> drafts
    encode(command)  a client wants this           -> sends only, or Refused
    close(code)      the process is gone           -> drafts
    finish()         the tape is over              -> drafts: what was held back

Events come from what crossed the wire and never from a command itself, so a
replay needs no commands and a stranger's recording converts like our own.
Subclasses write `_read`, `_sent` and `_write`, and where they need them
`_begin`, `_open`, `_end` and `_finish`: generators, one arm of a `match` per native shape.
`hot` and `glance`, `often` and `read_often` are shortcuts for speed alone.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias

import msgspec
from msgspec import Struct

from onetape.commands import Command, name_of
from onetape.drafts import Add, Draft, Unheard, Unknown, Unreadable, fitting
from onetape.errors import Refused, Unparsed
from onetape.ids import uuid_of
from onetape.kinds import kind_of
from onetape.schema import Usage
from onetape.tape import Head, Heard, Line, Record, is_heard, said

Native: TypeAlias = Any

# What reading a message that is not of its own shape ends in.
MALFORMED = (Unparsed, KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)

# How far into a line the mark of a hot one is looked for; where it stands later, the line takes the ordinary way.
REACH = 400
# Hot lines that are decoded one by one before the next are taken together, and how many that are.
FEW, TOGETHER = 8, 64


class Send(Struct, frozen=True):
    """One native message to write: a line's object, an HTTP request `{method, path, body}`, or `{signal}`."""

    message: Native


Outputs: TypeAlias = Iterable[Draft | Send]


class Hot(Struct, frozen=True):
    """The message that nine lines of ten are, an answer's next words, for a short way past `_read`."""

    mark: bytes
    """Stands at the beginning of every such line."""
    decode: Callable[[Line], Any]
    decode_list: Callable[[bytes], list[Any]]
    place: Callable[[Any], Any]
    """Where its words go: as long as nothing else is said, to the same message as those of the same place before."""
    words: Callable[[Any], str]

    def may_be(self, records: Sequence[Record], at: int) -> bool:
        if isinstance(records, Heard):
            return self.mark in records.lines[at][:REACH]
        record = records[at]
        return self.mark in bytes(memoryview(record.payload)[:REACH]) and is_heard(record)

    def following(self, records: Sequence[Record], at: int, place: Any) -> list[str]:
        """The next words of the same place, a text for each record from here that brings nothing else."""
        texts: list[str] = []
        while at < len(records):
            # A few are seen one by one first: where an answer is short there would be nothing to gain.
            count = TOGETHER if len(texts) >= FEW else FEW
            lines = said(records, at, at + count)
            told = self._together(lines, place) if count > FEW else None
            told = self._one_by_one(lines, place) if told is None else told
            texts += told
            if len(told) < count:
                break
            at += count
        return texts

    def _one_by_one(self, lines: Sequence[Line], place: Any) -> list[str]:
        texts: list[str] = []
        for line in lines:
            try:
                message = self.decode(line)
            except NOT_HOT:
                break
            text = self.words(message)
            if not text or self.place(message) != place:
                break
            texts.append(text)
        return texts

    def _together(self, lines: Sequence[Line], place: Any) -> list[str] | None:
        """The same in one call of the decoder, where all of them are such; else None."""
        try:
            # A blank line, one that was cut off or one of two messages makes this no list, or one of another length.
            messages = self.decode_list(b"[" + b",".join(lines) + b"]")
        except NOT_HOT:
            return None
        texts = [*map(self.words, messages)]
        is_all = len(lines) == len(messages) == [*map(self.place, messages)].count(place) and all(texts)
        return texts if is_all else None


def hot(mark: bytes, shape: Any, place: str, words: str) -> Hot:
    """`shape` names the few fields that matter, so that the decoder skips the rest; its literals make any other line fail,
    which then takes the ordinary way. `place` and `words` are paths of fields in it."""
    one, many = msgspec.json.Decoder(shape), msgspec.json.Decoder(list[shape])
    return Hot(mark, one.decode, many.decode, attrgetter(*place.split()), attrgetter(words))


class Often(Struct, frozen=True):
    """The messages that most other lines are, for a short way past looking at them field by field."""

    decode: Callable[[Line], Any]


def often(shapes: Any) -> Often:
    """`shapes`: structs of the few fields that matter, told apart by a tag. Whatever does not fit one of them takes the ordinary way."""
    return Often(msgspec.json.Decoder(shapes).decode)


NOT_HOT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Translator:
    title: ClassVar[str]
    """The agent's name for people, in refusals."""
    dialect: ClassVar[str]
    is_history: ClassVar[bool] = False
    """A history may still grow: its end closes nothing, and there is no `session.ended`."""
    stderr_is_chatter: ClassVar[bool] = False
    """The program writes to stderr in good days too, so that words there prove no failure."""
    steers: ClassVar[bool] = False
    """A message may be sent while a turn runs, and joins it. Elsewhere whoever drives the agent holds it back until the turn is over."""
    hot: ClassVar[Hot | None] = None
    """Must say the same as `_read` says; a test compares the two over every recording."""

    often: ClassVar[Often | None] = None
    """Must be read to say the same as `_read` says; a test compares the two over every recording."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._ids = 0

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        """Whether this message can only be of this dialect. Decides where a tape does not say it."""
        return False

    @classmethod
    def kind_of(cls, native: dict[str, Any]) -> str:
        """What the agent calls this message, for reports of drift."""
        return kind_of(native)

    @property
    def is_ready(self) -> bool:
        """Whether the handshake that `open` began is over: nothing more comes until a command."""
        return True

    @property
    def patience(self) -> float | None:
        """The seconds of silence after which the agent is known to hang, by what it said last; None: it may take its time.

        Whoever has a clock asks after each record, and stops the process when they are over."""
        return None

    def spent(self) -> Usage | None:
        """What was billed since the last turn ended, as far as told: for a turn whose end the agent will not tell any more."""
        return None

    # --- what others call ---

    def begin(self) -> list[Draft]:
        return list(self._begin())

    def open(self) -> list[Send]:
        return list(self._open())

    def feed(self, native: Native) -> list[Draft | Send]:
        if type(native) is not dict:
            return [Unknown(native)]  # JSON, but no agent speaks in bare lists or numbers
        try:
            return fitting(self._read(native))
        except MALFORMED as error:
            # All or nothing: half a message would be a lie. The tape keeps the whole.
            return [*self.unreadable(error)]

    def unreadable(self, error: Exception) -> list[Draft]:
        return [Unreadable(_reason(error), type(self).__name__)]

    def glance(self, message: Any) -> Add | None:
        """The words in a hot message; None: `feed` it."""
        return None

    def read_often(self, message: Any) -> list[Draft] | None:
        """What a message that comes often says. None, and nothing is changed, where that takes the whole line: `feed` it."""
        return None

    def sent(self, native: Native) -> list[Draft]:
        try:
            return fitting(self._sent(native))
        except MALFORMED:
            # The agent could not have read it either; its complaint will be an event.
            return [Unheard(native)]

    def encode(self, command: Command) -> list[Send]:
        return list(self._write(command))

    def close(self, code: int | None) -> list[Draft]:
        return self._all_or_unreadable(self._end(code))

    def finish(self) -> list[Draft]:
        return self._all_or_unreadable(self._finish())

    def _all_or_unreadable(self, drafts: Iterable[Draft]) -> list[Draft]:
        """For what must not be lost with others, or lose them: what was held back, and what came after it."""
        try:
            return fitting(drafts)
        except MALFORMED as error:
            return self.unreadable(error)

    # --- what an agent writes ---

    def _begin(self) -> Iterable[Draft]:
        return ()

    def _open(self) -> Iterable[Send]:
        return ()

    def _read(self, native: Native) -> Outputs:
        raise NotImplementedError

    def _sent(self, native: Native) -> Iterable[Draft]:
        return ()

    def _write(self, command: Command) -> Iterable[Send]:
        raise self.cannot(command)

    def _end(self, code: int | None) -> Iterable[Draft]:
        return ()

    def _finish(self) -> Iterable[Draft]:
        """Nothing more will explain what was waited for: bare lines have no exit, and a history has no last word."""
        return ()

    # --- what they share ---

    def cannot(self, command: Command, why: str = "") -> Refused:
        """The refusal of a command that this agent cannot carry out."""
        return Refused(f"{self.title} cannot {name_of(command).replace('_', ' ')}{': ' + why if why else ''}")

    def next_id(self) -> str:
        """A UUID for a message of ours."""
        self._ids += 1
        return uuid_of(f"{self.head.key or self.head.session_id}/{self._ids}")


def _reason(error: Exception) -> str:
    match error:
        case KeyError(args=(name,)):
            return f"missing {name!r}"
        case _:
            return str(error) or type(error).__name__
