"""Pi's wires into the transcript and back: `--mode rpc`, and `--mode json`, which says the same and hears nothing.

A turn of ours is everything from `agent_start` to `agent_settled`; Pi's own `turn_*` is one model
call and its tools. `agent_end` is no end: a retry, a compaction or an extension may go on (14, 27c,
37). Before 0.74 there is no `agent_settled`, and `agent_end` (without `willRetry`) has to do.
A tool's result is told three times (tool_execution_end, its message, turn_end) and is one item.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET

from onetape import drafts as d
from onetape.agents.pi import encode, plain
from onetape.agents.pi.blocks import CUT, HotDelta
from onetape.agents.pi.content import SHELLS, arguments, called, content_of, malformed, message_of, text_of, told_result, tool_name
from onetape.agents.pi.conversation import Conversation, outcome
from onetape.agents.pi.dialogs import MODE_COMMAND, Dialogs
from onetape.agents.pi.notices import bash, failure
from onetape.agents.pi.prompts import Prompts
from onetape.agents.pi.results import Tool, shell_of
from onetape.argv import positionals
from onetape.commands import Command, SendMessage, SetModel
from onetape.schema import Text, Usage
from onetape.tape import Head
from onetape.translator import Native, Outputs, Send, hot, often

NOTICES = frozenset({
    "auto_retry_end", "auto_retry_start", "compaction_end", "compaction_start", "entry_appended", "extension_error", "queue_update",
    "session_info_changed", "summarization_retry_attempt_start", "summarization_retry_finished", "summarization_retry_scheduled",
})  # fmt: skip
EVENTS = NOTICES | {
    "agent_end", "agent_settled", "agent_start", "bash_execution_update", "extension_ui_request", "message_end", "message_start",
    "message_update", "response", "session", "thinking_level_changed", "tool_execution_end", "tool_execution_start",
    "tool_execution_update", "turn_end", "turn_start",
}  # fmt: skip
COMMANDS = frozenset({
    "abort", "abort_bash", "abort_retry", "bash", "clear_queue", "clone", "compact", "cycle_model", "cycle_thinking_level", "export_html",
    "follow_up", "fork", "get_available_models", "get_available_thinking_levels", "get_commands", "get_entries", "get_fork_messages",
    "get_last_assistant_text", "get_messages", "get_session_stats", "get_state", "get_tree", "new_session", "prompt", "set_auto_compaction",
    "set_auto_retry", "set_follow_up_mode", "set_model", "set_session_name", "set_steering_mode", "set_thinking_level", "steer",
    "switch_session",
})  # fmt: skip
_REPLACE_SESSION = frozenset({"new_session", "switch_session", "fork", "clone"})


class Rpc(Conversation):
    dialect = "rpc"
    steers = True
    hot = hot(b'"text_delta"', HotDelta, place="assistantMessageEvent.contentIndex", words="assistantMessageEvent.delta")
    often = often(plain.Line)

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._dialogs = Dialogs()
        self._prompts = Prompts()
        self._running: dict[str, Tool] = {}
        self._output: dict[str, str] = {}
        """What a running command's output was when it was last told; it is told from the start each time (03b)."""
        self._bash: dict[str, str] = {}
        self._after: dict[str, list[Any]] = {}
        """What is to be said once a request is answered: Pi works on commands side by side."""
        self._in_turn = False
        self._aborting = False
        self._last: dict[str, Any] = {}
        """The latest assistant message of this turn: how it ended is how the turn did."""

    @classmethod
    def kind_of(cls, native: dict[str, Any]) -> str:
        match native:
            case {"type": "response", "command": str() as command}:
                return f"response:{command}"
            case _:
                return super().kind_of(native)

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"type": "extension_ui_response"}:
                return sent
            case {"type": str() as kind} if sent:
                return kind in COMMANDS
            case {"type": "response", "success": bool()} | {"type": "extension_ui_request", "method": str()}:
                return True
            case _:
                return False

    # --- Pi says ------------------------------------------------------------

    def read_often(self, message: plain.Line) -> list[d.Draft] | None:
        return _PLAIN[type(message)](self, message)

    def _read(self, native: Native) -> Outputs:
        kind = native.get("type")
        often = _OFTEN.get(kind) if type(kind) is str else None
        return self._read_seldom(native) if often is None else often(self, native)

    def _read_seldom(self, native: Native) -> Outputs:
        match native.get("type"), native:
            case "agent_start", _:
                if not self._in_turn:
                    self._in_turn, self._last, self._aborting = True, {}, False
                yield d.BeginTurn()
            case "agent_settled", _:
                yield from self._settled(native.get("aborted"))
            case "agent_end", {"messages": [*_]}:
                if "willRetry" not in native:
                    yield from self._settled(None)  # 0.73.1
            case "turn_start" | "turn_end", _:
                pass  # one model call and its tools: all of it is told by itself
            case "response", {"success": bool()}:
                yield from self._response(native)
                yield from self._next(native)
            case "extension_ui_request", {"id": str(), "method": "select" | "confirm" | "input" | "editor"}:
                yield self._dialogs.asked(native, self._running, in_turn=self._in_turn)
            case "extension_ui_request", {"id": str(), "method": str()}:
                yield from self._notices.shown(native)
            case "thinking_level_changed", {"level": str() as level}:
                yield from self._variant_now(level)
            case "bash_execution_update", {"delta": str()}:
                pass  # the answer to `bash` has the whole output
            case "session", {"id": str() as id, "cwd": str() as cwd}:
                self._blocks.cwd = cwd
                yield d.NativeSession(id)
                yield from self._know(cwd=cwd)
            case str() as kind, _ if kind in NOTICES:
                self._bill(native)
                yield from self._notices.read(native)
            case str() as kind, _ if kind in EVENTS:
                raise malformed(native)
            case _:
                yield d.Unknown(native)

    def glance(self, message: HotDelta) -> d.Add | None:
        event = message.assistantMessageEvent
        return self._blocks.words(event.contentIndex, event.delta)

    def _bill(self, native: dict[str, Any]) -> None:
        match native:
            case {"type": "compaction_end", "result": {"usage": usage}} | {"type": "entry_appended", "entry": {"usage": usage}}:
                self._meter.add(usage)
            case _:
                pass

    # --- messages ---

    def _update(self, line: plain.MessageUpdate) -> list[d.Draft] | None:
        return self._blocks.often(line.assistantMessageEvent)

    def _start(self, line: plain.MessageStart) -> list[d.Draft]:
        return self._blocks.begin() if line.message.role == "assistant" else []

    def _end_of(self, line: plain.MessageEnd) -> list[d.Draft] | None:
        message = line.message
        if isinstance(message, plain.ToolResult):
            return None if message.toolCallId in self._running else []
        if message.stopReason in CUT:
            return None
        self._last = {"stopReason": message.stopReason}
        self._meter.add(message.usage, message.model)
        return self._blocks.finished(message.content)

    def _message_goes_on(self, native: dict[str, Any]) -> Outputs:
        event = native.get("assistantMessageEvent")
        if not isinstance(event, dict):
            raise malformed(native)
        return self._blocks.update(event)

    def _message_starts(self, native: dict[str, Any]) -> Outputs:
        return self._blocks.begin() if message_of(native)["role"] == "assistant" else ()

    def _message_ends(self, native: dict[str, Any]) -> Outputs:
        message = message_of(native)
        match message["role"]:
            case "assistant" if isinstance(reason := message.get("stopReason"), str) and "content" in message:
                self._last = message
                self._meter.add(message.get("usage"), message.get("model"))
                return self._blocks.whole(message["content"], reason)
            case "toolResult" if (id := told_result(message)) is not None:
                self._meter.add(message.get("usage"))
                if id not in self._running:
                    return ()  # it is said: by tool_execution_end
                return self._result(id, self._running.pop(id), message, failed=message["isError"])
            case "user" if "content" in message:
                return self._heard(message["content"])
            case _:
                return self._aside(message)

    def _heard(self, content: Any) -> Iterator[d.Draft]:
        said, added = self._prompts.heard(content)
        yield from said.kept
        yield d.UserMessage(said.parts)
        if added:
            yield d.System([Text(added)])

    # --- tools ---

    def _tool_starts(self, native: dict[str, Any]) -> Outputs:
        id, name = called(native)
        if "args" not in native:
            raise malformed(native)
        return self._begins(id, name, native["args"], native.get("parentToolCallId"))

    def _begins(self, id: str, name: str, args: Any, under: str | None) -> list[d.Draft]:
        # Not running yet: hooks, and so a permission, come first.
        self._running[id] = Tool(name, args)
        return [d.Call(id, tool_name(name), arguments(args), under=under, shell=shell_of(name, args, self._blocks.cwd))]

    def _tool_goes_on(self, native: dict[str, Any]) -> Outputs:
        id, name = called(native)
        return self._goes_on(id, name, text_of(content_of(native.get("partialResult"))))

    def _goes_on(self, id: str, name: str, text: str) -> list[d.Draft]:
        told = self._output.get(id, "")
        # Only a shell's partial results are known to grow; others replace each other (19, 26).
        if name in SHELLS and text.startswith(told):
            self._output[id] = text
            return [d.Running(id), d.Output(id, text[len(told) :])]
        self._output.setdefault(id, "")
        return [d.Running(id)]

    def _tool_ends(self, native: dict[str, Any]) -> Outputs:
        id, name = called(native)
        if "result" not in native:
            raise malformed(native)
        tool = self._running.pop(id, None) or Tool(name, native.get("args") or {})
        return self._ends(id, tool, native["result"], native.get("durationMs", UNSET), failed=bool(native.get("isError")))

    def _ends(self, id: str, tool: Tool, result: Any, duration: Any, *, failed: bool) -> list[d.Draft]:
        has_run = self._output.pop(id, None) is not None or duration is not UNSET
        told = {"content": content_of(result), "durationMs": None if duration is UNSET else duration}
        told = result | told if isinstance(result, dict) else told
        drafts = self._dialogs.outcome(id, told.get("details"))
        return drafts + self._result(id, tool, told, failed=failed, refused=failed and not has_run)

    def _run_start(self, line: plain.ToolStart) -> list[d.Draft]:
        return self._begins(line.toolCallId, line.toolName, line.args, line.parentToolCallId)

    def _run_update(self, line: plain.ToolUpdate) -> list[d.Draft]:
        texts = [block.text for block in line.partialResult.content]
        return self._goes_on(line.toolCallId, line.toolName, "\n".join(texts))

    def _run_end(self, line: plain.ToolEnd) -> list[d.Draft] | None:
        tool = self._running.pop(line.toolCallId, None)
        return d.fitting(self._ends(line.toolCallId, tool, line.result, line.durationMs, failed=line.isError)) if tool else None

    # --- turns ---

    def _settled(self, aborted: bool | None) -> Iterator[d.Draft]:
        status = outcome(self._last, aborted, asked=self._aborting)
        why, code = failure(str(self._last.get("errorMessage") or "the model call failed")) if status == "failed" else (None, None)
        self._in_turn, self._aborting, self._last = False, False, {}
        self._running.clear()
        self._output.clear()
        self._dialogs.turn_over()
        yield d.EndTurn(status, self._meter.read(), why, code)

    # --- answers to commands ---

    def _response(self, native: dict[str, Any]) -> Outputs:
        match native:
            case {"success": False}:
                yield from self._refused(native)
            case {"command": "get_state", "data": {"sessionId": str() as id} as state}:
                yield d.NativeSession(id)
                yield from self._state(state)
            case {"data": {"id": str() as id, "provider": owner}} | {"data": {"model": {"id": str() as id, "provider": owner}}}:
                yield from self._model_now(id, owner)  # set_model and cycle_model
            case {"command": "prompt" | "steer" | "follow_up", "data": {"disposition": "handled"}}:
                yield from self._handled(native.get("id"))
            case {"command": "prompt", "data": {"disposition": "started"}}:
                self._prompts.started(native.get("id"))
            case {"command": "prompt"} if "data" not in native:
                self._prompts.accepted(native.get("id"))
            case {"command": "bash", "data": {} as told}:
                yield bash(self._bash.pop(str(native.get("id")), None), told)
            case {"command": "clear_queue", "data": {"steering": [*steering], "followUp": [*later]}}:
                self._prompts.forget([*steering, *later])
                yield d.Note("notice", f"queue cleared, {len(steering) + len(later)} messages dropped")
            case {"command": str() as command, "data": {"cancelled": False}} if command in _REPLACE_SESSION:
                if self._in_turn:  # 0.73.1 drops a run without a word (31)
                    yield from self._settled(aborted=True)
            case _:
                pass  # accepted, or an answer for who asked: lists, statistics, the history of a resumed session

    def _next(self, native: dict[str, Any]) -> Iterator[Send]:
        waiting = self._after.pop(str(native.get("id")), None) or []
        # A setting that was refused takes the ones after it along, but never a message.
        if waiting := [message for message in waiting if native["success"] or message["type"] == "prompt"]:
            yield self._one_by_one(waiting)

    def _one_by_one(self, requests: list[dict[str, Any]]) -> Send:
        first, *rest = requests
        if rest or first["type"] != "prompt":  # nothing waits for a message
            self._after[first["id"]] = rest
        return Send(first)

    def _refused(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        command, why = native.get("command"), str(native.get("error"))
        if command in ("prompt", "steer", "follow_up"):
            self._prompts.take(native.get("id"))
            yield d.Failure(why)
        elif command != "compact" or not self._notices.has_told(why):
            yield d.Note("notice", f"{command}: {why}" if command else why, failed=True)

    def _handled(self, id: Any) -> Outputs:
        yield from self._dialogs.handled()
        prompt = self._prompts.take(id)
        if prompt is not None and prompt.said.text.startswith(f"/{MODE_COMMAND}"):
            return  # of our extension, which tells the mode
        yield d.Note("notice", f"{prompt.said.text if prompt else 'the prompt'} was handled by an extension")
        yield Send(encode.request(self.next_id(), "get_state"))  # it may have changed the session, which Pi does not tell (30)

    def _state(self, state: dict[str, Any]) -> Iterator[d.Draft]:
        model, level = state.get("model") or {}, state.get("thinkingLevel")
        if model.get("provider") == "unknown":
            model = {}  # Pi's stand-in where none is configured yet (36d, all versions)
        if "variant" not in self._known:
            yield from self._know(model=model.get("id"), provider=model.get("provider"), variant=level)
        else:  # a session that was switched to may have another model (31), and an unsupported level became another (24)
            yield from self._model_now(model["id"], model.get("provider")) if model else ()
            yield from self._variant_now(level) if level else ()

    # --- we say -------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        return "variant" in self._known  # told by the answer to get_state

    def _open(self) -> Iterable[Send]:
        yield Send(encode.request(self.next_id(), "get_state"))

    def _sent(self, native: Any) -> Iterable[d.Draft]:
        match native:
            case {"type": "prompt" | "steer" | "follow_up", "message": str() as text}:
                self._prompts.said(native.get("id"), text, list(native.get("images") or ()), idle=not self._in_turn)
            case {"type": "extension_ui_response", "id": str()}:
                yield from self._dialogs.answered(native)
            case {"type": "abort"}:
                self._aborting = True
            case {"type": "bash", "command": str() as command}:
                self._bash[str(native.get("id"))] = command
            case {"type": str() as kind} if kind in COMMANDS - {"prompt", "steer", "follow_up", "bash"}:
                pass  # its answer tells what came of it
            case {"argv": [*argv]}:
                words = [word for word in positionals(argv[1:], encode.VALUED) if not word.startswith("@")]
                self._prompts.typed(words, str(native.get("stdin") or "").strip())
            case _:
                yield d.Unheard(native)

    def _write(self, command: Command) -> Iterable[Send]:
        if isinstance(command, SetModel):
            yield self._one_by_one(encode.model(command, self._known.get("provider"), self.next_id))
            return
        messages = encode.command(command, self._dialogs, self.next_id)
        if messages is None:
            raise self.cannot(command)
        if isinstance(command, SendMessage) and self._after:
            # Pi works on commands side by side: said now, it would be answered with the settings of before.
            self._after[next(reversed(self._after))] += messages
            return
        yield from map(Send, messages)

    def spent(self) -> Usage | None:
        return self._meter.read()

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        """Nothing of the process goes on; the recorder closes what is open."""
        self._dialogs.clear()
        self._prompts.clear()
        self._running.clear()
        self._output.clear()
        self._bash.clear()
        self._after.clear()
        self._in_turn, self._aborting, self._last = False, False, {}
        return ()


# What nine lines of ten are. These look at their fields one by one: a pattern of three keys takes three times as long.
_OFTEN: dict[str, Callable[[Rpc, dict[str, Any]], Outputs]] = {
    "message_end": Rpc._message_ends,
    "message_start": Rpc._message_starts,
    "message_update": Rpc._message_goes_on,
    "tool_execution_end": Rpc._tool_ends,
    "tool_execution_start": Rpc._tool_starts,
    "tool_execution_update": Rpc._tool_goes_on,
}


_PLAIN: dict[type[plain.Line], Callable[[Rpc, Any], list[d.Draft] | None]] = {
    plain.MessageUpdate: Rpc._update,
    plain.MessageStart: Rpc._start,
    plain.MessageEnd: Rpc._end_of,
    plain.ToolStart: Rpc._run_start,
    plain.ToolUpdate: Rpc._run_update,
    plain.ToolEnd: Rpc._run_end,
}


class Json(Rpc):
    """`pi --mode json -p …`: a header, then the same events, then the exit. It hears nothing and asks nothing."""

    dialect = "json"

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"argv": [*argv]} if sent:
                return "json" in argv
            # The header is a session file's too; but there no event follows, and in rpc an answer comes first.
            case {"type": "agent_start"} | {"type": "message_start", "message": {"role": str()}}:
                return not sent
            case _:
                return False

    def _open(self) -> Iterable[Send]:
        return ()

    def _write(self, command: Command) -> Iterable[Send]:
        raise self.cannot(command, "it was started for one prompt (--mode json)")
