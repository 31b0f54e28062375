"""MCP servers as a request names them, checked before an agent is started with them."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from onetape.errors import Refused

_KINDS = {"local": "local", "stdio": "local", "remote": "remote", "http": "remote"}


class McpServer(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Local: a command to run. Remote: an address to reach."""

    type: Literal["local", "stdio", "remote", "http"]
    command: str | list[str] | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    bearer_token_env_var: str | None = None
    env_headers: dict[str, str] | None = None
    transport: Literal["http", "sse"] | None = None
    enabled: bool | None = None
    timeout_ms: int | None = None


def checked(servers: dict[str, McpServer]) -> dict[str, Any]:
    """As agents are told of them: one word for each type, and nothing that was not given."""
    return {name: _told(name, server) for name, server in servers.items()}


def _told(name: str, server: McpServer) -> dict[str, Any]:
    kind = _KINDS[server.type]
    if kind == "local" and not server.command:
        raise Refused(f"MCP server {name} is local and has no command")
    if kind == "remote" and not server.url:
        raise Refused(f"MCP server {name} is remote and has no url")
    told: dict[str, Any] = msgspec.to_builtins(server)
    return told | {"type": kind}
