"""Whether an ask was answered before, and how. Pure."""

from typing import Any

from onetape.commands import Command, ReplyPermission, ReplyQuestion
from onetape.errors import Conflict, Refused
from onetape.summary import Ask, AskKind


def is_settled(ask: Ask | None, id: str, command: Command, verdict: Any, under_way: Any = None) -> bool:
    """Whether an ask has this answer already; `Conflict` where it has another, `Refused` where there is none to give this to.

    `under_way`: what was said to an agent that has yet to confirm it."""
    kind: AskKind = "permission" if isinstance(command, ReplyPermission) else "question"
    if ask is None or ask.kind != kind:
        raise Refused(f"this session has no {kind} {id!r}")
    if isinstance(command, ReplyQuestion) and len(command.answers) > (most := len(ask.data.get("questions") or command.answers)):
        raise Refused(f"{id} has {most} {'question' if most == 1 else 'questions'}, and {len(command.answers)} answers were given")
    given = under_way if ask.status == "requested" else _given(ask.answer)
    if given is not None and _comparable(given) != _comparable(verdict):
        raise Conflict(f"{id} was answered otherwise before: {given if isinstance(given, str) else 'with other answers'}")
    return given is not None


def _comparable(verdict: Any) -> Any:
    """Who answers the first of several questions need not say that the others have no answer."""
    told = list(verdict) if isinstance(verdict, list) else verdict
    while isinstance(told, list) and told and not told[-1]:
        told.pop()
    return told


def _given(answer: Any) -> Any:
    """What an ask was answered, in the terms in which it is compared."""
    match answer:
        case {"permission_id": _, "status": status}:
            return status
        case {"question_id": _, "status": "rejected"}:
            return "rejected"
        case {"question_id": _, "questions": [*questions]}:
            return [question.get("answers") or [] for question in questions]
        case _:
            return None
