"""The checker: does this transcript keep its promises?

    for violation in check(events): ...
    for violation in check(decode(open("session.ndjson", "rb"))): ...

It reads events and nothing else: no tape, no agent, and no code of the recorder, because a checker
that shares the recorder's notions would share its mistakes. It is silent where a transcript alone
cannot tell right from wrong (whether a message was dropped, whether a nested item is background work).

What the end of a turn demands is demanded of every transcript; what the end of the session demands only
where there is a `session.ended`: a history, or a session that still runs, may leave anything open.
One pass; the memory grows by a few words per item, since ids must be unique however far apart.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct

from onetape.promises.asks import Asks
from onetape.promises.calls import Calls
from onetape.promises.envelope import Envelopes, Sessions
from onetape.promises.group import Group
from onetape.promises.items import Items
from onetape.promises.turns import Turns
from onetape.schema import Event

__all__ = ["Violation", "check", "decode"]

# Not a lie of the transcript's: the agent contradicted itself, and the completed item is the truth.
WARNINGS = frozenset({"delta_mismatch"})


class Violation(Struct, frozen=True):
    """One broken promise, and where."""

    sequence: int
    rule: str
    message: str
    is_warning: bool = False


def check(events: Iterable[Event | Violation], *, bare: bool = False) -> Iterator[Violation]:
    """The broken promises of a transcript, as they come to light.

    `bare`: made from native lines without what was sent, where a user message may be told late.
    A violation among the events (a line that `decode` could not read) is passed on.
    """
    envelopes, turns = Envelopes(), Turns()
    items = Items(envelopes, turns, bare=bare)
    calls = Calls(items)
    groups: list[Group] = [envelopes, Sessions(), turns, items, calls, Asks(turns, calls)]
    for event in events:
        if isinstance(event, Violation):
            envelopes.skip()
            yield event
            continue
        for group in groups:
            for rule, message in group.see(event):
                yield Violation(event.sequence, rule, message, rule in WARNINGS)


def decode(lines: Iterable[bytes]) -> Iterator[Event | Violation]:
    """The events of an NDJSON file. Unknown keys pass; a line that is no event is a violation.

    Such a violation's sequence is the line's number: in a whole transcript they are the same.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            _has_raw(line)
            yield _event(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield Violation(number, "not_an_event", f"line {number} is not an event: {error}")


class _HasRaw(Struct):
    """The one envelope key that our types can do without (their default is null), though a transcript may not."""

    raw: Raw


_event = msgspec.json.Decoder(Event).decode
_has_raw = msgspec.json.Decoder(_HasRaw).decode
