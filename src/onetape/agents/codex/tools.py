"""Tool items: what was called, and what came of it. Pure functions from item to draft."""

import re
from typing import Any

from onetape import drafts as d
from onetape.agents.codex import plain
from onetape.agents.codex.changes import file_refs
from onetape.agents.codex.content import arguments, image, inline, output_of, told
from onetape.blobs import mime_of, path_of
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image

TOOLS = frozenset({
    "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall", "subAgentActivity", "webSearch",
    "imageView", "imageGeneration", "functionCallOutput",
})  # fmt: skip
# What an MCP call that was not permitted says in place of a result.
_NOT_PERMITTED = ("user rejected MCP tool call", "user cancelled MCP tool call", "MCP tool call cancelled")

Call = tuple[str, str | None, d.Shell | None]


def call_of(item: dict[str, Any], *, final: bool = False) -> Call:
    """Name, arguments (None: not final yet) and, of a command, what is known of its run."""
    # A command is what most calls are: no pattern for it, and no look for what is empty where nothing is.
    if item.get("type") == "commandExecution" and isinstance(command := item.get("command"), str):
        return "shell", *command_of(command, item.get("cwd"))
    match item:
        case {"type": "fileChange", "changes": [*changes]}:
            return "apply_patch", arguments({"changes": changes}), None
        case {"type": "mcpToolCall", "server": str() as server, "tool": str() as tool}:
            return f"{server}.{tool}", arguments(item.get("arguments") or {}), None
        case {"type": "dynamicToolCall", "tool": str() as tool}:
            return _spaced(item.get("namespace"), tool), arguments(item.get("arguments") or {}), None
        case {"type": "collabAgentToolCall", "tool": str() as tool}:
            # The thread a spawn makes and the model it gets are its outcome, not its arguments.
            receivers = None if tool == "spawnAgent" else item.get("receiverThreadIds")
            return snake(tool), arguments(told(prompt=item.get("prompt"), receiverThreadIds=receivers)), None
        case {"type": "subAgentActivity", "agentPath": path}:
            return "spawn_agent", arguments(told(agentPath=path, reasoningEffort=item.get("reasoningEffort"))), None
        case {"type": "webSearch"}:
            is_known = final or bool(item.get("query"))
            return "web_search", arguments(told(query=item.get("query"), action=item.get("action"))) if is_known else None, None
        case {"type": "imageView", "path": str() as path}:
            return "view_image", arguments({"path": path}), None
        case {"type": "imageGeneration"}:
            return "image_generation", arguments(told(prompt=item.get("revisedPrompt"))) if final else None, None
        case {"type": "functionCallOutput", "name": str() as name}:
            return _spaced(item.get("namespace"), name), "{}", None  # the client's own event: nobody called it
        case _:
            raise Unparsed(f"item {item['type']} without the fields it must have")


def command_of(command: str, cwd: Any) -> tuple[str, d.Shell]:
    shown = {"command": command, "cwd": cwd} if command and cwd else told(command=command, cwd=cwd)
    return arguments(shown), d.Shell(command, cwd)


def ended(item: plain.Command, call_id: str) -> d.Result:
    """`_command`, of what most commands tell."""
    output, code, status = item.aggregatedOutput, item.exitCode, item.status
    stdout = output if output is not None else "" if code is not None else None
    shell = d.Shell(item.command, item.cwd, code, stdout, None, item.durationMs)
    never_ran = code is None and status in ("declined", "failed")
    failed = bool(code) or never_ran or status not in ("completed", "inProgress")
    reads = () if code else tuple([FileRef(it.path, "read") for it in item.commandActions if it.type == "read" and it.path is not None])
    return d.Result(call_id, output, failed, never_ran, reads, shell, item.id)


