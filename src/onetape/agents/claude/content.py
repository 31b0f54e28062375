"""Pieces that the wire and the history of Claude Code share: content blocks, tool names, questions, plans.

Both speak in Messages API blocks; only the envelopes around them differ.
"""

import re
from collections.abc import Iterator
from typing import Any

from onetape import blobs
from onetape.drafts import Blob
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image, Option, Question, Text

SHELLS = frozenset({"Bash", "PowerShell"})
AGENTS = frozenset({"Agent", "Task"})
QUESTION = "AskUserQuestion"
PLAN_EXIT = "ExitPlanMode"
APPROVE, REJECT = "approve", "reject"
ACTION = "action"
"""What is asked where a form has no fields: a URL to visit, or a bare confirmation."""
ACCEPT, DECLINE = "accept", "decline"


_MENTION = re.compile(r'@(?:"(?P<quoted>[^"\n]+)"|(?P<path>\S+))')


def malformed(native: dict[str, Any]) -> Unparsed:
    return Unparsed(f"{native['type']} without the fields it must have")


def tool_name(native: str) -> str:
    """`mcp__server__tool` is `server.tool` for everybody."""
    if native.startswith("mcp__"):
        server, _, tool = native.removeprefix("mcp__").partition("__")
        return f"{server}.{tool}" if tool else native
    return native


def call_of(block: dict[str, Any]) -> tuple[str, str] | None:
    """The id and the name of a call's block; None where it lacks them."""
    id, name = block.get("id"), block.get("name")
    return (id, name) if isinstance(id, str) and isinstance(name, str) else None


# --- user content -----------------------------------------------------------


def user_parts(content: Any) -> tuple[list[ContentPart], list[Blob]]:
    """The parts of a user message, and the bytes that they name."""
    if isinstance(content, str):
        return [Text(content)], []
    parts: list[ContentPart] = []
    kept: list[Blob] = []
    for at, block in enumerate(content):
        part, blob = user_part(block)
        parts += (_mentioned(part.text) if at and isinstance(part, Text) else []) or [part]
        kept += [blob] if blob else []
    return parts, kept


def sent_parts(native: dict[str, Any]) -> tuple[list[ContentPart], list[Blob]]:
    """The parts of a message of ours: what was typed, then the words that were pasted."""
    parts, kept = user_parts(native["message"]["content"])
    pasted = [part for each in native.get("pasted_content") or () for part in user_parts(each)[0] if isinstance(part, Text)]
    return [*parts, *pasted], kept


def _mentioned(words: str) -> list[ContentPart]:
    """After the words, mentions alone in a block are how files without their bytes are attached."""
    found = [_MENTION.fullmatch(line) for line in words.rstrip("\n").split("\n")]
    return [FileRef(each["quoted"] or each["path"], "read") for each in found if each] if all(found) else []


def mention(path: str) -> str:
    """Claude Code reads a file that is named so by itself."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def user_part(block: Any) -> tuple[ContentPart, Blob | None]:
    match block:
        case {"type": "text", "text": str() as text}:
            return Text(text), None
        case {"type": "image", "source": source}:
            path, mime, blob = _source(source)
            return Image(path, mime), blob
        case {"type": "document", "source": source}:
            path, _, blob = _source(source)
            return FileRef(path, "read"), blob
        case {"type": "tool_reference", "tool_name": str() as tool}:
            return Text(tool_name(tool)), None  # what a search for deferred tools found
        case {"type": "search_result", "content": [*blocks]}:
            return Text(text_of(blocks)), None
        case {"type": str() as kind}:
            return Text(f"[{kind}]"), None  # container uploads: no bytes of theirs are here
        case _:
            raise Unparsed("a content block without a type")


def _source(source: Any) -> tuple[str, str | None, Blob | None]:
    match source:
        case {"type": "base64", "data": str() as data, "media_type": str() as mime}:
            blob = blobs.from_base64(data, mime)
        case {"type": "text", "data": str() as text}:
            mime, blob = "text/plain", blobs.blob(text.encode(), "text/plain")
        case {"type": "url", "url": str() as url}:
            return url, None, None
        case {"type": "file", "file_id": str() as file}:
            return file, None, None
        case _:
            raise Unparsed("an image or document of an unknown source")
    return blobs.path_of(blob), mime, blob


def text_of(content: Any) -> str:
    """The words of a content, however it is wrapped."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or () if block.get("type") == "text")


# --- words that Claude Code wraps in tags of its own --------------------------

INTERRUPTED = "[Request interrupted by user"
BLOCKED = "UserPromptSubmit operation blocked by hook"
OUTPUTS = ("<local-command-", "<bash-stdout>", "<bash-stderr>")
NOTIFICATION = "<task-notification>"


def tag(name: str, words: str) -> str | None:
    found = re.search(rf"<{name}>(.*?)</{name}>", words, re.DOTALL)
    return found[1].strip() if found else None


def typed(words: str) -> str | None:
    """A slash command, a `!` command or a `#` memory as it was typed; None for any other words."""
    if words.startswith(("<command-name>", "<command-message>")) and (name := tag("command-name", words)):
        return f"{name} {tag('command-args', words) or ''}".strip()
    if words.startswith("<bash-input>"):
        return f"!{tag('bash-input', words) or ''}"
    if words.startswith("<user-memory-input>"):
        return f"#{tag('user-memory-input', words) or ''}"
    return None


