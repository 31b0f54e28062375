"""What Codex asks: approvals, questions, MCP forms; how an answer reads, and how we write one.

All are JSON-RPC requests of the server's, numbered from 0 in each process. An MCP
tool's approval comes as an elicitation and is a permission all the same (capture 18c).
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.codex import forms
from onetape.agents.codex.changes import listed, patch
from onetape.agents.codex.content import command_line, told
from onetape.agents.codex.items import Items, Place
from onetape.errors import Refused
from onetape.schema import Option, PermissionStatus, Question

# All that a client may be asked; those that are not asks are answered with an error.
APPROVALS = frozenset({
    "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
    "applyPatchApproval", "execCommandApproval",
})  # fmt: skip
QUESTIONS = frozenset({"item/tool/requestUserInput", "mcpServer/elicitation/request"})
UNSERVED = frozenset({"item/tool/call", "account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read"})
METHODS = APPROVALS | QUESTIONS | UNSERVED

_VERDICTS: dict[str, PermissionStatus] = {
    "accept": "accept", "acceptForSession": "accept_for_session", "acceptWithExecpolicyAmendment": "accept_for_session",
    "approved": "accept", "approved_for_session": "accept_for_session", "approved_execpolicy_amendment": "accept_for_session",
    "approved_mcp_policy_amendment": "accept_for_session",
}  # fmt: skip


class Wanted(Struct, frozen=True):
    """An ask that may still be answered."""

    id: str
    native_id: int | str
    method: str
    params: dict[str, Any]
    call_id: str | None = None
    questions: list[Question] | None = None
    """None: it is a permission."""


class Asks:
    def __init__(self) -> None:
        self._pending: dict[str, Wanted] = {}
        self._process = 0

    def restart(self) -> None:
        """A new process numbers its requests from 0 again."""
        self._pending.clear()
        self._process += 1

    def id_of(self, native_id: int | str) -> str:
        return str(native_id) if not self._process else f"{self._process}/{native_id}"

    def request(self, native_id: int | str, method: str, params: dict[str, Any], place: Place, items: Items) -> d.Ask | d.Query:
        wanted, draft = _read(self.id_of(native_id), native_id, method, params, place, items)
        self._pending.setdefault(wanted.id, wanted)  # one that is asked again is still the first
        return draft

    def answered(self, native_id: int | str, result: Any) -> tuple[d.Answer | d.Reply, Wanted] | None:
        """What an answer that went to Codex says; an error has no result and is a reject."""
        wanted = self._pending.pop(self.id_of(native_id), None)
        if wanted is None:
            return None
        if wanted.questions is not None:
            return d.Reply(wanted.id, _answers(wanted, result)), wanted
        return d.Answer(wanted.id, _verdict(wanted.method, result)), wanted

    def withdrawn(self, native_id: int | str) -> Wanted | None:
        return self._pending.pop(self.id_of(native_id), None)

    def find(self, id: str, kind: str) -> Wanted:
        wanted = self._pending.get(id)
        if wanted is None:
            raise Refused(f"no open {kind} {id}")
        if (wanted.questions is None) != (kind == "permission"):
            raise Refused(f"{id} is not a {kind}")
        return wanted


# --- asked ------------------------------------------------------------------


def _read(
    id: str, native_id: int | str, method: str, params: dict[str, Any], place: Place, items: Items
) -> tuple[Wanted, d.Ask | d.Query]:
    def permission(action: str, call: str | None, **metadata: Any) -> tuple[Wanted, d.Ask]:
        return Wanted(id, native_id, method, params, call), d.Ask(id, action, call, told(**metadata), place.under)

    match method:
        case "item/commandExecution/requestApproval":
            shown = told(command=params.get("command"), cwd=params.get("cwd"), network=params.get("networkApprovalContext"))
            return permission(
                "shell", items.call_id(place, params["itemId"]), input=shown, reason=params.get("reason"), kind=params.get("kind"),
                suggestions=params.get("availableDecisions"), permissions=params.get("additionalPermissions"),
            )  # fmt: skip
        case "item/fileChange/requestApproval":
            changes = items.shown(place, params["itemId"]).get("changes") or []
            return permission(
                "apply_patch", items.call_id(place, params["itemId"]), input={"changes": changes}, reason=params.get("reason"),
                diff=patch(changes), grant_root=params.get("grantRoot"),
            )  # fmt: skip
        case "item/permissions/requestApproval":
            call = items.call_id(place, params["itemId"])
            return permission("request_permissions", call, input=params["permissions"], reason=params.get("reason"))
        case "execCommandApproval":
            shown = {"command": command_line(params["command"]), "cwd": params["cwd"]}
            return permission("shell", items.call_id(place, params["callId"]), input=shown, reason=params.get("reason"))
        case "applyPatchApproval":
            changes = listed(params["fileChanges"])
            call = items.call_id(place, params["callId"])
            return permission("apply_patch", call, input={"changes": changes}, reason=params.get("reason"), diff=patch(changes))
        case "item/tool/requestUserInput":
            asked = [_question(question) for question in params["questions"]]
            wanted = Wanted(id, native_id, method, params, None, asked)
            return wanted, d.Query(id, asked, items.call_id(place, params["itemId"]), place.under)
        case _:
            return _elicitation(id, native_id, params, place, items, permission)


def _elicitation(
    id: str, native_id: int | str, params: dict[str, Any], place: Place, items: Items, permission: Callable[..., tuple[Wanted, d.Ask]]
) -> tuple[Wanted, d.Ask | d.Query]:
    server, meta = params["serverName"], _meta(params)
    if meta.get("codex_approval_kind") == "mcp_tool_call":
        tool, given = str(meta.get("tool_name") or params["message"]), meta.get("tool_params") or {}
        call = items.find(place, server=server, tool=tool, arguments=given) or items.find(place, server=server, tool=tool)
        return permission(f"{server}.{tool}", call, input=given, reason=params.get("message"), suggestions=meta.get("persist"))
    asked = forms.questions(server, params)
    call = items.find(place, server=server)
    return Wanted(id, native_id, "mcpServer/elicitation/request", params, call, asked), d.Query(id, asked, call, place.under)


def _meta(params: dict[str, Any]) -> dict[str, Any]:
    """What goes along with an MCP message: anything at all, by the schema."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _question(asked: dict[str, Any]) -> Question:
    options = [Option(option["label"], option.get("description")) for option in asked.get("options") or ()]
    return Question(asked["id"], asked.get("header"), asked["question"], options)


