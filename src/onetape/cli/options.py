"""Arguments and options that several commands share, and what the shell completes for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from onetape.errors import OnetapeError, Refused


def complete_agents(incomplete: str) -> list[str]:
    from onetape.agents import registry

    return [name for name in registry.names() if name.startswith(incomplete)]


def complete_sessions(incomplete: str) -> Iterator[tuple[str, str]]:
    from onetape.cli.shelf import OURS, shelf

    try:
        with shelf() as kept:
            known = kept.infos(limit=200)
    except OnetapeError:
        return  # a completion has nobody to complain to
    for info in known:
        if info.session_id.startswith((incomplete, OURS + incomplete)):
            yield info.session_id, f"{info.agent} {info.status} {info.title or ''}".strip()


def complete_modes(ctx: typer.Context, incomplete: str) -> list[str]:
    from onetape.agents import registry

    # While an option has no value yet, arguments are not told apart.
    agents = [name for name in (ctx.params.get("agent"), *ctx.args) if name in registry.names()]
    return [mode for name in agents[:1] for mode in registry.find(name).modes if mode.startswith(incomplete)]


def complete_permission_modes(incomplete: str) -> list[str]:
    from typing import get_args

    from onetape.agents.agent import PermissionMode

    return [mode for mode in get_args(PermissionMode) if mode.startswith(incomplete)]


AgentName = Annotated[str, typer.Argument(help="Which agent; `onetape agents` lists them.", autocompletion=complete_agents)]
SessionName = Annotated[
    str, typer.Argument(metavar="SESSION", help="Its id, or as much of it as is its own.", autocompletion=complete_sessions)
]
AnySession = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="Its id, or as much of it as is its own; else the newest.", autocompletion=complete_sessions),
]
Prompt = Annotated[str | None, typer.Argument(help="What to say; `-`: what stdin says. Without: a conversation.", show_default=False)]
Model = Annotated[str | None, typer.Option(help="The model, in the agent's own words.")]
Variant = Annotated[str | None, typer.Option(help="A variant of the model, e.g. its effort.")]
Mode = Annotated[str | None, typer.Option(help="The agent's mode, e.g. plan.", autocompletion=complete_modes)]
PermissionMode = Annotated[
    str | None, typer.Option(help="default, plan, acceptEdits or bypass.", autocompletion=complete_permission_modes)
]
Cwd = Annotated[Path | None, typer.Option(help="Where the agent works. Default: here.", file_okay=False)]
Mcp = Annotated[str | None, typer.Option(help="MCP servers: a JSON file, or JSON.")]
Files = Annotated[list[Path] | None, typer.Option("--file", "-f", help="A file that goes with the message. Repeatable.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Allow, once each, whatever the agent asks to do.")]
Keep = Annotated[bool, typer.Option("--keep", help="Leave the session open afterwards, in the daemon.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def attached(files: list[Path] | None) -> list[str]:
    """Where they are for an agent that works elsewhere."""
    for file in files or ():
        if not file.is_file():
            raise Refused(f"cannot attach {file}: there is no such file")
    return [str(file.resolve()) for file in files or ()]


def mcp_servers(told: str | None) -> dict[str, Any] | None:
    """From a file or from JSON itself, in our spelling or in that of a `.mcp.json`."""
    if told is None:
        return None
    import msgspec

    from onetape.server.mcp import McpServer, checked

    text = told if told.lstrip().startswith("{") else _read(told)
    try:
        servers = msgspec.json.decode(text, type=dict[str, Any])
        servers = servers.get("mcpServers", servers)
        return checked(msgspec.convert({name: _typed(server) for name, server in servers.items()}, dict[str, McpServer]))
    except (msgspec.DecodeError, msgspec.ValidationError, AttributeError) as error:
        raise Refused(f"--mcp: {error}") from None


def _typed(server: Any) -> Any:
    """Files of other programs leave the type out, or name the transport instead."""
    match server:
        case {"type": "sse"}:
            return {**server, "type": "remote", "transport": "sse"}
        case {"type": _}:
            return server
        case {"url": _}:
            return {**server, "type": "remote"}
        case {"command": _}:
            return {**server, "type": "local"}
        case _:
            return server


def _read(file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--mcp: cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
