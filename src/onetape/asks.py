"""The table of asks: each permission or question is requested once and resolved once.

Knows what was asked and what the data of its events looks like. When an ask is
resolved because its turn or process ended is the recorder's decision.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from onetape.drafts import Answer, Ask, Query, Reply
from onetape.recent import Recent
from onetape.schema import PermissionData, Question, QuestionData

Pending: TypeAlias = Ask | Query

# Ids of resolved asks, kept so that a second answer or a repeated request is ignored.
REMEMBERED = 4096


class Asks:
    def __init__(self) -> None:
        self.pending: dict[str, Pending] = {}
        self._resolved: Recent[str, None] = Recent(REMEMBERED)

    def request(self, ask: Pending) -> bool:
        """Whether this is a new ask, and not one repeated."""
        id = id_of(ask)
        if id in self.pending or id in self._resolved:
            return False
        self.pending[id] = ask
        return True

    def resolve(self, id: str) -> Pending | None:
        """The ask that an answer is for; None if there is none or it was answered before."""
        ask = self.pending.pop(id, None)
        if ask is not None:
            self._resolved[id] = None
        return ask

    def of_call(self, call_id: str) -> list[Pending]:
        return self.where(lambda ask: ask.call_id == call_id)

    def where(self, wanted: Callable[[Pending], bool]) -> list[Pending]:
        return [ask for ask in self.pending.values() if wanted(ask)]

    def __iter__(self) -> Iterator[Pending]:
        return iter(list(self.pending.values()))


def id_of(ask: Pending) -> str:
    return ask.permission_id if isinstance(ask, Ask) else ask.question_id


def permission_data(ask: Ask, answer: Answer | None = None) -> PermissionData:
    metadata: dict[str, Any] = {"call_id": ask.call_id} if ask.call_id is not None else {}
    metadata |= ask.metadata
    if ask.background:
        metadata["background"] = True
    if answer is not None and answer.message is not None:
        metadata["message"] = answer.message
    return PermissionData(ask.permission_id, ask.action, answer.status if answer else "requested", metadata)


def question_data(ask: Query, reply: Reply | None = None) -> QuestionData:
    answers = None if reply is None else reply.answers
    questions = [_answered(question, answers, at) for at, question in enumerate(ask.questions)]
    first = questions[0] if questions else Question(id="", header=None, prompt="", options=[])
    told = first.answers if isinstance(first.answers, list) else None
    return QuestionData(
        question_id=ask.question_id,
        prompt=first.prompt,
        options=[option.label for option in first.options],
        status="requested" if reply is None else "rejected" if answers is None else "answered",
        response=None if told is None else ", ".join(told),
        questions=questions,
        metadata={"background": True} if ask.background else UNSET,
    )


def _answered(question: Question, answers: list[list[str]] | None, at: int) -> Question:
    if answers is None:
        return question
    return msgspec.structs.replace(question, answers=answers[at] if at < len(answers) else [])
