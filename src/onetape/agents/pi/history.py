"""Pi's session files (`~/.pi/agent/sessions`) into the transcript: a header, then entries that form a tree.

The reader (reader.py) lets only the branch through that is active, the others are silent on the
tape. Fed with a whole file line by line, all branches are told in the order of the file, with a
notice where another one begins.

A file does not tell where a turn ends; the last message does: one that calls no tools is the end.
A model call that failed or was cut short may be tried again: unless the provider refused it for
good, the turn stays open until the next entry, or the end of the file, tells. What the wire streams, asks and shows beside the conversation
is not in the file.
"""

import re
from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.pi.blocks import CUT
from onetape.agents.pi.changes import file_of
from onetape.agents.pi.content import arguments, tool_name, user_message
from onetape.agents.pi.conversation import Conversation, outcome
from onetape.agents.pi.notices import failure
from onetape.agents.pi.results import Tool, shell_of
from onetape.errors import Unparsed
from onetape.schema import Text
from onetape.tape import Head
from onetape.translator import Native, Outputs

# A message that came so many milliseconds after the last word of an open turn was no steering: those are written while Pi is at work,
# and it takes them up at once when the model is to be called.
PAUSE = 1000
ENTRIES = frozenset({
    "branch_summary", "compaction", "context_edit", "custom", "custom_message", "label", "message", "model_change", "session_info",
    "thinking_level_change", "usage",
})  # fmt: skip
# Refused for good: not a timeout, a conflict or a limit, and not for its length, which Pi mends by a compaction (27c).
_FINAL = re.compile(r"4(?!08|09|29)\d\d\b(?!.*(?:context|token|length|too l))", re.DOTALL | re.IGNORECASE)


