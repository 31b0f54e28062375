"""Every record that Pi may print or keep, by its published types.

Those of 1.5.0: rpc-types.d.ts, json-event.d.ts, session-manager.d.ts, docs/message-types.md.

Each with the fields that it must have alone, and again with all that it may have. Fields of type `any` are tried with several values.
"""

from typing import Any

USAGE = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
         "cost": {"input": 0.1, "output": 0.1, "cacheRead": 0.1, "cacheWrite": 0.1, "total": 0.4}}  # fmt: skip
FULL_USAGE = {**USAGE, "reasoning": 1, "cacheWrite1h": 1}
TEXT, IMAGE = {"type": "text", "text": "words"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}
FULL_TEXT = {**TEXT, "textSignature": "s"}
THINKING = {"type": "thinking", "thinking": "hm"}
FULL_THINKING = {**THINKING, "thinkingSignature": "s", "redacted": False}
TOOL = {"name": "mcp__docs__find", "description": "finds", "parameters": {}}
MODEL = {"id": "m", "name": "M", "api": "openai-completions", "provider": "p", "baseUrl": "http://127.0.0.1", "reasoning": False,
         "input": ["text"], "cost": {}, "contextWindow": 1, "maxTokens": 1}  # fmt: skip
STATE = {"thinkingLevel": "off", "isStreaming": False, "isCompacting": False, "steeringMode": "all", "followUpMode": "one-at-a-time",
         "sessionId": "s", "autoCompactionEnabled": True, "messageCount": 0, "pendingMessageCount": 0}  # fmt: skip
COMPACTED = {"summary": "so far", "firstKeptEntryId": "e0", "tokensBefore": 100}
FULL_COMPACTED = {**COMPACTED, "estimatedTokensAfter": 10, "usage": FULL_USAGE, "details": {"readFiles": ["a"], "modifiedFiles": []}}
STOPS = ("stop", "length", "toolUse", "error", "aborted", "deferred")
# Of type `any`: what a tool hands over is its own affair.
RESULTS: tuple[Any, ...] = (
    {"content": []}, {"content": [TEXT, IMAGE], "details": {"patch": ""}, "structuredContent": "s", "isError": False}, {"details": {}}, {},
    None, "words", 7, ["a"],
)  # fmt: skip


def call(id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": "ls"}, **fields}


def replied(*content: Any, stop: str = "stop", **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content), "api": "openai-completions", "provider": "p", "model": "m", "usage": USAGE,
            "stopReason": stop, "timestamp": 1, **fields}  # fmt: skip


def result(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": [TEXT], "isError": False, "timestamp": 1, **fields}


# Of every role. The calls are those that `entries` and `wire` make.
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "prompt", "timestamp": 1},
    {"role": "system", "content": [TEXT], "sections": {"tools": "…", "skills": None}, "toolsAdded": [TOOL],
     "toolsRemoved": [{"name": "bash"}], "timestamp": 1},
    {"role": "user", "content": "words", "timestamp": 1},
    {"role": "user", "content": [TEXT, IMAGE], "timestamp": 1},
    *(replied(TEXT, stop=stop) for stop in STOPS),
    replied(),
    replied({"type": "thinking", "thinking": "", "thinkingSignature": "s", "redacted": True}),
    replied(FULL_THINKING, FULL_TEXT, call("c1", thoughtSignature="s", namespace="n"), stop="toolUse", responseModel="m-2", responseId="r",
            providerThinkingLevel="high", thinkingLevel="high", diagnostics=[{"type": "x", "timestamp": 1}], rawStopReason="tool_calls",
            endTurn=False, durationMs=5) | {"usage": FULL_USAGE},
    replied(TEXT, stop="deferred", deferred={"provider": "p", "modelId": "m", "api": "a", "id": "d"}),
    replied(stop="deferred", deferred={"provider": "p", "modelId": "m", "api": "a", "id": "d", "expiresAt": 1, "data": {}}),
    result("c1"),
    result("c1", details={"x": 1}, usage=FULL_USAGE, durationMs=5, isError=True, nestedCalls={"calls": [
        {"id": "c1/1", "name": "read", "status": "ok"},
        {"id": "c1/2", "name": "bash", "arguments": {"command": "ls"}, "argumentsBytes": 9, "status": "error", "durationMs": 1,
         "error": "no"},
        {"id": "c1/3", "name": "bash", "status": "unfinished"},
    ], "complete": False}),
    {"role": "bashExecution", "command": "ls", "output": "a", "cancelled": True, "truncated": False, "timestamp": 1},
    {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 1, "cancelled": False, "truncated": True,
     "fullOutputPath": "/x", "excludeFromContext": True, "timestamp": 1},
    {"role": "custom", "customType": "t", "content": "words", "display": False, "timestamp": 1},
    {"role": "custom", "customType": "t", "content": [TEXT, IMAGE], "display": True, "details": {"todos": 1}, "timestamp": 1},
    {"role": "branchSummary", "summary": "words", "fromId": None, "timestamp": 1},
    {"role": "compactionSummary", "summary": "words", "tokensBefore": 1, "timestamp": 1},
]  # fmt: skip


