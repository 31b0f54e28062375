"""Tool calls of OpenCode: one part per call, told whole again with each change of its state.

pending (a name, no arguments) -> running (arguments; a command's output grows) ->
completed or error. Any of them may be the first that is seen, each repeats the
arguments, and the name may change on the way: a tool that does not exist becomes
`invalid` (capture 30).
"""

from typing import Any

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.opencode import plain
from onetape.agents.opencode.content import plan_of
from onetape.agents.opencode.results import Results, asked_shell
from onetape.agents.opencode.wire import BUILT_IN, INVALID, SHELL
from onetape.errors import Unparsed
from onetape.recent import Recent, forget_oldest
from onetape.schema import to_json

REMEMBERED = 4096
_ENDS = {"completed": "output", "error": "error"}
"""The states that a call ends in, and the field of each that tells what came of it."""


class Called(Struct):
    """A call, by its part."""

    call_id: str
    session: str
    message: str
    tool: str
    name: str
    input: dict[str, Any] | None = None
    streamed: str = ""
    shell: d.Shell | None = None
    """What its call told of a command."""
    is_running: bool = False
    is_background: bool = False
    is_done: bool = False
    has_failed: bool = False


class Calls:
    def __init__(self) -> None:
        self.results = Results()
        self.servers: dict[str, str] = {}
        """MCP servers whose names are known, by their spelling in the names of tools, for those with more than one underscore."""
        # Dicts whose oldest entries are forgotten in `_meet`: what remembers by itself takes longer than all else there.
        self._by_part: dict[str, Called] = {}
        self._by_native: dict[tuple[str, str], Called] = {}
        self._call_ids: dict[str, str] = {}
        self._children: Recent[str, str] = Recent(REMEMBERED)
        self._pending: dict[str, Called] = {}
        """By part: named, and without arguments yet."""

    # --- who asked ----------------------------------------------------------

    def find(self, message: Any, native_call: Any) -> Called | None:
        return self._by_native.get((str(message), str(native_call)))

    def of_child(self, session: str) -> str | None:
        """The call that started this session."""
        return self._children.get(session)

    def unclaimed_task(self) -> str | None:
        """A subagent's call that has not told its session yet: OpenCode tells it just before the subagent's first words."""
        claimed = set(self._children.values())
        tasks = (called for called in self._by_part.values() if called.tool == "task" and not called.is_done)
        return next((called.call_id for called in tasks if called.call_id not in claimed), None)

    def claim(self, session: str, call_id: str) -> None:
        self._children[session] = call_id

    # --- parts --------------------------------------------------------------

    def part(self, part: plain.Tool, under: str | None, cwd: str | None) -> list[d.Draft]:
        state, id = part.state, part.id
        called = self._by_part.get(id) or self._meet(part)
        if self._pending:
            self._pending.pop(id, None)
        status, args = state.status, state.input
        # By hand and not by patterns, each of which would look for its fields anew: nothing comes more often.
        if status == "running" and type(args) is dict:
            if called.input is None or part.tool != called.tool:
                return [self._call(called, part, under, args, cwd), *self._running(called, state)]
            return self._running(called, state)
        if status == "pending":
            self._pending[id] = called
            return [self._call(called, part, under, None, cwd)]
        outcome = _ENDS.get(status) if type(status) is str else None
        if outcome is not None and called.is_done:
            return []  # told again: its attempt was given up long ago, or a pruning marks its output as cleared
        if outcome is not None and type(getattr(state, outcome)) is str:
            if status == "error" and _never_ran(state):
                return self._ended(called, part, under, None, cwd)
            if type(args) is dict:
                return self._ended(called, part, under, args, cwd)
        raise Unparsed(f"a tool's state {status!r} without the fields it must have")

    def _ended(
        self, called: Called, part: plain.Tool, under: str | None, args: dict[str, Any] | None, cwd: str | None
    ) -> list[d.Draft]:
        is_known = args is not None and called.input is not None and part.tool == called.tool
        call = [] if is_known else [self._call(called, part, under, args, cwd)]
        return call + self._done(called, part.tool, part.state, under, cwd)

    def _meet(self, part: plain.Tool) -> Called:
        native, tool = part.callID, part.tool
        # Some models number their calls anew in each message; a part's own id is always unique.
        call_id = native if native not in self._call_ids else part.id
        self._call_ids[native] = part.id
        called = Called(call_id, part.sessionID, part.messageID, tool, self.name(tool, part.state.input))
        self._by_part[part.id] = called
        self._by_native[part.messageID, native] = called
        if len(self._by_part) > REMEMBERED:
            self._forget()
        return called

    def _forget(self) -> None:
        forget_oldest(self._by_part, REMEMBERED)
        forget_oldest(self._by_native, REMEMBERED)
        forget_oldest(self._call_ids, REMEMBERED)

    def name(self, tool: str, args: Any) -> str:
        """`server_tool` is `server.tool` for everybody; a tool that does not exist keeps the name the model gave it."""
        if tool == INVALID and isinstance(args, dict) and isinstance(args.get("tool"), str):
            tool = args["tool"]
            if "unavailable tool" in str(args.get("error")):
                return tool
        if tool in BUILT_IN or "_" not in tool:
            return tool
        known = max((server for server in self.servers if tool.startswith(f"{server}_")), key=len, default=tool.partition("_")[0])
        rest = tool[len(known) + 1 :]
        return f"{self.servers.get(known, known)}.{rest}" if known and rest else tool

    def _call(
        self, called: Called, part: plain.Tool, under: str | None, args: dict[str, Any] | None, cwd: str | None
    ) -> d.Call:
        called.input = args if args is not None else called.input
        if part.tool != called.tool:
            called.tool, called.name = part.tool, self.name(part.tool, args)
        arguments = None if args is None else to_json(args).decode()
        shell = asked_shell(args or {}, cwd) if part.tool == SHELL else None
        if args is not None:
            called.shell = shell
        return d.Call(called.call_id, called.name, arguments, part.messageID, under, None, shell)

    def _running(self, called: Called, state: plain.State) -> list[d.Draft]:
        tool, metadata = called.tool, state.metadata
        if tool == "task":
            self._told_child(called, metadata or {})
        told: list[d.Draft] = []
        if not called.is_running or called.is_background:
            called.is_running = True
            told.append(d.Running(called.call_id, called.is_background))
        if tool == SHELL and metadata and isinstance(output := metadata.get("output"), str):
            # A window of the last 30,000 characters, resent whole: once it slides, nothing can be added.
            if output.startswith(called.streamed):
                told.append(d.Output(called.call_id, output[len(called.streamed) :]))
            called.streamed = output
        return told

    def _done(self, called: Called, tool: str, state: plain.State, under: str | None, cwd: str | None) -> list[d.Draft]:
        told: list[d.Draft] = []
        called.is_done = True
        if called.tool == "task":
            self._told_child(called, state.metadata or {})
        if called.is_background:
            told.append(d.Running(called.call_id, background=True))
        asked = called.shell if state.input == called.input else None
        result, kept = self.results.of(called.call_id, tool, state, asked, cwd)
        called.has_failed = result.failed
        told += [*kept, result]
        if tool == "todowrite" and not result.failed:
            told.append(d.Note("plan", json=plan_of(state), under=under))
        return told

    def has_done(self, message: str) -> bool:
        """Whether a tool of this message did its work."""
        return any(called.message == message and called.is_done and not called.has_failed for called in self._by_part.values())

    def abandon(self, session: str, message: str | None = None) -> list[d.Draft]:
        """The attempt is given up: calls whose arguments had not come will never run. OpenCode says so when the message ends."""
        told: list[d.Draft] = []
        if not self._pending:
            return told
        for id, called in list(self._pending.items()):
            if called.session == session and message in (None, called.message):
                del self._pending[id]
                called.is_done = called.has_failed = True
                told.append(d.Result(called.call_id, failed=True))
        return told

    def _told_child(self, called: Called, told: dict[str, Any]) -> None:
        if isinstance(child := told.get("sessionId"), str):
            self.claim(child, called.call_id)  # the newest: a later call may go on with an older subagent
            called.is_background = bool(told.get("background"))


def _never_ran(state: plain.State) -> bool:
    """Cut off while its arguments came: OpenCode then says that there are none, and that it began when it ended."""
    time = state.time or {}
    was_interrupted = (state.metadata or {}).get("interrupted") is True
    return was_interrupted and state.input == {} and "start" in time and time["start"] == time.get("end")
