"""MCP elicitations as questions: one per property of the form, or a plain yes or no."""

from collections.abc import Iterator
from typing import Any

from onetape.errors import Refused
from onetape.schema import Option, Question

ACCEPT, DECLINE = "accept", "decline"


def questions(server: str, params: dict[str, Any]) -> list[Question]:
    # A user verification has a title and a description in place of a message.
    prompt = str(params.get("message") or params.get("description") or params.get("title") or "")
    if params.get("mode") == "url":
        prompt = f"{prompt}\n{params['url']}"
    properties = _properties(params)
    if not properties:
        return [Question("action", server, prompt, [Option(ACCEPT), Option(DECLINE)])]
    return [
        Question(
            id=name,
            header=field.get("title") or name,
            prompt=field.get("description") or prompt,
            options=list(_options(field)),
            multi_select=field.get("type") == "array",
        )
        for name, field in properties.items()
    ]


def answers(asked: list[Question], content: Any) -> list[list[str]]:
    if not isinstance(content, dict) or not content:
        return [[ACCEPT]]
    return [_labels(content[question.id]) if question.id in content else [] for question in asked]


def filled_in(asked: list[Question], given: list[list[str]], params: dict[str, Any]) -> dict[str, Any]:
    """The answer that Codex takes to the MCP server."""
    properties = _properties(params)
    if not properties:
        action = ACCEPT if given[0] == [ACCEPT] else DECLINE
        return {"action": action, "content": None, "_meta": None}
    content = {
        question.id: _typed(question.id, properties[question.id], labels)
        for question, labels in zip(asked, given, strict=False)
        if labels
    }
    return {"action": ACCEPT, "content": content, "_meta": None}


def _properties(params: dict[str, Any]) -> dict[str, dict[str, Any]]:
    form = params.get("requestedSchema")
    properties = form.get("properties") if isinstance(form, dict) else None
    return {name: field for name, field in (properties or {}).items() if isinstance(field, dict)}


def _options(field: dict[str, Any]) -> Iterator[Option]:
    items = field.get("items") or {}
    titles = field.get("enumNames") or []
    for at, value in enumerate(field.get("enum") or items.get("enum") or ()):
        yield Option(str(value), titles[at] if at < len(titles) else None)
    for choice in field.get("oneOf") or items.get("anyOf") or ():
        yield Option(str(choice["const"]), choice.get("title"))
    if field.get("type") == "boolean":
        yield from (Option("true"), Option("false"))


def _labels(value: Any) -> list[str]:
    match value:
        case list():
            return [str(each) for each in value]
        case bool():
            return ["true" if value else "false"]
        case _:
            return [str(value)]


def _typed(name: str, field: dict[str, Any], labels: list[str]) -> Any:
    try:
        match field.get("type"):
            case "integer":
                return int(labels[0])
            case "number":
                return float(labels[0])
            case "boolean":
                return labels[0].lower() in ("true", "yes", "1")
            case "array":
                return labels
            case _:
                return ", ".join(labels)
    except ValueError:
        raise Refused(f"{name} must be {field['type']}, and {labels[0]!r} is not") from None
