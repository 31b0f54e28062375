"""Compactions of OpenCode: begun by a part of a user message, told by an assistant's message that is the summary.

One that was aborted is begun anew by the next prompt, and then without such a part. One
that was needed because the context overflowed drops the prompt that was too much with the
rest, and says it again afterwards, as a user message that nothing marks (1.18.33).
"""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.opencode.prompts import text_of


class Compactions:
    def __init__(self) -> None:
        self._summaries: dict[str, str | None] = {}
        """Of the sessions whose compaction runs, as far as told."""
        self._asked: dict[str, str] = {}
        self._dropped: dict[str, str] = {}
        """By session: the prompt that will be said again."""

    def begin(self, session: str, message: str, under: str | None, *, overflow: bool) -> Iterator[d.Draft]:
        yield from self.end(session, failed=True)  # one that never ended
        self._summaries[session] = None
        if overflow and session in self._asked:
            self._dropped[session] = self._asked[session]
        yield d.OpenNote(("compaction", session), "compaction", under=under, native_id=message)

    def summarise(self, session: str, message: str, under: str | None) -> Iterator[d.Draft]:
        """A summary begins. What begins with it is a compaction that nothing else announced."""
        if session not in self._summaries:
            yield from self.begin(session, message, under, overflow=False)

    def told(self, session: str, text: str) -> None:
        if text:
            self._summaries[session] = text

    def end(self, session: str, *, failed: bool = False) -> Iterator[d.Draft]:
        if session in self._summaries:
            yield d.CloseNote(("compaction", session), self._summaries.pop(session), failed=failed)

    def forget(self) -> None:
        self._summaries.clear()

    # --- the prompt that is said again --------------------------------------

    def asked(self, session: str, parts: list[dict[str, Any]]) -> None:
        self._asked[session] = text_of(parts)

    def repeats(self, session: str, parts: list[dict[str, Any]]) -> bool:
        """Whether these are the dropped prompt's words. Its images have become words that follow them."""
        return session in self._dropped and text_of(parts).startswith(self._dropped[session])

    def repeated(self, session: str) -> None:
        self._dropped.pop(session, None)
