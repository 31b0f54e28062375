"""What an answer to one of Claude Code's asks says: a verdict, chosen labels, a form filled in."""

from typing import Any

from onetape.agents.claude.content import ACCEPT, ACTION, APPROVE, PLAN_EXIT, chosen
from onetape.drafts import Answer
from onetape.schema import Question

# Requests that only we make, or that only a host with windows, tools or credentials of its own can serve.
UNSERVED = frozenset({
    "apply_flag_settings", "background_tasks", "cancel_async_message", "file_suggestions", "get_binary_version", "get_context_usage",
    "get_hooks_listing", "get_session_cost", "get_settings", "get_task_output", "get_usage", "host_auth_token_refresh",
    "host_credentials_refresh", "initialize", "interrupt", "list_models", "list_permission_rules", "mcp_call", "mcp_message",
    "mcp_read_resource", "mcp_reconnect", "mcp_set_servers", "mcp_status", "mcp_toggle", "oauth_token_refresh", "read_file",
    "register_device_hooks", "register_repo_root", "reload_output_styles", "reload_plugins", "reload_skills",
    "remote_control_work_secret", "remote_tool_call", "rename_session", "request_user_dialog", "rewind_files", "seed_read_state",
    "set_color", "set_has_subscribers", "set_max_thinking_tokens", "set_model", "set_permission_mode", "stop_task", "update_settings",
    "upload_device_hook_template",
})  # fmt: skip


def metadata(request: dict[str, Any]) -> dict[str, Any]:
    named = {
        "input": request["input"], "reason": request.get("decision_reason"), "suggestions": request.get("permission_suggestions"),
        "description": request.get("description"), "title": request.get("title"), "blocked_path": request.get("blocked_path"),
        "agent_id": request.get("agent_id"),
    }  # fmt: skip
    return {key: value for key, value in named.items() if value is not None}


def verdict(id: str, told: Any) -> Answer:
    match told:
        case {"behavior": "allow", "updatedPermissions": [_, *_]}:
            return Answer(id, "accept_for_session")
        case {"behavior": "allow"}:
            return Answer(id, "accept")
        case {"behavior": "deny", "message": str(why)}:
            return Answer(id, "reject", why)
        case _:
            return Answer(id, "reject")


def lacks_input(told: Any) -> bool:
    return isinstance(told, dict) and told.get("behavior") == "allow" and "updatedInput" not in told


def amended(request: dict[str, Any], told: Any) -> dict[str, Any] | None:
    """The arguments that a call was allowed with: those of who allowed it, else those asked for, which a hook may have changed."""
    match told:
        case {"behavior": "allow", "updatedInput": dict(args)}:
            return args
        case {"behavior": "allow"}:
            return dict(request["input"])
        case _:
            return None


def reply(tool: str, questions: list[Question], told: Any) -> list[list[str]] | None:
    match told:
        case {"behavior": "allow"} if tool == PLAN_EXIT:
            return [[APPROVE]]
        case {"behavior": "allow", "updatedInput": {} as input}:
            return labels(questions, input)
        case _:
            return None  # denied or failed


def labels(questions: list[Question], told: dict[str, Any]) -> list[list[str]] | None:
    """The labels per question; None where nobody answered any (allowed without answers, capture 10c).

    Words in place of labels (`response`) are the answer to the first.
    """
    match told:
        case {"answers": {} as by_question} if by_question:
            pass
        case {"response": str(words)} if words:
            return [[words], *([] for _ in questions[1:])]
        case _:
            return None
    return [chosen(question, by_question[question.prompt]) if question.prompt in by_question else [] for question in questions]


def outcome(tool: str, questions: list[Question], told: Any, *, failed: bool) -> list[list[str]] | None:
    """What was answered, by the result of the tool that asked."""
    if tool == PLAN_EXIT:
        return None if failed else [[APPROVE]]
    return labels(questions, told) if isinstance(told, dict) else None


def filled_in(questions: list[Question], told: Any) -> list[list[str]] | None:
    match told:
        case {"action": "accept"} if [question.id for question in questions] == [ACTION]:
            return [[ACCEPT]]
        case {"action": "accept"}:
            content = told.get("content") or {}
            return [_values(content[question.id]) if question.id in content else [] for question in questions]
        case _:
            return None


def _values(value: Any) -> list[str]:
    match value:
        case list():
            return [str(each) for each in value]
        case bool():
            return ["true" if value else "false"]
        case _:
            return [str(value)]
