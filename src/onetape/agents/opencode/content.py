"""Pieces that every dialect of OpenCode shares: models, errors, user parts, questions, plans, what a turn was billed."""

import base64
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from onetape import blobs
from onetape.agents.opencode import plain
from onetape.drafts import Blob
from onetape.schema import ContentPart, FileRef, Image, Option, Question, Text, Usage

# --- models and errors ------------------------------------------------------


def model_name(told: Any) -> str | None:
    """`provider/model`, as OpenCode's own options and settings spell it."""
    if not isinstance(told, dict):
        return None
    provider, model = told.get("providerID"), told.get("modelID")
    model = model if isinstance(model, str) else told.get("id")
    return f"{provider}/{model}" if isinstance(provider, str) and isinstance(model, str) else None


def is_abort(error: Any) -> bool:
    return isinstance(error, dict) and error.get("name") == "MessageAbortedError"


def words_of(error: Any) -> str:
    """What an error says: `{name, data: {message}}`, or of the newer API `{_tag, message}`."""
    match error:
        case {"data": {"message": str() as message}} | {"message": str() as message} if message:
            return message
        case {"name": str() as name} | {"_tag": str() as name}:
            return name
        case _:
            return str(error) if error else "unknown error"


def name_of(error: Any) -> str | None:
    name = (error.get("name") or error.get("_tag")) if isinstance(error, dict) else None
    return name if isinstance(name, str) else None


def details_of(error: Any) -> dict[str, Any] | None:
    data = (error.get("data") if isinstance(error, dict) else None) or {}
    kept = {key: data[key] for key in ("statusCode", "isRetryable", "responseBody", "providerID", "ref") if key in data}
    return kept or None


# --- files ------------------------------------------------------------------


def file_part(part: dict[str, Any]) -> tuple[ContentPart, Blob | None]:
    """An attachment: inline bytes go to the store, a file keeps its path."""
    mime, url = part.get("mime"), part["url"]
    if url.startswith("data:"):
        kept = _inline(url, mime)
        path = blobs.path_of(kept)
    else:
        kept, path = None, _path(url)
    return (Image(path, mime) if blobs.is_image(mime) else FileRef(path, "read")), kept


def _inline(url: str, mime: str | None) -> Blob:
    head, _, data = url.partition(",")
    if head.endswith(";base64"):
        return blobs.from_base64(data, mime)
    return blobs.blob(unquote_to_bytes(data), mime)


def _path(url: str) -> str:
    # `file:///project/main.py?start=1&end=3`: the range says which lines were read (capture 21).
    return unquote(urlsplit(url).path) if url.startswith("file://") else url


def data_url(content: bytes, mime: str) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def user_part(part: dict[str, Any]) -> tuple[ContentPart | None, Blob | None]:
    """A part of what the user sent; None for marks that its text repeats."""
    match part:
        case {"type": "text", "text": str() as text}:
            return Text(text), None
        case {"type": "file", "url": str()}:
            return file_part(part)
        case {"type": "subtask", "prompt": str() as prompt}:
            return Text(prompt), None  # a prompt for a subagent, sent past the model (capture 31)
        case _:
            return None, None


def is_the_users(part: dict[str, Any]) -> bool:
    # An image that was sent as a file is read by OpenCode, and put in its place as if it were OpenCode's own.
    return (not part.get("synthetic") or part["type"] == "file") and not part.get("ignored")


def said(parts: list[dict[str, Any]]) -> tuple[list[ContentPart], list[Blob]]:
    """What the user said, of all the parts of a user message."""
    told = [user_part(part) for part in parts if is_the_users(part)]
    return [part for part, _ in told if part is not None], [blob for _, blob in told if blob is not None]


# --- asks and plans ---------------------------------------------------------

APPROVE, REJECT = "approve", "reject"
_PLAN_ANSWERS = {"Yes": APPROVE, "No": REJECT}


def questions_of(asked: list[dict[str, Any]], *, is_plan: bool) -> list[Question]:
    return [
        Question(
            id=str(at),
            header=question.get("header"),
            prompt=question["question"],
            options=[
                Option(plan_answer(option["label"]) if is_plan else option["label"], option.get("description"))
                for option in question.get("options") or ()
            ],
            multi_select=bool(question.get("multiple")),
        )
        for at, question in enumerate(asked, start=1)
    ]


def plan_answer(native: str) -> str:
    """OpenCode asks Yes or No; for a client every agent's plan is approved or rejected."""
    return _PLAN_ANSWERS.get(native, native)


def native_plan_answer(answer: str) -> str:
    return next((native for native, ours in _PLAN_ANSWERS.items() if ours == answer), answer)


def plan_of(state: plain.State) -> list[dict[str, str]]:
    """The list that `todowrite` leaves behind."""
    todos = (state.metadata or {}).get("todos") or state.input.get("todos") or []
    return [{"text": str(todo.get("content") or ""), "status": _step(todo.get("status"))} for todo in todos]


def _step(status: Any) -> str:
    # A cancelled step is one that nobody will work on: nearer to done than to pending.
    return {"in_progress": "in_progress", "completed": "completed", "cancelled": "completed"}.get(str(status), "pending")


# --- usage ------------------------------------------------------------------


class Meter:
    """What was billed since the last turn ended: the sum of the steps, of subagents and compactions too.

    A `step-finish` tells one call of the model and is never cumulative; the totals of a
    session leave out its children. `input` is without cached tokens, `output` without reasoning.
    """

    def __init__(self) -> None:
        self._input = self._output = self._reasoning = self._read = self._written = 0
        self._cost: float | None = None
        self.model: str | None = None

    def add(self, tokens: plain.Tokens, cost: Any) -> None:
        reasoning, cached = tokens.reasoning, tokens.cache
        self._input += tokens.input
        self._output += tokens.output + reasoning
        self._reasoning += reasoning
        self._read += cached.read
        self._written += cached.write
        self._cost = (self._cost or 0.0) + (cost or 0.0)

    def take(self) -> Usage | None:
        """The usage of the turn that ends; None if no call of the model was finished in it."""
        if self._cost is None:
            return None
        cost = round(self._cost, 12)
        usage = Usage(self._input, self._output, self._reasoning, self._read, self._written, cost, self.model)
        self._input = self._output = self._reasoning = self._read = self._written = 0
        self._cost = None
        return usage
