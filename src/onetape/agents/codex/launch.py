"""How a Codex app-server is started: the native binary (its npm launcher would survive a SIGKILL as
an orphan's parent), with MCP servers for this process alone.

Policy, sandbox, model and effort go with thread/start (encode.py), which takes what
`-c` no longer does. Nothing is written to the user's CODEX_HOME.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from onetape.agents.agent import Launch, LaunchOptions
from onetape.errors import Refused

_BARE_KEY = re.compile(r"^[A-Za-z0-9_-]+$")


def launch(options: LaunchOptions) -> Launch:
    overrides = [word for name, server in options.mcp.items() for word in ("-c", f"mcp_servers.{_key(name)}={_server(name, server)}")]
    return Launch(argv=[options.executable, "app-server", *overrides], cwd=options.cwd)


def _server(name: str, server: Mapping[str, Any]) -> str:
    """An MCP server as an inline TOML table."""
    match server.get("type"):
        case "local" | "stdio":
            fields = dict(_local(name, server))
        case "remote" | "http":
            fields = dict(_remote(name, server))
        case kind:
            raise Refused(f"MCP server {name}: Codex knows local and remote ones, not {kind!r}")
    if server.get("enabled") is False:
        fields["enabled"] = False
    if isinstance(timeout := server.get("timeoutMs"), int | float):
        fields["startup_timeout_sec"] = timeout / 1000
    return toml(fields)


def _local(name: str, server: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    command = server.get("command")
    words = [command] if isinstance(command, str) else list(command or ())
    if not words:
        raise Refused(f"MCP server {name} has no command")
    yield "command", words[0]
    yield "args", [*words[1:], *(server.get("args") or ())]
    if server.get("env"):
        yield "env", dict(server["env"])
    if server.get("cwd"):
        yield "cwd", server["cwd"]


def _remote(name: str, server: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if server.get("transport") == "sse":
        raise Refused(f"MCP server {name}: Codex has no sse transport, only http")
    if not server.get("url"):
        raise Refused(f"MCP server {name} has no url")
    yield "url", server["url"]
    for ours, theirs in (("headers", "http_headers"), ("envHeaders", "env_http_headers"), ("bearerTokenEnvVar", "bearer_token_env_var")):
        if server.get(ours):
            yield theirs, server[ours]


def toml(value: Any) -> str:
    """A value in TOML's inline form. Its basic strings are JSON's, but for the DEL character."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case Mapping():
            return "{" + ", ".join(f"{_key(str(key))} = {toml(inner)}" for key, inner in value.items()) + "}"
        case _:
            return "[" + ", ".join(map(toml, value)) + "]"


def _key(name: str) -> str:
    return name if _BARE_KEY.match(name) else toml(name)
