"""The names of OpenCode's wire: every event, part and tool of version 1.18.33, and the texts that they must have.

The events are those of the OpenAPI document that `opencode serve` gives at
`/doc` (a test compares), and `server.heartbeat` and `sync`, which it leaves out.

What must be a text is told here, since anything else would pass for a name that nobody else
uses; what else must be there shows where it is read.
"""

from typing import Any, Literal

from msgspec import Struct

from onetape.errors import Unparsed

Texts = tuple[str, ...]


def check_texts(native: dict[str, Any], names: Texts) -> None:
    for name in names:
        if type(native[name]) is not str:
            raise Unparsed(f"{name!r} is no text")


# --- events -----------------------------------------------------------------

_SESSION: Texts = ("sessionID",)
_MESSAGE: Texts = (*_SESSION, "messageID")
TOLD: dict[str, Texts] = {
    # A message and a part say themselves whose they are, and so does a session.
    "message.updated": (), "message.part.updated": (), "session.created": (), "session.updated": (), "session.deleted": (),
    "message.removed": _MESSAGE, "message.part.removed": (*_MESSAGE, "partID"),
    "message.part.delta": (*_MESSAGE, "partID", "field", "delta"),
    "session.status": _SESSION, "session.idle": _SESSION, "session.compacted": _SESSION,
    "session.error": (),
    "permission.asked": (*_SESSION, "id", "permission"), "permission.replied": (*_SESSION, "requestID"),
    "question.asked": (*_SESSION, "id"), "question.replied": (*_SESSION, "requestID"), "question.rejected": (*_SESSION, "requestID"),
    "mcp.tools.changed": ("server",), "mcp.browser.open.failed": ("mcpName", "url"),
}  # fmt: skip
"""Events that may say something about a session."""

MAY_BE_NOBODYS = frozenset({"session.error", "mcp.tools.changed", "mcp.browser.open.failed"})
"""Of a plugin or a skill, or of the whole server."""

SILENT = frozenset({
    # Start-up and housekeeping of the server: nothing happened in a session.
    "server.connected", "server.heartbeat", "server.instance.disposed", "global.disposed", "models-dev.refreshed",
    "integration.updated", "integration.connection.updated", "catalog.updated", "reference.updated", "plugin.added",
    "project.updated", "project.directories.updated", "installation.updated", "installation.update-available", "lsp.updated",
    "vcs.branch.updated", "workspace.ready", "workspace.failed", "workspace.status", "worktree.ready", "worktree.failed",
    "pty.created", "pty.updated", "pty.exited", "pty.deleted",
    "tui.prompt.append", "tui.command.execute", "tui.toast.show", "tui.session.select",
    # What a tool's part tells better: which call it was, and with a diff. `session.diff` was empty in all recordings.
    "file.edited", "file.watcher.updated", "session.diff", "todo.updated", "command.executed",
    # Asks of the second API, whose sessions make no events (below).
    "permission.v2.asked", "permission.v2.replied", "question.v2.asked", "question.v2.replied", "question.v2.rejected",
    # /global/event says each durable event twice: as itself, and as this.
    "sync",
})  # fmt: skip

SECOND_API = "session.next."
"""Events of the second session API (`/api/session`): another message store, no idle. Known, and they make no events."""

SECOND_API_EVENTS = frozenset({
    "agent.switched", "model.switched", "moved", "prompted", "prompt.admitted", "context.updated", "synthetic", "shell.started",
    "shell.ended", "step.started", "step.ended", "step.failed", "text.started", "text.delta", "text.ended", "reasoning.started",
    "reasoning.delta", "reasoning.ended", "tool.input.started", "tool.input.delta", "tool.input.ended", "tool.called",
    "tool.progress", "tool.success", "tool.failed", "retried", "compaction.started", "compaction.delta", "compaction.ended",
    "revert.staged", "revert.cleared", "revert.committed",
})  # fmt: skip


def is_silent(kind: str) -> bool:
    return kind in SILENT or (kind.startswith(SECOND_API) and kind.removeprefix(SECOND_API) in SECOND_API_EVENTS)


class Words(Struct):
    sessionID: str
    messageID: str
    partID: str
    field: Literal["text"]
    delta: str
    part: None = None
    info: None = None


class Delta(Struct):
    """The event that nine of ten are."""

    type: Literal["message.part.delta"]
    properties: Words
    payload: None = None


# --- messages and parts -----------------------------------------------------

ROLES = ("user", "assistant")
_MESSAGE_INFO: Texts = ("id", "sessionID")
_PART: Texts = ("id", "messageID", "sessionID", "type")
PARTS: dict[str, Texts] = {
    "text": (*_PART, "text"), "reasoning": (*_PART, "text"), "file": (*_PART, "url"), "tool": (*_PART, "tool", "callID"),
    "subtask": (*_PART, "prompt"), "retry": _PART, "compaction": _PART,
    # Marks, and what other words say: files changed are on the tools' results, an @agent stands in the text.
    "step-start": _PART, "step-finish": _PART, "snapshot": _PART, "patch": _PART, "agent": _PART,
}  # fmt: skip


def check_message(info: dict[str, Any]) -> None:
    check_texts(info, _MESSAGE_INFO)
    if info["role"] not in ROLES:
        raise Unparsed(f"a message of {info['role']!r}")


def check_part(part: dict[str, Any]) -> None:
    for name in PARTS.get(part["type"], _PART):  # as check_texts does, and one call less for most of all lines
        if type(part[name]) is not str:
            raise Unparsed(f"{name!r} is no text")


# --- tools ------------------------------------------------------------------

SHELL = "bash"
INVALID = "invalid"
PLAN_EXIT = "plan_exit"
BUILD = "build"
"""The agent that carries out a plan."""
BUILT_IN = frozenset({
    "apply_patch", "plan_exit", "plan_enter", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource",
    # Of this version; and of older and experimental ones:
    "lsp_hover", "lsp_diagnostics", "task_status", "web_search", "web_fetch",
})  # fmt: skip
"""Built-in tools with an underscore; with any other one, a name is an MCP server's and its tool's."""
