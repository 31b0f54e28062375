"""The `system` messages and other remarks of Claude Code that are neither said nor done by anybody.

One arm per published subtype (claude-agent-sdk 0.3.326, sdk.d.ts). What only
repeats other messages, or is bookkeeping of its own client, makes no event.
"""

from collections.abc import Iterator
from typing import Any

from onetape.drafts import Announce, CloseNote, Draft, Failure, Note, OpenNote, System, Unknown
from onetape.errors import Unparsed
from onetape.schema import Text

# Every `system` subtype of the published types, so that one which lacks its fields is told from a stranger.
SUBTYPES = frozenset({
    "api_retry", "background_tasks_changed", "commands_changed", "compact_boundary", "control_request_progress", "elicitation_complete",
    "files_persisted", "hook_progress", "hook_response", "hook_started", "informational", "init", "local_command_output", "memory_recall",
    "mirror_error", "model_refusal_fallback", "model_refusal_no_fallback", "notification", "permission_denied", "plugin_install",
    "session_state_changed", "session_writes_lost", "status", "task_notification", "task_progress", "task_started", "task_updated",
    "thinking_tokens", "worker_shutting_down",
})  # fmt: skip

# Subtypes that are only in the program (2.1.197, 2.1.326): written into histories, or for its own windows and remote clients.
INTERNAL = frozenset({
    "account_memory_saved", "agents_killed", "api_error", "away_summary", "bridge_state", "bridge_status", "checkpoint_done",
    "cloud_session_delta", "cloud_session_status", "code_change_published", "dev_intent", "feedback_draft_queued",
    "file_attachments_missing", "file_snapshot", "inherited_asks_settled", "init_milestone", "instruction_size_warning",
    "late_allow_not_run", "local_command", "mcp_tasks_changed", "memory_saved", "message_rated", "microcompact_boundary",
    "model_consent_fallback", "model_fallback", "peer_message_hold", "per_turn_effort_changed", "permission_check_status",
    "permission_retry", "placed", "poll_event", "post_turn_summary", "prompt_draft_activity", "read_divider", "rewind_stand_in",
    "scheduled_task_fire", "session_metadata", "session_title_changed", "start_folder", "stop_hook_summary", "task_summary", "thinking",
    "tool_host_result", "turn_began_before_init", "turn_duration", "turn_handoff", "turn_handoff_available", "turn_preempted",
    "turn_starting", "ui_focus", "ui_invalidate", "ui_log", "ui_notify", "ui_notify_cancel", "ui_panes", "ui_placed", "ui_scroll",
    "ui_status", "ui_toast", "vcs_state_changed", "voice_call_talk",
})  # fmt: skip

# Bookkeeping: token estimates per thinking delta, states that turns tell already, lists for a client's menus.
_SILENT = frozenset({
    "background_tasks_changed", "commands_changed", "elicitation_complete", "session_state_changed", "task_updated", "thinking_tokens",
})  # fmt: skip

_ENVELOPE = frozenset({
    "type", "subtype", "uuid", "session_id", "sessionId", "parentUuid", "logicalParentUuid", "isSidechain", "isMeta", "agentId", "promptId",
    "timestamp", "userType", "entrypoint", "cwd", "version", "gitBranch", "slug",
})  # fmt: skip

_METADATA = {
    "claude_code_version": "agent_version", "model": "model", "cwd": "cwd", "tools": "tools", "permissionMode": "permission_mode",
    "mcp_servers": "mcp_servers", "agents": "agents", "skills": "skills", "slash_commands": "slash_commands",
    "output_style": "output_style", "effort": "variant",
}  # fmt: skip


def announced(init: dict[str, Any]) -> Announce:
    return Announce({ours: init[theirs] for theirs, ours in _METADATA.items() if init.get(theirs) is not None})


