"""Events of older rollouts that tell a finished item, as the items that 0.169.0 would tell.

Until the "paginated" history an item's end was an event of its own: `patch_apply_end`,
`mcp_tool_call_end`, `exec_command_end` and so on.
"""

from typing import Any

from onetape.agents.codex.changes import listed
from onetape.agents.codex.spelling import respelt

Item = dict[str, Any]


def item_of(event: dict[str, Any]) -> Item | None:
    """The finished item that an event tells, in app-server's spelling; None: it tells none."""
    match event:
        case {"type": "exec_command_end", "call_id": str(id), "command": [*_]}:
            output = event.get("aggregated_output") or (event.get("stdout") or "") + (event.get("stderr") or "")
            status = event.get("status") or ("completed" if event.get("exit_code") == 0 else "failed")
            item = {**event, "type": "command_execution", "id": id, "status": status, "aggregated_output": output, "stderr": None}
            del item["call_id"]
            return respelt({name: value for name, value in item.items() if name not in ("stdout", "formatted_output")})
        case {"type": "patch_apply_end", "call_id": str(id)}:
            status = event.get("status") or ("completed" if event.get("success") else "failed")
            words = event.get("stdout") if status == "completed" else event.get("stderr") or event.get("stdout")
            changes = listed(event.get("changes") or {})
            return {"type": "fileChange", "id": id, "changes": changes, "status": status, "output": words}
        case {"type": "mcp_tool_call_end", "call_id": str(id), "invocation": {"server": server, "tool": tool} as invocation}:
            return {"type": "mcpToolCall", "id": id, "server": server, "tool": tool, "arguments": invocation.get("arguments")} | _mcp(event)
        case {"type": "web_search_end", "call_id": str(id)}:
            return respelt({"type": "web_search", "id": id, "query": event.get("query"), "action": event.get("action")})
        case {"type": "view_image_tool_call", "call_id": str(id), "path": str(path)}:
            return {"type": "imageView", "id": id, "path": path}
        case {"type": "image_generation_end", "call_id": str(id)}:
            return {**respelt({**event, "type": "image_generation"}), "id": id}
        case {"type": "dynamic_tool_call_response", "call_id": str(id)}:
            status = "completed" if event.get("success") else "failed"
            return {**respelt({**event, "type": "dynamic_tool_call"}), "id": id, "status": status}
        case {"type": str(kind), "call_id": str(id)} if kind in _COLLABORATIONS:
            return _collaboration(kind, id, event)
        case {"type": "sub_agent_activity"}:
            id = event.get("event_id") or event.get("id") or event["agent_thread_id"]
            return {**respelt({**event, "type": "sub_agent_activity"}), "id": id}
        case _:
            return None


_COLLABORATIONS = {
    "collab_agent_spawn_end": "spawnAgent", "collab_agent_interaction_end": "sendInput", "collab_waiting_end": "wait",
    "collab_close_end": "closeAgent", "collab_resume_end": "resumeAgent",
}  # fmt: skip


def _mcp(event: dict[str, Any]) -> Item:
    match event.get("result"):
        case {"Ok": {} as result}:
            failed = bool(result.get("isError") or result.get("is_error"))
            return {"status": "failed" if failed else "completed", "result": result}
        case {"Err": error}:
            return {"status": "failed", "error": {"message": str(error)}}
        case _:
            return {"status": "completed"}


def _collaboration(kind: str, id: str, event: dict[str, Any]) -> Item:
    receiver = event.get("new_thread_id") or event.get("receiver_thread_id")
    states = event.get("statuses") or ({receiver: event["status"]} if receiver and "status" in event else {})
    return respelt({
        "type": "collab_tool_call", "id": id, "tool": _COLLABORATIONS[kind], "status": "completed", "prompt": event.get("prompt"),
        "receiver_thread_ids": [receiver] if receiver else list(states), "agents_states": states,
    })  # fmt: skip
