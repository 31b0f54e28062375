"""Notifications that are neither items nor turns: most are status items, many say nothing about a session.

Every notification in the schema of 0.169.0 is named here or in the translator,
so that one that a later version adds is noticed as unknown.
"""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.errors import Unparsed
from onetape.schema import StatusLabel

# What the translator itself reads.
SPOKEN = frozenset({
    "error", "thread/started", "thread/settings/updated", "thread/tokenUsage/updated", "turn/started", "turn/completed",
    "item/started", "item/completed", "item/agentMessage/delta", "item/plan/delta", "item/commandExecution/outputDelta",
    "item/fileChange/patchUpdated", "item/reasoning/summaryTextDelta", "item/reasoning/textDelta", "serverRequest/resolved",
})  # fmt: skip

# For clients that show lists, accounts, voice or Windows; and what another message tells better.
SILENT = frozenset({
    "thread/status/changed",  # follows from turns and asks
    "thread/readState/changed", "thread/archived", "thread/unarchived", "thread/section/changed", "thread/attachment/updated",
    "thread/prediction/updated", "thread/queue/changed", "thread/project/updated", "thread/environment/connected",
    "thread/goal/cleared",  # also said on every resume without a goal (capture 17-b)
    "thread/closed", "thread/deleted",  # the process goes on, and its exit ends the session (capture 45)
    "turn/diff/updated",  # all file changes so far, again and again; each has its own result
    "turn/moderationMetadata", "item/reasoning/summaryPartAdded", "item/fileChange/outputDelta",
    "rawResponseItem/completed", "rawResponse/completed",  # the model's own items, where a client asked for them (capture 34)
    "configWarning",  # each thread gets it as a `warning` too (captures 35, 40)
    "deprecationNotice", "skills/changed", "project/changed", "app/list/updated", "remoteControl/status/changed", "fs/changed",
    "account/updated", "account/login/completed", "account/gatewayOAuth/changed", "mcpServer/oauthLogin/completed",
    "mcpServer/event/stream/notification", "externalAgentConfig/import/progress", "externalAgentConfig/import/completed",
    "command/exec/outputDelta", "process/outputDelta", "process/exited",  # of the client's own commands, not of the session's
    "fuzzyFileSearch/sessionUpdated", "fuzzyFileSearch/sessionCompleted",
    "thread/realtime/started", "thread/realtime/itemAdded", "thread/realtime/item/started", "thread/realtime/item/transcript/delta",
    "thread/realtime/item/completed", "thread/realtime/transcript/delta", "thread/realtime/transcript/done",
    "thread/realtime/outputAudio/delta", "thread/realtime/sdp", "thread/realtime/error", "thread/realtime/closed",
    "windows/worldWritableWarning", "windowsSandbox/setupCompleted",
})  # fmt: skip

TOLD = frozenset({
    "warning", "guardianWarning", "hook/started", "hook/completed", "turn/plan/updated", "thread/goal/updated", "thread/name/updated",
    "thread/reverted", "thread/compacted", "thread/environment/disconnected", "model/rerouted", "model/verification",
    "model/safetyBuffering/updated", "modelProvider/authRecoveryStarted", "modelProvider/authRecoveryCompleted",
    "mcpServer/startupStatus/updated", "item/mcpToolCall/progress", "item/commandExecution/terminalInteraction",
    "item/autoApprovalReview/started", "item/autoApprovalReview/completed", "autoApprovalReview/strictReviewRequired",
    "account/rateLimits/updated",
})  # fmt: skip

METHODS = SPOKEN | SILENT | TOLD

_STEPS = {"inProgress": "in_progress", "in_progress": "in_progress", "completed": "completed"}


