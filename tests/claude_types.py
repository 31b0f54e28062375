"""Every message that Claude Code may print, by its published types: `StdoutMessage` in sdk.d.ts of claude-agent-sdk 0.3.326.

Each with the fields that it must have, and again for each value of a field that changes what it means.
"""

from typing import Any

USAGE = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "stop_reason": None, "usage": USAGE}
RESULT = {
    "type": "result", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1, "stop_reason": None, "total_cost_usd": 0,
    "usage": USAGE, "modelUsage": {}, "permission_denials": [],
}  # fmt: skip
TASK_USAGE = {"total_tokens": 1, "tool_uses": 1, "duration_ms": 1}


def said(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {**MESSAGE, "content": list(blocks)}, "parent_tool_use_id": None, **fields}


def failed(error: str) -> dict[str, Any]:
    return {**said({"type": "text", "text": f"API Error: {error}"}, error=error)} | {
        "message": {**MESSAGE, "model": "<synthetic>", "content": [{"type": "text", "text": error}]}
    }


def heard(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, **fields}


def streamed(**event: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None}


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **fields}


def wants(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": f"ask_{subtype}", "request": {"subtype": subtype, **fields}}


def begins(kind: str, **block: Any) -> dict[str, Any]:
    return streamed(type="content_block_start", index=0, content_block={"type": kind, **block})


def adds(kind: str, **delta: Any) -> dict[str, Any]:
    return streamed(type="content_block_delta", index=0, delta={"type": kind, **delta})


# Every member of `StdoutMessage` in sdk.d.ts of claude-agent-sdk 0.3.326 with the fields that it must have.
PUBLISHED: list[dict[str, Any]] = [
    system("init", apiKeySource="none", claude_code_version="2.1.326", cwd="/", tools=[], mcp_servers=[], model="claude-x",
           permissionMode="default", slash_commands=[], output_style="default", skills=[], plugins=[]),
    said({"type": "text", "text": "Hello"}),
    said({"type": "thinking", "thinking": "Hm", "signature": "s"}),
    said({"type": "redacted_thinking", "data": "x"}),
    said({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}),
    said({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}),
    said({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
    said({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "add", "server_name": "demo", "input": {}}),
    said({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [{"type": "text", "text": "3"}]}),
    *(said({"type": "server_tool_use", "id": kind, "name": kind, "input": {}},
           {"type": f"{kind}_tool_result", "tool_use_id": kind, "content": {}})
      for kind in ("web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution", "tool_search")),
    said({"type": "container_upload", "file_id": "file_1"}),
    said({"type": "compaction", "content": "summary"}),
    *(failed(error) for error in (
        "authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required", "billing_error", "rate_limit",
        "overloaded", "invalid_request", "model_not_found", "server_error", "unknown", "max_output_tokens", "cloud_credential_error")),
    heard("hi"),
    heard([{"type": "text", "text": "hi"}], isSynthetic=True),
    heard("hi", isReplay=True),
    heard([{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
           {"type": "document", "source": {"type": "file", "file_id": "file_1"}}], isReplay=True),
    heard([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}], tool_use_result={"stdout": "a", "stderr": ""}),
    {**RESULT, "subtype": "success", "result": "done"},
    *({**RESULT, "subtype": subtype, "is_error": True, "errors": ["why"]}
      for subtype in ("error_during_execution", "error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries")),
    streamed(type="message_start", message=MESSAGE),
    *(begins(kind, **block) for kind, block in {
        "text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "redacted_thinking": {"data": ""},
        "tool_use": {"id": "toolu_9", "name": "Read", "input": {}},
        "server_tool_use": {"id": "srvtoolu_9", "name": "web_search", "input": {}},
        "web_search_tool_result": {"tool_use_id": "srvtoolu_9", "content": []},
    }.items()),
    *(adds(kind, **delta) for kind, delta in {
        "text_delta": {"text": "a"}, "thinking_delta": {"thinking": "a"}, "signature_delta": {"signature": "s"},
        "input_json_delta": {"partial_json": "{"}, "citations_delta": {"citation": {}}, "compaction_delta": {"content": "a"},
    }.items()),
    streamed(type="content_block_stop", index=0),
    streamed(type="message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=USAGE),
    streamed(type="message_stop"),
    streamed(type="ping"),
    system("compact_boundary", compact_metadata={"trigger": "auto", "pre_tokens": 1}),
    *(system("status", status=status) for status in ("compacting", "requesting", None)),
    system("status", status=None, permissionMode="plan"),
    system("status", status=None, compact_result="failed", compact_error="why"),
    system("api_retry", attempt=1, max_retries=3, retry_delay_ms=0.5, error_status=None, error="unknown"),
    *(system("control_request_progress", request_id="r", status=status, attempt=1) for status in ("started", "api_retry")),
    system("model_refusal_fallback", trigger="refusal", direction="retry", original_model="a", fallback_model="b", request_id=None,
           content="c"),
    system("model_refusal_no_fallback", original_model="a", request_id=None, content="c"),
    system("local_command_output", content="c"),
    system("hook_started", hook_id="h", hook_name="Stop", hook_event="Stop"),
    system("hook_progress", hook_id="h", hook_name="Stop", hook_event="Stop", stdout="", stderr="", output=""),
    system("hook_response", hook_id="h", hook_name="Stop", hook_event="Stop", output="", stdout="", stderr="", outcome="success"),
    *(system("plugin_install", status=status) for status in ("started", "installed", "failed", "completed")),
    {"type": "tool_progress", "tool_use_id": "toolu_1", "tool_name": "Bash", "parent_tool_use_id": None, "elapsed_time_seconds": 3},
    {"type": "tool_progress", "tool_use_id": "x", "tool_name": "Agent", "parent_tool_use_id": "toolu_1", "elapsed_time_seconds": 3,
     "heartbeat": True, "subagent_retry": {"agent_id": "a", "attempt": 1, "max_retries": 2, "retry_delay_ms": 1, "error_status": 529,
                                           "error_category": "overloaded"}},
    {"type": "auth_status", "isAuthenticating": True, "output": ["a"]},
    system("task_started", task_id="task_1", description="d"),
    system("task_updated", task_id="task_1", patch={"is_backgrounded": True}),
    system("task_progress", task_id="task_1", description="d", usage=TASK_USAGE),
    *(system("task_notification", task_id="task_1", status=status, output_file="", summary="s")
      for status in ("completed", "failed", "stopped")),
    system("background_tasks_changed", tasks=[]),
    system("thinking_tokens", estimated_tokens=1, estimated_tokens_delta=1),
    *(system("session_state_changed", state=state) for state in ("idle", "running", "requires_action")),
    system("worker_shutting_down", reason="r"),
    system("commands_changed", commands=[]),
    system("notification", key="k", text="t", priority="low"),
    system("files_persisted", files=[], failed=[], processed_at="2026-01-01T00:00:00Z"),
    {"type": "tool_use_summary", "summary": "s", "preceding_tool_use_ids": []},
    system("memory_recall", mode="select", memories=[]),
    *({"type": "rate_limit_event", "rate_limit_info": {"status": status}} for status in ("allowed", "allowed_warning", "rejected")),
    system("elicitation_complete", mcp_server_name="s", elicitation_id="e"),
    system("permission_denied", tool_name="Bash", tool_use_id="toolu_1", message="m"),
    {"type": "prompt_suggestion", "suggestion": "s"},
    system("mirror_error", error="e", key={"projectKey": "p", "sessionId": "s"}),
    system("informational", content="c", level="info"),
    {"type": "conversation_reset", "new_conversation_id": "c"},
    system("session_writes_lost", error_code="ENOSPC", lost=["transcript"]),
    {"type": "active_goal", "value": None},
    {"type": "active_goal", "value": {"condition": "c", "iterations": 1, "set_at": 1, "tokens_at_start": 1}},
    {"type": "control_response", "response": {"subtype": "success", "request_id": "r", "response": {}}},
    {"type": "control_response", "response": {"subtype": "error", "request_id": "r", "error": "e"}},
    wants("can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1"),
    wants("elicitation", mcp_server_name="s", message="m"),
    wants("hook_callback", callback_id="c", input={}),
    *(wants(subtype) for subtype in (
        "apply_flag_settings", "background_tasks", "cancel_async_message", "file_suggestions", "get_binary_version", "get_context_usage",
        "get_hooks_listing", "get_session_cost", "get_settings", "get_task_output", "get_usage", "initialize", "interrupt", "list_models",
        "list_permission_rules", "mcp_call", "mcp_message", "mcp_read_resource", "mcp_reconnect", "mcp_set_servers", "mcp_status",
        "mcp_toggle", "read_file", "register_repo_root", "reload_output_styles", "reload_plugins", "reload_skills", "rename_session",
        "register_device_hooks", "remote_control_work_secret", "upload_device_hook_template",  # not published, but in 2.1.326
        "request_user_dialog", "rewind_files", "seed_read_state", "set_color", "set_has_subscribers", "set_max_thinking_tokens",
        "set_model", "set_permission_mode", "stop_task", "update_settings")),
    {"type": "control_cancel_request", "request_id": "ask_can_use_tool"},
    {"type": "keep_alive"},
    {"type": "command_lifecycle", "command_uuid": "c", "state": "queued"},
    # Fields that are published for some of them, and change what they mean.
    said({"type": "thinking", "thinking": "", "signature": "s"}),
    heard([{"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "tool_reference", "tool_name": "WebFetch"}]}]),
    heard([{"type": "tool_result", "tool_use_id": "toolu_3", "content": "x"}], tool_use_result={"status": "async_launched"}),
    heard([{"type": "tool_result", "tool_use_id": "toolu_4", "content": "x"}], tool_use_result={"detachedToolCall": True}),
    {**RESULT, "subtype": "success", "result": "", "terminal_reason": "aborted_tools", "user_message_uuids": ["u1"]},
    system("informational", content="UserPromptSubmit operation blocked by hook", level="warning", prevent_continuation=True),
    system("permission_denied", tool_name="Bash", tool_use_id="toolu_1", message="m", agent_id="a"),
    system("api_error", error={}),
]  # fmt: skip

# The types of lines that 2.1.326 and 2.1.197 write into a history (the tables of both programs), and what else is found in older ones.
LINES: list[dict[str, Any]] = [
    *({"type": kind} for kind in (
        "agent-color", "agent-setting", "api-request", "api-request-blob", "api-request-shape", "artifact-autoreact-ledger",
        "artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session", "content-replacement", "continued-in",
        "data-flow-incomplete", "data-flow-records", "derived-from", "dev-mods", "ended-by-model", "file-history-delta",
        "file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression", "isolation-latch", "last-prompt",
        "marble-origami-commit", "marble-origami-reset", "marble-origami-snapshot", "memory-mode", "mode", "observer-ref", "relocated",
        "repl-mode", "resume-head-vouch", "session-owner", "speculation-accept", "tools-used", "worktree-state")),
    {"type": "summary", "summary": "s", "leafUuid": "u"},
    {"type": "custom-title", "customTitle": "t"},
    {"type": "ai-title", "aiTitle": "t"},
    {"type": "tag", "tag": "t"},
    {"type": "agent-name", "agentName": "n"},
    {"type": "pr-link", "prNumber": 1, "prUrl": "https://example.com/1", "prRepository": "r"},
    {"type": "permission-mode", "permissionMode": "plan"},
    {"type": "cost-state", "totalCostUSD": 0.1, "modelUsage": {}},
    *({"type": "queue-operation", "operation": operation} for operation in ("enqueue", "dequeue", "remove", "popAll")),
    *({"type": "progress", "data": {"type": kind}, "toolUseID": "t"} for kind in (
        "agent_progress", "bash_progress", "hook_progress", "mcp_progress", "query_update", "waiting_for_task")),
    heard("hi"),
    heard("<command-name>/model</command-name><command-message>model</command-message><command-args>opus</command-args>"),
    heard("<local-command-stdout>Set model</local-command-stdout>"),
    heard("<bash-input>ls</bash-input>"),
    heard("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
    heard("summary", isCompactSummary=True, isVisibleInTranscriptOnly=True),
    heard("caveat", isMeta=True),
    heard("from afar", origin={"kind": "peer", "from": "s2"}),
    heard([{"type": "text", "text": "[Request interrupted by user]"}]),
    said({"type": "text", "text": "API Error"}, isApiErrorMessage=True),
    *(system(subtype, content="c") for subtype in (
        "agents_killed", "away_summary", "bridge_status", "compact_boundary", "file_snapshot", "informational", "local_command",
        "memory_saved", "microcompact_boundary", "model_consent_fallback", "model_fallback", "permission_retry", "read_divider",
        "scheduled_task_fire", "thinking", "turn_duration")),
    system("stop_hook_summary", hookErrors=[]),
    system("api_error", error={"status": 529}, retryAttempt=1, maxRetries=2, retryInMs=1.5),
    *({"type": "attachment", "attachment": {"type": kind, **fields}} for kind, fields in {
        "queued_command": {"prompt": "p", "commandMode": "prompt"}, "max_turns_reached": {"maxTurns": 1}, "file": {"filename": "/a"},
        "directory": {"path": "/d", "content": "a"}, "edited_text_file": {"filename": "/a", "snippet": "s"},
        "nested_memory": {"path": "/m"}, "hook_success": {"hookName": "Stop"}, "hook_cancelled": {"hookName": "Stop"},
        "hook_additional_context": {"content": ["c"]},
        "task_status": {"taskId": "t", "status": "completed"}, "teammate_mailbox": {"messages": [{"from": "a", "text": "b"}]},
        "date_change": {}, "todo_reminder": {}, "skill_listing": {}, "plan_mode": {}, "prompt_snapshot": {}, "ultra_effort_enter": {},
    }.items()),
    {"agentType": "Explore", "toolUseId": "toolu_7"},
]  # fmt: skip
