"""Content blocks of Pi's assistant messages: streamed by index, then told whole by `message_end`.

The end of a message is authoritative: an extension may have rewritten it, an abort cuts a block
that nevertheless got its `text_end` (15), and deltas do not always add up (13c). So blocks are
completed there and only there. A block is opened by its first words: what never gets any (an
empty block of anthropic's, 01b; encrypted thinking) has nothing to show before the end.
"""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.pi import plain
from onetape.agents.pi.content import arguments, tool_name
from onetape.agents.pi.results import shell_of
from onetape.errors import Unparsed
from onetape.schema import Visibility

# A reply that did not come to its end; its last block is cut.
CUT = frozenset({"error", "aborted"})


# What stands for redacted thinking, which has no other words (13b; pi-ai: anthropic and bedrock).
REDACTED = "[Reasoning redacted]"


# The type is a field of each and no tag: a line that names none is not of this shape.
class TextDelta(Struct, frozen=True, gc=False):
    type: Literal["text_delta"]
    contentIndex: int
    delta: str


class HotDelta(Struct, frozen=True, gc=False):
    """What matters of a line that brings an answer's next words."""

    type: Literal["message_update"]
    assistantMessageEvent: TextDelta


class Blocks:
    def __init__(self, cwd: str | None) -> None:
        self.cwd = cwd
        self._message = 0
        self._open: set[int] = set()

    def begin(self) -> list[d.Draft]:
        """A message starts. One that never ended is abandoned (0.73.1 forgets a run on `new_session`, 31)."""
        abandoned = self._abandon()
        self._message += 1
        return abandoned

    def words(self, at: int, text: str) -> d.Add | None:
        return d.Add((self._message, at), text) if at in self._open else None

    def often(self, event: plain.Update) -> list[d.Draft] | None:
        """`update`, of what comes often."""
        if isinstance(event, (plain.TextDelta, plain.ThinkingDelta)):
            at = event.contentIndex
            visibility: Visibility | None = None if isinstance(event, plain.TextDelta) else "public"
            opened = [self._opened(at, visibility)] if event.delta and at not in self._open else []
            return [*opened, d.Add((self._message, at), event.delta)]
        if isinstance(event, plain.CallStart):
            return [d.Call(event.id, tool_name(event.toolName), message=self._message)] if event.id else None
        return []

    def update(self, event: dict[str, Any]) -> Iterable[d.Draft]:
        kind, at = event.get("type"), event.get("contentIndex")
        match kind:
            case "text_delta" | "thinking_delta" if isinstance(at, int) and isinstance(words := event.get("delta"), str):
                opened = [self._opened(at, "public" if kind == "thinking_delta" else None)] if words and at not in self._open else []
                return [*opened, d.Add((self._message, at), words)]
            case "text_start" | "text_end" | "thinking_start" | "toolcall_delta" | "toolcall_end" if isinstance(at, int):
                return ()  # the first words open a block, the end of the message completes it; no deltas of arguments
            case "toolcall_start" if (id := event.get("id")) and isinstance(id, str) and isinstance(name := event.get("toolName"), str):
                return [d.Call(id, tool_name(name), message=self._message)]
            case _:
                return self._seldom(event)

    def _seldom(self, event: dict[str, Any]) -> Iterable[d.Draft]:
        match event.get("type"), event:
            case "toolcall_start", {"contentIndex": int() as at, "partial": {"content": [*blocks]}}:
                return self._named(blocks[at])  # 0.73.1
            case "toolcall_start", {"contentIndex": int()}:
                return ()  # named when it is whole
            case "thinking_end", {"contentIndex": int() as at, "content": str() as words} if words == REDACTED and at not in self._open:
                return [self._opened(at, "private")]  # now, so that it stands before the words that follow, and over their calls
            case "thinking_end", {"contentIndex": int()}:
                return ()  # its words opened it
            case "start" | "done" | "error", _:
                return ()  # published, but the agent loop tells them as the start and the end of the message
            case "text_delta" | "thinking_delta" | "toolcall_start" | "toolcall_delta" as kind, _:
                raise Unparsed(f"message_update/{kind} without the fields it must have")
            case _:
                return [d.Unknown({"type": "message_update", "assistantMessageEvent": event})]

    def whole(self, content: Any, reason: str, native_id: str | None = None) -> list[d.Draft]:
        """The blocks of a finished message, streamed before or not."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        cut = reason in CUT
        told: list[d.Draft] = []
        for at, block in enumerate(blocks):
            told += self._done(at, block, native_id, cut=cut and at == len(blocks) - 1)
            if cut and block["type"] == "toolCall":
                told.append(d.Result(block["id"], failed=True))  # no call of a broken reply is ever run
        return told + self._abandon()

    def finished(self, blocks: list[plain.Block]) -> list[d.Draft]:
        """`whole`, of what most messages are made of."""
        told: list[d.Draft] = []
        for at, block in enumerate(blocks):
            if isinstance(block, plain.Text):
                told += self._said(at, block.text, None, None, cut=False)
            elif isinstance(block, plain.ToolCall):
                told.append(self._called(block.id, block.name, block.arguments))
            else:
                told += self._thought(at, block.thinking, block.redacted, block.thinkingSignature, None, cut=False)
        return told + self._abandon() if self._open else told

    def _called(self, id: str, name: str, args: Any, *, cut: bool = False) -> d.Call:
        return d.Call(id, tool_name(name), None if cut else arguments(args), self._message, shell=shell_of(name, args, self.cwd))

    def _thought(self, at: int, words: str, redacted: Any, signature: Any, native_id: str | None, *, cut: bool) -> list[d.Draft]:
        hidden = bool(redacted) or (not words and bool(signature))
        return self._said(at, "" if hidden else words, "private" if hidden else "public", native_id, cut=cut)

    def _done(self, at: int, block: Any, native_id: str | None, *, cut: bool) -> list[d.Draft]:
        match block.get("type") if isinstance(block, dict) else None:
            case "text" if isinstance(words := block.get("text"), str):
                return self._said(at, words, None, native_id, cut=cut)
            case "toolCall" if (
                isinstance(id := block.get("id"), str) and isinstance(name := block.get("name"), str) and "arguments" in block
            ):
                return [self._called(id, name, block["arguments"], cut=cut)]
            case "thinking" if isinstance(words := block.get("thinking"), str):
                return self._thought(at, words, block.get("redacted"), block.get("thinkingSignature"), native_id, cut=cut)
            case "text" | "thinking" | "toolCall" as kind:
                raise Unparsed(f"a {kind} block without the fields it must have")
            case _:
                return [d.Unknown(block)]

    def _said(self, at: int, words: str, visibility: Visibility | None, native_id: str | None, *, cut: bool) -> list[d.Draft]:
        closed = d.Close((self._message, at), words, "failed" if cut else "completed")
        if at in self._open:
            self._open.discard(at)
            return [closed]
        if not words and visibility != "private":
            return []
        return [d.Open((self._message, at), visibility, self._message, native_id=native_id), closed]

    def _opened(self, at: int, visibility: Visibility | None) -> d.Open:
        self._open.add(at)
        return d.Open((self._message, at), visibility, self._message)

    def _named(self, block: Any) -> list[d.Draft]:
        match block:
            case {"id": str() as id, "name": str() as name} if id and name:
                return [d.Call(id, tool_name(name), message=self._message)]
            case _:
                return []  # the provider names it later

    def _abandon(self) -> list[d.Draft]:
        if not self._open:
            return []  # nearly always
        left: list[d.Draft] = [d.Close((self._message, at), status="failed") for at in sorted(self._open)]
        self._open.clear()
        return left
