"""What we say to Claude Code: user messages, control requests, and answers to its own."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

from onetape import blobs
from onetape.agents.claude.content import ACCEPT, ACTION, APPROVE, DECLINE, PLAN_EXIT, QUESTION, elicited, mention, questions_of
from onetape.agents.claude.launch import native_mode
from onetape.commands import Attachment, Command, Interrupt, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from onetape.errors import Refused
from onetape.schema import Question, to_json

Asked = dict[str, dict[str, Any]]


def command(wish: Command, asked: Asked, new_id: Callable[[], str]) -> list[Any] | None:
    """The messages for a client's wish; None for what Claude Code cannot do."""
    match wish:
        case SendMessage(text=text, attachments=attachments):
            return [user(new_id(), text, attachments)]
        case ReplyPermission(permission_id=id, reply=reply, message=message):
            return [_permission(id, _pending(asked, id, "permission"), reply, message)]
        case ReplyQuestion(question_id=id, answers=answers):
            return [_reply(id, _pending(asked, id, "question"), answers)]
        case RejectQuestion(question_id=id):
            return [_reject(id, _pending(asked, id, "question"))]
        case Interrupt():
            return [request(new_id(), "interrupt")]
        case SetModel(model=model, variant=variant):
            return _model(model, variant, new_id)
        case SetMode(mode=mode):
            return [request(new_id(), "set_permission_mode", mode=native_mode(mode))]
        case _:
            return None


# --- messages ---------------------------------------------------------------


def user(id: str, text: str, attachments: list[Attachment]) -> dict[str, Any]:
    content = _content(text, attachments) if attachments else text
    return {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, "session_id": "", "uuid": id}


def _content(text: str, attachments: list[Attachment]) -> list[dict[str, Any]]:
    """It looks for mentions in the last block alone, and only if that is text (2.1.326): so those of the user's words stand
    behind what goes inline, and files without their bytes stand last, all in one block."""
    inline = [_attached(file, file.content) for file in attachments if file.content is not None]
    mentions = [mention(file.path) for file in attachments if file.content is None]
    words = [{"type": "text", "text": text}] if text or mentions else []
    blocks = [*inline, *words] if "@" in text else [*words, *inline]
    return [*blocks, {"type": "text", "text": "\n".join(mentions)}] if mentions else blocks


def _attached(file: Attachment, content: bytes) -> dict[str, Any]:
    mime = file.mime or blobs.mime_of(file.filename or file.path)
    if blobs.is_image(mime):
        return {"type": "image", "source": _base64(content, mime)}
    if mime == "application/pdf":
        return {"type": "document", "source": _base64(content, mime)}
    try:
        source = {"type": "text", "media_type": "text/plain", "data": content.decode()}
    except UnicodeDecodeError:
        raise Refused(f"Claude Code takes images, PDFs and text files, and {file.path} is none of these") from None
    return {"type": "document", "source": source, "title": file.filename or file.path}


def _base64(content: bytes, mime: str | None) -> dict[str, Any]:
    return {"type": "base64", "media_type": mime, "data": base64.b64encode(content).decode()}


def request(id: str, subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}}


