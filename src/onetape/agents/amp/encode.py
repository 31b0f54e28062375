"""What we say to Amp: lines on stdin, answers to its permission helper, and a signal, since it knows no interrupt."""

import base64
from collections.abc import Mapping
from typing import Any

from onetape import blobs
from onetape.agents.amp.blocks import mention
from onetape.commands import Attachment, Command, Interrupt, ReplyPermission, SendMessage, SetMode, SetModel
from onetape.errors import Refused

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
# The oldest build that was seen to take images. January's ends the whole run at a block that is not text.
FIRST_WITH_IMAGES = 1777897475


def command(command: Command, asked: Mapping[str, Any], version: str | None) -> dict[str, Any] | None:
    """The message for a client's wish; None if Amp has none for it."""
    match command:
        case SendMessage(text, attachments):
            blocks = [{"type": "text", "text": text}] if text or not attachments else []
            content = blocks + [_attached(each, version) for each in attachments]
            return {"type": "user", "message": {"role": "user", "content": content}}
        case ReplyPermission(id, reply, message):
            if id not in asked:
                raise Refused(f"Amp asks for no permission {id!r}")
            return verdict(id, allow=reply != "reject", session=reply == "always", message=message)
        case Interrupt():
            return {"signal": "SIGINT"}
        case _:
            return None


def why_not(command: Command) -> str:
    match command:
        case SetModel() | SetMode():
            return "its mode, which chooses the model, is set when a session starts"
        case _:
            return "it has nothing like it when it runs without a terminal"


def verdict(id: str, *, allow: bool, session: bool = False, message: str | None = None) -> dict[str, Any]:
    """An answer to helper.py. `session`: for us, to answer the same call with the same input again; Amp has no such word."""
    answer: dict[str, Any] = {"channel": "delegate", "id": id, "decision": "allow" if allow else "reject"}
    if allow and session:
        answer["scope"] = "session"
    if not allow and message:
        answer["message"] = message
    return answer


def _attached(attachment: Attachment, version: str | None) -> dict[str, Any]:
    mime = attachment.mime or blobs.mime_of(attachment.path)
    if not blobs.is_image(mime):
        return {"type": "text", "text": mention(attachment.path)}  # there is no block for a file
    if mime not in IMAGES:
        raise Refused(f"Amp takes no {mime}; it takes {', '.join(sorted(IMAGES))}")
    if attachment.content is None:
        raise Refused(f"{attachment.path} was not read, and Amp wants its bytes")
    if _build(version) < FIRST_WITH_IMAGES:
        raise Refused(f"Amp {version} takes no images: update it")
    data = base64.b64encode(attachment.content).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}, "source_path": attachment.path}


def _build(version: str | None) -> int:
    """The time in a version like 0.0.1777897475-g2324e1; an unknown version is taken for a new one."""
    digits = (version or "").rpartition(".")[2].partition("-")[0]
    return int(digits) if digits.isdecimal() else FIRST_WITH_IMAGES
