"""The two-way, sans-I/O heart: native messages <-> the transcript.

A translator never reads, writes, waits, or looks at the clock. Somebody else
(a driver, a pipe, a history reader, a test) owns the I/O and calls:

    begin()          the head of the tape is known -> drafts
    open()           a live session starts         -> the first sends
    feed(native)     the agent said this           -> drafts, and sends it demands
    sent(native)     we said this to the agent     -> drafts
    encode(command)  a client wants this           -> sends only, or Refused
    close(code)      the process is gone           -> drafts

Events come from what crossed the wire and never from a command itself, so a
replay needs no commands and a stranger's recording converts like our own.
Subclasses write `_read`, `_sent` and `_write`, and where they need them
`_begin`, `_open` and `_end`: generators, one arm of a `match` per native shape.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

from onetape.commands import Command, name_of
from onetape.drafts import Draft, Unheard, Unreadable
from onetape.errors import Refused, Unparsed
from onetape.tape import Head

Native: TypeAlias = Any


class Send(Struct, frozen=True):
    """One native message to write: a line's object, an HTTP request `{method, path, body}`, or `{signal}`."""

    message: Native


Outputs: TypeAlias = Iterable[Draft | Send]


class Translator:
    title: ClassVar[str]
    """The agent's name for people, in refusals."""
    dialect: ClassVar[str]
    is_history: ClassVar[bool] = False
    """A history may still grow: its end closes nothing, and there is no `session.ended`."""
    stderr_is_chatter: ClassVar[bool] = False
    """The program writes to stderr in good days too, so that words there prove no failure."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._ids = 0

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        """Whether this message can only be of this dialect. Decides where a tape does not say it."""
        return False

    # --- what others call ---

    def begin(self) -> list[Draft]:
        return list(self._begin())

    def open(self) -> list[Send]:
        return list(self._open())

    def feed(self, native: Native) -> list[Draft | Send]:
        try:
            return list(self._read(native))
        except (Unparsed, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            # All or nothing: half a message would be a lie. The tape keeps the whole.
            return [Unreadable(_reason(error), type(self).__name__)]

    def sent(self, native: Native) -> list[Draft]:
        try:
            return list(self._sent(native))
        except (Unparsed, KeyError, IndexError, TypeError, ValueError, AttributeError):
            # The agent could not have read it either; its complaint will be an event.
            return [Unheard(native)]

    def encode(self, command: Command) -> list[Send]:
        return list(self._write(command))

    def close(self, code: int | None) -> list[Draft]:
        return list(self._end(code))

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

    # --- what they share ---

    def cannot(self, command: Command, why: str = "") -> Refused:
        """The refusal of a command that this agent cannot carry out."""
        return Refused(f"{self.title} cannot {name_of(command).replace('_', ' ')}{': ' + why if why else ''}")

    def next_id(self) -> str:
        """A UUID that nobody else has, and the same one on every run: there is no randomness here."""
        self._ids += 1
        digits = hashlib.sha256(f"{self.head.key or self.head.session_id}/{self._ids}".encode()).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _reason(error: Exception) -> str:
    match error:
        case KeyError(args=(name,)):
            return f"missing {name!r}"
        case _:
            return str(error) or type(error).__name__