def response(id: str, answer: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": answer}}


def error(id: str, why: str) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": why}}


def arguments(args: Any) -> str:
    return to_json(args).decode()


def _model(model: str | None, variant: str | None, new_id: Callable[[], str]) -> list[Any]:
    if model is None and variant is None:
        raise Refused("set_model needs a model or a variant")
    requests = [] if model is None else [request(new_id(), "set_model", model=model)]
    return requests if variant is None else [*requests, request(new_id(), "apply_flag_settings", settings={"effortLevel": variant})]


# --- answers ----------------------------------------------------------------


def _pending(asked: Asked, id: str, kind: str) -> dict[str, Any]:
    wanted = asked.get(id)
    if wanted is None:
        raise Refused(f"no open {kind} {id}")
    is_question = wanted["subtype"] == "elicitation" or wanted["tool_name"] in (QUESTION, PLAN_EXIT)
    if is_question != (kind == "question"):
        raise Refused(f"{id} is not a {kind}")
    return wanted


def _permission(id: str, wanted: dict[str, Any], reply: str, message: str | None) -> dict[str, Any]:
    if reply == "reject":
        return response(id, {"behavior": "deny", "message": message or "The user rejected this tool use."})
    # Where it says that a rule would allow more than was asked, "always" is this once.
    lasting = reply == "always" and not wanted.get("suppress_always_allow_rule")
    rules = _narrowest(wanted.get("permission_suggestions") or []) if lasting else []
    return _allow(id, wanted, **({"updatedPermissions": rules} if rules else {}))


def _allow(id: str, wanted: dict[str, Any], **more: Any) -> dict[str, Any]:
    return response(id, {"behavior": "allow", "updatedInput": wanted["input"], **more})  # 2.1.197 demands the input back


def _narrowest(suggestions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Claude Code itself offers for "always", for this session: exact rules before directories before a mode.

    Never all of them: `setMode acceptEdits` would silently change the mode (capture 08c).
    """
    for kind in ("addRules", "addDirectories", "setMode"):
        if offered := [{**each, "destination": "session"} for each in suggestions if each.get("type") == kind]:
            return offered
    return []


def _reply(id: str, wanted: dict[str, Any], answers: list[list[str]]) -> dict[str, Any]:
    if wanted["subtype"] == "elicitation":
        questions = elicited(wanted)
        _fits(id, questions, answers)
        if questions[0].id == ACTION:
            return response(id, {"action": ACCEPT, "content": {}}) if answers[0] == [ACCEPT] else _reject(id, wanted)
        return response(id, {"action": ACCEPT, "content": dict(_filled_in(questions, answers, wanted))})
    questions = questions_of(wanted["tool_name"], wanted["input"])
    _fits(id, questions, answers)
    if wanted["tool_name"] == PLAN_EXIT:
        return _allow(id, wanted) if answers[0] == [APPROVE] else _reject(id, wanted, answers)
    told = {question.prompt: ", ".join(labels) for question, labels in zip(questions, answers, strict=False) if labels}
    return response(id, {"behavior": "allow", "updatedInput": {**wanted["input"], "answers": told}})


def _reject(id: str, wanted: dict[str, Any], answers: list[list[str]] | None = None) -> dict[str, Any]:
    if wanted["subtype"] == "elicitation":
        return response(id, {"action": DECLINE})
    words = [label for labels in answers or () for label in labels if label != "reject"]
    default = "Keep planning." if wanted["tool_name"] == PLAN_EXIT else "The user declined to answer."
    return response(id, {"behavior": "deny", "message": " ".join(words) or default})


def _fits(id: str, questions: list[Question], answers: list[list[str]]) -> None:
    if not answers or not any(answers):
        raise Refused(f"question {id} needs an answer; to decline it, reject it")
    if len(answers) > len(questions):
        raise Refused(f"question {id} has {len(questions)} questions, and {len(answers)} answers were given")


def _filled_in(questions: list[Question], answers: list[list[str]], wanted: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    properties = (wanted.get("requested_schema") or {}).get("properties") or {}
    for question, labels in zip(questions, answers, strict=False):
        if labels and question.id in properties:
            yield question.id, _typed(question.id, properties[question.id].get("type"), labels)


def _typed(name: str, kind: str | None, labels: list[str]) -> Any:
    try:
        match kind:
            case "integer":
                return int(labels[0])
            case "number":
                return float(labels[0])
            case "boolean":
                return labels[0].lower() in ("true", "yes", "1")
            case "array":
                return labels
            case _:
                return ", ".join(labels)
    except ValueError:
        raise Refused(f"{name} must be {kind}, and {labels[0]!r} is not") from None
