"""What Pi's wires and its session files have in common: messages beside the dialogue, results, usage, identity."""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.pi.blocks import Blocks
from onetape.agents.pi.content import images_of, text_of, tool_name
from onetape.agents.pi.notices import Notices, bash
from onetape.agents.pi.results import Tool, result_of
from onetape.agents.pi.usage import Meter
from onetape.errors import Unparsed
from onetape.schema import Text, TurnStatus
from onetape.tape import Head
from onetape.translator import Translator


class Conversation(Translator):
    title = "Pi"

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._blocks = Blocks(head.cwd)
        self._notices = Notices()
        self._meter = Meter()
        self._known: dict[str, Any] = {}
        """What Pi told of itself: model, provider, variant, tools, cwd."""

    def _know(self, **facts: Any) -> Iterator[d.Draft]:
        """Announces Pi where it told something new of itself."""
        told = self._known | {name: fact for name, fact in facts.items() if fact is not None}
        if told != self._known:
            self._known = told
            yield d.Announce(dict(told))

    def _model_now(self, id: str, provider: Any) -> Iterator[d.Draft]:
        if self._known.get("model") != id:
            self._known |= {"model": id, "provider": provider}
            yield d.Note("model", id)

    def _variant_now(self, level: str) -> Iterator[d.Draft]:
        if self._known.get("variant") != level:
            self._known["variant"] = level
            yield d.Note("model", f"thinking {level}", {"variant": level})

    def _aside(self, message: dict[str, Any], native_id: str | None = None) -> Iterator[d.Draft]:
        """A message that neither the user nor the model wrote."""
        match message:
            case {"role": "system"}:
                yield from self._tools(message)
            case {"role": "custom" | "hookMessage", "content": content}:  # hookMessage: session files before version 3
                images, kept = images_of(content)
                yield from kept
                yield d.System([Text(text_of(content)), *images], native_id)
            case {"role": "bashExecution", "command": str() as command}:
                yield bash(command, message, native_id)
            case {"role": "compactionSummary" | "branchSummary"}:
                pass  # what the model sees of a summary, which is told by itself
            case {"role": "assistant" | "user" | "toolResult" | "custom" | "hookMessage" | "bashExecution" as role}:
                raise Unparsed(f"a message of role {role} without the fields it must have")
            case _:
                yield d.Unknown(message)  # hosts may add roles of their own (docs/message-types.md)

    def _tools(self, message: dict[str, Any]) -> Iterator[d.Draft]:
        """The prompt is the vendor's and makes no item; which tools there are is part of who Pi is."""
        gone = {tool_name(tool["name"]) for tool in message.get("toolsRemoved") or ()}
        kept = [name for name in self._known.get("tools", ()) if name not in gone]
        come = [name for tool in message.get("toolsAdded") or () if (name := tool_name(tool["name"])) not in kept]
        if kept or come:
            yield from self._know(tools=kept + come)

    def _result(self, id: str, tool: Tool, told: dict[str, Any], *, failed: bool, refused: bool = False) -> list[d.Draft]:
        drafts = result_of(id, tool, told, self._blocks.cwd, failed=failed, refused=refused)
        match told.get("details"):
            case {"todos": [*_] as todos} if not failed:
                drafts += self._notices.plan(todos)
            case _:
                pass
        return drafts


def outcome(last: dict[str, Any], aborted: bool | None = None, *, asked: bool = False) -> TurnStatus:
    """How a turn ended, by its last message. `aborted`: what Pi says (1.x); `asked`: whether an abort was sent."""
    reason, why = last.get("stopReason"), str(last.get("errorMessage") or "")
    if aborted or reason == "aborted":
        return "interrupted"
    if reason != "error":
        return "completed"
    # An abort during a tool makes Pi call the model once more, which fails with these words (15b).
    is_abort = aborted is None and (asked or why.endswith("operation was aborted"))
    return "interrupted" if is_abort else "failed"
