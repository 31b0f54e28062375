"""Amp's wire: stream-json, both directions, and the side channel of its permission helper.

Read with recordings of the builds of January (0.0.1769425000), May (0.0.1777897475) and September 2026
(0.0.1790142911), their emitters, and the published types of amp-sdk. A turn goes from the user's message to an
assistant message that stops for any reason but a tool; `result` comes once per process, whatever the number of turns,
and says nothing that was not said, except a failure. There are no deltas, no ids but those of tools, no handshake.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from onetape import drafts as d
from onetape.agents.amp import encode, plain
from onetape.agents.amp.blocks import Conversation, arguments, tool_name, user_parts
from onetape.agents.amp.usage import Meter
from onetape.argv import positionals
from onetape.commands import Command
from onetape.errors import Unparsed
from onetape.recent import Recent
from onetape.schema import Text, Usage
from onetape.tape import Head
from onetape.translator import Outputs, Send, Translator, often

TYPES = frozenset({"system", "user", "assistant", "result", "message", "tool_call", "tool_result", "error", "done"})
CANCELLED = "User cancelled (SIGINT/SIGTERM)"
# The model ran out of tokens: January and May say nothing more, ever (14h); an error follows at once where there is one.
CUT_OFF_PATIENCE = 60.0

# Options of `amp` that take a value. `--execute` takes the prompt, which is thus a positional word like any other.
VALUED = frozenset({
    "--visibility", "--settings-file", "--log-level", "--log-file", "--mcp-config", "--mode", "-m", "--effort", "--label", "-l",
    "--features", "--executor", "--runner-dir", "--attach", "--orb-size", "--title", "--toolbox",
})  # fmt: skip


class StreamJson(Translator):
    title = "Amp"
    dialect = "stream-json"
    # May says "Unexpected error inside Amp CLI" after a mere SIGINT, and resets a terminal that is not there (15).
    stderr_is_chatter = True
    often = often(plain.Assistant | plain.User)

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._native_id: str | None = None
        self._conversation = Conversation()
        self._meter = Meter()
        self._is_cut_off = False
        self._answers = self._answers_before = 0
        """The messages that this process printed, and how many of them when the last turn ended."""
        self._last: dict[str, Any] | plain.Answer | None = None
        """The message that was printed last, until the user or a tool speaks."""
        self._asked: dict[str, dict[str, Any]] = {}
        self._granted: list[tuple[str, Any]] = []
        self._requests: Recent[str, None] = Recent(256)

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"type": "system", "subtype": "init", "session_id": str() as id} | {"type": "result", "session_id": str() as id}:
                return id.startswith("T-")
            case {"channel": "delegate"}:
                return True
            case _:
                return False

    @property
    def patience(self) -> float | None:
        return CUT_OFF_PATIENCE if self._is_cut_off else None

    # --- the agent says -----------------------------------------------------

    def _begin(self) -> Iterable[d.Draft]:
        yield d.Announce({})  # it says nothing before it has reached its server: the head speaks for it

    def _read(self, native: Any) -> Outputs:
        if (told := native.get("session_id")) != self._native_id and isinstance(told, str) and told:
            self._native_id = told
            return [d.NativeSession(told), *self._told(native)]
        return self._told(native)

    def _told(self, native: dict[str, Any]) -> Outputs:
        kind = native.get("type")
        if kind == "assistant" or kind == "user":  # nearly every line: not by patterns, which take longer than all the rest
            message: Any = native.get("message")
            blocks = message.get("content") if type(message) is dict else None
            if type(blocks) is list:
                under = _parent(native)
                return self._assistant(blocks, message, under) if kind == "assistant" else self._user(blocks, under)
        return self._told_rarely(native)

    def read_often(self, line: plain.Assistant | plain.User) -> list[d.Draft] | None:
        if line.session_id != self._native_id:
            return None
        under = line.parent_tool_use_id
        if isinstance(line, plain.User):
            self._is_cut_off, self._last = False, None
            (result,) = line.message.content
            return self._conversation.answered_by(result.tool_use_id, result.content, failed=result.is_error)
        message, last = line.message, self._last
        self._last = message
        if last is not None and _is_same(last, message):
            return []
        self._is_cut_off = False
        self._answers += under is None
        self._meter.count(message.usage)
        return self._stopped(self._conversation.answered(message.content, under), message.stop_reason, under)

    def _told_rarely(self, native: dict[str, Any]) -> Outputs:
        match native.get("type"), native:
            case "system", {"subtype": "init"}:
                yield d.Announce(_identity(native))
            case "result", {"is_error": False}:
                # Mostly it is already, by its last message.
                yield self._ended("interrupted" if self._was_passed_over(native) else "completed")
            case "result", {"is_error": True, "error": str() as error}:
                yield from self._failed(error)
            case _, {"channel": "delegate", "id": str() as id}:
                yield from self._helper(id, native)
            case "system", {"subtype": str() as subtype} if subtype != "init":
                yield d.Unknown(native)
            case "message" | "tool_call" | "tool_result" | "error" | "done", _:
                yield from self._fallback(native)
            case str() as kind, _ if kind in TYPES:
                raise Unparsed(f"{kind} without the fields it must have")
            case _:
                yield d.Unknown(native)

    def _assistant(self, blocks: list[Any], message: dict[str, Any], under: str | None) -> list[d.Draft]:
        last, self._last = self._last, message
        if last is not None and _is_same(last, message):
            return []
        stop = message.get("stop_reason")
        self._is_cut_off = stop is None
        self._answers += under is None
        self._meter.add(message.get("usage"), message.get("model"))
        told = self._conversation.assistant(blocks, cut_off=stop is None, under=under, native_id=message.get("id"))
        return told if stop is None else self._stopped(told, stop, under)

    def _stopped(self, told: list[d.Draft], stop: Any, under: str | None) -> list[d.Draft]:
        if under is None and stop != "tool_use":
            told.append(self._ended("completed"))
        return told

    def _user(self, blocks: list[Any], under: str | None) -> list[d.Draft]:
        self._is_cut_off, self._last = False, None
        results = [block for block in blocks if type(block) is dict and block.get("type") == "tool_result"]
        told: list[d.Draft] = []
        for block in results:
            told += self._result_of(block)
        if len(results) < len(blocks) or not blocks:
            parts, kept = user_parts(block for block in blocks if block not in results)
            told += [*kept, d.Heard(parts, under=under)]
        return told

    def _result_of(self, block: dict[str, Any]) -> list[d.Draft]:
        id = block.get("tool_use_id")
        if type(id) is not str:
            raise Unparsed("a tool_result block without the fields it must have")
        # A tool that returned nothing has no content (28-web).
        return self._conversation.answered_by(id, block.get("content"), failed=bool(block.get("is_error")))

    def _failed(self, error: str) -> Iterator[d.Draft]:
        if error == CANCELLED:
            yield self._ended("interrupted")
            return
        error = error or "the run failed"
        yield d.Failure(error)  # also where no turn was opened: a line on stdin that it could not read (29c)
        yield self._ended("failed", error)

    def _was_passed_over(self, result: dict[str, Any]) -> bool:
        """Whether it is the result of the turns before: stopped at the very start of a turn, Amp knows nothing of it yet (January).

        An answer without words is not printed, but it is counted."""
        counted = result.get("num_turns")
        return self._answers == self._answers_before and isinstance(counted, int) and counted <= self._answers

    def _ended(self, status: Any, error: str | None = None) -> d.EndTurn:
        self._is_cut_off = False
        self._answers_before = self._answers
        self._conversation.over()
        return d.EndTurn(status, self._meter.take(), error)

    def _fallback(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        """Lines that no build prints: a stand-in schema that others wrote for Amp, whose recordings may exist."""
        match native:
            case {"type": "message", "content": str() as words, "role": "user"}:
                yield d.Heard([Text(words)], native.get("id"))
            case {"type": "message", "content": str() as words}:
                yield from self._conversation.assistant([{"type": "text", "text": words}], native_id=native.get("id"))
            case {"type": "tool_call", "tool_call": {"id": str() as id, "name": str() as name, "arguments": args}}:
                yield d.Call(id, tool_name(name), arguments(args))
            case {"type": "tool_result", "id": str() as id}:
                yield from self._conversation.result(id, native.get("content"), failed=False)
            case {"type": "error", "error": str() as error}:
                yield from self._failed(error)
            case {"type": "done"}:
                yield self._ended("completed")
            case _:
                raise Unparsed(f"{native['type']} without the fields it must have")

    # --- the permission helper ----------------------------------------------

    def _helper(self, id: str, native: dict[str, Any]) -> Outputs:
        match native:
            case {"closed": True}:
                self._asked.pop(id, None)
                yield d.Answer(id, "reject")  # Amp ended the helper, with the turn or for a newer message
            case {"tool": str() as tool, "input": args}:
                self._asked[id] = native
                yield self._ask(id, tool, args, native)
                if (tool, args) in self._granted:
                    yield Send(encode.verdict(id, allow=True, session=True))
            case _:
                raise Unparsed("a permission request without the fields it must have")

    def _ask(self, id: str, tool: str, args: Any, native: dict[str, Any]) -> d.Ask:
        call, under = self._conversation.asked(tool, args, native.get("tool_use_id"))
        if under is None:
            return d.Ask(id, tool_name(self._conversation.tool_of(call) or tool), call, {"input": args})
        # A subagent's tool: its call is in no stream, and the one that shows is the subagent's own.
        return d.Ask(id, tool_name(tool), None, {"input": args, "subagent_call_id": under}, under)

    # --- we say -------------------------------------------------------------

    def _sent(self, native: Any) -> Iterable[d.Draft]:
        match native:
            case {"type": "user", "message": {"role": "user", "content": [*blocks]}}:
                if self._is_new(native.get("request_id")):
                    self._last = None
                    parts, kept = user_parts(blocks)
                    yield from kept
                    yield d.Said(parts)
            case {"channel": "delegate", "id": str() as id, "decision": "allow" | "reject" as decision}:
                yield from self._answered(id, decision, native)
            case {"argv": [*argv]}:
                if words := _prompt(list(map(str, argv)), native.get("stdin")):
                    yield d.Said([Text(words)])
            case {"signal": _}:
                pass  # the recorder's: what it does to the process is told by its exit
            case _:
                yield d.Unheard(native)

    def _is_new(self, request: Any) -> bool:
        """The September build takes a message once, however often it is sent under one request_id."""
        if not isinstance(request, str):
            return True
        known = request in self._requests
        self._requests[request] = None
        return not known

    def _answered(self, id: str, decision: str, native: dict[str, Any]) -> Iterator[d.Draft]:
        request = self._asked.pop(id, None)
        if decision == "reject":
            yield d.Answer(id, "reject", native.get("message"))
        elif native.get("scope") != "session":
            yield d.Answer(id, "accept")
        else:
            if request is not None and (grant := (request["tool"], request["input"])) not in self._granted:
                self._granted.append(grant)
            yield d.Answer(id, "accept_for_session")

    def _write(self, command: Command) -> Iterable[Send]:
        message = encode.command(command, self._asked, self.head.version)
        if message is None:
            raise self.cannot(command, encode.why_not(command))
        yield Send(message)

    def spent(self) -> Usage | None:
        return self._meter.take()

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        self._is_cut_off, self._last = False, None
        self._answers = self._answers_before = 0
        self._asked.clear()
        self._conversation.over()
        return ()


def _parent(native: dict[str, Any]) -> str | None:
    """The call whose subagent speaks."""
    call = native.get("parent_tool_use_id")
    if call is not None and type(call) is not str:
        raise Unparsed("a parent_tool_use_id that is no id")
    return call


def _is_same(last: dict[str, Any] | plain.Answer, message: dict[str, Any] | plain.Answer) -> bool:
    """January may print a long message twice, where its reader is slow (its emitter waits, and is entered again)."""
    if type(last) is type(message):
        return last == message
    try:  # one of them was read as a whole
        return bool(msgspec.convert(last, plain.Answer) == msgspec.convert(message, plain.Answer))
    except msgspec.ValidationError:
        return False  # it holds what no plain one does


def _identity(init: dict[str, Any]) -> dict[str, Any]:
    told = {
        "cwd": init.get("cwd"), "tools": init.get("tools"), "mcp_servers": init.get("mcp_servers") or None,
        "mode": init.get("agent_mode"), "variant": init.get("reasoning_effort"),
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _prompt(argv: list[str], stdin: Any) -> str:
    """The user's message of a one-shot run: `amp [threads continue ID] --execute PROMPT`, and stdin, which Amp trims."""
    words = positionals(argv[1:], VALUED)
    if argv and argv[0].rpartition("/")[2] in ("node", "bun"):
        words = words[1:]  # the program is a script
    if words[:1] and words[0] in ("threads", "thread", "t") and words[1:2] and words[1] in ("continue", "c"):
        words = words[3:] if words[2:] and "T-" in words[2] else words[2:]
    piped = stdin.strip() if isinstance(stdin, str) and "--stream-json-input" not in argv else ""
    return "\n".join(text for text in (" ".join(words), piped) if text)
