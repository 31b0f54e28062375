"""Words on the screen as they come: wrapped at blanks, and always at the start of a line for whoever prints next.

Of several answers that are told at once (subagents, parallel thoughts) one flows;
the others come whole when they are complete. Knows nothing of events.
"""

import re

from msgspec import Struct, field
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

MARGIN = 24
"""Cells from the edge within which a word that is not whole yet waits for its rest."""
_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class Told(Struct):
    """A text that is being told."""

    style: str
    parts: list[str] = field(default_factory=list)
    shown: int = 0
    """How many of the parts are on the screen."""


class Flow:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: dict[str, Told] = {}
        self._flowing: str | None = None
        self._column = 0
        self._word = ""
        """Near the edge, the last word until it is whole: only then is it known whether it fits."""

    def begin(self, id: str, style: str) -> None:
        self._told[id] = Told(style)

    def add(self, id: str, words: str, *, show: bool) -> None:
        """More of a text. What is not shown now comes with the first words that are."""
        told = self._told.get(id)
        if told is None:
            return
        told.parts.append(words)
        if show and self._flowing in (None, id):
            self._flowing = id
            self._write("".join(told.parts[told.shown :]), told.style)
            told.shown = len(told.parts)

    def end(self, id: str, text: str) -> bool:
        """The text is whole. False where nothing of it, or something else, was shown: then it has to be printed."""
        told = self._told.pop(id, None)
        if told is None or self._flowing != id:
            return False
        shown = "".join(told.parts[: told.shown])
        is_continued = text.startswith(shown)
        if is_continued:
            self._write(text[len(shown) :], told.style)
        self._flowing = None
        self.rest(told.style)
        return is_continued

    def rest(self, style: str = "") -> None:
        """The next thing on the screen begins a line."""
        if self._word and self._flowing is not None:
            style = self._told[self._flowing].style
        self._put_word(style)
        if self._column:
            self._print("\n", "")

    # --- the screen ---------------------------------------------------------

    def _write(self, words: str, style: str) -> None:
        for piece in _PIECES.findall(words):
            if piece.isspace():
                self._put_word(style)
                self._print("\n" if piece != "\n" and self._is_beyond(cell_len(piece)) else piece, style)
            else:
                self._word += piece
        if not self._is_beyond(cell_len(self._word) + MARGIN):
            self._put_word(style)

    def _put_word(self, style: str) -> None:
        word, self._word = self._word, ""
        if word and self._column and self._is_beyond(cell_len(word)):
            self._print("\n", "")
        if word:
            self._print(word, style)

    def _is_beyond(self, cells: int) -> bool:
        """Whether so much more would not fit into the line. The lines of a pipe have no end."""
        return self._console.is_terminal and self._column + cells > self._console.width

    def _print(self, piece: str, style: str) -> None:
        self._column = 0 if piece == "\n" else self._column + cell_len(piece)
        self._console.print(Text(piece, style), end="", soft_wrap=True)
