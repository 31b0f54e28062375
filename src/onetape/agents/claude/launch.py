"""How Claude Code is started: described, not done.

`-p` with stream-json both ways, asks on stdio, deltas and echoes. MCP servers go
into a private file, never into the arguments, which every user of the machine can
read; they are added to those that the user has configured.
"""

from collections.abc import Mapping
from typing import Any

from onetape.agents.agent import Launch, LaunchOptions, Mode
from onetape.ids import uuid_of
from onetape.schema import to_json

MODES = {
    "default": Mode("Default", "Asks before it runs commands and changes files"),
    "plan": Mode("Plan", "Reads and plans; changes nothing before its plan is accepted"),
    "acceptEdits": Mode("Accept edits", "Changes files unasked; asks before it runs commands"),
    "dontAsk": Mode("Don't ask", "Does what is allowed beforehand and is refused the rest, unasked"),
    "bypassPermissions": Mode("Bypass permissions", "Does everything unasked"),
}
"""Those that both versions know. 2.1.326 shows `default` as `manual` to its users; 2.1.197 refuses that word."""

_WIRE = (
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio",
    "--include-partial-messages", "--replay-user-messages",
)  # fmt: skip

# Options of `claude -p` (2.1.326, hidden ones too) that take a value; any other word that starts with a dash stands alone.
VALUED = frozenset({
    "--agent", "--agents", "--append-system-prompt", "--append-system-prompt-file", "--autocompact", "--debug-file", "--effort",
    "--environment", "--fallback-model", "--input-format", "--json-schema", "--max-budget-usd", "--max-thinking-tokens", "--max-turns",
    "--model", "--name", "-n", "--output-format", "--permission-mode", "--permission-prompt-tool", "--permission-prompts", "--plugin-dir",
    "--plugin-url", "--remote-control-session-name-prefix", "--resume-session-at", "--rewind-files", "--session-id", "--setting-sources",
    "--settings", "--system-prompt", "--system-prompt-file", "--system-prompt-snapshot", "--thinking", "--thinking-display",
})  # fmt: skip

# Those that take as many words as follow, or one if there is one.
LISTS: dict[str, int | None] = {
    **dict.fromkeys((
        "--add-dir", "--allowed-tools", "--allowedTools", "--betas", "--disallowed-tools", "--disallowedTools", "--file", "--mcp-config",
        "--tools",
    )),
    **dict.fromkeys((
        "--cloud", "--debug", "-d", "--from-pr", "--prompt-suggestions", "--remote-control", "--resume", "-r", "--teleport", "--worktree",
        "-w",
    ), 1),
}  # fmt: skip


def launch(options: LaunchOptions) -> Launch:
    servers = {name: _server(server) for name, server in options.mcp.items() if server.get("enabled", True)}
    settings = {
        "--model": options.model,
        "--effort": options.variant,
        "--permission-mode": options.mode or native_mode(options.permission_mode),
        "--resume": options.resume,
        # Else its id would be known only with the first turn.
        "--session-id": None if options.resume else uuid_of(f"session {options.session_key}"),
        "--mcp-config": "{dir}/mcp.json" if servers else None,
    }
    return Launch(
        argv=[options.executable, *_WIRE, *(word for flag, value in settings.items() if value for word in (flag, value))],
        cwd=options.cwd,
        env={"DISABLE_AUTOUPDATER": "1"},  # a session ends with the version that it began with
        files={"mcp.json": to_json({"mcpServers": servers}).decode()} if servers else {},
    )


def input_format(argv: list[Any]) -> str | None:
    """With `stream-json` stdin is a stream of messages, and no prompt."""
    return str(argv[argv.index("--input-format") + 1]) if "--input-format" in argv[:-1] else None


def native_mode(mode: str) -> str:
    """Our permission modes in its words; its own words pass as they are."""
    return "bypassPermissions" if mode == "bypass" else mode


def _server(server: Mapping[str, Any]) -> dict[str, Any]:
    settings = _remote(server) if "url" in server else _local(server)
    return settings | ({"timeout": server["timeoutMs"]} if server.get("timeoutMs") else {})


def _local(server: Mapping[str, Any]) -> dict[str, Any]:
    command = server["command"]
    words = [*([command] if isinstance(command, str) else command), *server.get("args", ())]
    if directory := server.get("cwd"):  # it starts servers in its own directory and has no setting for another
        words = ["sh", "-c", 'cd "$0" && exec "$@"', directory, *words]
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": dict(server.get("env") or {})}


def _remote(server: Mapping[str, Any]) -> dict[str, Any]:
    headers = dict(server.get("headers") or {})
    # It fills in ${…} from its environment, so that the file need not hold what the environment holds.
    headers |= {header: f"${{{variable}}}" for header, variable in (server.get("envHeaders") or {}).items()}
    if variable := server.get("bearerTokenEnvVar"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    return {"type": server.get("transport") or "http", "url": server["url"], "headers": headers}
