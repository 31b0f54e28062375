"""A tiny MCP server on stdio, for the agents of the lab: one tool, `add`. A program; nothing imports it."""

import json
import sys
from typing import Any

ADD = {
    "name": "add",
    "description": "Add two integers.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    "annotations": {"readOnlyHint": True},
}


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            info = {"name": "sums", "version": "1.0"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [ADD]}
        case "tools/call":
            return {"content": [{"type": "text", "text": f"The sum is {params['arguments']['a'] + params['arguments']['b']}."}]}
        case _:
            return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params") or {})}
        print(json.dumps(answer), flush=True)