# --- answered ---------------------------------------------------------------


def _verdict(method: str, result: Any) -> PermissionStatus:
    match result:
        case {"decision": {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": action}}}}:
            return "accept_for_session" if action == "allow" else "reject"
        case {"decision": str(word)}:
            return _VERDICTS.get(word, "reject")
        case {"decision": dict(amended)}:
            return _VERDICTS.get(str(next(iter(amended), "")), "reject")
        case {"permissions": dict(granted)} if method == "item/permissions/requestApproval":
            given = any(granted.values())
            return "reject" if not given else "accept_for_session" if result.get("scope") == "session" else "accept"
        case {"action": "accept"}:
            return "accept_for_session" if _meta(result).get("persist") else "accept"
        case _:
            return "reject"


def _answers(wanted: Wanted, result: Any) -> list[list[str]] | None:
    questions = wanted.questions or []
    match result:
        case {"answers": dict(answers)} if answers:
            return [list(map(str, (answers.get(question.id) or {}).get("answers") or ())) for question in questions]
        case {"action": "accept"} if wanted.method == "mcpServer/elicitation/request":
            return forms.answers(questions, result.get("content"))
        case _:
            return None  # an empty answer and an error both reach the model as no answer (captures 11, 11b)


# --- how we answer ----------------------------------------------------------


def allow(wanted: Wanted, *, always: bool) -> dict[str, Any]:
    """`always` in Codex's narrowest terms: this session, this very command (capture 08)."""
    match wanted.method:
        case "applyPatchApproval" | "execCommandApproval":
            return {"decision": "approved_for_session" if always else "approved"}
        case "item/permissions/requestApproval":
            return {"permissions": wanted.params["permissions"], "scope": "session" if always else "turn"}
        case "mcpServer/elicitation/request":
            offered = _meta(wanted.params).get("persist") or ()
            meta = {"persist": "session"} if always and "session" in offered else None
            return {"action": "accept", "content": None, "_meta": meta}
        case _:
            return {"decision": "acceptForSession" if always else "accept"}


def deny(wanted: Wanted, why: str | None) -> dict[str, Any]:
    match wanted.method:
        case "applyPatchApproval" | "execCommandApproval":
            return {"decision": {"denied": {"rejection": why or "the user rejected it"}}}
        case "item/permissions/requestApproval":
            return {"permissions": {}, "scope": "turn"}
        case "item/tool/requestUserInput":
            return {"answers": {}}
        case "mcpServer/elicitation/request":
            return {"action": "decline", "content": None, "_meta": None}
        case _:
            return {"decision": "decline"}  # not "cancel", which would end the whole turn (capture 09b)


def carries_reason(wanted: Wanted) -> bool:
    return wanted.method in ("applyPatchApproval", "execCommandApproval")


def reply(wanted: Wanted, answers: list[list[str]]) -> dict[str, Any]:
    questions = wanted.questions or []
    if not any(answers):
        raise Refused(f"question {wanted.id} needs an answer; to decline it, reject it")
    if len(answers) > len(questions):
        raise Refused(f"question {wanted.id} has {len(questions)} questions, and {len(answers)} answers were given")
    pairs = zip(questions, answers, strict=False)
    if wanted.method == "item/tool/requestUserInput":
        return {"answers": {question.id: {"answers": labels} for question, labels in pairs if labels}}
    return forms.filled_in(questions, answers, wanted.params)