def system(native: dict[str, Any], under: str | None = None) -> Iterator[Draft]:
    """A `system` message that needs no state of the session; `under`: of a subagent of this call."""
    match native:
        case {"subtype": str(subtype)} if subtype in _SILENT:
            pass
        case {"subtype": "api_retry", "attempt": int(attempt)}:
            yield retry(native, attempt)
        case {"subtype": "control_request_progress", "status": "api_retry", "attempt": int(attempt)}:
            yield retry(native, attempt)
        case {"subtype": "control_request_progress"}:
            pass
        case {"subtype": "hook_started", "hook_id": str(hook), "hook_name": str(name)}:
            yield OpenNote(("hook", hook), "hook", name, native_id=hook)
        case {"subtype": "hook_progress"}:
            pass  # the response repeats all of it
        case {"subtype": "hook_response", "hook_id": str(hook), "outcome": str(outcome)}:
            run = {key: native.get(key) for key in ("hook_event", "outcome", "exit_code", "stdout", "stderr")}
            yield CloseNote(("hook", hook), native.get("hook_name"), run, failed=outcome != "success", label="hook")
        case {"subtype": "permission_denied", "tool_name": str(tool)}:
            yield Note("notice", str(native.get("message") or f"{tool} was denied"), told(native), under)
        case {"subtype": "informational", "content": str(words)}:
            yield Note("notice", words, told(native))
        case {"subtype": "model_refusal_no_fallback", "content": str(words)}:
            # Without words where the error that follows has them (2.1.197, 2.1.326).
            yield Note("notice", words or f"{native.get('original_model') or 'the model'} refused", told(native))
        case {"subtype": "model_refusal_fallback", "content": str(words)}:
            yield Note("model", words, told(native))
        case {"subtype": "local_command_output", "content": str(words)}:
            yield System([Text(words)])
        case {"subtype": "notification", "text": str(words)}:
            yield Note("notice", words, told(native))
        case {"subtype": "plugin_install", "status": str(state)}:
            yield Note("notice", f"plugin {native.get('name') or ''} {state}".replace("  ", " "), told(native), failed=state == "failed")
        case {"subtype": "mirror_error", "error": str(words)}:
            yield Note("notice", words, told(native), failed=True)
        case {"subtype": "session_writes_lost"}:
            yield Note("notice", "the agent could not write its own history", told(native), failed=True)
        case {"subtype": "memory_recall" | "files_persisted" | "worker_shutting_down" as subtype}:
            yield Note("notice", subtype.replace("_", " "), told(native))
        case {"subtype": str(subtype)} if subtype in INTERNAL:
            yield from remark(native)
        case {"subtype": str(subtype)} if subtype in SUBTYPES:
            raise Unparsed(f"system/{subtype} without the fields it must have")
        case _:
            yield Unknown(native)


def remark(native: dict[str, Any]) -> Iterator[Draft]:
    """A message that is not published: its words if it has any; without words it moves a window of its own program."""
    words = native.get("content") or native.get("summary") or native.get("message")
    if native["subtype"] == "session_title_changed" and isinstance(title := native.get("title"), str):
        words = f"title: {title}"
    if isinstance(words, str):
        about_model = str(native["subtype"]).startswith("model_")
        yield Note("model" if about_model else "notice", words, failed=native.get("level") == "error")


def retry(native: dict[str, Any], attempt: int, under: str | None = None) -> Note:
    delay = native.get("retry_delay_ms")
    why = native.get("error") or native.get("error_status") or "no connection"
    most = native.get("max_retries")
    detail = f"attempt {attempt}{f' of {most}' if most is not None else ''}: {why}"
    return Note("retry", detail + (f", again in {delay / 1000:.1f} s" if isinstance(delay, int | float) else ""), told(native), under)


def gave_up(words: str, code: str, details: dict[str, Any], under: str | None, *, goes_on: bool) -> Draft:
    """An API error: the turn's, or one that it goes on after, as after a subagent's own, whose call fails by it."""
    if goes_on:
        return Note("notice", words, {"code": code, **details}, under, failed=True)
    return Failure(words, code, details or None)


def error_of(native: dict[str, Any]) -> str:
    """Why a request failed, in a history's `api_error`."""
    match native.get("error"):
        case {"formatted": str(words)} | {"message": str(words)}:
            return words
        case {"status": int(status)}:
            return str(status)
        case _:
            return "no connection"


def rate_limit(info: dict[str, Any]) -> Note:
    window = str(info.get("rateLimitType") or "limit").replace("_", " ")
    used = info.get("utilization")
    detail = f"{window}: {info.get('status')}" + (f", {used:.0%} used" if isinstance(used, int | float) else "")
    return Note("rate_limit", detail, info, failed=info.get("status") == "rejected")


def told(native: dict[str, Any]) -> dict[str, Any]:
    """What a message says, without the envelope."""
    return {key: value for key, value in native.items() if key not in _ENVELOPE and value is not None}
