"""Where a session that is followed is shown: to a person as a transcript, to a program as one JSON event a line."""

import sys
from typing import Protocol

from rich.text import Text

from onetape.cli.pretty import Pretty, screen, visible
from onetape.client import Heard
from onetape.schema import Event


class Screen(Protocol):
    def show(self, heard: Heard, *, seen: bool = False) -> None:
        """`seen`: a person at the screen knows this already."""
        ...

    def say(self, words: str) -> None:
        """A word of ours, apart from the transcript."""
        ...

    def typed(self, message: str) -> None:
        """The person said this on the same screen."""
        ...

    def live(self) -> None:
        """What there was is told; from here on it is news."""
        ...

    def hold(self) -> None:
        """Something is asked on the same screen: what comes meanwhile waits."""
        ...

    def release(self) -> None: ...


class Readable:
    def __init__(self) -> None:
        self._pretty = Pretty()
        self._errors = screen(stderr=True)
        self._held: list[Event] | None = None

    def show(self, heard: Heard, *, seen: bool = False) -> None:
        if seen:
            return
        if self._held is None:
            self._pretty.show(heard.event)
        else:
            self._held.append(heard.event)

    def say(self, words: str) -> None:
        self._pretty.rest()
        self._errors.print(Text(visible(words), "dim"), soft_wrap=True)

    def typed(self, message: str) -> None:
        self._pretty.typed(message)

    def live(self) -> None:
        self._pretty.is_live = True

    def hold(self) -> None:
        self._pretty.rest()
        self._held = self._held or []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            self._pretty.show(event)


class Ndjson:
    """The events byte for byte as they are kept. Whatever else there is to say goes to stderr."""

    def show(self, heard: Heard, *, seen: bool = False) -> None:
        sys.stdout.buffer.write(heard.body + b"\n")
        sys.stdout.buffer.flush()

    def say(self, words: str) -> None:
        print(f"onetape: {visible(words)}", file=sys.stderr)

    def typed(self, message: str) -> None: ...

    def live(self) -> None: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...
