"""What we say to Pi: commands of its rpc mode."""

import base64
from collections.abc import Callable
from typing import Any

from onetape import blobs
from onetape.agents.pi.content import inlined
from onetape.agents.pi.dialogs import MODE_COMMAND, MODES, Dialogs
from onetape.commands import Attachment, Command, Interrupt, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from onetape.errors import Refused

# Options of the command line that take the next word (1.5.0, --help).
VALUED = frozenset({
    "--provider", "--model", "--api-key", "--system-prompt", "--append-system-prompt", "--mode", "--session", "--session-id", "--fork",
    "--session-dir", "--name", "-n", "--models", "--tools", "-t", "--exclude-tools", "-xt", "--thinking", "--extension", "-e", "--skill",
    "--prompt-template", "--theme", "--use-theme", "--tui-mode",
})  # fmt: skip
NewId = Callable[[], str]


def command(wish: Command, dialogs: Dialogs, new_id: NewId) -> list[Any] | None:
    """The messages for a client's wish; None for what Pi cannot do."""
    match wish:
        case SendMessage(text=text, attachments=attachments):
            return [_prompt(new_id(), text, attachments)]
        case ReplyPermission():
            return [dialogs.permission(wish)]
        case ReplyQuestion():
            return [dialogs.question(wish)]
        case RejectQuestion(question_id=id):
            return [dialogs.rejection(id)]
        case Interrupt():
            # First the abort, so that a dismissed dialog does not make the model go on.
            return [request(new_id(), "abort"), *dialogs.dismissals()]
        case SetMode(mode=mode):
            if mode not in MODES:
                raise Refused(f"Pi has no mode {mode!r}; it has: {', '.join(MODES)}")
            return [request(new_id(), "prompt", message=f"/{MODE_COMMAND} {mode}")]
        case _:
            return None


def request(id: str, type: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": type, **fields}


def _prompt(id: str, text: str, attachments: list[Attachment]) -> dict[str, Any]:
    images = [_image(file) for file in attachments if _is_image(file)]
    files = "".join(_file(file) for file in attachments if not _is_image(file))
    # `steer` says what to do if a turn runs by the time it arrives; without one it changes nothing.
    return request(id, "prompt", message=files + text, **({"images": images} if images else {}), streamingBehavior="steer")


def _is_image(file: Attachment) -> bool:
    return blobs.is_image(file.mime or blobs.mime_of(file.filename or file.path))


def _image(file: Attachment) -> dict[str, Any]:
    mime = file.mime or blobs.mime_of(file.filename or file.path)
    return {"type": "image", "data": base64.b64encode(_content(file)).decode(), "mimeType": mime}


def _file(file: Attachment) -> str:
    """Over rpc Pi takes no files (21, 21b): a text file is put in front of the words, as Pi's own command line does (21c)."""
    try:
        return inlined(file.path, _content(file).decode())
    except UnicodeDecodeError:
        raise Refused(f"Pi takes images and text files, and {file.path} is neither") from None


def _content(file: Attachment) -> bytes:
    if file.content is None:
        raise Refused(f"Pi wants attachments inline, and {file.path} could not be read")
    return file.content


def model(wish: SetModel, provider: str | None, new_id: NewId) -> list[dict[str, Any]]:
    """The requests for another model or level, each to be sent when the one before is answered.

    Sent together, the level is judged by the old model and is lost (0.87.1). The state is asked for
    last: a level that a model does not have becomes another without a word (24).
    """
    requests = []
    if wish.model is not None:
        owner, slash, id = wish.model.partition("/")
        if not slash and provider is None:
            raise Refused(f"Pi wants to know whose model {wish.model!r} is: name it as provider/model")
        requests.append(request(new_id(), "set_model", provider=owner if slash else provider, modelId=id if slash else wish.model))
    if wish.variant is not None:
        requests.append(request(new_id(), "set_thinking_level", level=wish.variant))
    if not requests:
        raise Refused("set_model needs a model or a variant")
    return [*requests, request(new_id(), "get_state")]
