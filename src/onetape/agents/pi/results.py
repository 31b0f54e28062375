"""Tool results: decoded text, the run of a command, files and images.

A shell tool's text ends with Pi's own words about the exit; the code is read from them where the
structured form is not told (before 1.0, and in session files of every version). Output and errors
of a command are one stream for Pi: they are told as stdout.
"""

import re
from typing import Any

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.pi.changes import file_of
from onetape.agents.pi.content import SHELLS, images_of, text_of
from onetape.schema import ContentPart

_SILENT = "(no output)"
_EXIT = "Command exited with code "
_EXITED = re.compile(rf"(?:(.*)\n\n)?{_EXIT}(\d+)", re.DOTALL)
_STOPPED = re.compile(r"(?:(.*)\n\n)?Command (?:aborted|timed out after .+ seconds|terminated without an exit code)", re.DOTALL)


class Tool(Struct, frozen=True, gc=False):
    """A call as far as its result must know it."""

    name: str
    args: Any


def result_of(call_id: str, tool: Tool, told: dict[str, Any], cwd: str | None, *, failed: bool, refused: bool = False) -> list[d.Draft]:
    """`told`: the result of `tool_execution_end`, or a `toolResult` message; with `durationMs` where told."""
    text = text_of(told["content"])
    images, kept = images_of(told["content"])
    parts: list[ContentPart] = list(images)
    if not failed and (file := file_of(tool.name, tool.args, told.get("details"))):
        parts.insert(0, file)
    shell = None
    if tool.name in SHELLS:
        text, shell = _ran(tool.args, text, told, cwd, failed=failed)
        failed = failed or bool(shell.exit_code)
    return [*kept, d.Result(call_id, text, failed, refused, tuple(parts), shell)]


def shell_of(tool: str, args: Any, cwd: str | None) -> d.Shell | None:
    """What a call tells of a command before it ran; None if it is none."""
    return d.Shell(_command(args), cwd) if tool in SHELLS else None


def _ran(args: Any, text: str, told: dict[str, Any], cwd: str | None, *, failed: bool) -> tuple[str, d.Shell]:
    text, code, output = _outcome(text, failed=failed)
    exact = told.get("structuredContent")
    if isinstance(exact, dict) and type(exact.get("exit_code")) is int and isinstance(exact.get("output"), str):
        code, output = exact["exit_code"], exact["output"]  # not cut to what the model may see
    duration = told.get("durationMs")
    return text, d.Shell(_command(args), cwd, code, output, None, int(duration) if isinstance(duration, (int, float)) else None)


def _outcome(text: str, *, failed: bool) -> tuple[str, int | None, str | None]:
    """The decoded text, the exit code and the output."""
    # An output may be long: it is searched only where it ends like one that tells a code.
    if text[-1:].isdecimal() and _EXIT in text and (match := _EXITED.fullmatch(text)):
        output = _said(match[1] or "")
        return output, int(match[2]), output
    if not failed:
        output = _said(text)
        return output, 0, output
    if match := _STOPPED.fullmatch(text):
        return text, None, match[1] or ""
    return text, None, None  # it never ran: blocked, or called with wrong arguments


def _said(text: str) -> str:
    return "" if text == _SILENT else text


def _command(args: Any) -> str | None:
    command = args.get("command") if isinstance(args, dict) else None
    return command if isinstance(command, str) else None
