"""What a script can do: the steps it may take, and the common ways to say things.

A script is a generator of steps, one per line of the wire, so that it can be
left at any of them when the user interrupts. It never waits itself: it yields
the wish to (`Pause`, `Ask`) and is resumed, or dropped.
"""

import re
from collections import Counter
from collections.abc import Generator
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from onetape.agents.mock import wire

EDITORS = frozenset({"write", "edit"})


# --- steps ------------------------------------------------------------------


class Say(Struct, frozen=True):
    """A line of the wire."""

    message: wire.Message


class Ask(Say, frozen=True):
    """A line of the wire that wants an answer: the script goes on with it."""

    message: wire.AskPermission | wire.AskQuestion


class Print(Struct, frozen=True):
    """A line on stdout that is not of the wire."""

    line: str


class Complain(Struct, frozen=True):
    """A line on stderr."""

    text: str


class Pause(Struct, frozen=True):
    """Nothing is said for a while; None: until interrupted."""

    seconds: float | None


class Exit(Struct, frozen=True):
    code: int


Step: TypeAlias = Say | Print | Complain | Pause | Exit
Answer: TypeAlias = wire.AnswerPermission | wire.AnswerQuestion
Outcome: TypeAlias = Literal["failed", "goodbye"]
Script: TypeAlias = Generator[Step, Answer | None, Outcome | None]
"""Returns how its turn ends: None is well."""


# --- the stage --------------------------------------------------------------


class Settings(Struct):
    """What a session was started with; model and modes may change."""

    session: str
    cwd: str = "."
    model: str = "mock-1"
    variant: str | None = None
    mode: str = "build"
    permission_mode: str = "default"
    mcp: tuple[str, ...] = ()
    resumed: bool = False
    nonce: str = ""
    """Keeps the ids of a resumed process apart from those of the one before it."""


class Use(Struct, frozen=True):
    """The use of a tool, from its call to its result."""

    name: str
    input: dict[str, Any]
    output: str = ""
    ok: bool = True
    run: wire.Run | None = None
    files: list[wire.Change] = []
    images: list[wire.Picture] = []


class Stage:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.allowed: set[str] = set()
        """Tools that the user said "always" to."""
        self._numbers: Counter[str] = Counter()
        self._context = 0
        self.begin("")

    def begin(self, text: str) -> None:
        """A turn begins: its usage is counted from here."""
        self._input, self._output, self._reasoning = len(pieces(text)), 0, 0

    def id(self, prefix: str) -> str:
        self._numbers[prefix] += 1
        tail = f"-{self.settings.nonce}" if self.settings.nonce else ""
        return f"{prefix}{self._numbers[prefix]}{tail}"

    def usage(self) -> wire.Usage:
        """A word is a token, and what was said before is read from the cache: made up, but it adds up."""
        cached, self._context = self._context, self._context + self._input + self._output
        cost = round((3 * self._input + 15 * self._output + cached / 4) / 1e6, 8)
        return wire.Usage(self._input, self._output, self._reasoning, cached, self._input, cost, self.settings.model)

    # --- ways to say things ---

    def text(self, words: str, *, message: str | None = None, parent: str | None = None, images: tuple[wire.Picture, ...] = ()) -> Script:
        block = self.id("b")
        yield Say(wire.BlockStart(block, message=message, parent=parent))
        yield from self.stream(block, words)
        yield Say(wire.BlockEnd(block, words, list(images)))
        return None

    def thought(self, words: str, visibility: Literal["public", "private"]) -> Script:
        block = self.id("b")
        yield Say(wire.BlockStart(block, "reasoning", visibility))
        before = self._output
        yield from self.stream(block, words)
        self._reasoning += self._output - before
        yield Say(wire.BlockEnd(block, words))
        return None

    def stream(self, block: str, words: str) -> Script:
        for piece in pieces(words):
            yield self.delta(block, piece)
        return None

    def delta(self, block: str, piece: str) -> Say:
        self._output += 1
        return Say(wire.BlockDelta(block, piece))

    def use(self, use: Use, *, message: str | None = None, parent: str | None = None) -> Script:
        """A call and its result, without asking anybody."""
        call = self.id("c")
        yield self._call(call, use, message, parent)
        yield from self._work(call, use)
        return None

    def ask_and_use(self, use: Use, reason: str) -> Generator[Step, Answer | None, bool]:
        """A call, a permission where one is needed, and the result; whether it ran."""
        call = self.id("c")
        yield self._call(call, use, None, None)
        if self._must_ask(use.name):
            diff = next((file.diff for file in use.files), None)
            answer = yield Ask(wire.AskPermission(self.id("p"), use.name, call, use.input, reason, diff))
            if not isinstance(answer, wire.AnswerPermission) or answer.reply == "reject":
                why = f": {answer.message}" if isinstance(answer, wire.AnswerPermission) and answer.message else ""
                yield Say(wire.ToolResult(call, f"The user refused{why}", ok=False, refused=True))
                return False
            if answer.reply == "always":
                self.allowed.add(use.name)
        yield from self._work(call, use)
        return True

    def _must_ask(self, tool: str) -> bool:
        match self.settings.permission_mode:
            case "bypass":
                return False
            case "acceptEdits" if tool in EDITORS:
                return False
            case _:
                return tool not in self.allowed

    def _call(self, call: str, use: Use, message: str | None, parent: str | None) -> Say:
        run = None if use.run is None else wire.Run(use.run.command, use.run.cwd)
        return Say(wire.ToolCall(call, use.name, use.input, run, message, parent))

    def _work(self, call: str, use: Use) -> Script:
        yield Say(wire.ToolRunning(call))
        for line in use.output.splitlines(keepends=True):
            yield Say(wire.ToolOutput(call, line))
        yield Say(wire.ToolResult(call, use.output, use.ok, run=use.run, files=use.files, images=use.images))
        return None


def pieces(text: str) -> list[str]:
    """The words of a text, each with the space after it; joined they are the text."""
    return re.findall(r"\S+\s*|\s+", text)
