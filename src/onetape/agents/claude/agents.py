"""Which call a subagent's line belongs to, in Claude Code's history.

2.1 writes a file per subagent, and beside it one that names the call; late 2.0 a
file alone; 1.x writes the lines into the session's own file. So a line is known
by its agent's id, by the call that was introduced just before it, by the prompt
that a call was given, or by the line that it follows.
"""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.claude.content import AGENTS, tag, text_of
from onetape.agents.claude.encode import arguments
from onetape.recent import Recent

REMEMBERED = 4096


class Delegations:
    def __init__(self) -> None:
        self._introduced: str | None = None
        self._by_agent: Recent[str, str] = Recent(REMEMBERED)
        self._by_line: Recent[str, str] = Recent(REMEMBERED)
        self._by_prompt: Recent[str, list[str]] = Recent(REMEMBERED)
        self._calls: Recent[str, None] = Recent(REMEMBERED)

    def call(self, id: str, tool: str, args: dict[str, Any]) -> None:
        if tool in AGENTS:
            self._calls[id] = None
            self._by_prompt.setdefault(str(args.get("prompt")).strip(), []).append(id)

    def introduce(self, call: Any) -> None:
        """The next line of an agent yet unknown is of this call's."""
        self._introduced = call if isinstance(call, str) else None

    def progress(self, native: dict[str, Any]) -> None:
        match native:
            case {"data": {"agentId": str(agent)}, "parentToolUseID": str(call)}:
                self._by_agent[agent] = call
            case _:
                pass

    def notified(self, words: str) -> Iterator[d.Draft]:
        """A report that background work is over."""
        task, status = tag("task-id", words) or "", tag("status", words) or "completed"
        call = self._by_agent.get(task) or tag("tool-use-id", words)
        said = tag("result", words) or tag("summary", words) or status
        if call is None or call not in self._calls:
            yield d.Note("notice", said, failed=status == "failed")  # a command in the background
            return
        yield d.Settled(call)
        tags = {"total_tokens": "subagent_tokens", "tool_uses": "tool_uses", "duration_ms": "duration_ms"}
        usage = {name: int(count) for name, spelt in tags.items() if (count := tag(spelt, words)) and count.isdigit()}
        yield d.Note("subagent", f"{status}: {said}", usage or None, call, failed=status != "completed")

    def nest(self, native: dict[str, Any]) -> tuple[str | None, Iterator[d.Draft]]:
        """The call that this line is nested in, and what must be said first where nothing told of it."""
        if not native.get("isSidechain"):
            return None, iter(())
        agent, line = str(native.get("agentId") or ""), str(native.get("uuid") or "")
        call = self._by_agent.get(agent) or self._by_line.get(str(native.get("parentUuid"))) or self._introduced or self._prompted(native)
        opening: Iterator[d.Draft] = iter(())
        if call is None:
            call = agent or line
            opening = iter([d.Call(call, "Task", arguments({"prompt": _words(native)}))])
        self._introduced = None
        self._calls[call] = None
        self._by_line[line] = call
        if agent:
            self._by_agent[agent] = call
        return call, opening

    def _prompted(self, native: dict[str, Any]) -> str | None:
        waiting = self._by_prompt.get(_words(native).strip())
        return waiting.pop(0) if waiting else None


def _words(native: dict[str, Any]) -> str:
    message = native.get("message")
    return text_of(message.get("content")) if isinstance(message, dict) else ""
