"""Content blocks of Amp's messages: the wire and the thread file speak in the same ones, in different envelopes.

Only tool calls have ids. A message has none on the wire, so that messages are counted here.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from onetape import blobs
from onetape import drafts as d
from onetape.agents.amp import plain
from onetape.agents.amp.results import SHELLS, Told, document, shell_of
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image, ItemStatus, Text

# Tools that run an agent of their own. It works unseen: what shows of it are its asks (helper.py).
SUBAGENTS = frozenset({"Task", "oracle", "finder", "librarian", "look_at", "kraken", "Check", "code_review", "reviewer", "handoff"})
_ON_STDIN, _FENCE = "Input received on stdin:\n```\n", "\n```"


class Call(Struct):
    tool: str
    args: dict[str, Any]
    is_asked: bool = False


_NO_CALL = Call("", {})


class Conversation:
    """Blocks into drafts, with the calls that wait for their results."""

    def __init__(self) -> None:
        self._count = 0
        self._told = Told()
        self._calls: dict[str, Call] = {}

    # --- assistant ----------------------------------------------------------

    def assistant(
        self, blocks: Iterable[Any], *, cut_off: bool = False, under: str | None = None, native_id: str | None = None
    ) -> list[d.Draft]:
        """`cut_off`: the answer stopped before its end, so that what is text in it has failed."""
        if native_id is not None and type(native_id) is not str:
            raise Unparsed("a message's id that is none")
        self._count += 1
        message = self._count
        told: list[d.Draft] = []
        status: ItemStatus = "failed" if cut_off else "completed"
        for block in blocks:
            match block.get("type") if type(block) is dict else None:
                case "text":
                    if words := _words(block, "text"):
                        told.append(d.Spoken(words, None, message, under, native_id, status))
                case "tool_use":
                    told.append(self._use(block, message, under))
                case "thinking":
                    told.append(d.Spoken(_words(block, "thinking"), "public", message, under, native_id, status))
                case "redacted_thinking":
                    told.append(d.Spoken("", "private", message, under, native_id, status))
                case _:
                    told.append(d.Unknown(block))
        return told

    def answered(self, blocks: list[plain.Text | plain.Thinking | plain.Use], under: str | None) -> list[d.Draft]:
        """The same of a message as most are."""
        self._count += 1
        message = self._count
        told: list[d.Draft] = []
        for block in blocks:
            if isinstance(block, plain.Text):
                if words := block.text:
                    told.append(d.Spoken(words, None, message, under))
            elif isinstance(block, plain.Use):
                told.append(self._used(block.id, block.name, block.input, True, message, under))
            else:
                told.append(d.Spoken(block.thinking, "public", message, under))
        return told

    def _use(self, block: dict[str, Any], message: int, under: str | None) -> d.Call:
        id, tool, args = block.get("id"), block.get("name"), block.get("input")
        is_final = _is_whole(block)
        if type(id) is not str or type(tool) is not str or (is_final and type(args) is not dict):
            raise Unparsed("a tool_use block without the fields it must have")
        return self._used(id, tool, args if type(args) is dict else {}, is_final, message, under)

    def _used(self, id: str, tool: str, args: dict[str, Any], is_final: bool, message: int, under: str | None) -> d.Call:
        self._calls[id] = Call(tool, args)
        shell = shell_of(tool, args) if tool in SHELLS else None
        return d.Call(id, tool_name(tool), arguments(args) if is_final else None, message, under, None, shell)

    # --- results ------------------------------------------------------------

    def tool_of(self, call_id: str | None) -> str:
        return self._calls[call_id].tool if call_id in self._calls else ""

    def answered_by(self, call_id: str, content: Any, *, failed: bool) -> list[d.Draft]:
        """A result on the wire, where most documents are text."""
        call = self._calls.pop(call_id, None) or _NO_CALL
        value = document(call.tool, content) if type(content) is str else content
        return self._told.result(call_id, call.tool, call.args, value, failed=failed)

    def result(self, call_id: str, value: Any, *, failed: bool) -> list[d.Draft]:
        call = self._calls.pop(call_id, None) or _NO_CALL
        return self._told.result(call_id, call.tool, call.args, value, failed=failed)

    def over(self) -> None:
        """The turn is over: no call waits any longer."""
        self._calls.clear()

    # --- asks ---------------------------------------------------------------

    def asked(self, tool: str, args: Any, call_id: str | None) -> tuple[str | None, str | None]:
        """The call that a permission is asked for, and the call whose subagent asks for it."""
        if call_id is None:  # the September build does not tell it
            alike = (id for id, call in self._calls.items() if not call.is_asked and call.tool == tool and call.args == args)
            call_id = next(alike, None)
        if call_id in self._calls:
            self._calls[call_id].is_asked = True
            return call_id, None
        # No such call: its message is yet to come, or it is a subagent's and never will.
        return call_id, next((id for id, call in reversed(self._calls.items()) if call.tool in SUBAGENTS), None)


def _words(block: dict[str, Any], kind: str) -> str:
    """A block of words holds them under the name of its kind."""
    words = block.get(kind)
    if type(words) is not str:
        raise Unparsed(f"a {kind} block without the fields it must have")
    return words


def _is_whole(call: dict[str, Any]) -> bool:
    """A thread file marks a call whose arguments did not come to an end, and may hold none (January's own test for it)."""
    return call["complete"] is not False if "complete" in call else "inputPartialJSON" not in call


# --- user -------------------------------------------------------------------


def user_parts(blocks: Iterable[Any]) -> tuple[list[ContentPart], list[d.Blob]]:
    """The parts of a user message, and the bytes that they name."""
    parts: list[ContentPart] = []
    kept: list[d.Blob] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as words} if parts and (path := _mention(words)):
                parts.append(FileRef(path, "read"))
            case {"type": "text", "text": str() as words}:
                parts.append(Text(words))
            case {"type": "image", "source": {"type": "base64", "data": str() as data} as source}:
                mime = source.get("media_type") or source.get("mediaType")
                kept.append(blobs.from_base64(data, mime))
                parts.append(Image(blobs.path_of(kept[-1]), mime))
            case {"type": "image", "source": {"type": "url", "url": str() as url}}:
                parts.append(Image(url))
            case _:
                raise Unparsed("a user's block that is neither text nor an image")
    return _as_sent(parts), kept


def mention(path: str) -> str:
    """The block that attaches a file: Amp reads it. A space needs a backslash (measured with the May build)."""
    return "@" + path.replace(" ", "\\ ")


def _mention(words: str) -> str | None:
    """The file that a block of its own attaches. Within a text, an @ may be anything."""
    path = words.removeprefix("@").replace("\\ ", "\0")
    return path.replace("\0", " ") if words.startswith("@") and path and not any(letter.isspace() for letter in path) else None


def _as_sent(parts: list[ContentPart]) -> list[ContentPart]:
    """Prompt and stdin of a one-shot run, which come as two texts, stdin first and dressed up."""
    match parts:
        case [Text(dressed), Text(prompt)] if dressed.startswith(_ON_STDIN) and dressed.endswith(_FENCE):
            return [Text(f"{prompt}\n{dressed.removeprefix(_ON_STDIN).removesuffix(_FENCE)}")]
        case []:
            return [Text("")]  # the echo of a message that was only images
        case _:
            return parts


# --- names ------------------------------------------------------------------


def tool_name(native: str) -> str:
    server, _, tool = native.removeprefix("mcp__").partition("__")
    return f"{server}.{tool}" if tool and native.startswith("mcp__") else native


def arguments(args: Any) -> str:
    return args if isinstance(args, str) else msgspec.json.encode(args).decode()
