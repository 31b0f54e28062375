"""Items of `codex exec` and of the rollout in app-server's spelling, so that one module reads all three.

exec says snake_case; the rollout says PascalCase types, snake_case fields, commands
as lists, changes as a map, durations as seconds and nanoseconds, paths as URLs.
"""

from typing import Any
from urllib.parse import unquote

from onetape.agents.codex.changes import listed
from onetape.agents.codex.content import command_line
from onetape.agents.codex.tools import camel

_NAMES = {
    "collab_tool_call": "collabAgentToolCall", "summary_text": "summary", "raw_content": "content", "parsed_cmd": "commandActions",
    "stdout": "output", "window_minutes": "windowDurationMins",
}  # fmt: skip


# What the rollout calls an "Extension" of some kind.
_EXTENSIONS = {"clock.sleep": "sleep", "web.search": "webSearch", "image_gen.generation": "imageGeneration"}


def respelt(item: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {_NAMES.get(name) or camel(name): value for name, value in item.items()}
    told["type"] = _EXTENSIONS.get(str(item.get("kind")), "extension") if item["type"] == "Extension" else _type(item["type"])
    for name in ("status", "source", "tool"):
        if isinstance(word := told.get(name), str) and told["type"] not in ("mcpToolCall", "dynamicToolCall"):
            told[name] = camel(word)
    if isinstance(duration := told.pop("duration", None), dict):
        told["durationMs"] = duration["secs"] * 1000 + duration["nanos"] // 1_000_000
    _details(told)
    return told


def _type(word: str) -> str:
    named = _NAMES.get(word) or camel(word)
    return named[:1].lower() + named[1:]


def _details(told: dict[str, Any]) -> None:
    """What differs from type to type."""
    match told:
        case {"type": "agentMessage", "content": [*parts]}:
            told["text"] = "".join(part["text"] for part in parts)
        case {"type": "commandExecution"}:
            _command(told)
        case {"type": "fileChange", "changes": {}}:
            told["changes"] = listed(told["changes"])
        case {"type": "imageView", "path": str(path)}:
            told["path"] = path_of(path)
        case {"type": "enteredReviewMode"}:
            told["review"] = told.get("userFacingHint") or (told.get("target") or {}).get("type") or ""
        case {"type": "webSearch", "action": {"type": str(kind)}}:
            told["action"] = {**told["action"], "type": camel(kind)}
        case {"type": "collabAgentToolCall"}:
            told["agentsStates"] = {thread: _state(state) for thread, state in (told.get("agentsStates") or {}).items()}
        case {"type": "mcpToolCall", "result": {} as result}:
            told["result"] = {**result, "structuredContent": result.get("structured_content", result.get("structuredContent"))}
        case _:
            pass


def _command(told: dict[str, Any]) -> None:
    if isinstance(argv := told["command"], list):
        told["command"] = command_line(argv)
    if isinstance(cwd := told.get("cwd"), str):
        told["cwd"] = path_of(cwd)
    told["commandActions"] = [
        {**action, "path": _beside(told.get("cwd"), action["path"])} if isinstance(action.get("path"), str) else action
        for action in told.get("commandActions") or ()
    ]


def _state(state: Any) -> dict[str, Any]:
    match state:
        case str(word):
            return {"status": camel(word), "message": None}
        case {"status": str(word)}:
            return {"status": camel(word), "message": state.get("message")}
        case {**named} if named:
            (state_word, message), *_ = named.items()
            return {"status": camel(str(state_word)), "message": message}
        case _:
            return {}


def camelled(value: Any) -> Any:
    """What has no words to be respelt, only names: the rate limits, and what is known of an error."""
    if isinstance(value, dict):
        return {_NAMES.get(name) or camel(name): camelled(inner) for name, inner in value.items()}
    return value


def failure(error: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = camelled(error)
    if isinstance(word := told.get("codexErrorInfo"), str):
        told["codexErrorInfo"] = camel(word)
    return told


def path_of(url: str) -> str:
    """0.169.0 writes working directories as file URLs."""
    return unquote(url.removeprefix("file://")) if url.startswith("file://") else url


def _beside(directory: str | None, path: str) -> str:
    return path if path.startswith("/") or not directory else f"{directory.rstrip('/')}/{path}"