def entry(kind: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"id-{kind}", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", **fields}


# Of every type that is no message. In a file each is the child of the one before.
ENTRIES: list[dict[str, Any]] = [
    entry("thinking_level_change", thinkingLevel="high"),
    entry("model_change", provider="p", modelId="m"),
    entry("usage", kind="cache_warm", provider="p", model="m", usage=USAGE),
    entry("usage", kind="other", provider="p", model="m", usage=FULL_USAGE, note="why"),
    entry("compaction", **COMPACTED),
    entry("compaction", **FULL_COMPACTED, fromHook=True, systemMessage=MESSAGES[1]),
    entry("branch_summary", fromId="e0", summary="words"),
    entry("branch_summary", fromId="e0", summary="words", details=[], usage=FULL_USAGE, fromHook=False),
    entry("custom", customType="t"),
    entry("custom", customType="t", data={"todos": [1]}),
    entry("custom_message", customType="t", content="words", display=True),
    entry("custom_message", customType="t", content=[TEXT, IMAGE], display=False, details={}),
    entry("context_edit", targetId="e0", replacement=None),
    entry("context_edit", targetId="e0", replacement={"content": [TEXT]}),
    entry("label", targetId="e0"),
    entry("label", targetId="e0", label="here"),
    entry("session_info"),
    entry("session_info", name="a name"),
]


def streamed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message_update", "usage": USAGE, "assistantMessageEvent": {"type": kind, **fields}}


def tool(step: str, id: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"tool_execution_{step}", "toolCallId": id, "toolName": "bash", **fields}


def answered(command: str, *data: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "response", "command": command, "success": True, **({"data": data[0]} if data else {}), **fields}


def shown(method: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "extension_ui_request", "id": f"ui-{method}-{len(fields)}", "method": method, **fields}


def _ran(id: str, outcome: Any) -> list[dict[str, Any]]:
    return [
        tool("start", id, args={"command": "ls"}),
        tool("update", id, args={}, partialResult=outcome),
        tool("end", id, result=outcome, isError=False),
    ]


EVENTS: list[dict[str, Any]] = [
    {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"},
    {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w", "parentSession": "/x"},
    {"type": "agent_start"},
    {"type": "turn_start"},
    *({"type": f"message_{step}", "message": message} for message in MESSAGES for step in ("start", "end")),
    *(streamed(f"{kind}_{step}", contentIndex=at, **words) for at, kind in enumerate(("text", "thinking")) for step, words in (
        ("start", {}), ("delta", {"delta": "words"}), ("end", {"content": "words"}))),
    streamed("toolcall_start", contentIndex=2, id="c2", toolName="bash"),
    streamed("toolcall_delta", contentIndex=2, delta='{"command":"ls"}'),
    streamed("toolcall_end", contentIndex=2, toolCall=call("c2")),
    streamed("start"),
    streamed("done", reason="stop", message=replied(TEXT)),
    streamed("error", reason="error", error=replied(TEXT, stop="error")),
    *(record for at, outcome in enumerate(RESULTS) for record in _ran(f"any-{at}", outcome)),
    tool("start", "c3", args=None),
    tool("start", "c3/1", args={"path": "a"}, parentToolCallId="c3"),
    tool("end", "c3/1", result={"content": []}, isError=True, durationMs=1.5, parentToolCallId="c3"),
    {"type": "turn_end", "message": replied(TEXT), "toolResults": [result("c1")]},
    {"type": "agent_end", "messages": MESSAGES, "willRetry": True},
    {"type": "agent_settled", "aborted": False},
    {"type": "queue_update", "steering": ["a"], "followUp": []},
    *({"type": "compaction_start", "reason": reason} for reason in ("manual", "threshold", "overflow")),
    {"type": "compaction_end", "reason": "manual", "aborted": True, "willRetry": False},
    {"type": "compaction_end", "reason": "overflow", "result": COMPACTED, "aborted": False, "willRetry": True},
    {"type": "compaction_end", "reason": "overflow", "result": FULL_COMPACTED, "aborted": False, "willRetry": True, "errorMessage": "why"},
    *({"type": "entry_appended", "entry": each} for each in [*ENTRIES, *(entry("message", message=message) for message in MESSAGES)]),
    {"type": "session_info_changed"},
    {"type": "session_info_changed", "name": "a name"},
    {"type": "thinking_level_changed", "level": "high"},
    {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 1, "errorMessage": "why"},
    {"type": "auto_retry_end", "success": True, "attempt": 1},
    {"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "why"},
    {"type": "summarization_retry_scheduled", "attempt": 1, "maxAttempts": 3, "delayMs": 1, "errorMessage": "why"},
    {"type": "summarization_retry_attempt_start", "source": "branchSummary"},
    {"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "manual"},
    {"type": "summarization_retry_finished"},
    {"type": "bash_execution_update", "delta": "a"},
    {"type": "bash_execution_update", "id": "r1", "delta": "a"},
    {"type": "extension_error", "extensionPath": "x.ts", "event": "tool_call", "error": "why"},
]  # fmt: skip

ANSWERS: list[dict[str, Any]] = [
    *(answered("prompt", {"disposition": how}, id="p") for how in ("started", "queued", "handled")),
    *(answered(command, {"disposition": how}) for command in ("steer", "follow_up") for how in ("queued", "handled")),
    answered("clear_queue", {"steering": ["a"], "followUp": []}),
    *(answered(command, {"cancelled": cancelled}) for command in ("new_session", "switch_session", "clone") for cancelled in (True, False)),
    answered("fork", {"text": "words", "cancelled": False}),
    answered("get_state", STATE),
    answered("get_state", {**STATE, "model": MODEL, "sessionFile": "/x", "sessionName": "a name"}),
    answered("set_model", MODEL),
    answered("cycle_model", None),
    answered("cycle_model", {"model": MODEL, "thinkingLevel": "off", "isScoped": False}),
    answered("cycle_thinking_level", None),
    answered("cycle_thinking_level", {"level": "high"}),
    answered("get_available_models", {"models": [MODEL]}),
    answered("get_available_thinking_levels", {"levels": ["off"]}),
    answered("compact", COMPACTED),
    answered("compact", FULL_COMPACTED),
    answered("bash", {"output": "a", "cancelled": True, "truncated": False}),
    answered("bash", {"output": "a", "exitCode": 0, "cancelled": False, "truncated": True, "fullOutputPath": "/x"}, id="r2"),
    answered("get_session_stats", {"sessionId": "s", "tokens": {}, "cost": 0}),
    answered("export_html", {"path": "/x.html"}),
    answered("get_fork_messages", {"messages": [{"entryId": "e0", "text": "words"}]}),
    answered("get_entries", {"entries": ENTRIES, "leafId": None}),
    answered("get_tree", {"tree": [], "leafId": "e0"}),
    answered("get_last_assistant_text", {"text": None}),
    answered("get_messages", {"messages": MESSAGES}),
    answered("get_commands", {"commands": [{"name": "c", "source": "skill", "sourceInfo": {}}]}),
    *(answered(command) for command in (
        "abort", "abort_bash", "abort_retry", "set_auto_compaction", "set_auto_retry", "set_follow_up_mode", "set_session_name",
        "set_steering_mode", "set_thinking_level")),
    {"type": "response", "command": "set_model", "success": False, "error": "Model not found"},
    {"type": "response", "id": "p", "command": "prompt", "success": False, "error": "No model"},
]  # fmt: skip

DIALOGS: list[dict[str, Any]] = [
    shown("select", title="Which?", options=["A", "B"]),
    shown("select", title="Allow?", options=["Yes", "No"], timeout=1000),
    shown("confirm", title="Sure?", message="It is gone then"),
    shown("confirm", title="Sure?", message="", timeout=1000),
    shown("input", title="Name?"),
    shown("input", title="Name?", placeholder="x", timeout=1000),
    shown("editor", title="Text?"),
    shown("editor", title="Text?", prefill="x"),
    shown("notify", message="words"),
    *(shown("notify", message="words", notifyType=kind) for kind in ("info", "warning", "error")),
    shown("setStatus", statusKey="k"),
    shown("setStatus", statusKey="k", statusText="words"),
    shown("setWidget", widgetKey="k"),
    shown("setWidget", widgetKey="k", widgetLines=["words"], widgetPlacement="aboveEditor"),
    shown("setTitle", title="words"),
    shown("set_editor_text", text="words"),
]

WIRE = [*EVENTS, *ANSWERS, *DIALOGS]
FILE = [EVENTS[1], *ENTRIES, *(entry("message", message=message) for message in MESSAGES)]
