"""What we say to `opencode serve`: HTTP requests, each a `Send` of `{method, path, body}`."""

from typing import Any

from msgspec import Struct

from onetape import blobs
from onetape.agents.opencode.content import data_url
from onetape.agents.opencode.permissions import rules
from onetape.commands import Attachment
from onetape.errors import Refused
from onetape.translator import Send

# Files that a model sees as such; OpenCode reads any other by itself, as text.
_SEEN = frozenset({"application/pdf"})


def listen() -> Send:
    """The events of the server's own directory, which is the session's. There is no replay: this comes first."""
    return Send({"method": "GET", "path": "/event", "body": None})


def create_session(permission_mode: str | None) -> Send:
    return _post("/session", {"permission": rules(permission_mode)})


def get_session(session: str) -> Send:
    return Send({"method": "GET", "path": f"/session/{session}", "body": None})


class Chosen(Struct):
    """What each prompt says: the model and the agent of a session are not used by its prompts (capture 24)."""

    model: str | None = None
    variant: str | None = None
    agent: str | None = None

    def body(self) -> dict[str, Any]:
        told = {"model": native_model(self.model) if self.model else None, "variant": self.variant, "agent": self.agent}
        return {name: value for name, value in told.items() if value is not None}


def prompt(session: str, text: str, files: list[Attachment], chosen: Chosen, cwd: str | None) -> Send:
    parts = [{"type": "text", "text": text}, *(_file(file, cwd) for file in files)]
    return _post(f"/session/{session}/prompt_async", {"parts": parts} | chosen.body())


def native_model(model: str) -> dict[str, str]:
    provider, slash, name = model.partition("/")
    if not (provider and slash and name):
        raise Refused(f"OpenCode's models are called provider/model, and {model!r} is not")
    return {"providerID": provider, "modelID": name}


def _file(file: Attachment, cwd: str | None) -> dict[str, Any]:
    mime = file.mime or blobs.mime_of(file.path)
    name = file.filename or file.path.rpartition("/")[2]
    if file.content is not None and (blobs.is_image(mime) or mime in _SEEN):
        return {"type": "file", "mime": mime, "filename": name, "url": data_url(file.content, str(mime))}
    path = file.path if file.path.startswith("/") or cwd is None else f"{cwd.rstrip('/')}/{file.path}"
    is_seen = blobs.is_image(mime) or mime in _SEEN
    return {"type": "file", "mime": mime if is_seen else "text/plain", "filename": name, "url": f"file://{_quoted(path)}"}


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3F").replace("#", "%23").replace(" ", "%20")


def reply_permission(id: str, reply: str, message: str | None) -> Send:
    return _post(f"/permission/{id}/reply", {"reply": reply} | ({"message": message} if message else {}))


def reply_question(id: str, answers: list[list[str]]) -> Send:
    return _post(f"/question/{id}/reply", {"answers": answers})


def reject_question(id: str) -> Send:
    return _post(f"/question/{id}/reject", None)


def abort(session: str) -> Send:
    return _post(f"/session/{session}/abort", None)


def _post(path: str, body: Any) -> Send:
    return Send({"method": "POST", "path": path, "body": body})
