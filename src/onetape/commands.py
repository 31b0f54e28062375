"""What a client can ask of a session. A translator turns each into sends, or refuses it by name."""

from typing import Literal, TypeAlias

from msgspec import Struct, field


class Attachment(Struct, frozen=True):
    """A file that goes with a message.

    `content` is filled by whoever owns the I/O, never by a client: a translator
    reads no files, and some agents want the bytes inline.
    """

    path: str
    mime: str | None = None
    filename: str | None = None
    content: bytes | None = None


class SendMessage(Struct, frozen=True, tag="send_message"):
    text: str
    attachments: list[Attachment] = field(default_factory=list)


class ReplyPermission(Struct, frozen=True, tag="reply_permission"):
    permission_id: str
    reply: Literal["once", "always", "reject"]
    message: str | None = None


class ReplyQuestion(Struct, frozen=True, tag="reply_question"):
    question_id: str
    answers: list[list[str]]


class RejectQuestion(Struct, frozen=True, tag="reject_question"):
    question_id: str


class Interrupt(Struct, frozen=True, tag="interrupt"):
    pass


class SetModel(Struct, frozen=True, tag="set_model"):
    model: str | None = None
    variant: str | None = None


class SetMode(Struct, frozen=True, tag="set_mode"):
    mode: str


class Terminate(Struct, frozen=True, tag="terminate"):
    """Ends the session. The driver's work: no translator ever sees it."""


Command: TypeAlias = SendMessage | ReplyPermission | ReplyQuestion | RejectQuestion | Interrupt | SetModel | SetMode | Terminate


def name_of(command: Command) -> str:
    """The command's name on the wire, e.g. "send_message"."""
    return command.__struct_config__.tag  # type: ignore[return-value]
