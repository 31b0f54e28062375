"""Claude Code's work beside the main loop, live: subagents, and commands in the background.

Both are `task_*` messages. A subagent is known by its task's id, and its lines name the call that started it. A
command is one too once it runs in the background, or for longer than 3 s in the foreground: that one has its result.
"""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.claude.encode import arguments
from onetape.errors import Unparsed
from onetape.recent import Recent
from onetape.schema import ContentPart, Text

SUBTYPES = frozenset({"task_started", "task_progress", "task_updated", "task_notification"})
REMEMBERED = 256


class Work:
    def __init__(self) -> None:
        self._told: Recent[str, None] = Recent(4096)
        """Calls that were named."""
        self._agents: Recent[str, str] = Recent(REMEMBERED)
        """The call of each subagent."""
        self._prompts: Recent[str, str] = Recent(REMEMBERED)
        self._early: Recent[str, list[d.Draft]] = Recent(REMEMBERED)
        """What was told of a call before it was named: 2.1.197 tells a nested subagent first."""
        self._commands: Recent[str, None] = Recent(REMEMBERED)
        """Commands in the background, by their tasks."""
        self._stopped: set[str] = set()
        """Calls of subagents that were stopped: their last lines follow, even after the turn's result."""

    # --- what other messages say of it ----

    def named(self, call: str) -> list[d.Draft]:
        """A call is named: what was told of it too early."""
        self._told[call] = None
        return self._early.pop(call, []) if self._early else []

    def is_named(self, call: str) -> bool:
        return call in self._told

    def spoke(self, agent: Any, under: str | None) -> None:
        if isinstance(agent, str) and under is not None:
            self._agents[agent] = under

    def call_of(self, agent: Any) -> str | None:
        return self._agents.get(agent) if isinstance(agent, str) else None

    def prompt(self, call: str, words: str, parts: list[ContentPart], id: str | None = None) -> Iterator[d.Draft]:
        """A subagent's prompt, which comes with its start and again as its first message."""
        if self._prompts.get(call) != words:
            self._prompts[call] = words
            yield d.UserMessage(parts, id, call)

    def result(self, told: Any) -> None:
        if isinstance(told, dict) and isinstance(task := told.get("backgroundTaskId"), str):
            self._commands[task] = None

    def settled(self, call: str | None = None) -> Iterator[d.Draft]:
        """Nothing more follows of a subagent that was stopped; of none, where another turn begins."""
        over = self._stopped if call is None else self._stopped & {call}
        self._stopped = self._stopped - over
        yield from map(d.Settled, sorted(over))

    # --- what it says itself -----

    def read(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        match native:
            case {"subtype": "task_started" | "task_notification" | "task_progress", "skip_transcript": True}:
                pass  # housekeeping of its own, which it asks not to show
            case {"subtype": "task_started", "task_id": str(task)}:
                yield from self._started(task, native)
            case {"subtype": "task_updated", "task_id": str(task), "patch": {"is_backgrounded": True}} if task in self._agents:
                yield d.Running(self._agents[task], background=True)  # sent there in mid-run
            case {"subtype": "task_updated"}:
                pass  # its notification follows
            case {"subtype": "task_progress", "task_id": str(task), "description": str(doing)}:
                yield d.Note("progress", doing, native.get("usage"), self._agents.get(task) or native.get("tool_use_id"))
            case {"subtype": "task_notification", "task_id": str(task), "status": str(status)}:
                yield from self._over(task, status, native)
            case _:
                raise Unparsed(f"system/{native['subtype']} without the fields it must have")

    def _started(self, task: str, native: dict[str, Any]) -> Iterator[d.Draft]:
        call = native.get("tool_use_id")
        if native.get("task_type") == "local_bash":
            if native.get("is_backgrounded"):
                self._commands[task] = None
            elif call:
                yield d.Running(call)
            return
        if task in self._agents:
            call = self._agents[task]  # resumed by a message to it: its lines still name the call that first started it
        elif call is None:  # known only by this notice: it gets a call of its own
            call = task
            told = arguments({"description": native.get("description"), "prompt": native.get("prompt")})
            yield d.Call(call, "Task", told, under=self.call_of(native.get("parent_task_id")), background=True)
            self._told[call] = None
        self._agents[task] = call
        opening = list(self._opening(call, native, in_background=bool(native.get("is_backgrounded")) or call == task))
        if call in self._told:
            yield from opening
        else:
            self._early[call] = opening

    def _opening(self, call: str, native: dict[str, Any], *, in_background: bool) -> Iterator[d.Draft]:
        if in_background:
            yield d.Running(call, background=True)
        if isinstance(prompt := native.get("prompt"), str) and prompt:
            yield from self.prompt(call, prompt, [Text(prompt)])

    def _over(self, task: str, status: str, native: dict[str, Any]) -> Iterator[d.Draft]:
        summary = str(native.get("summary") or status)
        # A command says how it ended, unless it was stopped.
        detail = f"{status}: {summary}" if summary != status and (task in self._agents or status == "stopped") else summary
        if task not in self._agents:
            if native.get("output_file") or task in self._commands:
                yield d.Note("notice", detail, failed=status != "completed")
            return
        call = self._agents[task]
        yield from self.named(call)
        if call == task:
            yield d.Result(call, summary, failed=status != "completed")
        if status == "stopped":
            self._stopped.add(call)
        else:
            yield d.Settled(call)
        yield d.Note("subagent", detail, native.get("usage"), call, failed=status != "completed")