def result_of(item: dict[str, Any], call_id: str) -> tuple[d.Result, list[d.Blob]]:
    match item["type"]:
        case "commandExecution":
            return _command(item, call_id), []
        case "fileChange":
            status = item["status"]
            refs = file_refs(item["changes"]) if status == "completed" else []
            return _result(item, call_id, item.get("output") or "", refs, refused=status == "declined"), []
        case "mcpToolCall":
            return _mcp(item, call_id)
        case "dynamicToolCall":
            output, parts, kept = output_of(item.get("contentItems"))
            return _result(item, call_id, output or item.get("error") or "", parts, failed=item.get("success") is False), kept
        case "collabAgentToolCall":
            return _result(item, call_id, _states(item.get("agentsStates") or {})), []
        case "webSearch":
            results = item.get("results")
            return d.Result(call_id, arguments(results) if results else "", native_id=item["id"]), []
        case "imageView":
            return d.Result(call_id, "", parts=(Image(item["path"], mime_of(item["path"])),), native_id=item["id"]), []
        case "imageGeneration":
            return _generated(item, call_id)
        case "functionCallOutput":
            output, parts, kept = output_of(item["output"])
            return d.Result(call_id, output, parts=tuple(parts), native_id=item["id"]), kept
        case _:
            return d.Result(call_id, "", native_id=item["id"]), []  # subAgentActivity: it has begun, and that is all


def _result(
    item: dict[str, Any], call_id: str, output: str | None, parts: list[ContentPart] | None = None, *,
    failed: bool = False, refused: bool = False, shell: d.Shell | None = None,
) -> d.Result:  # fmt: skip
    failed = failed or refused or item["status"] not in ("completed", "inProgress")
    return d.Result(call_id, output, failed, refused, tuple(parts or ()), shell, item["id"])


def _command(item: dict[str, Any], call_id: str) -> d.Result:
    """stdout and stderr are one stream here, and null when they are empty (capture 08b)."""
    output, code = item.get("aggregatedOutput"), item.get("exitCode")
    stdout = output if output is not None else "" if code is not None else None
    shell = d.Shell(item["command"], item.get("cwd"), code, stdout, item.get("stderr"), item.get("durationMs"))
    reads: list[ContentPart] = [
        FileRef(action["path"], "read")
        for action in item.get("commandActions") or ()
        if action.get("type") == "read" and isinstance(action.get("path"), str)
    ]
    failed = bool(code)
    never_ran = code is None and item["status"] in ("declined", "failed")  # failed: its approval was answered with an error (capture 09e)
    return _result(item, call_id, output, [] if failed else reads, failed=failed, refused=never_ran, shell=shell)


def _mcp(item: dict[str, Any], call_id: str) -> tuple[d.Result, list[d.Blob]]:
    error, result = item.get("error"), item.get("result") or {}
    if error:
        message = error["message"]
        return _result(item, call_id, message, failed=True, refused=message.startswith(_NOT_PERMITTED)), []
    output, parts, kept = output_of(result.get("content") or ())
    if not output and not parts and result.get("structuredContent") is not None:
        output = arguments(result["structuredContent"])
    return _result(item, call_id, output, parts), kept


def _generated(item: dict[str, Any], call_id: str) -> tuple[d.Result, list[d.Blob]]:
    parts: list[ContentPart] = []
    kept: list[d.Blob] = []
    if isinstance(path := item.get("savedPath"), str):
        parts = [Image(path, mime_of(path))]
    elif isinstance(data := item.get("result"), str) and data and (blob := inline(data, "image/png")):
        parts, kept = [Image(path_of(blob), "image/png")], [blob]
    elif item.get("fileId"):
        parts = [image(item["fileId"])[0]]
    failed = item.get("failure") is not None or not parts
    output = arguments(item["failure"]) if item.get("failure") else ""
    return d.Result(call_id, output, failed, parts=tuple(parts), native_id=item["id"]), kept


def _states(states: dict[str, Any]) -> str:
    """What became of the agents a call was about: their last words, else their state."""
    return "\n".join(str(state.get("message") or state.get("status") or "") for state in states.values())


def _spaced(namespace: Any, tool: str) -> str:
    return f"{namespace}.{tool}" if namespace else tool


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))
