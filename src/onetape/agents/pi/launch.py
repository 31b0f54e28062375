"""How Pi is started: rpc mode with our extension, which asks for permissions and lets the model ask.

The extension is a file of this package; Pi loads it with `-e`, for this process only. Nothing is
written into the user's configuration: MCP servers are registered by the extension (from 1.0 on;
before, Pi has no MCP).
"""

import json
from pathlib import Path
from typing import Any

from onetape.agents.agent import Launch, LaunchOptions
from onetape.errors import Refused

GATE = Path(__file__).with_name("gate.ts")


def launch(options: LaunchOptions) -> Launch:
    settings = {"--model": options.model, "--thinking": options.variant, "--session": options.resume}
    servers = {name: _server(name, told) for name, told in options.mcp.items()}
    if servers and _is_before_mcp(options.version):
        raise Refused(f"Pi {options.version} has no MCP; it came with 1.0")
    return Launch(
        argv=[
            options.executable, "--mode", "rpc", "-e", str(GATE),
            *(word for name, value in settings.items() if value is not None for word in (name, value)),
        ],
        cwd=options.cwd,
        env={
            "PI_SKIP_VERSION_CHECK": "1",
            "ONETAPE_PI_MODE": options.mode or options.permission_mode,
            **({"ONETAPE_PI_MCP": "{dir}/mcp.json"} if servers else {}),
        },
        # In a file and not in the environment: headers may hold secrets.
        files={"mcp.json": json.dumps(servers)} if servers else {},
    )  # fmt: skip


def _is_before_mcp(version: str | None) -> bool:
    return version is not None and version.split(".")[0] == "0"


def _server(name: str, told: dict[str, Any]) -> dict[str, Any]:
    """An entry of Pi's mcp.json. Direct exposure: by default the model reaches MCP tools through scripts alone (18b)."""
    common = {"exposure": "direct", "enabled": told.get("enabled"), "timeout": told["timeoutMs"] / 1000 if "timeoutMs" in told else None}
    if told.get("transport") == "sse":
        raise Refused(f"MCP server {name}: Pi speaks streamable HTTP and not SSE")
    if "url" in told:
        headers = dict(told.get("headers") or {}) | {header: f"${{{env}}}" for header, env in (told.get("envHeaders") or {}).items()}
        if variable := told.get("bearerTokenEnvVar"):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        return _told(common | {"url": told["url"], "headers": headers or None})
    command = told.get("command")
    words = [command] if isinstance(command, str) else list(command or ())
    if not words:
        raise Refused(f"MCP server {name} has neither a command nor a url")
    arguments = [*words[1:], *(told.get("args") or ())]
    return _told(common | {"command": words[0], "args": arguments, "env": told.get("env"), "cwd": told.get("cwd")})


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
