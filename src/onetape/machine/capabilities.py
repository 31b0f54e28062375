"""What an agent can do, for clients that want to know beforehand: derived from its recordings, never kept by hand."""

from onetape import coverage
from onetape.agents.agent import Agent

CAPABILITIES: dict[str, tuple[str, ...]] = {
    "planMode": ("plan mode",),
    "permissions": ("permissions",),
    "questions": ("questions",),
    "toolCalls": ("tool calls",),
    "toolResults": ("tool results",),
    "textMessages": ("text",),
    "images": ("images",),
    "fileAttachments": ("file attachments",),
    "sessionLifecycle": ("lifecycle",),
    "errorEvents": ("errors",),
    "reasoning": ("reasoning",),
    "status": ("plan", "compaction", "retries and rate limits"),
    "commandExecution": ("command execution",),
    "fileChanges": ("file changes",),
    "mcpTools": ("MCP tools",),
    "streamingDeltas": ("deltas",),
    "itemStarted": ("started items",),
    "variants": ("variants",),
    "sharedProcess": (),  # each session has a process of its own, so no recording can show another's
}
"""The features that show a capability; one of them is enough."""


def capabilities(agent: Agent) -> dict[str, bool]:
    shown = coverage.of(agent.name)
    return {name: any(feature in shown for feature in features) for name, features in CAPABILITIES.items()}


def modes(agent: Agent) -> list[dict[str, str]]:
    return [{"id": id, "name": mode.name, "description": mode.description} for id, mode in agent.modes.items()]
