"""Secrets in pieces: an answer that streams brings a key a few characters at a time, and no line shows all of it.

Two ways of streaming are followed, each by the place in the message and the ids beside it: pieces that are to be joined,
and texts of which each repeats the one before and goes on. Where a secret lies across several records, each of them is
told which part of it has to go.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct, field

from onetape.recent import Recent

Path: TypeAlias = tuple[str | int, ...]
Cuts: TypeAlias = dict[tuple[int, Path], list["Cut"]]

FOLLOWED = 4096
"""Streams at a time."""
GROWN_MOST = 1 << 16
"""Longer texts are not sent again and again."""

_ID = re.compile(r".*(?:id|index|ID|Id|Index)")
_OF_THE_RECORD = frozenset({"uuid", "eventId", "event_id"})
"""Ids that are another one in each message, as its own `id` is, and so tell no streams apart."""


class Cut(Struct, frozen=True):
    begin: int
    end: int
    stub: str


class _Piece(Struct, gc=False):
    record: int
    begin: int
    """In the stream."""
    length: int


class _Stream(Struct):
    path: Path
    window: str = ""
    begin: int = 0
    """Of the window, in the stream."""
    pieces: "deque[_Piece]" = field(default_factory=deque)
    last: str = ""
    last_record: int = 0
    grown: list[tuple[int, int]] = field(default_factory=list)
    """Records of texts that the last one begins with, and their lengths."""


class Streams:
    """`stubs`: what to put for each secret; `pattern` finds them all, the longest first."""

    def __init__(self, pattern: re.Pattern[str], stubs: dict[str, str]) -> None:
        self._pattern = pattern
        self._stubs = stubs
        self._reach = max(map(len, stubs), default=0)
        self._streams: Recent[Any, _Stream] = Recent(FOLLOWED)
        self.cuts: Cuts = {}

    def see(self, record: int, key: Any, path: Path, text: str, glue: str = "") -> None:
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(path)
        if text == stream.last:
            pass  # the same again: it did not grow, but may be the next piece all the same
        elif stream.last and text.startswith(stream.last):
            stream.grown.append((stream.last_record, len(stream.last)))
        elif stream.grown:
            stream.grown = []
        stream.last, stream.last_record = (text if len(text) <= GROWN_MOST else ""), record
        self._join(stream, record, glue + text if stream.pieces else text, len(glue) if stream.pieces else 0)
        self._grow(stream)

    # --- pieces that are to be joined ---

    def _join(self, stream: _Stream, record: int, text: str, skip: int) -> None:
        begin = stream.begin + len(stream.window)
        stream.pieces.append(_Piece(record, begin + skip, len(text) - skip))
        stream.window += text
        for match in self._pattern.finditer(stream.window):
            if stream.begin + match.end() > begin:
                self._cut(stream, stream.begin + match.start(), stream.begin + match.end(), self._stubs[match[0]])
        self._trim(stream)

    def _cut(self, stream: _Stream, begin: int, end: int, stub: str) -> None:
        touched = [piece for piece in stream.pieces if piece.begin < end and begin < piece.begin + piece.length]
        if len(touched) < 2:
            return  # the record shows it whole, and is mended by itself
        for at, piece in enumerate(touched):
            cut = Cut(max(begin - piece.begin, 0), min(end - piece.begin, piece.length), "" if at else stub)
            self._add(piece.record, stream.path, cut)

    def _trim(self, stream: _Stream) -> None:
        gone = len(stream.window) - self._reach
        if gone > 0:
            stream.begin += gone
            stream.window = stream.window[gone:]
        while stream.pieces and stream.pieces[0].begin + stream.pieces[0].length <= stream.begin:
            stream.pieces.popleft()

    # --- texts that grow ---

    def _grow(self, stream: _Stream) -> None:
        if not stream.grown:
            return
        for match in self._pattern.finditer(stream.last, max(0, stream.grown[-1][1] - self._reach)):
            for record, length in reversed(stream.grown):
                if length <= match.start():
                    break
                if length < match.end():
                    self._add(record, stream.path, Cut(match.start(), length, self._stubs[match[0]]))

    def _add(self, record: int, path: Path, cut: Cut) -> None:
        """A longer reading of the same place wins: the shorter one was the beginning of a secret that went on."""
        cuts = self.cuts.setdefault((record, path), [])
        same = next((at for at, known in enumerate(cuts) if known.begin == cut.begin), None)
        if same is None:
            cuts.append(cut)
        elif cut.end >= cuts[same].end:
            cuts[same] = cut


def ids_of(native: dict[str, Any], is_inside: bool = False) -> Iterator[tuple[str, Any]]:
    """What tells one stream from another that runs beside it."""
    for name, value in native.items():
        if isinstance(value, dict):
            yield from ids_of(value, is_inside=True)
        elif isinstance(value, str | int) and (is_inside or name != "id") and name not in _OF_THE_RECORD and _ID.fullmatch(name):
            yield name, value


def mended(text: str, cuts: list[Cut]) -> str:
    for cut in sorted(cuts, key=lambda cut: cut.begin, reverse=True):
        text = text[: cut.begin] + cut.stub + text[cut.end :]
    return text
