"""Tool results of OpenCode: what the model was told, and the structure that it is told beside.

A tool part's state is `completed` also for a command that failed; `error` is for
tools that could not do their work, were refused or cut off.
"""

import re
from typing import Any

from onetape import diffs
from onetape.agents.opencode import patches, plain
from onetape.agents.opencode.content import file_part
from onetape.agents.opencode.wire import INVALID, SHELL
from onetape.drafts import Blob, Result, Shell
from onetape.recent import Recent
from onetape.schema import ContentPart, FileRef

_NOTE = re.compile(r"(?:\n\n)?<(shell_metadata|bash_metadata|metadata)>\n(.*)\n</\1>\Z", re.DOTALL)
_TASK = re.compile(
    r'\A<task id="[^"]*" state="\w+">\n(?:<summary>.*?</summary>\n)?<task_(\w+)>\n(.*)\n</task_\1>\n</task>\Z', re.DOTALL,
)  # fmt: skip
_NUMBER = (int, float)
_NO_OUTPUT = "(no output)"
_ABORTED = "User aborted the command"
_PLANS = "/plans/"  # of the project, or of the user where that is no repository (1.18.33)
_READ_LINE = re.compile(r"^\d+: (.*)$", re.MULTILINE)

# Files whose lines are remembered, for diffs that lack their indentation.
REMEMBERED = 64


class Results:
    """Results, and the lines of files seen on the way."""

    def __init__(self) -> None:
        self._lines: Recent[str, frozenset[str]] = Recent(REMEMBERED)
        self._proposed: Recent[str, str] = Recent(REMEMBERED)
        self._plans: Recent[str, str] = Recent(REMEMBERED)

    def proposed(self, call_id: str, diff: str) -> None:
        """A permission request showed this diff; a `write` over a file tells none later."""
        self._proposed[call_id] = diff

    def plan(self, path: str) -> str | None:
        """A plan as it was left, if all of it was written within this session. The question for its approval names the file alone."""
        name = path.rpartition("/")[2]
        return next((text for file, text in self._plans.items() if file.endswith(f"/{name}")), None)

    def whole_lines(self, path: str, args: dict[str, Any]) -> list[str]:
        """Lines of a file that are known whole, before or after the change that a tool wants to make."""
        old, new = str(args.get("oldString") or "").split("\n"), str(args.get("newString") or "").split("\n")
        patch = [line[1:] for line in str(args.get("patchText") or "").split("\n") if line[:1] in ("+", "-", " ")]
        # The first line of what is replaced may be the end of a line; the others are whole.
        return [*old[1:], *new[1:], *str(args.get("content") or "").split("\n"), *patch, *self._lines.get(path, ())]

    def of(self, call_id: str, tool: str, state: plain.State, asked: Shell | None, cwd: str | None) -> tuple[Result, list[Blob]]:
        """`asked`: what is known of a command already."""
        if state.status == "error":
            # Without a reply told, whatever was asked for this call was not granted: OpenCode confirms
            # every reply, and says nothing of the asks that an abort leaves behind (capture 46).
            output = str(state.error)
            shell = shell_of(state, asked, cwd) if tool == SHELL else None
            return Result(call_id, output, failed=True, refused=True, shell=shell), []
        output = str(state.output)
        parts, kept = _attachments(state.attachments) if state.attachments else ([], [])
        if tool == SHELL:
            shell = shell_of(state, asked, cwd)
            return Result(call_id, _unwrapped(output), _has_failed(state, output, shell), False, tuple(parts), shell), kept
        if tool == "task" and (wrapped := _TASK.match(output)):
            output = wrapped[2]
        files = self._files(call_id, tool, state, cwd)
        return Result(call_id, output, failed=tool == INVALID, parts=(*files, *parts)), kept

    # --- files --------------------------------------------------------------

    def _files(self, call_id: str, tool: str, state: plain.State, cwd: str | None) -> list[ContentPart]:
        args, told = state.input, state.metadata or {}
        match tool, told:
            case "read", _ if isinstance(args.get("filePath"), str):
                path = _absolute(args["filePath"], cwd)
                self._remember(path, _READ_LINE.findall(str(state.output)))
                return [FileRef(path, "read")]
            case "write", {"filepath": str() as path}:
                return [self._written(call_id, path, args, exists=bool(told.get("exists")))]
            case "edit", {"filediff": {"file": str(path), "patch": str(patch)}} | {"diff": str(patch), "filepath": str(path)}:
                return [self._edited(path, patch, args)]
            case "apply_patch", {"files": [*files]}:
                return [self._patched(file, args) for file in files]
            case _:
                return []

    def _written(self, call_id: str, path: str, args: dict[str, Any], *, exists: bool) -> FileRef:
        content = str(args.get("content", "")).removeprefix("\ufeff")
        if not exists:
            diff: str | None = diffs.created(path, content)
        else:
            shown = self._proposed.get(call_id)
            diff = patches.restored(shown, path, content.split("\n")) if shown else None
        self._lines[path] = frozenset(content.split("\n"))
        if _PLANS in path:
            self._plans[path] = content
        return FileRef(path, "write", diff)

    def _edited(self, path: str, patch: str, args: dict[str, Any]) -> FileRef:
        is_new = patches.creates(patch)
        whole = str(args.get("newString") or "").split("\n") if is_new else self.whole_lines(path, args)
        self._remember(path, whole)
        if path in self._plans:
            old, new = str(args.get("oldString") or ""), str(args.get("newString") or "")
            self._plans[path] = self._plans[path].replace(old, new, -1 if args.get("replaceAll") else 1)
        return FileRef(path, "write" if is_new else "patch", patches.restored(patch, path, whole))

    def _patched(self, file: dict[str, Any], args: dict[str, Any]) -> FileRef:
        old, kind = str(file["filePath"]), file.get("type")
        path, whole = str(file.get("movePath") or old), self.whole_lines(old, args)
        patch = str(file.get("patch") or "")
        if patches.has_hunks(patch):
            diff = patches.restored(patch, path, whole, is_deleted=kind == "delete")
        else:
            diff = _hunkless(str(kind), old, path)
        self._remember(path, whole)
        return FileRef(path, "write" if kind == "add" else "patch", diff)

    def _remember(self, path: str, lines: list[str]) -> None:
        self._lines[path] = self._lines.get(path, frozenset()) | frozenset(lines)


