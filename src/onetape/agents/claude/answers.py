"""What an answer to one of Claude Code's asks says: a verdict, chosen labels, a form filled in."""

from typing import Any

from onetape.agents.claude.content import ACCEPT, ACTION, APPROVE, PLAN_EXIT, chosen
from onetape.drafts import Answer
from onetape.schema import Question


def metadata(request: dict[str, Any]) -> dict[str, Any]:
    named = {
        "input": request["input"], "reason": request.get("decision_reason"), "suggestions": request.get("permission_suggestions"),
        "description": request.get("description"), "title": request.get("title"), "blocked_path": request.get("blocked_path"),
        "agent_id": request.get("agent_id"),
    }  # fmt: skip
    return {key: value for key, value in named.items() if value is not None}


def verdict(id: str, told: Any) -> Answer:
    match told:
        case {"behavior": "allow", "updatedPermissions": [_, *_]}:
            return Answer(id, "accept_for_session")
        case {"behavior": "allow"}:
            return Answer(id, "accept")
        case {"behavior": "deny", "message": str(why)}:
            return Answer(id, "reject", why)
        case _:
            return Answer(id, "reject")


def lacks_input(told: Any) -> bool:
    return isinstance(told, dict) and told.get("behavior") == "allow" and "updatedInput" not in told


def amended(request: dict[str, Any], told: Any) -> dict[str, Any] | None:
    """The arguments that a call was allowed with: those of who allowed it, else those asked for, which a hook may have changed."""
    match told:
        case {"behavior": "allow", "updatedInput": dict(args)}:
            return args
        case {"behavior": "allow"}:
            return dict(request["input"])
        case _:
            return None


def reply(tool: str, questions: list[Question], told: Any) -> list[list[str]] | None:
    match told:
        case {"behavior": "allow"} if tool == PLAN_EXIT:
            return [[APPROVE]]
        case {"behavior": "allow", "updatedInput": {} as input}:
            return labels(questions, input)
        case _:
            return None  # denied or failed


def labels(questions: list[Question], told: dict[str, Any]) -> list[list[str]] | None:
    """The labels per question; None where nobody answered any (allowed without answers, capture 10c).

    Words in place of labels (`response`) are the answer to the first.
    """
    match told:
        case {"answers": {} as by_question} if by_question:
            pass
        case {"response": str(words)} if words:
            return [[words], *([] for _ in questions[1:])]
        case _:
            return None
    return [chosen(question, by_question[question.prompt]) if question.prompt in by_question else [] for question in questions]


def outcome(tool: str, questions: list[Question], told: Any, *, failed: bool) -> list[list[str]] | None:
    """What was answered, by the result of the tool that asked."""
    if tool == PLAN_EXIT:
        return None if failed else [[APPROVE]]
    return labels(questions, told) if isinstance(told, dict) else None


def filled_in(questions: list[Question], told: Any) -> list[list[str]] | None:
    match told:
        case {"action": "accept"} if [question.id for question in questions] == [ACTION]:
            return [[ACCEPT]]
        case {"action": "accept"}:
            content = told.get("content") or {}
            return [_values(content[question.id]) if question.id in content else [] for question in questions]
        case _:
            return None


def _values(value: Any) -> list[str]:
    match value:
        case list():
            return [str(each) for each in value]
        case bool():
            return ["true" if value else "false"]
        case _:
            return [str(value)]