class Notices:
    """Status items; remembers only what would be said twice."""

    def __init__(self) -> None:
        self._limits: Any = None

    def read(self, method: str, params: dict[str, Any], under: str | None) -> Iterator[d.Draft]:
        match method:
            case "hook/started":
                run = params["run"]
                yield d.CloseNote(("hook", run["id"]), failed=True)  # one that never ended: ids repeat from turn to turn
                yield d.OpenNote(("hook", run["id"]), "hook", f"{run['eventName']}: {run['status']}", under, run["id"])
            case "hook/completed":
                yield _hook(params["run"])
            case "turn/plan/updated":
                yield d.Note("plan", params.get("explanation"), steps(params["plan"]), under)
            case "account/rateLimits/updated":
                yield from self.limits(params["rateLimits"])
            case "item/autoApprovalReview/started":
                action, key = params["action"], ("review", params["reviewId"])
                yield d.CloseNote(key, failed=True)
                yield d.OpenNote(key, "notice", f"automatic review of {action['type']}", under)
            case "item/autoApprovalReview/completed":
                yield from _reviewed(params)
            case "mcpServer/startupStatus/updated":
                yield from _mcp(params, under)
            case "item/commandExecution/terminalInteraction":
                if typed := params["stdin"]:  # empty: the model only looked (04d)
                    yield d.Note("notice", f"typed into {params['itemId']}: {typed}", under=under)
            case _:
                label, detail, json, failed = _simple(method, params)
                yield d.Note(label, detail, json, under, failed=failed)

    def limits(self, limits: dict[str, Any]) -> Iterator[d.Draft]:
        """Told after every response, mostly the same, and empty without a ChatGPT login."""
        windows = [window for window in (limits.get("primary"), limits.get("secondary")) if window]
        if windows and limits != self._limits:
            self._limits = limits
            used = ", ".join(f"{window['usedPercent']:g}% used" + _span(window) for window in windows)
            yield d.Note("rate_limit", used, limits, failed=limits.get("rateLimitReachedType") is not None)


def steps(plan: Any) -> list[dict[str, str]]:
    """A todo list as every agent's is told."""
    return [_step(step) for step in plan]


def _step(step: Any) -> dict[str, str]:
    match step:
        case {"step": str(text), "status": str(status)}:
            return {"text": text, "status": _STEPS.get(status, "pending")}
        case _:
            raise Unparsed("a step of a plan without its text or its status")


def _simple(method: str, params: dict[str, Any]) -> tuple[StatusLabel, str | None, Any, bool]:
    match method:
        case "warning" | "guardianWarning":
            return "notice", params["message"], None, False
        case "thread/goal/updated":
            goal = params["goal"]
            return "notice", f"goal, {goal['status']}: {goal['objective']}", goal, False
        case "thread/name/updated":
            return "notice", f"title: {params.get('threadName') or ''}", None, False
        case "thread/reverted":
            return "notice", "the thread was reverted to an earlier turn", None, False
        case "thread/compacted":
            return "compaction", None, None, False
        case "thread/environment/disconnected":
            return "notice", f"environment {params['environmentId']} disconnected", None, True
        case "model/rerouted":
            return "model", params["toModel"], {"from": params["fromModel"], "reason": params["reason"]}, False
        case "model/verification":
            return "notice", f"verification recommended: {', '.join(map(str, params['verifications']))}", None, False
        case "model/safetyBuffering/updated":
            return "progress", f"{params['model']} holds its answer back for a safety check", params.get("reasons"), False
        case "modelProvider/authRecoveryStarted" | "modelProvider/authRecoveryCompleted":
            return "notice", f"{params['provider']}: {params['message']}", None, False
        case "item/mcpToolCall/progress":
            return "progress", params["message"], None, False
        case _:  # autoApprovalReview/strictReviewRequired
            return "notice", "every command is reviewed from now on", None, False


def _hook(run: dict[str, Any]) -> d.Draft:
    said = [entry["text"] for entry in run.get("entries") or ()]
    detail = f"{run['eventName']}: {run['status']}" + (f": {'; '.join(said)}" if said else "")
    return d.CloseNote(("hook", run["id"]), detail, failed=run["status"] in ("failed", "stopped"))


def _reviewed(params: dict[str, Any]) -> Iterator[d.Draft]:
    review = params["review"]
    why = f": {review['rationale']}" if review.get("rationale") else ""
    detail = f"automatic review of {params['action']['type']}: {review['status']}{why}"
    yield d.CloseNote(("review", params["reviewId"]), detail, review, failed=review["status"] != "approved")


def _mcp(params: dict[str, Any], under: str | None) -> Iterator[d.Draft]:
    name, status = params["name"], params["status"]
    if status != "starting":
        why = f": {params['error']}" if params.get("error") else ""
        yield d.Note("mcp", f"{name}: {status}{why}", under=under, failed=status != "ready")


def _span(window: dict[str, Any]) -> str:
    minutes = window.get("windowDurationMins")
    return f" of {minutes} min" if minutes else ""
