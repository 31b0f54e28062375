"""A transcript as Markdown: readable as it stands, and in any viewer."""

import re
from collections.abc import Iterable, Iterator

from onetape import schema
from onetape.export import words
from onetape.export.depths import Depths
from onetape.schema import ContentPart, Event, Item


def markdown(events: Iterable[Event]) -> Iterator[str]:
    depths = Depths()
    for event in events:
        match event:
            case schema.SessionStarted(data=data):
                yield f"# Session {event.session_id}\n\n{words.identity(data.metadata)}\n\n"
            case schema.SessionEnded(data=data):
                yield f"*{words.ending(data)}*\n"
            case schema.TurnStarted():
                yield "---\n\n"
            case schema.TurnEnded(data=data):
                yield f"*{words.outcome(data.metadata)}*\n\n"
            case schema.ItemStarted(data=schema.ItemData(item)):
                depths.of(item)
            case schema.ItemCompleted(data=schema.ItemData(item)):
                yield _quoted(_item(item), depths.of(item)) + "\n\n"
            case schema.PermissionRequested(data=data):
                yield f"**Permission** for {data.action}: `{words.brief(data.metadata.get('input'))}`\n\n"
            case schema.QuestionRequested(data=data):
                yield "".join(f"**Question** {line}\n\n" for line in words.asked(data))
            case schema.PermissionResolved(data=data):
                yield f"→ {data.status.replace('_', ' ')}\n\n"
            case schema.QuestionResolved(data=data):
                yield f"→ {words.answered(data)}\n\n"
            case schema.Error(data=data):
                yield f"**Error** {data.message}\n\n"
            case schema.AgentUnparsed(data=data):
                yield f"**Unparsed** {data.error} (`{data.raw_hash}`)\n\n"
            case _:
                pass  # deltas come whole with their item


def _quoted(text: str, depth: int) -> str:
    """What a subagent does is a quotation inside the session."""
    return "\n".join("> " * depth + line for line in text.split("\n")) if depth else text


def _item(item: Item) -> str:
    match item.kind, item.role:
        case "message", "user":
            return f"## {words.prose(item)}" if "\n" not in words.prose(item) else f"## You\n\n{words.prose(item)}"
        case "message", _ if item.content and isinstance(item.content[0], schema.Reasoning):
            return _folded("reasoning", words.prose(item) or "(not shown)")
        case "message", _:
            return words.prose(item)
        case "tool_call", _:
            return _call(item)
        case "tool_result", _:
            return "\n\n".join(filter(None, (_result(part, item.status) for part in item.content)))
        case "status", _:
            return _status(item)
        case _:
            return _folded(item.kind, words.prose(item) or words.brief(item.content))


def _call(item: Item) -> str:
    match item.content:
        case [schema.ToolCall(name=name, arguments=arguments)]:
            return f"**{name}**\n\n{_fenced(arguments, 'json')}"
        case _:
            return ""


def _result(part: ContentPart, status: str) -> str:
    match part:
        case schema.ToolResult(output=output):
            return _folded("failed" if status == "failed" else "result", output) if output else ""
        case schema.FileRef(diff=str(diff)):
            return _fenced(diff.rstrip("\n"), "diff")
        case schema.FileRef(path=path, action=action):
            return f"{action} `{path}`"
        case schema.Image(path=path):
            return f"![image]({path})"
        case _:
            return ""


def _status(item: Item) -> str:
    match item.content:
        case [schema.Status(label="plan"), schema.Json(json=[*plan])]:
            return "\n".join(f"- {step}" for step in words.steps(plan))
        case [schema.Status(label=label, detail=detail), *_]:
            return f"*{label}{': ' + words.brief(detail) if detail else ''}*"
        case _:
            return ""


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{_fenced(text)}\n\n</details>"


def _fenced(text: str, language: str = "") -> str:
    """A fence longer than any inside, so that no content can end it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
