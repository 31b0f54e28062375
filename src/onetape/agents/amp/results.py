"""What a tool's result says, out of Amp's wrapping: text, the command's run, files, images, the plan.

On the wire a result is text, which for most of Amp's own tools is a JSON document; a thread file holds the document
itself. Both come here as the document. Shapes as told by the builds of January, May and September 2026.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from onetape import blobs, diffs
from onetape import drafts as d
from onetape.agents.amp import patches
from onetape.recent import Recent
from onetape.schema import ContentPart, FileRef, Image
from onetape.tape import quick
from onetape.translator import MALFORMED

# The arguments that hold a command and its directory.
SHELLS = {"Bash": ("cmd", "cwd"), "shell_command": ("command", "workdir"), "async_shell_command": ("command", "workdir")}
# Tools whose result is a document where it begins like one. Any other's is text, also where that happens to be JSON.
DOCUMENTS = frozenset({
    *SHELLS, "shell_command_status", "shell_command_kill", "create_file", "edit_file", "apply_patch", "Read", "Grep", "glob", "Glob",
    "task_list", "todo_write",
})  # fmt: skip
# Tools of January whose result is a diff in a Markdown fence.
FENCED = frozenset({"undo_edit", "format_file"})
# How the result of a tool begins that was not allowed to run; the last two are what helper.py says.
REFUSALS = (
    "Tool execution rejected by user", "Tool rejected by plugin:", "The user rejected this tool call.",
    "This tool call was rejected because nobody could be asked",
)  # fmt: skip
# Tools whose result says what is planned.
PLANS = frozenset({"todo_write", "task_list"})
UNFINISHED = "Tool status: "


class Told:
    """The results of one session, and what they teach about later ones."""

    def __init__(self) -> None:
        self._existing: Recent[str, None] = Recent(4096)
        self._tasks: dict[str, dict[str, str]] = {}

    def result(self, call_id: str, tool: str, args: dict[str, Any], value: Any, *, failed: bool) -> list[d.Draft]:
        """`value`: the document, or text; None where the tool returned nothing (28-web)."""
        refused = False
        if type(value) is str:
            value = patches.unfenced(value) if tool in FENCED else value
            refused = _refused(value)
            failed = failed or refused or value.startswith(UNFINISHED)
        elif type(value) is dict:
            failed = failed or _went_wrong(value)
        if (run := _run(tool, value)) is not None:
            return [d.Result(call_id, run.stdout, failed, refused, (), run)]
        shown = [] if failed else self._shown(tool, args, value)
        parts = tuple([kept for kept in shown if not isinstance(kept, d.Blob)])
        told: list[d.Draft] = [kept for kept in shown if isinstance(kept, d.Blob)]
        told.append(d.Result(call_id, text_of(value), failed, refused, parts))
        if not failed and (plan := self._plan(tool, args, value)) is not None:
            told.append(d.Note("plan", json=plan))
        return told

    # --- files and images ---------------------------------------------------

    def _shown(self, tool: str, args: dict[str, Any], value: Any) -> list[ContentPart | d.Blob]:
        """Nothing of a document that is of another shape than these builds tell: its text holds all of it."""
        try:
            return list(self._parts(tool, args, value))
        except MALFORMED:
            return []

    def _parts(self, tool: str, args: dict[str, Any], value: Any) -> Iterator[ContentPart | d.Blob]:
        match tool, value:
            case "create_file", _ if isinstance(args.get("path"), str):
                yield self._created(args["path"], str(args.get("content") or ""))
            case "edit_file", {"diff": str() as diff} if isinstance(args.get("path"), str):
                self._existing[args["path"]] = None
                yield patches.edited(args["path"], diff)
            case _, str() as diff if tool in FENCED and isinstance(args.get("path"), str):
                yield patches.edited(args["path"], diff)
            case "apply_patch", {"files": [*files]}:
                yield from map(patches.patched, files)
            case "Read", {"absolutePath": str() as path, "isImage": True, "content": str() as data}:
                yield FileRef(path, "read")
                yield from _image(data, (value.get("imageInfo") or {}).get("mimeType"))
            case "Read", {"absolutePath": str() as path} if not value.get("isDirectory"):
                self._existing[path] = None
                yield FileRef(path, "read")
            case _, [*blocks] if tool.startswith("mcp__"):
                for block in blocks:
                    if isinstance(block, dict) and block.get("type") == "image" and isinstance(block.get("data"), str):
                        yield from _image(block["data"], block.get("mimeType"))
            case _:
                pass  # searches, pages, subagents: text alone

    def _created(self, path: str, content: str) -> FileRef:
        # create_file says "created" of a replaced file too. One that is known to have been there has no diff that applies.
        replaced = path in self._existing
        self._existing[path] = None
        return FileRef(path, "write", None if replaced else diffs.created(path, content))

    # --- the plan -----------------------------------------------------------

    def _plan(self, tool: str, args: dict[str, Any], value: Any) -> list[dict[str, str]] | None:
        """The whole list after this result; None if it has nothing to do with it."""
        if tool not in PLANS:
            return None
        match tool, value:
            case "todo_write", _ if isinstance(args.get("todos"), list):
                return [_entry(todo) for todo in args["todos"] if isinstance(todo, dict)]
            case "task_list", {"tasks": [*tasks]}:
                self._tasks = {str(task["id"]): _entry(task) for task in tasks if isinstance(task, dict) and "id" in task}
            case "task_list", {"task": {"id": id} as task}:
                self._tasks[str(id)] = _entry(task)
            case "task_list", {"deleted": True}:
                self._tasks.pop(str(args.get("taskID")), None)
            case _:
                return None
        return list(self._tasks.values())


# --- text -------------------------------------------------------------------


def document(tool: str, content: str) -> Any:
    """What a result on the wire says: the document of a tool that tells one, else the text."""
    if not (tool in DOCUMENTS or tool.startswith("mcp__")) or not content.startswith(("{", "[")):
        return content
    try:
        return quick(content)
    except msgspec.DecodeError:
        return content


def documented(tool: str, value: Any) -> Any:
    """What a result in a thread file says, as the wire would have said it."""
    if value is None or isinstance(value, str) or tool in DOCUMENTS or tool.startswith("mcp__"):
        return value
    return msgspec.json.encode(value).decode()


def text_of(value: Any) -> str:
    match value:
        case None | []:
            return ""
        case str():
            return value
        case {"isImage": True}:
            return ""  # the bytes are a part of their own
        case {"output": str() as text}:
            return text
        case {"diff": str() as diff}:
            return patches.unfenced(diff)
        case {"absolutePath": str(), "content": str() as text} | {"summary": str() as text} | {"message": str() as text}:
            return text
        case {"error": str() as text, **rest} if not rest:
            return text
        case [*items] if items and all(isinstance(item, str) for item in items):
            return "\n".join(items)
        case [*items] if items and all(isinstance(item, dict) and "type" in item for item in items):
            return "\n".join(words for item in items if (words := _block_text(item)) is not None)
        case _:
            return msgspec.json.encode(value).decode()


def _block_text(block: dict[str, Any]) -> str | None:
    match block:
        case {"type": "text", "text": str() as text} | {"type": "resource", "resource": {"text": str() as text}}:
            return text
        case {"type": "image"}:
            return None
        case _:
            return msgspec.json.encode(block).decode()


# --- details ----------------------------------------------------------------


def _refused(text: str) -> bool:
    # September reports a helper that says no as "Plugin error: <its words>".
    return text.removeprefix("Plugin error: ").startswith(REFUSALS)


def _went_wrong(document: dict[str, Any]) -> bool:
    code = document.get("exitCode")
    if isinstance(code, int):
        return code != 0  # `is_error` is false then (04-shell-fail)
    return type(document.get("error")) is str  # task_list tells its failures so


def _run(tool: str, value: Any) -> d.Shell | None:
    """How a command ended; what it was, its call said."""
    if tool not in SHELLS or type(value) is not dict or type(output := value.get("output")) is not str:
        return None
    code = value.get("exitCode")
    return d.Shell(None, None, code if type(code) is int else None, output)  # stderr is in it


def shell_of(tool: str, args: dict[str, Any]) -> d.Shell:
    as_command, as_directory = SHELLS[tool]
    command, cwd = args.get(as_command), args.get(as_directory)
    return d.Shell(command if type(command) is str else None, cwd if type(cwd) is str else None)


def _image(data: str, mime: Any) -> Iterator[ContentPart | d.Blob]:
    mime = mime if isinstance(mime, str) else None
    blob = blobs.from_base64(data, mime)
    yield blob
    yield Image(blobs.path_of(blob), mime)


def _entry(task: dict[str, Any]) -> dict[str, str]:
    status = {"in-progress": "in_progress", "in_progress": "in_progress", "completed": "completed"}.get(str(task.get("status")), "pending")
    return {"text": str(task.get("title") or task.get("content") or ""), "status": status}
