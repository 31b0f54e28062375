"""Claude Code's wire: stream-json with the control protocol, both directions.

Read with the captures of 2.1.326 and 2.1.197 and the published types of
claude-agent-sdk 0.3.326. A turn goes from the user's send, or from an `init`
that no send explains (background work reports), to `result`. Session, model and
mode are told by `init` at the start of every turn.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.claude import answers, encode, notices, plain, work
from onetape.agents.claude.blocks import Blocks, HotDelta
from onetape.agents.claude.content import (
    BLOCKED,
    INTERRUPTED,
    OUTPUTS,
    PLAN_EXIT,
    QUESTION,
    elicited,
    malformed,
    questions_of,
    sent_parts,
    text_of,
    tool_name,
    user_parts,
)
from onetape.agents.claude.launch import LISTS, VALUED, input_format
from onetape.agents.claude.sends import Sends, Sent
from onetape.agents.claude.tools import Tools
from onetape.agents.claude.usage import Meter
from onetape.argv import words_of
from onetape.commands import Command
from onetape.schema import Text
from onetape.tape import Head
from onetape.translator import Outputs, Send, Translator, hot, often

TYPES = frozenset({
    "active_goal", "assistant", "auth_status", "command_lifecycle", "control_cancel_request", "control_request", "control_response",
    "conversation_reset", "keep_alive", "prompt_suggestion", "rate_limit_event", "result", "stream_event", "system", "tool_progress",
    "tool_use_summary", "user",
})  # fmt: skip


class StreamJson(Translator):
    title = "Claude Code"
    dialect = "stream-json"
    steers = True
    hot = hot(b'"text_delta"', HotDelta, place="session_id event.index parent_tool_use_id", words="event.delta.text")
    often = often(plain.Assistant | plain.User)

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._native_id: str | None = None
        self._model: str | None = None
        self._blocks = Blocks()
        self._meter = Meter()
        self._tools = Tools()
        self._asked: dict[str, dict[str, Any]] = {}
        self._requests: dict[str, dict[str, Any]] = {}
        self._sends = Sends()
        self._work = work.Work()
        self._is_compacting = False
        self._demands_input = False
        """This version takes no allowance without the tool's input."""
        self._is_idle = True
        self._is_stopping = False
        """We asked it to interrupt this turn."""
        self._is_cut_off = False
        """It has: what the main loop still says was cut off, which 2.1.197 does not say of it."""
        self._was_stopped = False
        """It says that this turn was interrupted."""
        self._refusal: tuple[str, str] | None = None
        """Why a hook kept the prompt from the model, and the native word for that."""

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"type": "system", "subtype": "init", "claude_code_version": _}:
                return True
            case {"type": "stream_event" | "command_lifecycle" | "control_request" | "control_response" | "rate_limit_event"}:
                return True
            case {"type": "assistant" | "user" | "result" | "system", "session_id": _, "uuid": _}:
                return True
            case _:
                return False

    @property
    def is_ready(self) -> bool:
        return not self._requests

    # --- the agent says -----------------------------------------------------

    def _begin(self) -> Iterable[d.Draft]:
        yield d.Announce({})  # it says nothing before the first message: the head speaks for it

    def _read(self, native: Any) -> Outputs:
        kind = native.get("type")
        read = _OFTEN.get(kind, StreamJson._read_seldom) if type(kind) is str else StreamJson._read_seldom
        if (told := native.get("session_id")) == self._native_id or not isinstance(told, str) or not told:
            return read(self, native)
        self._native_id = told  # also changes in mid-session: /clear begins a new one, with an empty list of tasks
        self._tools.forget_tasks()
        return [d.NativeSession(told), *read(self, native)]

    def _read_seldom(self, native: dict[str, Any]) -> Outputs:
        match native.get("type"), native:
            case "result", {"is_error": bool()}:
                yield from self._result(native)
            case "control_request", {"request_id": str() as id, "request": {"subtype": str()} as request}:
                yield from self._wants(id, request)
            case "control_response", {"response": {"request_id": str() as id, "subtype": str()} as response}:
                yield from self._responds(id, response)
            case "control_cancel_request", {"request_id": str() as id}:
                self._asked.pop(id, None)
                yield d.Answer(id, "reject")  # withdrawn by the agent itself, on an interrupt (capture 15c)
            case "system", {"subtype": str() as subtype}:
                yield from self._system(subtype, native)
            case "rate_limit_event", {"rate_limit_info": {} as info}:
                yield notices.rate_limit(info)
            case "tool_progress", {"tool_use_id": str() as call}:
                # A heartbeat and a subagent's retry have ids of their own, and the tool's as their parent (capture 38b).
                yield d.Running(call if self._work.is_named(call) else native.get("parent_tool_use_id") or call)
                if isinstance(retry := native.get("subagent_retry"), dict):
                    under = self._work.call_of(retry.get("agent_id"))
                    yield notices.retry({**retry, "error": retry.get("error_category")}, retry["attempt"], under)
            case "conversation_reset", {"new_conversation_id": str()}:
                yield d.Note("notice", f"conversation reset: {native.get('trigger') or 'clear'}")
            case "prompt_suggestion", {"suggestion": str() as words}:
                yield d.Note("notice", f"suggested next prompt: {words}")
            case "tool_use_summary", {"summary": str() as words}:
                yield d.Note("notice", words)
            case "auth_status", {"output": [*lines]}:
                yield d.Note("notice", "\n".join(map(str, lines)), failed=native.get("error") is not None)
            case "active_goal", _:
                yield d.Note("notice", "goal", native.get("value"))
            case "command_lifecycle", {"state": "cancelled", "command_uuid": str() as id}:
                yield self._sends.withdraw(id)  # by cancel_async_message, or by an interrupt that also clears the queue
            case "keep_alive" | "command_lifecycle", _:
                pass  # heartbeats, and states of a send that its echo and its turn tell
            case str() as kind, _ if kind in TYPES:
                raise malformed(native)
            case _:
                yield d.Unknown(native)

    def glance(self, message: HotDelta) -> d.Add | None:
        if message.session_id != self._native_id:
            return None
        return self._blocks.words(message.event.index, message.event.delta.text, message.parent_tool_use_id)

    def read_often(self, message: plain.Assistant | plain.User) -> list[d.Draft] | None:
        under = message.parent_tool_use_id
        if message.session_id != self._native_id or self._is_cut_off or self._asked:
            return None
        if isinstance(message, plain.User):
            (result,), told = message.message.content, message.tool_use_result
            self._work.result(told)
            return d.fitting(self._tools.result(result.tool_use_id, result.content, result.is_error, told, None, under))
        (block,), id, model = message.message.content, message.message.id, message.message.model
        if model == "<synthetic>":
            return None
        if under is None:
            self._model = model
        if isinstance(block, plain.Text):
            return self._blocks.said(id, "text", block.text, under, "completed")
        self._tools.called(block.id, block.name, block.input, under)
        return [self._blocks.called(id, block.id, block.name, block.input, under), *self._work.named(block.id)]

    def _stream(self, native: dict[str, Any]) -> Outputs:
        if isinstance(event := native.get("event"), dict) and isinstance(event.get("type"), str):
            return self._blocks.stream(event, native.get("parent_tool_use_id"))
        raise malformed(native)

    def _assistant(self, native: dict[str, Any]) -> list[d.Draft]:
        message, under = native.get("message"), native.get("parent_tool_use_id")
        if not isinstance(message, dict) or not isinstance(message.get("id"), str) or not isinstance(message.get("content"), list):
            raise malformed(native)
        if message.get("model") == "<synthetic>" and native.get("error"):
            # An API error that Claude Code words as a message is the turn's error. A slash command's
            # output is worded the same way, without `error`, and is a message (capture 31).
            details = {key: native[key] for key in ("api_error_status", "api_error_type", "request_id") if native.get(key) is not None}
            goes_on = under is not None or self._tools.are_awaited  # an answer broke off behind its calls, whose results come
            return [notices.gave_up(text_of(message["content"]), str(native["error"]), details, under, goes_on=goes_on)]
        if under is None and isinstance(model := message.get("model"), str) and model != "<synthetic>":
            self._model = model
        self._work.spoke(native.get("agent_id"), under)
        aborted = bool(native.get("aborted")) or (self._is_cut_off and under is None)
        said: list[d.Draft] = []
        for block in message["content"]:
            said += self._blocks.whole(message["id"], block, under, aborted=aborted)
            if (call := self._tools.note(block, under)) is not None:
                said += self._work.named(call)
        return said

    def _user(self, native: dict[str, Any]) -> Outputs:
        message, under = native.get("message"), native.get("parent_tool_use_id")
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, (str, list)):
            raise malformed(native)
        results = [] if isinstance(content, str) else [block for block in content if block.get("type") == "tool_result"]
        if not results:
            return self._heard(content, native, under)
        told = native.get("tool_use_result") if len(results) == 1 else None
        self._work.result(told)
        said: list[d.Draft] = []
        for block in results:
            said += self._answered_by(block, told) if self._asked else ()
            said += self._tools.result_of(block, told, native.get("tool_result_meta"), under)
        if len(content) > len(results):
            said += self._heard([block for block in content if block not in results], native, under)
        return said

    def _heard(self, content: Any, native: dict[str, Any], under: str | None) -> Iterator[d.Draft]:
        parts, kept = user_parts(content)
        yield from kept
        words, id = text_of(content), native.get("uuid")
        if native.get("isSynthetic") or words.startswith((*OUTPUTS, INTERRUPTED)):
            if words.startswith(INTERRUPTED) and under is None:
                self._was_stopped = True
            elif words.startswith(INTERRUPTED):
                yield from self._work.settled(under)
            if self._is_compacting and native.get("isSynthetic"):
                self._is_compacting = False
                yield d.CloseNote("compaction", words)
            yield d.System(parts, id, under)
        elif under is not None:
            yield from self._work.prompt(under, words, parts, id)
        elif native.get("isReplay"):
            yield from self._sends.echo(words, parts, id)
        else:
            yield d.System(parts, id)

    def _result(self, native: dict[str, Any]) -> Outputs:
        if self._is_compacting:
            self._is_compacting = False
            yield d.CloseNote("compaction")
        yield from self._blocks.abandon()
        yield from self._sends.ends(native.get("user_message_uuids"))
        status, error, code = self._outcome(native)
        self._is_idle, self._refusal = True, None
        self._is_stopping, self._is_cut_off, self._was_stopped = False, False, False
        self._tools.end_turn()
        yield d.EndTurn(status, self._meter.read(native, self._model), error, code, None)

    def _outcome(self, native: dict[str, Any]) -> tuple[Any, str | None, str | None]:
        if self._refusal is not None:
            return "failed", *self._refusal
        # Also a success: a message that was sent with the priority "now" takes the place of a turn.
        aborted = str(native.get("terminal_reason") or "").startswith("aborted")
        stopped = native.get("subtype") == "error_during_execution" and (self._is_stopping or self._was_stopped)
        if aborted or stopped:
            return "interrupted", None, None
        if not native["is_error"] and native.get("subtype") == "success":
            return "completed", None, None
        words = native.get("result") or "; ".join(map(str, native.get("errors") or ()))
        status = native.get("api_error_status")
        return "failed", str(words) or str(native.get("subtype")), str(status) if status else str(native.get("subtype"))

    def _system(self, subtype: str, native: dict[str, Any]) -> Outputs:
        match native:
            case {"subtype": "init", "model": str(), "cwd": str()}:
                self._is_idle, self._is_cut_off = False, False
                self._demands_input = native.get("claude_code_version") == "2.1.197"
                yield notices.announced(native)
                yield from self._work.settled()
                yield from self._sends.begins(native.get("user_message_uuids"))
                yield d.BeginTurn()
            case {"subtype": "status", "status": "compacting"} | {"subtype": "compact_boundary", "compact_metadata": {}}:
                # The summary follows as a user message of the agent's own, and completes it.
                if not self._is_compacting:
                    self._is_compacting = True
                    yield d.OpenNote("compaction", "compaction")
            case {"subtype": "status", "compact_result": "failed"}:
                self._is_compacting = False
                yield d.CloseNote("compaction", native.get("compact_error"), failed=True, label="compaction")
            case {"subtype": "status", "permissionMode": str() as mode}:
                yield d.Note("mode", mode)
            case {"subtype": "status"}:
                pass  # "requesting" before each model call, and a compaction's success: its boundary follows
            case _ if subtype in work.SUBTYPES:
                yield from self._work.read(native)
            case {"subtype": "informational", "content": str(words), "prompt_submit_outcome": {"kind": str(kind)}} if "blocked" in kind:
                self._refusal = words, kind  # the result that follows calls it a success
            case {"subtype": "informational", "content": str() as words, "prevent_continuation": True} if words.startswith(BLOCKED):
                self._refusal = words, "blocked_by_hook"  # 2.1.197 does not name the outcome
            case {"subtype": "permission_denied", "agent_id": str() as agent}:
                yield from notices.system(native, self._work.call_of(agent))
            case {"subtype": "api_retry"}:
                yield from self._blocks.abandon()
                yield from notices.system(native)
            case _:
                yield from notices.system(native)

    # --- asks ---------------------------------------------------------------

    def _wants(self, id: str, request: dict[str, Any]) -> Outputs:
        match request:
            case {"subtype": "can_use_tool", "tool_name": str() as tool, "input": {} as args}:
                self._asked[id] = request
                under = self._work.call_of(request.get("agent_id"))
                call = request.get("tool_use_id")
                if tool in (QUESTION, PLAN_EXIT):
                    # 2.1.326 asks without the plan when the model did not write the plan file (capture 12): its call has it.
                    yield d.Query(id, questions_of(tool, self._tools.call(str(call))[1] | args), call, under)
                else:
                    called = self._tools.call(str(call))[0] or tool  # by an alias perhaps, and the ask names what runs
                    yield d.Ask(id, tool_name(called), call, answers.metadata(request), under)
            case {"subtype": "elicitation", "mcp_server_name": str()}:
                self._asked[id] = request
                yield d.Query(id, elicited(request))
            case {"subtype": "hook_callback"}:
                yield Send(encode.response(id, {"continue": True}))  # we register none; a stranger's must not hang
            case {"subtype": str() as subtype} if subtype in answers.UNSERVED:
                yield Send(encode.error(id, f"onetape does not serve {subtype}"))
            case {"subtype": "can_use_tool" | "elicitation" as subtype}:
                yield Send(encode.error(id, "malformed request"))  # it waits for an answer, whatever we make of its question
                yield d.Unreadable(f"control_request/{subtype} without the fields it must have", type(self).__name__)
            case _:
                yield Send(encode.error(id, f"onetape does not know {request['subtype']}"))
                yield d.Unknown({"type": "control_request", "request_id": id, "request": request})

    def _responds(self, id: str, response: dict[str, Any]) -> Outputs:
        """The answer to a request of ours; or, with --replay-user-messages, the echo of an answer of ours."""
        request = self._requests.pop(id, None)
        if request is None:
            yield from self._answered(id, response)
            return
        if response["subtype"] == "error":
            yield d.Note("notice", f"{request['subtype']}: {response.get('error')}", failed=True)
            return
        told = response.get("response") or {}
        match request:
            case {"subtype": "set_model", **rest}:
                yield d.Note("model", str(told.get("model") or rest.get("model") or "default"))
            case {"subtype": "interrupt"}:
                self._is_cut_off = self._is_stopping
            case {"subtype": "cancel_async_message", "message_uuid": str() as message} if told.get("cancelled"):
                yield self._sends.withdraw(message)  # 2.1.197 tells it here alone
            case {"subtype": "apply_flag_settings", "settings": {"effortLevel": level}}:
                yield d.Note("model", f"effort {level}", {"variant": level})
            case _:
                pass  # settings and lists: for who asked, no event

    def _answered(self, id: str, response: dict[str, Any]) -> Iterator[d.Draft]:
        request = self._asked.pop(id, None)
        if request is None:
            return
        told = response.get("response") if response["subtype"] == "success" else None
        if self._demands_input and answers.lacks_input(told):
            told = None  # it fails on such an answer, and refuses the tool (capture 07b)
        if request["subtype"] == "elicitation":
            yield d.Reply(id, answers.filled_in(elicited(request), told))
        elif (tool := request["tool_name"]) in (QUESTION, PLAN_EXIT):
            yield d.Reply(id, answers.reply(tool, questions_of(tool, request["input"]), told))
        else:
            self._tools.amend(request.get("tool_use_id"), answers.amended(request, told))
            yield answers.verdict(id, told)

    def _answered_by(self, block: dict[str, Any], told: Any) -> Iterator[d.Draft]:
        """Where neither an answer nor its echo was recorded, a question's result holds the answers."""
        for id, request in self._asked.items():
            if request.get("tool_use_id") == block["tool_use_id"] and (tool := request["tool_name"]) in (QUESTION, PLAN_EXIT):
                told = answers.outcome(tool, questions_of(tool, request["input"]), told, failed=bool(block.get("is_error")))
                if told is not None:
                    yield d.Reply(id, told, ours=True)

    # --- we say -------------------------------------------------------------

    def _open(self) -> Iterable[Send]:
        # Without it the words of a foreground subagent are kept back; 2.1.197 has no flag for this.
        yield Send(encode.request(self.next_id(), "initialize", forwardSubagentText=True))

    def _sent(self, native: Any) -> Iterable[d.Draft]:
        match native:
            case {"type": "user", "message": {"content": str() | [*_] as content}}:
                self._is_idle = False
                parts, kept = sent_parts(native)
                yield from kept
                self._sends.add(Sent(native.get("uuid"), text_of(content), parts))
                yield d.Said(parts, native.get("uuid"))
            case {"type": "control_response", "response": {"request_id": str() as id, "subtype": str()} as response}:
                yield from self._answered(id, response)
            case {"type": "control_request", "request_id": str() as id, "request": {"subtype": str() as subtype} as request}:
                self._requests[id] = request
                self._is_stopping = self._is_stopping or (subtype == "interrupt" and not self._is_idle)
            case {"type": "keep_alive" | "control_cancel_request" | "update_environment_variables"}:
                pass
            case {"argv": [*argv]}:
                stdin = native.get("stdin") if input_format(argv) != "stream-json" else None
                if words := words_of(argv, VALUED, stdin, lists=LISTS):
                    yield d.Said([Text(words)])
            case _:
                yield d.Unheard(native)

    def _write(self, command: Command) -> Iterable[Send]:
        message = encode.command(command, self._asked, self.next_id)
        if message is None:
            raise self.cannot(command)
        yield from map(Send, message)

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        self._meter.reset()
        self._asked.clear()
        self._requests.clear()
        self._sends = Sends()
        yield from self._blocks.abandon()
        if self._was_stopped:
            yield d.EndTurn("interrupted")  # by SIGINT 2.1.326 says so, and ends with code 0 before the turn's result
        self._is_idle, self._is_stopping, self._is_cut_off, self._was_stopped = True, False, False, False


# What nine lines of ten are. These look at their fields one by one: a pattern of three keys takes three times as long.
_OFTEN: dict[str, Callable[[StreamJson, dict[str, Any]], Outputs]] = {
    "assistant": StreamJson._assistant,
    "stream_event": StreamJson._stream,
    "user": StreamJson._user,
}
