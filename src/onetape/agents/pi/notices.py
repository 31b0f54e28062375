"""What Pi tells beside the conversation: retries, compactions, queues, and the records of extensions."""

import re
from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.pi.content import images_of, text_of
from onetape.agents.pi.dialogs import MODE_COMMAND
from onetape.ending import unstyled
from onetape.errors import Unparsed
from onetape.items import shell_part
from onetape.schema import Text

_STATUS = re.compile(r"(\d{3}):? (.*)", re.DOTALL)


class Notices:
    def __init__(self) -> None:
        self._is_compacting = False
        self._queued = 0
        self._shown: dict[str, str] = {}
        self._plan: list[dict[str, str]] = []
        self._failed_compaction: str | None = ""
        """Why the last compaction failed; None if it was aborted."""

    def read(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        match native:
            case {"type": "auto_retry_start" | "summarization_retry_scheduled", "attempt": attempt, "errorMessage": why}:
                yield d.Note("retry", f"retry {attempt} of {native.get('maxAttempts')}: {why}")
            case {"type": "auto_retry_end" | "summarization_retry_attempt_start" | "summarization_retry_finished"}:
                pass  # the end of the turn or of the compaction tells how it went
            case {"type": "compaction_start"}:
                yield d.CloseNote("compaction", failed=True)  # an earlier one whose end was lost
                yield d.OpenNote("compaction", "compaction")
                self._is_compacting = True
            case {"type": "compaction_end", "result": {"summary": str(summary)}}:
                yield self._compacted(summary)
            case {"type": "compaction_end", "aborted": bool(aborted)}:
                why = str(native.get("errorMessage") or "")
                self._failed_compaction = None if aborted else why
                yield self._compacted(why or ("aborted" if aborted else None), failed=True)
            case {"type": "queue_update", "steering": [*steering], "followUp": [*later]}:
                yield from self._queue(len(steering) + len(later))
            case {"type": "session_info_changed"}:
                yield d.Note("notice", f"session name: {native.get('name') or 'none'}")
            case {"type": "extension_error", "error": str(why)}:
                yield d.Note("hook", f"{native.get('extensionPath')} ({native.get('event')}): {why}", failed=True)
            case {"type": "entry_appended", "entry": {"type": str()} as entry}:
                yield from self.entry(entry)
            case _:
                raise Unparsed(f"{native['type']} without the fields it must have")

    def _compacted(self, detail: str | None, *, failed: bool = False) -> d.Draft:
        was_told, self._is_compacting = self._is_compacting, False
        return d.CloseNote("compaction", detail, failed=failed) if was_told else d.Note("compaction", detail, failed=failed)

    def has_told(self, why: str) -> bool:
        """Whether the answer to `compact` repeats why the last compaction failed; of an abort it may say anything (1.5.0)."""
        told, self._failed_compaction = self._failed_compaction, ""
        return told is None or told.endswith(why)

    def _queue(self, waiting: int) -> Iterator[d.Draft]:
        if waiting > self._queued:  # what leaves the queue is told by its message
            yield d.Note("notice", f"message queued, {waiting} waiting")
        self._queued = waiting

    def entry(self, entry: dict[str, Any]) -> Iterator[d.Draft]:
        """An entry of the session file that an extension made. The wire tells it no other way (0.87.1, 1.5.0: hooks at a turn's end)."""
        match entry:
            case {"type": "custom", "data": {"todos": [*_] as todos}}:
                yield from self.plan(todos)  # Pi's own plan-mode extension (37)
            case {"type": "custom_message", "content": content}:
                images, kept = images_of(content)
                yield from kept
                yield d.System([Text(text_of(content)), *images], entry.get("id"))
            case {"type": "compaction", "summary": str(summary)}:
                yield d.Note("compaction", summary, native_id=entry.get("id"))
            case _:
                pass  # state of extensions, and edits of what the model sees

    def plan(self, todos: list[Any]) -> Iterator[d.Draft]:
        """A list of things to do, from a tool's result or an extension's state; told when it changed."""
        steps = [_step(todo) for todo in todos if isinstance(todo, dict)]
        if steps != self._plan:
            self._plan = steps
            yield d.Note("plan", json=steps)

    def shown(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        """What an extension shows without asking."""
        match native:
            case {"method": "notify", "message": str(message)}:
                label: Any = "mcp" if message.startswith("MCP server") else "notice"
                yield d.Note(label, unstyled(message), failed=native.get("notifyType") == "error")
            case {"method": "setStatus", "statusKey": str(key)}:
                yield from self._display(key, native.get("statusText") or "")
            case {"method": "setWidget", "widgetKey": str(key)}:
                yield from self._display(f"widget {key}", "\n".join(native.get("widgetLines") or ()))
            case {"method": "setTitle" | "set_editor_text"}:
                pass  # a terminal's title and input line
            case {"method": "notify" | "setStatus" | "setWidget"}:
                raise Unparsed(f"extension_ui_request/{native['method']} without the fields it must have")
            case _:
                yield d.Unknown(native)

    def _display(self, key: str, styled: str) -> Iterator[d.Draft]:
        text = unstyled(styled)
        if text != self._shown.get(key, "") and text:
            yield d.Note("mode" if key == MODE_COMMAND else "progress", text)
        self._shown[key] = text


def _step(todo: dict[str, Any]) -> dict[str, str]:
    done = todo.get("done") or todo.get("completed")
    told = todo.get("status")
    status = told if told in ("pending", "in_progress", "completed") else "completed" if done else "pending"
    return {"text": str(todo.get("text") or todo.get("content") or ""), "status": status}


def failure(message: str) -> tuple[str, str | None]:
    """The words and the code of a failed model call, which begin with the HTTP status where there is one."""
    status = _STATUS.fullmatch(message)
    return message, status[1] if status else None


def bash(command: str | None, told: dict[str, Any], native_id: str | None = None) -> d.System:
    """A command that the user ran beside the model (rpc `bash`, `!` in a terminal): Pi tells the model of it."""
    output = str(told.get("output") or "")
    code = told.get("exitCode")
    run = d.Shell(command, None, code if isinstance(code, int) else None, output)
    return d.System([Text(output if command is None else f"$ {command}\n{output}"), shell_part(run)], native_id)
