"""Tool results of Claude Code: what the model was told, and the structure that it is told beside.

`told` is `tool_use_result` on the wire and `toolUseResult` in the history: an
object per tool, a string where the tool failed, absent inside subagents.
"""

import re
from collections.abc import Sequence
from typing import Any

from onetape import diffs
from onetape.agents.claude.content import AGENTS, SHELLS, text_of, user_part
from onetape.drafts import Blob, Result, Shell
from onetape.schema import ContentPart, FileRef, Text

_EXIT_CODE = re.compile(r"\AExit code (\d+)(?:\n|\Z)")
_WRAPPED = re.compile(r"\A<tool_use_error>(.*)</tool_use_error>\Z", re.DOTALL)
_CREATED = "File created successfully"
_NO_OUTPUT = "(Bash completed with no output)"
_REFUSALS = (
    "The user doesn't want to proceed with this tool use", "Permission to use", "The user declined", "Tool permission request failed",
)  # fmt: skip


def result_of(
    tool: str, args: dict[str, Any], id: str, content: Any, failed: bool, told: Any, meta: Any
) -> tuple[Result, Sequence[Blob]]:
    """The result draft of one `tool_result` block."""
    output, parts, kept = _content(content)
    output = unwrapped(output)
    shell = None
    if tool in SHELLS:
        output, shell = _shell(args, output, told, failed)
    elif not failed:
        output = _report(told) if tool in AGENTS and isinstance(told, dict) and "content" in told else output
        parts = [*parts, *_files(tool, args, told, output)]
    refused = failed and _was_refused(output, id, meta, shell)
    return Result(id, output, failed, refused, tuple(parts), shell), kept


def _content(content: Any) -> tuple[str, Sequence[ContentPart], Sequence[Blob]]:
    if content is None or isinstance(content, str):
        return content or "", (), ()
    words: list[str] = []
    parts: list[ContentPart] = []
    kept: list[Blob] = []
    for block in content:
        part, blob = user_part(block)
        if isinstance(part, Text):
            words.append(part.text)
        else:
            parts.append(part)
        kept += [blob] if blob else []
    return "\n".join(words), parts, kept


def unwrapped(output: str) -> str:
    match = _WRAPPED.match(output) if output.startswith("<") else None
    return match[1] if match else output


def _report(told: dict[str, Any]) -> str:
    """What a subagent reports, without the frame and the notes that the program puts around it for the model."""
    blocks, notes, tail = told["content"], told.get("harnessNoteCount") or 0, told.get("harnessTailCount") or 0
    return text_of(blocks[notes : len(blocks) - tail])


def _was_refused(output: str, call_id: str, meta: Any, shell: Shell | None) -> bool:
    for told in meta or ():
        if told.get("id") == call_id and ("non_execution_kind" in told or "permission_decision" in told):
            decision = told.get("permission_decision") or {}
            return told.get("non_execution_kind") is not None or decision.get("decision") == "reject"
    # 2.1.197 and the history tell it by words alone, which may be the user's own; but a command that ran and failed has its code.
    return output.startswith(_REFUSALS) or (shell is not None and shell.exit_code is None)


def _shell(args: dict[str, Any], output: str, told: Any, failed: bool) -> tuple[str, Shell]:
    """stderr is merged into stdout, and the exit code is told only as text, when it is not 0."""
    command = args.get("command")
    command = command if isinstance(command, str) else None
    if isinstance(told, dict) and isinstance(stdout := told.get("stdout"), str):
        stderr, goes_on = told.get("stderr") or "", told.get("backgroundTaskId")
        if not goes_on and not told.get("isImage"):  # then the words are the image's, encoded
            errors = stderr.strip("\n")
            output = f"{stdout}\n{errors}" if stdout and errors else stdout or errors
        # grep's exit 1 is a success with an interpretation, and then the code is not told (capture 04b).
        ended = not (goes_on or failed or told.get("interrupted") or told.get("returnCodeInterpretation"))
        return output, Shell(command, None, 0 if ended else None, stdout, stderr)
    if match := _EXIT_CODE.match(output):
        output = output[match.end() :]
        return output, Shell(command, exit_code=int(match[1]), stdout=output)
    if output == _NO_OUTPUT:
        output = ""
    # Inside a subagent nothing is told beside the text; where it failed without a code, it did not run.
    return output, Shell(command, exit_code=None if failed else 0, stdout=None if failed else output)


def _files(tool: str, args: dict[str, Any], told: Any, output: str) -> list[ContentPart]:
    match tool, told:
        case _, {"staged": True}:
            return []  # held for the machine's owner to review: the file is as it was
        case "Write", {"type": "create", "filePath": str() as path, "content": str() as content}:
            return [FileRef(path, "write", diffs.created(path, content))]
        case "Write", {"filePath": str() as path, "structuredPatch": [*patch]}:
            return [FileRef(path, "write", _patched(path, patch))]
        case "Edit", {"filePath": str() as path, "oldString": "", "newString": str() as content}:
            return [FileRef(path, "write", diffs.created(path, content))]  # without old text: where no file is, or an empty one
        case (("Edit" | "MultiEdit"), {"filePath": str() as path, "structuredPatch": [*patch]}):
            return [FileRef(path, "patch", _patched(path, patch))]
        case "NotebookEdit", {"notebook_path": str() as path, "original_file": str() as old, "updated_file": str() as new}:
            return [FileRef(path, "patch", diffs.between(path, old, new) if old != new else None)]
        case "Read", {"file": {"filePath": str() as path}}:
            return [FileRef(path, "read")]
        case _:
            return _from_arguments(tool, args, output)


def _from_arguments(tool: str, args: dict[str, Any], output: str) -> list[ContentPart]:
    """Inside a subagent the structure is not told: the path is in the arguments, and a new file's content too."""
    path, content = args.get("file_path") or args.get("notebook_path"), args.get("content")
    if not isinstance(path, str):
        return []
    match tool:
        case "Read":
            return [FileRef(path, "read")]
        case "Write" if isinstance(content, str) and output.startswith(_CREATED):
            return [FileRef(path, "write", diffs.created(path, content))]
        case "Write":
            return [FileRef(path, "write")]
        case "Edit" if args.get("old_string") == "" and isinstance(made := args.get("new_string"), str):
            return [FileRef(path, "write", diffs.created(path, made))]
        case "Edit" | "MultiEdit" | "NotebookEdit":
            return [FileRef(path, "patch")]
        case _:
            return []


def _patched(path: str, patch: list[dict[str, Any]]) -> str | None:
    hunks = [diffs.Hunk(h["oldStart"], h["oldLines"], h["newStart"], h["newLines"], h["lines"]) for h in patch]
    return diffs.changed(path, hunks) if hunks else None
