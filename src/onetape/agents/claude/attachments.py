"""What Claude Code's history says beside the conversation: `attachment` lines.

An attachment is context that the program gave to the model. Files, hooks and
other people's words are told; reminders and listings that repeat the program's
own state (tools, skills, modes, dates, budgets) make no event, and the live wire
does not show them either. The types are those of 2.1.197 and 2.1.326.
"""

from collections.abc import Iterator
from typing import Any

from onetape.drafts import Draft, Note, System, Unknown
from onetape.schema import ContentPart, FileRef, Text

# Types that hold a path in one of these fields: mentioned, opened or selected by the user, or loaded as memory.
_FILES = frozenset({
    "already_read_file", "at_mention_reference", "compact_file_reference", "directory", "edited_image_file", "edited_text_file", "file",
    "mcp_resource", "nested_memory", "opened_file_in_ide", "pdf_reference", "plan_file_reference", "prompt_as_file",
    "selected_lines_in_diff", "selected_lines_in_ide",
})  # fmt: skip
_PATHS = ("filename", "path", "planFilePath", "filePath", "uri")

_HOOKS = {
    "hook_success": "success", "hook_blocking_error": "error", "hook_non_blocking_error": "error", "hook_error_during_execution": "error",
    "hook_cancelled": "cancelled", "hook_additional_context": "success", "hook_system_message": "success",
    "hook_permission_decision": "success", "hook_stopped_continuation": "success", "hook_deferred_tool": "success",
    "async_hook_response": "success",
}  # fmt: skip

_SILENT = frozenset({
    "account_memory_recall", "advisor_stripped", "advisor_tool", "agent_listing_delta", "agent_mention", "artifact_opening_prefetch",
    "async_hook_response_batch", "attention_budget", "auto_mode", "auto_mode_exit", "bash_output_audience_note", "batching_reminder",
    "batching_reminder_sent", "budget_usd", "claude_app_notice", "command_permissions", "context_efficiency", "context_sections",
    "coordinator_context", "cowork_memory_context", "critical_system_reminder", "date", "date_change", "deferred_tools_delta",
    "deferred_tools_record", "diagnostics", "dir_sync_notice", "dynamic_skill", "elapsed_time_reminder", "environment", "fork_briefing",
    "goal_status", "inlined_image_paths", "instruction_files_not_loaded", "instructions", "invoked_skills", "language",
    "linked_plugin_tools_note", "mcp_dropped_tools_delta", "mcp_instructions_delta", "memory_update", "message_pdf_reads", "model",
    "new_diagnostics", "new_directories", "output_limit_note", "output_style", "output_style_instructions", "output_token_usage",
    "peer_mention", "plan_mode", "plan_mode_exit", "plan_mode_reentry", "plugin_note", "poll_events", "prefix_delta",
    "project_doc_reads", "projects_thread_ask", "prompt_render_point", "prompt_snapshot", "read_truncation_notice", "relevant_memories",
    "remote_session_change", "repl_mcp_needs_auth", "sandbox_instructions", "secondary_reminder", "secondary_reminder_sent",
    "session_context", "session_cron_carry", "silent_turn_reminder", "skill_discovery", "skill_listing", "skill_mention",
    "structured_output", "task_reminder", "team_context", "teammate_shutdown_batch", "thinking_drop", "thinking_stripped", "thread_state",
    "todo", "todo_reminder", "token_usage", "tool_host_result_lines", "tool_hosts_correction", "tool_hosts_notice", "tool_results_cut",
    "tool_search_usage_reminder", "total_tokens_reminder", "ultra_effort_enter", "ultra_effort_exit", "ultramemory", "ultrathink_effort",
    "unknown_command_fallback", "verify_plan_reminder", "whole_texts_withdrawn", "widget_context_hint", "withheld_memory",
    "workflow_keyword_request", "workflow_size_guideline_change",
})  # fmt: skip


def attached(native: dict[str, Any], attachment: dict[str, Any], under: str | None) -> Iterator[Draft]:
    """An attachment that needs no state of the session."""
    match attachment:
        case {"type": str(kind)} if kind in _SILENT:
            pass
        case {"type": str(kind)} if kind in _FILES:
            yield from _file(native, attachment, under)
        case {"type": str(kind)} if kind in _HOOKS:
            yield _hook(attachment, _HOOKS[kind], under)
        case {"type": "task_status", "taskId": str(), "status": str(status)}:
            about = attachment.get("description") or attachment["taskId"]
            yield Note("notice", f"{about}: {status}", under=under, failed=status == "failed")
        case {"type": "teammate_mailbox", "messages": [*messages]}:
            said: list[ContentPart] = [Text(f"{message.get('from')}: {message.get('text')}") for message in messages]
            yield System(said, native.get("uuid"), under)
        case _:
            yield Unknown(native)


def _file(native: dict[str, Any], attachment: dict[str, Any], under: str | None) -> Iterator[Draft]:
    path = next((attachment[key] for key in _PATHS if isinstance(attachment.get(key), str)), None)
    if path is not None:  # a reference without a path only reminds of one
        parts: list[ContentPart] = [FileRef(path, "read")]
        words = attachment.get("snippet") or attachment.get("content")
        if isinstance(words, str) and attachment["type"] != "directory":
            parts.append(Text(words))
        yield System(parts, native.get("uuid"), under)


def _hook(attachment: dict[str, Any], outcome: str, under: str | None) -> Note:
    """The same part as the wire's hook_response has."""
    stderr = attachment.get("stderr")
    match attachment:
        case {"blockingError": {"blockingError": str(words)}}:
            stderr = words
        case _:
            pass
    run = {
        "hook_event": attachment.get("hookEvent"), "outcome": outcome, "exit_code": attachment.get("exitCode"),
        "stdout": attachment.get("stdout") or attachment.get("content") or attachment.get("message"), "stderr": stderr,
    }  # fmt: skip
    return Note("hook", attachment.get("hookName"), run, under, failed=outcome != "success")
