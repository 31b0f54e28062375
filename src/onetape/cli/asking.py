"""Permissions and questions, put to whoever is at the terminal.

    Person   answers by typing
    Nobody   answers at once: yes where the caller said so before, else no, and says why
"""

import re
import sys
from collections.abc import Coroutine
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from onetape import schema
from onetape.cli.keyboard import Keyboard
from onetape.cli.pretty import screen, visible
from onetape.export import words
from onetape.schema import Option, PermissionData, Question, QuestionData

AskEvent: TypeAlias = schema.PermissionRequested | schema.PermissionResolved | schema.QuestionRequested | schema.QuestionResolved
Reply: TypeAlias = Literal["once", "always", "reject"]

REPLIES: dict[str, Reply] = {
    "o": "once", "once": "once", "y": "once", "yes": "once",
    "a": "always", "always": "always",
    "r": "reject", "reject": "reject", "n": "reject", "no": "reject",
}  # fmt: skip
ABSENT = "nobody was there to allow this: onetape ran without a terminal and without --yes"


class Verdict(Struct, frozen=True):
    reply: Reply
    message: str | None = None


class Asked(Protocol):
    async def permission(self, data: PermissionData) -> Verdict: ...

    async def question(self, data: QuestionData) -> list[list[str]] | None:
        """The answers to each; None: rejected."""
        ...

    async def message(self) -> str | None:
        """The next thing to say; None: nothing more."""
        ...

    def sees(self, event: AskEvent) -> bool:
        """Whether this is put on the screen here, or was."""
        ...


class Nobody:
    def __init__(self, console: Console, *, allows: bool) -> None:
        self._console = console
        self._allows = allows

    async def permission(self, data: PermissionData) -> Verdict:
        if self._allows:
            return Verdict("once")
        self._say(f"rejected: {data.action} needs a permission and nobody is here to give it (--yes allows everything)")
        return Verdict("reject", ABSENT)

    async def question(self, data: QuestionData) -> list[list[str]] | None:
        self._say(f"rejected: {words.brief(data.prompt)!r} is asked and nobody is here to answer it")
        return None

    async def message(self) -> str | None:
        return None

    def sees(self, event: AskEvent) -> bool:
        return False

    def _say(self, words: str) -> None:
        self._console.print(Text(f"onetape: {visible(words)}"), soft_wrap=True)


class Person:
    def __init__(self, console: Console, *, allows: bool) -> None:
        self._console = console
        self._keyboard = Keyboard()
        self._allows = allows

    async def permission(self, data: PermissionData) -> Verdict:
        if self._allows:
            return Verdict("once")
        self._print(f"? {data.action} asks for permission", "bold yellow")
        for line in described(data.metadata):
            self._print(f"  {line}", "yellow")
        while True:
            typed = await self._typed("  [o]nce, [a]lways, or [r]eject and why")
            if (meant := verdict("reject" if typed is None else typed)) is not None:
                return meant

    async def question(self, data: QuestionData) -> list[list[str]] | None:
        answers = []
        questions = questions_of(data)
        for number, question in enumerate(questions, 1):
            self._print(f"? {headed(question)}{f'  ({number} of {len(questions)})' if len(questions) > 1 else ''}", "bold yellow")
            for at, option in enumerate(question.options, 1):
                self._print(f"  {at}  {option.label}{f': {option.description}' if option.description else ''}", "yellow")
            answer = await self._answer(question)
            if answer is None:
                return None
            answers.append(answer)
        return answers

    async def message(self) -> str | None:
        self._console.print(Text("› ", "bold cyan"), end="", soft_wrap=True)
        return await self._reading(self._keyboard.text())

    def sees(self, event: AskEvent) -> bool:
        return not (self._allows and isinstance(event.data, PermissionData))

    async def _answer(self, question: Question) -> list[str] | None:
        hint = "  numbers, or words of your own" if question.multi_select else "  a number, or words of your own"
        while (typed := await self._typed(f"{hint if question.options else '  your answer'}; Ctrl-D gives none")) is not None:
            if chosen := understood(typed, question):
                return chosen
        return None

    async def _typed(self, hint: str) -> str | None:
        self._keyboard.forget()
        self._console.print(Text(f"{hint} › ", "yellow"), end="", soft_wrap=True)
        return await self._reading(self._keyboard.line())

    async def _reading(self, typing: Coroutine[Any, Any, str | None]) -> str | None:
        typed = None
        try:
            typed = await typing
        finally:
            if typed is None:  # Ctrl-D, or it is not waited for any more: the line is still open
                self._console.print()
        return typed

    def _print(self, line: str, style: str) -> None:
        self._console.print(Text(visible(line), style))


def verdict(typed: str) -> Verdict | None:
    """What is meant by an answer to a permission; None: nobody knows."""
    first, _, rest = typed.strip().partition(" ")
    reply = REPLIES.get(first.lower().rstrip(",:"))
    return Verdict(reply, rest.strip() or None) if reply is not None and (reply == "reject" or not rest) else None


def questions_of(data: QuestionData) -> list[Question]:
    return data.questions or [Question("", None, data.prompt, [Option(label) for label in data.options])]


def id_of(pending: dict[str, Any]) -> str:
    """Of an ask as a daemon lists it."""
    return str(pending["data"].get("permission_id") or pending["data"].get("question_id"))


def described(metadata: dict[str, Any]) -> list[str]:
    """What is asked for, whole: nothing that matters may hide behind an ellipsis."""
    told = metadata.get("input")
    lines = [str(metadata["reason"])] if metadata.get("reason") else []
    if isinstance(told, dict):
        lines += [f"{name}: {_whole(value)}" for name, value in told.items()]
    elif told is not None:
        lines.append(_whole(told))
    if isinstance(diff := metadata.get("diff"), str):
        lines.append(diff)
    return [line for text in lines for line in text.rstrip("\n").split("\n")]


def _whole(value: Any) -> str:
    return value if isinstance(value, str) else words.brief(value, most=4000)


def headed(question: Question) -> str:
    return f"{question.header}: {question.prompt}" if question.header and question.header != question.prompt else question.prompt


def understood(typed: str, question: Question) -> list[str]:
    """The labels that are meant, by name or number, else the words themselves; empty where a number is none of these."""
    said = typed.strip()
    pieces = _pieces(said) if question.multi_select and _label(said, question) is None else [said]
    meant = [_label(piece, question) or piece for piece in pieces if piece]
    labels = {option.label for option in question.options}
    return [] if labels and any(piece.isdigit() and piece not in labels for piece in meant) else meant


def _pieces(said: str) -> list[str]:
    is_numbers = re.fullmatch(r"[\d\s,]+", said)
    return re.split(r"[\s,]+" if is_numbers else r"\s*,\s*", said)


def _label(said: str, question: Question) -> str | None:
    by_name = {option.label.casefold(): option.label for option in question.options}
    by_number = {str(at): option.label for at, option in enumerate(question.options, 1)}
    return by_name.get(said.casefold()) or by_number.get(said)


def whoever_is_here(*, allows: bool) -> Asked:
    """A person, where somebody can read what is asked and type."""
    is_somebody = sys.stdin.isatty() and sys.stderr.isatty()
    return (Person if is_somebody else Nobody)(screen(stderr=True), allows=allows)
