"""What we said to Claude Code: in which turn it takes a message up, and which echo is whose.

An echo (`isReplay`) has the id of what was sent, or a new one where none was sent. Messages that waited together
come back joined by line breaks under the last one's id, a slash command comes back under its real name though an
alias was typed, or not at all (2.1.197). Turns of 2.1.326 name the messages that they take up
(`user_message_uuids`), some before their echoes come; without --replay-user-messages none come.
"""

from collections import deque
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.claude.content import typed
from onetape.schema import ContentPart, Text

# A program that never echoes must not make this grow.
REMEMBERED = 256


class Sent(Struct, frozen=True):
    id: str | None
    words: str
    parts: list[ContentPart]


class Sends:
    def __init__(self) -> None:
        self._unheard: deque[Sent] = deque(maxlen=REMEMBERED)
        self._waiting = 0
        """How many of these were sent during an earlier turn."""
        self._taken: deque[Sent] = deque(maxlen=REMEMBERED)
        """Known to be taken up; their echoes say nothing new."""
        self._names_them = False
        self._echoed: list[str] = []
        """Of a recording without sends: the words that came back since the agent spoke last."""

    def add(self, sent: Sent) -> None:
        self._unheard.append(sent)

    def withdraw(self, id: str) -> d.Draft:
        """It was taken back while it waited."""
        if (sent := next((sent for sent in self._unheard if sent.id == id), None)) is not None:
            self._waiting -= list(self._unheard).index(sent) < self._waiting
            self._unheard.remove(sent)
        return d.Withdrawn(id)

    def begins(self, ids: Any) -> Iterator[d.Draft]:
        """A turn begins. Where it does not name its messages, those that waited for it longest are its."""
        if ids:
            self._names_them = True
            yield from self._named(ids)
            return
        waiting = [sent for sent in list(self._unheard)[: self._waiting] if sent.id is None or not self._names_them]
        together = list(takewhile(lambda sent: not _is_command(sent), waiting))  # a command runs alone
        for sent in together or waiting[:1]:
            yield self._take(sent)

    def ends(self, ids: Any) -> Iterator[d.Draft]:
        """A turn is over. Without echoes only now is told that it took up what was said while it ran."""
        yield from self._named(ids or ())
        self._waiting = len(self._unheard)
        self._echoed.clear()

    def echo(self, words: str, parts: list[ContentPart], id: str | None) -> Iterator[d.Draft]:
        command = typed(words)
        if known := _meant(self._taken, words, command, id):
            for sent in known:
                self._taken.remove(sent)
        elif meant := _meant(self._unheard, words, command, id):
            for sent in meant:
                yield self._take(sent, id)
                self._taken.pop()
        else:
            yield d.Heard(self._new(words, parts) if command is None else [Text(command)], id)

    def _named(self, ids: Any) -> Iterator[d.Draft]:
        for sent in [sent for sent in self._unheard if sent.id is not None and sent.id in ids]:
            yield self._take(sent)

    def _take(self, sent: Sent, id: str | None = None) -> d.Draft:
        """It is taken up, and with it what was sent before."""
        while self._unheard:
            self._waiting = max(0, self._waiting - 1)
            self._taken.append(self._unheard.popleft())
            if self._taken[-1] is sent:
                break
        return d.Heard(sent.parts, sent.id or id)

    def _new(self, words: str, parts: list[ContentPart]) -> list[ContentPart]:
        """An echo without the words of those before it, which it repeats where they waited together."""
        before = "".join(f"{each}\n" for each in self._echoed)
        rest = words.removeprefix(before)
        self._echoed.append(rest)
        return parts if rest == words else [Text(rest), *(part for part in parts if not isinstance(part, Text))]


def _meant(sends: deque[Sent], words: str, command: str | None, id: str | None) -> list[Sent]:
    """The messages that this is the echo of: by its id, or by its words where they were sent without one."""
    if named := [sent for sent in sends if sent.id is not None and sent.id == id]:
        return named
    nameless = [sent for sent in sends if sent.id is None]
    if command is not None:
        same = [sent for sent in nameless if sent.words == command]
        return (same or list(filter(_is_command, nameless)))[:1]
    for start in range(len(nameless)):
        joined: list[str] = []
        for sent in nameless[start:]:
            joined.append(sent.words)
            if "\n".join(joined) == words:
                return nameless[start : start + len(joined)]
    return []


def _is_command(sent: Sent) -> bool:
    return sent.words.startswith("/")
