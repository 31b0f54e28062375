"""The tool calls whose results are awaited, in both dialects of Claude Code.

A result names its call by id alone. What it means (a command's run, a file's
diff, a new task list) depends on the tool and its arguments, kept here until then.
"""

from typing import Any

from onetape import drafts as d
from onetape.agents.claude.content import TaskList, call_of
from onetape.agents.claude.results import result_of

_NOBODYS: tuple[str, dict[str, Any]] = ("", {})
"""What a result whose call was not seen is taken for."""


class Tools:
    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self._awaited: set[str] = set()
        """Those of the main loop, in this turn."""
        self._amended: dict[str, dict[str, Any]] = {}
        self._tasks = TaskList()

    @property
    def are_awaited(self) -> bool:
        """Whether the turn must go on: calls of its own have no results yet."""
        return bool(self._awaited)

    def note(self, block: Any, under: str | None) -> str | None:
        """Remembers a content block if it is a call; its id."""
        match block.get("type"):
            case "tool_use" | "server_tool_use" | "mcp_tool_use" as kind if isinstance(args := block.get("input"), dict):
                if (called := call_of(block)) is None:
                    return None
                self.called(*called, args, under, is_awaited=kind == "tool_use")
                return called[0]
            case _:
                return None

    def called(self, id: str, name: str, args: dict[str, Any], under: str | None, *, is_awaited: bool = True) -> None:
        self._calls[id] = name, args
        if is_awaited and under is None:
            self._awaited.add(id)

    def call(self, id: str) -> tuple[str, dict[str, Any]]:
        """The tool and the arguments of a call that awaits its result."""
        return self._calls.get(id, _NOBODYS)

    def amend(self, id: Any, args: dict[str, Any] | None) -> None:
        """Who allowed a call changed its arguments: it runs with these, whatever the model wrote."""
        if isinstance(id, str) and args is not None:
            self._amended[id] = args

    def end_turn(self) -> None:
        self._awaited.clear()

    def forget_tasks(self) -> None:
        self._tasks = TaskList()

    def result_of(self, block: dict[str, Any], told: Any, meta: Any, under: str | None) -> list[d.Draft]:
        """What one `tool_result` block says; `told` and `meta` are the structure beside it."""
        return self.result(block["tool_use_id"], block.get("content"), bool(block.get("is_error")), told, meta, under)

    def result(self, id: str, content: Any, failed: bool, told: Any, meta: Any, under: str | None) -> list[d.Draft]:
        tool, args = self._calls.pop(id, _NOBODYS)
        args = self._amended.pop(id, args)
        self._awaited.discard(id)
        result, kept = result_of(tool, args, id, content, failed, told, meta)
        said: list[d.Draft] = [*kept, result]
        if isinstance(told, dict) and told.get("status") in ("async_launched", "remote_launched"):
            said.insert(0, d.Running(id, background=True))
        if not result.failed and (tasks := self._tasks.after(tool, args, told, result.output or "")) is not None:
            said.append(d.Note("plan", json=tasks, under=under))
        return said