def without_reminders(content: Any) -> tuple[Any, list[Any]]:
    """A message as it was sent, and what the program put beside it: reminders, and what an editor shows."""
    if isinstance(content, str):
        return content, []
    added = [block for block in content if str(block.get("text", "")).startswith(("<system-reminder>", "<ide_"))]
    if len(added) == len(content):
        return content, []
    return [block for block in content if block not in added], added


# --- asks -------------------------------------------------------------------


def questions_of(tool: str, args: dict[str, Any]) -> list[Question]:
    """The questions behind a tool that only asks."""
    if tool == PLAN_EXIT:
        return [Question("plan", "Plan", str(args.get("plan") or ""), [Option(APPROVE), Option(REJECT)])]
    return [
        Question(
            id=asked["question"],
            header=asked.get("header"),
            prompt=asked["question"],
            options=[Option(option["label"], option.get("description")) for option in asked.get("options", ())],
            multi_select=bool(asked.get("multiSelect")),
        )
        for asked in args["questions"]
    ]


def asked(tool: str, args: dict[str, Any]) -> list[Question]:
    """The questions of a call. A model may get their shape wrong: then the tool fails and nobody is asked."""
    if tool not in (QUESTION, PLAN_EXIT):
        return []
    try:
        return questions_of(tool, args)
    except (KeyError, TypeError, AttributeError):
        return []


def elicited(request: dict[str, Any]) -> list[Question]:
    """One question per property of the form that an MCP server wants filled in."""
    prompt = "\n".join(words for words in (request.get("message"), request.get("url")) if isinstance(words, str))
    form = request.get("requested_schema") or {}
    properties = form.get("properties") or {}
    if not properties:
        return [Question(ACTION, request.get("mcp_server_name"), prompt, [Option(ACCEPT), Option(DECLINE)])]
    order = request.get("property_order") or list(properties)
    return [
        Question(
            id=name,
            header=properties[name].get("title") or name,
            prompt=properties[name].get("description") or prompt,
            options=list(_choices(properties[name])),
            multi_select=properties[name].get("type") == "array",
        )
        for name in order
        if name in properties
    ]


def _choices(property: dict[str, Any]) -> Iterator[Option]:
    """The label is the value that the server wants; what it calls it for people is its description."""
    items, names = property.get("items") or {}, property.get("enumNames") or []
    for at, value in enumerate(property.get("enum") or items.get("enum") or ()):
        yield Option(str(value), names[at] if at < len(names) else None)
    for choice in property.get("oneOf") or items.get("anyOf") or ():
        yield Option(str(choice["const"]), choice.get("title"))
    if property.get("type") == "boolean":
        yield from (Option("true"), Option("false"))


def chosen(question: Question, told: Any) -> list[str]:
    """The labels in an answer, which Claude Code joins with ", " where several may be chosen."""
    if isinstance(told, list):
        return [str(label) for label in told]
    words = str(told)
    if not question.multi_select:
        return [words]
    labels, rest = [], words
    # A label may hold the separator itself: known labels are taken whole, the longest first.
    known = sorted((option.label for option in question.options), key=len, reverse=True)
    while rest:
        label = next((label for label in known if rest == label or rest.startswith(label + ", ")), None)
        if label is None:
            label = rest.partition(", ")[0]
        labels.append(label)
        rest = rest[len(label) :].removeprefix(", ")
    return labels


# --- plans ------------------------------------------------------------------

_TASK_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"})
_CREATED = re.compile(r"\ATask #(?P<id>\w+) created successfully: (?P<subject>.*)\Z", re.DOTALL)
_STATUSES = {"pending": "pending", "in_progress": "in_progress", "completed": "completed"}


class TaskList:
    """The list that TodoWrite replaces and TaskCreate, TaskUpdate and TaskList change.

    Subagents share it. Of theirs only the words are told, and those of a new task name it.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, dict[str, str]] = {}

    def after(self, tool: str, args: dict[str, Any], told: Any, output: str) -> list[dict[str, str]] | None:
        """The whole list after this tool's result; None if it has nothing to do with the list."""
        if tool not in _TASK_TOOLS:
            return None
        match tool, told:
            case "TodoWrite", _:
                todos = args.get("todos") or (told.get("newTodos") if isinstance(told, dict) else None) or []
                return [_entry(todo.get("content"), todo.get("status")) for todo in todos]
            case "TaskCreate", {"task": {"id": id, "subject": subject}}:
                self._tasks[str(id)] = _entry(subject, "pending")
            case "TaskCreate", None if created := _CREATED.match(output):
                self._tasks[created["id"]] = _entry(created["subject"], "pending")
            case "TaskUpdate", {"success": False}:
                return None
            case "TaskUpdate", _ if str(args.get("taskId")) in self._tasks:
                self._update(str(args["taskId"]), args)
            case "TaskList", {"tasks": [*tasks]}:
                self._tasks = {str(task["id"]): _entry(task.get("subject"), task.get("status")) for task in tasks}
            case "TaskList", None if self._tasks:
                pass
            case _:
                return None
        return list(self._tasks.values())

    def _update(self, id: str, args: dict[str, Any]) -> None:
        if args.get("status") == "deleted":
            del self._tasks[id]
            return
        known = self._tasks[id]
        self._tasks[id] = _entry(args.get("subject") or known["text"], args.get("status") or known["status"])


def _entry(text: Any, status: Any) -> dict[str, str]:
    return {"text": str(text or ""), "status": _STATUSES.get(str(status), "pending")}
