"""How OpenCode is started: one `opencode serve` per session, so that its end ends everything of it.

Nothing is written to the user's files: settings go in by the environment, over
the user's own. `{secret}` is made anew for each: without one, every process of the
machine could drive the agent.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from onetape.agents.agent import Launch, LaunchOptions
from onetape.agents.opencode import permissions
from onetape.errors import Refused

USERNAME = "opencode"


def launch(options: LaunchOptions) -> Launch:
    return Launch(
        argv=[options.executable, "serve", "--hostname", "127.0.0.1", "--port", "{port}"],
        cwd=options.cwd,
        env=_environment(options),
        wire="http",
        stop="SIGTERM",
        login=f"{USERNAME}:{{secret}}",
        # Whoever connects before it says so, be it only to try, makes its first request wait for ever (1.18.33).
        listening="opencode server listening on",
    )


def _environment(options: LaunchOptions) -> dict[str, str]:
    config: dict[str, Any] = {"autoupdate": False, "share": "disabled"} | permissions.settings(options.permission_mode, options.mcp)
    if options.mcp:
        config["mcp"] = {name: _server(name, server) for name, server in options.mcp.items()}
    env = {
        "OPENCODE_SERVER_USERNAME": USERNAME,
        "OPENCODE_SERVER_PASSWORD": "{secret}",
        "OPENCODE_CONFIG_CONTENT": msgspec.json.encode(config).decode(),
        "OPENCODE_PERMISSION": msgspec.json.encode(config["permission"]).decode(),  # one of the user's would stand above the other
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }
    if "plan" in (options.mode, options.permission_mode):
        env["OPENCODE_EXPERIMENTAL_PLAN_MODE"] = "1"  # without it the plan agent has no way out of planning
    return env


def _server(name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    """An MCP server in OpenCode's words."""
    match server.get("type", "local"):
        case "local" | "stdio":
            told = _local(name, server)
        case "remote" | "http":
            told = _remote(name, server)
        case kind:
            raise Refused(f"MCP server {name}: OpenCode knows local and remote ones, not {kind!r}")
    told |= {"enabled": server.get("enabled", True), "timeout": server.get("timeoutMs")}
    return {name: value for name, value in told.items() if value is not None}


def _local(name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    command = server.get("command")
    words = [command] if isinstance(command, str) else list(command or ())
    if not words:
        raise Refused(f"MCP server {name} has no command")
    return {"type": "local", "command": [*words, *(server.get("args") or ())], "environment": server.get("env"), "cwd": server.get("cwd")}


def _remote(name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    """OpenCode finds out by itself whether it is http or sse."""
    if not server.get("url"):
        raise Refused(f"MCP server {name} has no url")
    return {"type": "remote", "url": server["url"], "headers": _headers(server)}


def _headers(server: Mapping[str, Any]) -> dict[str, str] | None:
    """OpenCode itself puts the environment's values in: secrets stay out of what we write."""
    headers = dict(server.get("headers") or {})
    headers |= {name: f"{{env:{variable}}}" for name, variable in (server.get("envHeaders") or {}).items()}
    if variable := server.get("bearerTokenEnvVar"):
        headers["Authorization"] = f"Bearer {{env:{variable}}}"
    return headers or None
