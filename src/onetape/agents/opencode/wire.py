"""The names of OpenCode's wire: every event, part and tool of version 1.18.33.

The events are those of the OpenAPI document that `opencode serve` gives at
`/doc` (a test compares), and `server.heartbeat` and `sync`, which it leaves out.
"""

from typing import Literal

from msgspec import Struct

# --- events -----------------------------------------------------------------

TOLD = frozenset({
    "session.created", "session.updated", "session.deleted", "session.status", "session.idle", "session.error", "session.compacted",
    "message.updated", "message.removed", "message.part.updated", "message.part.removed", "message.part.delta",
    "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected",
    "mcp.tools.changed", "mcp.browser.open.failed",
})  # fmt: skip
"""Events that may say something about a session."""

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
    partID: str
    field: Literal["text"]
    delta: str


class Delta(Struct):
    """The event that nine of ten are."""

    type: Literal["message.part.delta"]
    properties: Words


# --- parts ------------------------------------------------------------------

PARTS = frozenset({
    "text", "reasoning", "file", "tool", "subtask", "retry", "compaction",
    # Marks, and what other words say: files changed are on the tools' results, an @agent stands in the text.
    "step-start", "step-finish", "snapshot", "patch", "agent",
})  # fmt: skip

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
