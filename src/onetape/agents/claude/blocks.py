"""Content blocks of Claude Code's assistant messages: streamed piece by piece, then told whole.

With --include-partial-messages a block is opened by its `content_block_start`
and completed by an `assistant` line, which comes before its `content_block_stop`
and does not say its index; without, the line is all there is. Several lines
share one message id. Streams are kept apart by the subagent they belong to.
"""

from typing import Any, Literal

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.claude.content import SHELLS, call_of, text_of, tool_name
from onetape.agents.claude.encode import arguments
from onetape.errors import Unparsed
from onetape.schema import ContentPart, Reasoning, Visibility

# What the agent shows its user is public; what it may not show is private and has no text.
_VISIBILITY: dict[str, Visibility] = {"thinking": "public", "redacted_thinking": "private"}
# The pieces that bring words, and where.
_WORDS = {"text_delta": "text", "thinking_delta": "thinking"}


# The type is a field of each and no tag: a line that names none is not of this shape.
class TextDelta(Struct, frozen=True, gc=False):
    type: Literal["text_delta"]
    text: str


class NextWords(Struct, frozen=True, gc=False):
    type: Literal["content_block_delta"]
    index: int
    delta: TextDelta


class HotDelta(Struct, frozen=True, gc=False):
    """What matters of a line that brings an answer's next words."""

    type: Literal["stream_event"]
    event: NextWords
    session_id: str
    parent_tool_use_id: str | None = None


class Streamed(Struct):
    """A block that has begun and is not told whole yet."""

    key: tuple[str | None, str, int]
    kind: str
    call_id: str | None = None
    has_words: bool = False


class Blocks:
    def __init__(self) -> None:
        self._message: dict[str | None, str] = {}
        self._open: dict[tuple[str | None, int], Streamed] = {}
        self._count = 0

    def stream(self, event: dict[str, Any], under: str | None) -> list[d.Draft]:
        match event["type"], event:
            case "content_block_delta", _:
                return self._piece(event, under)
            case "content_block_start", {"index": int() as at, "content_block": {"type": str() as kind} as block}:
                return self._begin(at, kind, block, under)
            case "message_start", {"message": {"id": str() as id}}:
                abandoned = self.abandon(under)
                self._message[under] = id
                return abandoned
            case "content_block_stop", {"index": int() as at}:
                return self._end(at, under)
            case "content_block_stop" | "message_delta" | "message_stop" | "ping" | "error", _:
                return []  # ends that the whole block tells
            case "content_block_start" | "message_start" as kind, _:
                raise Unparsed(f"stream_event/{kind} without the fields it must have")
            case _:
                return [d.Unknown({"type": "stream_event", "event": event})]

    def _piece(self, event: dict[str, Any], under: str | None) -> list[d.Draft]:
        """Most are pieces of arguments, which the whole block tells, as it does signatures and citations."""
        at, delta = event.get("index"), event.get("delta")
        if not isinstance(at, int) or not isinstance(delta, dict):
            return []
        words = delta.get(_WORDS.get(str(delta.get("type"))))
        added = self.words(at, words, under) if isinstance(words, str) else None
        return [] if added is None else [added]

    def words(self, at: int, text: str, under: str | None) -> d.Add | None:
        block = self._open.get((under, at))
        if block is None:
            return None
        if not block.has_words:
            block.has_words = text != "" and not text.isspace()
        return d.Add(block.key, text)

    def _end(self, at: int, under: str | None) -> list[d.Draft]:
        """Its line came before. A text of blanks alone gets none; any other block without one was broken off."""
        block = self._open.get((under, at))
        if block is None or block.kind != "text" or block.has_words:
            return []
        del self._open[under, at]
        return [d.Close(block.key)]

    def _begin(self, at: int, kind: str, block: dict[str, Any], under: str | None) -> list[d.Draft]:
        message = self._message.get(under, "")
        self._count += 1
        key = (under, message, self._count)
        match block:
            case {"type": "text" | "thinking"}:
                self._open[under, at] = Streamed(key, kind)
                return [d.Open(key, _VISIBILITY.get(kind), message, under, message or None)]
            case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "id": str() as id, "name": str() as name}:
                self._open[under, at] = Streamed(key, kind, id)
                return [d.Call(id, tool_name(name), message=message, under=under)]
            case _:
                return []  # told whole by its line: redacted thinking, results of server tools

    def whole(self, message: str, block: Any, under: str | None, *, aborted: bool) -> list[d.Draft]:
        """A finished block, streamed before or not."""
        status: Any = "failed" if aborted else "completed"
        match block["type"]:  # by it alone, and the fields one by one: a pattern of three takes three times as long
            case "text" | "thinking" as kind if isinstance(words := block.get(kind), str):
                return self.said(message, kind, words, under, status)
            case "tool_use" | "server_tool_use" | "mcp_tool_use" if "input" in block and (called := call_of(block)):
                return [self.called(message, *called, block["input"], under, block.get("server_name"))]
            case "redacted_thinking" as kind:
                return self.said(message, kind, "", under, status)
            case str() as kind if kind.endswith("tool_result") and "content" in block and isinstance(id := block.get("tool_use_id"), str):
                content = block["content"]
                failed = bool(block.get("is_error")) or (isinstance(content, dict) and "error_code" in content)
                return [d.Result(id, _plain(content), failed=failed)]
            case "compaction" | "container_upload" | "fallback" as kind:
                return [d.Note("compaction" if kind == "compaction" else "notice", str(block.get("content") or kind), under=under)]
            case "text" | "thinking" | "tool_use" as kind:
                raise Unparsed(f"a {kind} block without the fields it must have")
            case _:
                return [d.Unknown(block)]

    def called(self, message: str, id: str, name: str, args: Any, under: str | None, server: Any = None) -> d.Call:
        if self._open:
            self._forget(lambda block: block.call_id == id)
        shell = d.Shell(_command(args)) if name in SHELLS else None
        return d.Call(id, f"{server}.{name}" if server else tool_name(name), arguments(args), message, under, None, shell)

    def said(self, message: str, kind: str, words: str, under: str | None, status: Any) -> list[d.Draft]:
        streamed = self._forget(lambda block: block.kind == kind and block.key[:2] == (under, message)) if self._open else None
        # Thinking without words was thought all the same: the program was not given it to show.
        hidden: list[ContentPart] | None = [Reasoning("", "private")] if kind == "thinking" and not words else None
        if streamed is not None:
            return [d.Close(streamed.key, words, status, hidden)]
        if not words and kind == "text":
            return []
        return [d.Spoken(words, "private" if hidden else _VISIBILITY.get(kind), message, under, message, status)]

    def abandon(self, under: str | None = None) -> list[d.Draft]:
        """A new attempt begins, or the turn is over: what was begun and never told whole has failed."""
        left = {place: block for place, block in self._open.items() if place[0] == under}
        for place in left:
            del self._open[place]
        return [d.Result(block.call_id, failed=True) if block.call_id else d.Close(block.key, status="failed") for block in left.values()]

    def _forget(self, wanted: Any) -> Streamed | None:
        """The oldest block that is meant, which is no longer waited for."""
        for place, block in self._open.items():
            if wanted(block):
                return self._open.pop(place)
        return None


def _plain(content: Any) -> str:
    """What a server's tool gave back: its words if it has only words, else its JSON."""
    match content:
        case str():
            return content
        case [*blocks] if blocks and all(block.get("type") == "text" for block in blocks):
            return text_of(blocks)
        case _:
            return arguments(content)


def _command(args: Any) -> str | None:
    command = args.get("command") if isinstance(args, dict) else None
    return command if isinstance(command, str) else None
