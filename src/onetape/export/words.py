"""What the renderings of a transcript say in the same words."""

from typing import Any

import msgspec

from onetape import schema
from onetape.schema import ContentPart, Item

# What says most of a tool's call, whatever the agent calls it.
MAIN = ("command", "cmd", "file_path", "filePath", "path", "query", "url", "pattern", "prompt")
MARKS = {"completed": "☑", "in_progress": "▶", "pending": "☐"}


def prose(item: Item) -> str:
    return "\n".join(filter(None, map(_word, item.content)))


def _word(part: ContentPart) -> str:
    match part:
        case schema.Text(text) | schema.Reasoning(text):
            return text
        case schema.Image(path) | schema.FileRef(path):
            return f"[{path}]"
        case _:
            return ""


def identity(metadata: dict[str, Any]) -> str:
    return " · ".join(str(metadata[name]) for name in ("agent", "agent_version", "model", "cwd") if metadata.get(name))


def ending(data: schema.EndedData) -> str:
    return f"session {data.reason}" + (f": {data.message}" if data.message else "")


def outcome(turn: schema.TurnOutcome) -> str:
    told = [f"turn {turn.status}"]
    if usage := turn.usage:
        told += [f"{usage.input_tokens or 0:,} in", f"{usage.output_tokens or 0:,} out"]
        told += [f"${usage.cost_usd:.4f}"] if usage.cost_usd else []
    return " · ".join(told)


def asked(data: schema.QuestionData) -> list[str]:
    questions = data.questions or []
    return [f"{question.prompt}  [{' / '.join(option.label for option in question.options)}]" for question in questions]


def answered(data: schema.QuestionData) -> str:
    answers = ["; ".join(question.answers or ()) for question in data.questions or ()]
    return f"{data.status}: {' | '.join(answers)}" if any(answers) else data.status


def steps(plan: list[dict[str, Any]]) -> list[str]:
    return [f"{MARKS.get(str(step.get('status')), '☐')} {step.get('text')}" for step in plan]


def brief(value: Any, most: int = 160) -> str:
    words = value if isinstance(value, str) else schema.to_json(value).decode()
    flat = " ".join(words.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def gist(arguments: str) -> str:
    """A call's arguments in a line: the command or the path where there is one."""
    try:
        told = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return brief(arguments)
    main = next((told[name] for name in MAIN if told.get(name)), told) if isinstance(told, dict) else told
    return brief(" ".join(map(str, main)) if isinstance(main, list) else main)