# --- commands ---------------------------------------------------------------


def asked_shell(args: dict[str, Any], cwd: str | None) -> Shell:
    """A command that has not run yet."""
    command, workdir = args.get("command"), args.get("workdir")
    return Shell(command if isinstance(command, str) else None, _absolute(workdir, cwd) if isinstance(workdir, str) else cwd)


def shell_of(state: plain.State, asked: Shell | None, cwd: str | None) -> Shell:
    """stdout and stderr come merged; the exit code is null where the command was cut off."""
    told, time = state.metadata or {}, state.time or {}
    start, end = time.get("start"), time.get("end")
    output, exit, stdout, duration = told.get("output"), told.get("exit"), None, None
    if isinstance(output, str):  # else it was refused, and its time is how long somebody thought about it
        # "(no output)" is shown in place of nothing.
        stdout = "" if output.startswith(_NO_OUTPUT) and output == state.output else _split(output)[0]
        duration = int(end - start) if isinstance(start, _NUMBER) and isinstance(end, _NUMBER) else None
    asked = asked or asked_shell(state.input or {}, cwd)
    return Shell(asked.command, asked.cwd, exit if type(exit) is int else None, stdout, None, duration)


def _has_failed(state: plain.State, output: str, shell: Shell) -> bool:
    # A command of the user's own tells no exit code at all (capture 32); null is a timeout or an abort.
    was_cut_off = shell.exit_code is None and "exit" in (state.metadata or {})
    return bool(shell.exit_code) or was_cut_off or _ABORTED in output[-200:]


def _unwrapped(output: str) -> str:
    """The words without the tags around a timeout's or an abort's remark, and without what stands for nothing."""
    words, note = _split(output)
    words = "" if words == _NO_OUTPUT else words
    return f"{words}\n\n{note}" if words and note else words or note


def _split(output: str) -> tuple[str, str]:
    """What a command wrote, and OpenCode's remark at its end."""
    note = _NOTE.search(output) if output.endswith("metadata>") else None
    return (output[: note.start()], note[2]) if note else (output, "")


# --- pieces -----------------------------------------------------------------


def _hunkless(kind: str, old: str, new: str) -> str | None:
    """Empty files, and files that only got another name."""
    match kind:
        case "add":
            return diffs.created(new, "")
        case "delete":
            return diffs.deleted(old, "")
        case "move":
            return diffs.moved(old, new)
        case _:
            return None


def _attachments(files: list[dict[str, Any]]) -> tuple[list[ContentPart], list[Blob]]:
    parts: list[ContentPart] = []
    kept: list[Blob] = []
    for file in files:
        part, blob = file_part(file)
        parts.append(part)
        kept += [blob] if blob else []
    return parts, kept


def _absolute(path: str, cwd: str | None) -> str:
    return path if path.startswith("/") or cwd is None else f"{cwd.rstrip('/')}/{path}"