class SessionFile(Conversation):
    dialect = "session"
    is_history = True

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._leaf: str | None = None
        self._is_announced = False
        self._calls: dict[str, Tool] = {}
        """Calls without a result."""
        self._waits_since: float | None = None
        """When the last message was written that a reply must follow, while none has."""
        self._unsettled: dict[str, Any] | None = None
        """The entry of a reply that failed or was cut short, while it may still be tried again."""

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"type": str(kind), "id": str(), "parentId": _, "timestamp": str()}:
                return not sent and kind in ENTRIES
            case {"type": "message", "message": {"role": str()}, "timestamp": str()}:
                return not sent  # version 1: a list, no tree
            case _:
                return False

    def _read(self, native: Native) -> Outputs:
        yield from self._branch(native)
        match native:
            case {"type": "message", "message": {"role": str()} as message}:
                yield from self._message(message, native)
            case {"type": "session", "id": str(id), "cwd": str(cwd)}:
                self._blocks.cwd = cwd
                yield d.NativeSession(id)
                yield from self._know(cwd=cwd)
            case {"type": "model_change", "modelId": str(id)}:
                yield from self._model_now(id, native.get("provider"))
            case {"type": "thinking_level_change", "thinkingLevel": str(level)}:
                yield from self._variant_now(level)
            case {"type": "compaction", "summary": str()}:
                self._waits_since = None  # it takes its time, and is work of Pi's: what was said meanwhile is steering
                self._meter.add(native.get("usage"))
                yield from self._notices.entry(native)
            case {"type": "branch_summary", "summary": str(summary)}:
                self._meter.add(native.get("usage"))
                yield d.System([Text(summary)], native.get("id"))
            case {"type": "context_edit", "targetId": str(target)}:
                if self._unsettled and self._unsettled.get("id") == target:
                    yield from self._tried_again()
            case {"type": "usage", "usage": {} as usage}:
                self._meter.add(usage)  # warming a cache, and the like
            case {"type": "custom"} | {"type": "custom_message", "content": _}:
                yield from self._notices.entry(native)
            case {"type": "session_info"}:
                if self._is_announced and native.get("name"):
                    yield d.Note("notice", f"session name: {native['name']}")
            case {"type": "label"}:
                pass  # a bookmark
            case {"type": str(kind)} if kind in ENTRIES or kind == "session":
                raise Unparsed(f"{kind} without the fields it must have")
            case _:
                yield d.Unknown(native)

    def _branch(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        parent, leaf = native.get("parentId", self._leaf), self._leaf
        self._leaf = leaf if native.get("type") == "session" else native.get("id", leaf)
        if leaf is not None and parent != leaf:
            self._calls.clear()
            self._unsettled = self._waits_since = None
            yield d.EndTurn("interrupted")
            yield d.Note("notice", f"another branch, from entry {parent}" if parent else "another branch, from the beginning")

    # --- identity ---

    def _know(self, **facts: Any) -> Iterator[d.Draft]:
        """Model, level and tools are the first entries: all that is known is announced with the first message."""
        if self._is_announced:
            yield from super()._know(**facts)
        else:
            self._known |= facts

    def _model_now(self, id: str, provider: Any) -> Iterator[d.Draft]:
        return super()._model_now(id, provider) if self._is_announced else self._know(model=id, provider=provider)

    def _variant_now(self, level: str) -> Iterator[d.Draft]:
        return super()._variant_now(level) if self._is_announced else self._know(variant=level)

    def _announced(self) -> Iterator[d.Draft]:
        if not self._is_announced:
            self._is_announced = True
            yield d.Announce(dict(self._known))

    # --- messages ---

    def _message(self, message: dict[str, Any], entry: dict[str, Any]) -> Outputs:
        match message:
            case {"role": "user", "content": content}:
                yield from self._announced()
                yield from self._user(content, message.get("timestamp"), entry.get("id"))
            case {"role": "assistant", "content": content, "stopReason": str(reason)}:
                yield from self._announced()
                yield from self._tried_again()
                self._unsettled = self._waits_since = None
                self._meter.add(message.get("usage"), message.get("model"))
                yield from self._blocks.begin()
                yield from self._blocks.whole(content, reason, entry.get("id"))
                yield from self._ends(message, entry)
            case {"role": "toolResult", "toolCallId": str(id), "toolName": str(name), "content": _, "isError": bool(failed)}:
                self._meter.add(message.get("usage"))
                self._waits(message.get("timestamp"))
                yield from self._nested(id, message.get("nestedCalls"))
                yield from self._result(id, self._calls.pop(id, Tool(name, {})), message, failed=failed)
            case _:
                yield from self._aside(message, entry.get("id"))

    def _user(self, content: Any, written: Any, id: str | None) -> Iterator[d.Draft]:
        yield from self._finish()
        # Pi answers all calls before it takes up a message: it died here, and was resumed. So it did where no reply came.
        if self._calls or (self._waits_since is not None and isinstance(written, int) and written - self._waits_since > PAUSE):
            self._calls.clear()
            self._waits_since = None
            yield d.EndTurn("interrupted", self._meter.read())
        self._waits(written)
        said = user_message(content)
        yield from said.kept
        yield d.UserMessage(said.parts, id)
        if said.added:
            yield d.System([Text(said.added)], id)

    def _waits(self, written: Any) -> None:
        if isinstance(written, int):
            self._waits_since = max(written, self._waits_since or 0)

    def _ends(self, message: dict[str, Any], entry: dict[str, Any]) -> Iterator[d.Draft]:
        """Remembers the calls of a reply, or ends the turn with it."""
        calls = [] if isinstance(message["content"], str) else [block for block in message["content"] if block["type"] == "toolCall"]
        if calls and message["stopReason"] not in CUT:
            # Whatever the reason: Pi goes by the calls. Not every provider says "toolUse", and a reply that was too long has some too.
            self._calls |= {call["id"]: Tool(call["name"], call["arguments"]) for call in calls}
            return
        is_final = _FINAL.match(str(message.get("errorMessage")))
        if (outcome(message) == "failed" and not is_final) or message["stopReason"] == "length":
            self._unsettled = entry  # it may be tried again, one that was cut short after a compaction
        else:
            yield self._over(message)

    def _tried_again(self) -> Iterator[d.Draft]:
        """It will be: Pi hides the reply from the model, or (0.73.1) the next reply is there."""
        last = self._unsettled or {"noted": True}
        if not last.get("noted") and last["message"]["stopReason"] == "error":
            self._unsettled = last | {"noted": True}
            yield d.Note("retry", str(last["message"].get("errorMessage")))

    def _finish(self) -> Iterator[d.Draft]:
        """No other reply followed: this was the last."""
        last, self._unsettled = self._unsettled, None
        if last is not None:
            yield self._over(last["message"])

    def _over(self, message: dict[str, Any]) -> d.EndTurn:
        status = outcome(message)
        if status != "failed":
            return d.EndTurn(status, self._meter.read())
        why, code = failure(str(message.get("errorMessage") or "the model call failed"))
        return d.EndTurn("failed", self._meter.read(), why, code)

    def _nested(self, outer: str, told: Any) -> Iterator[d.Draft]:
        """The calls that a tool made itself (codemode, 18b): the file keeps no more of them than this."""
        for call in told["calls"] if told else ():
            args = call.get("arguments")
            shell = shell_of(call["name"], args, self._blocks.cwd)
            yield d.Call(call["id"], tool_name(call["name"]), arguments(args if args is not None else {}), under=outer, shell=shell)
            if call.get("status") == "ok":
                file = file_of(call["name"], args, None)
                yield d.Result(call["id"], "", parts=(file,) if file else ())
            else:
                told = {"content": str(call.get("error") or ""), "durationMs": call.get("durationMs")}
                yield from self._result(call["id"], Tool(call["name"], args), told, failed=True)
