"""Text and reasoning parts of OpenCode: opened empty, streamed as deltas, told whole at their end."""

from msgspec import UNSET, Struct

from onetape import drafts as d
from onetape.agents.opencode import plain
from onetape.recent import forget_oldest
from onetape.schema import Visibility

REMEMBERED = 4096


class Stream(Struct):
    session: str
    message: str
    length: int = 0
    """Of what the part itself has told so far."""
    has_deltas: bool = False


class Streams:
    def __init__(self) -> None:
        self._open: dict[str, Stream] = {}
        self._seen: dict[str, None] = {}
        self.last_whole: str | None = None
        """The message that had a text with words come to its end last."""

    def __contains__(self, part: str) -> bool:
        return part in self._seen

    def saw(self, part: str) -> None:
        self._seen[part] = None
        if len(self._seen) > REMEMBERED:
            forget_oldest(self._seen, REMEMBERED)

    def part(self, part: plain.Text | plain.Reasoning, message: str, under: str | None) -> list[d.Draft]:
        id, text, time = part.id, part.text, part.time
        told: list[d.Draft] = []
        if id not in self._seen:
            told.append(self._begin(id, part.sessionID, d.Open(id, _visibility(part), message, under, message)))
        stream = self._open.get(id)
        if stream is None:
            pass  # it has ended, or its attempt was given up
        elif time is None or time.end or time.start is UNSET:
            del self._open[id]
            self.last_whole = message if text else self.last_whole
            told.append(d.Close(id, text))
        elif len(text) > stream.length and not stream.has_deltas:  # versions before `message.part.delta` resent the growing text
            told.append(d.Add(id, text[stream.length :]))
            stream.length = len(text)
        return told

    def add(self, part: str, words: str, message: str | None = None) -> d.Add | None:
        """More words of an open part; None if it is not open, or is of another message than this one."""
        stream = self._open.get(part)
        if stream is None or (message is not None and stream.message != message):
            return None
        stream.has_deltas = True
        return d.Add(part, words)

    def stub(self, part: str, session: str, message: str, under: str | None) -> d.Open:
        """Words came before the part that they are of: it begins all the same."""
        return self._begin(part, session, d.Open(part, None, message, under, message, is_stub=True))

    def _begin(self, part: str, session: str, opened: d.Open) -> d.Open:
        self.saw(part)
        self._open[part] = Stream(session, str(opened.message))
        return opened

    def abandon(self, session: str, message: str | None = None) -> list[d.Draft]:
        """The attempt is given up: what it streamed stays, and never ends by itself."""
        if not self._open:
            return []
        given_up = [id for id in self._of(session) if message in (None, self._open[id].message)]
        for id in given_up:
            del self._open[id]
        return [d.Close(id, status="failed") for id in given_up]

    def forget(self, session: str) -> None:
        """What this session has open was closed by others."""
        for id in self._of(session):
            del self._open[id]

    def _of(self, session: str) -> list[str]:
        return [id for id, stream in self._open.items() if stream.session == session]


def _visibility(part: plain.Text | plain.Reasoning) -> Visibility | None:
    if not isinstance(part, plain.Reasoning):
        return None
    told = part.metadata or {}
    return "private" if any(isinstance(inner, dict) and inner.get("redactedData") for inner in told.values()) else "public"
