"""How Amp is started: one process for many turns, with our helper between it and its tools.

Amp asks nobody for a permission when it runs without a terminal. A rule of its own settings does: `delegate` has it run
a program before each tool and obey its exit code. The rule stands in a settings file of this session alone; the user's
settings file is not read then (Amp takes one), while his login, which is elsewhere, holds. Nothing of the user's is written.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onetape.agents.agent import Launch, LaunchOptions
from onetape.errors import Refused

HELPER = Path(__file__).with_name("helper.py")
EDITS = ("create_file", "edit_file", "apply_patch", "undo_edit", "format_file")
# A thread whose process ends is archived by the September build, and an archived one cannot be continued.
OPTIONAL = ("--no-ide", "--stream-json-thinking", "--no-archive-after-execute")
EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def launch(options: LaunchOptions) -> Launch:
    if options.model is not None:
        raise Refused("Amp lets nobody choose a model: choose a mode, which chooses it")
    if options.permission_mode == "plan":
        raise Refused("Amp has no plan mode")
    flags, files = _permissions(options.permission_mode)
    if options.mcp:
        # A file, since arguments can be read by everybody on the machine.
        flags += ["--mcp-config", "{dir}/mcp.json"]
        files["mcp.json"] = json.dumps({name: _server(name, server) for name, server in options.mcp.items() if server.get("enabled", True)})
    return Launch(
        argv=[
            options.executable, *(["threads", "continue", options.resume] if options.resume else []),
            "--execute", "--stream-json", "--stream-json-input",
            # An option that a build does not know ends it with code 1.
            *(flag for flag in OPTIONAL if flag in options.help), *_mode(options), *flags,
        ],
        cwd=options.cwd,
        env={"AMP_SKIP_UPDATE_CHECK": "1"},
        files=files,
        # A closed stdin is obeyed only when the turn is over, and never by January and May if nothing was said (29f).
        stop="SIGTERM",
    )  # fmt: skip


def _mode(options: LaunchOptions) -> list[str]:
    """A variant is a mode; or an effort, where the build knows such (May) and it is the name of one."""
    mode, effort = options.mode, options.variant
    if effort is not None and not ("--effort" in options.help and effort in EFFORTS):
        if mode not in (None, effort):
            raise Refused(f"Amp has one mode at a time: {mode} or {effort}")
        mode, effort = effort, None
    return [*(["--mode", mode] if mode else []), *(["--effort", effort] if effort else [])]


def _permissions(mode: str) -> tuple[list[str], dict[str, str]]:
    if mode == "bypass":
        return ["--dangerously-allow-all"], {}  # September hides it from its help, and knows it
    rules = [{"tool": tool, "action": "allow"} for tool in EDITS] if mode == "acceptEdits" else []
    rules.append({"tool": "*", "action": "delegate", "to": "{dir}/delegate"})
    settings = {"amp.updates.mode": "disabled", "amp.permissions": rules}
    # Amp gives the helper no arguments. -I, -S: nothing of the project's or the user's is imported, and it starts at once.
    helper = f"#!/bin/sh\nexec {_quoted(sys.executable)} -I -S {_quoted(str(HELPER))} {_quoted('{socket}')}\n"
    return ["--settings-file", "{dir}/settings.json"], {"settings.json": json.dumps(settings), "delegate": helper}


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _server(name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    """An MCP server in Amp's words, which know no time limit and no directory."""
    if server.get("cwd"):
        raise Refused(f"Amp starts MCP servers in the session's directory: {name} cannot have its own")
    if "url" in server:
        return _remote(server)
    words = server["command"] if isinstance(server["command"], list) else [server["command"]]
    return {"command": words[0], "args": [*words[1:], *server.get("args", ())], "env": dict(server.get("env") or {})}


def _remote(server: Mapping[str, Any]) -> dict[str, Any]:
    headers = dict(server.get("headers") or {})
    # ${…} in a header is filled in by Amp, from its environment.
    headers |= {header: f"${{{variable}}}" for header, variable in (server.get("envHeaders") or {}).items()}
    if token := server.get("bearerTokenEnvVar"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    told = {"url": server["url"], "headers": headers or None, "transport": server.get("transport")}
    return {key: value for key, value in told.items() if value is not None}
