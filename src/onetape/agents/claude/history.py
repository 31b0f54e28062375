"""Claude Code's history on disk (`projects/<directory>/<session>.jsonl`), as the reader tapes it or piped in bare.

The same Messages API blocks as on the wire, in other envelopes (camelCase, no
deltas, no results of turns). Read with histories of 2.1.197 and 2.1.326 and the
line types that both programs name. Which lines were rewound is the reader's to
find out: it needs the whole file, and this sees one line at a time.

Turns are inferred: one begins with a prompt (or a report of background work) and
ends with `end_turn` words, an interrupt, an API error, a local command's output,
a limit, or, at the latest, with the next prompt. Permissions leave no line; a
question is its tool's call, and its answer that tool's result.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.claude import notices
from onetape.agents.claude.agents import Delegations
from onetape.agents.claude.answers import outcome
from onetape.agents.claude.attachments import attached
from onetape.agents.claude.blocks import Blocks
from onetape.agents.claude.content import (
    INTERRUPTED,
    NOTIFICATION,
    OUTPUTS,
    asked,
    text_of,
    typed,
    user_parts,
    without_reminders,
)
from onetape.agents.claude.tools import Tools
from onetape.agents.claude.usage import MessageMeter
from onetape.agents.claude.waiting import Waiting
from onetape.errors import Unparsed
from onetape.recent import Recent
from onetape.schema import TurnStatus
from onetape.tape import Head
from onetape.translator import Outputs, Send, Translator

# Lines of bookkeeping, named as both programs name them: snapshots of files and requests, latches, queues, links.
_SILENT = frozenset({
    "agent-color", "agent-setting", "api-request", "api-request-blob", "api-request-shape", "artifact-autoreact-ledger",
    "artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session", "content-replacement", "continued-in",
    "data-flow-incomplete", "data-flow-records", "derived-from", "dev-mods", "ended-by-model", "file-history-delta",
    "file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression", "isolation-latch", "last-prompt",
    "marble-origami-commit", "marble-origami-reset", "marble-origami-snapshot", "memory-mode", "mode", "observer-ref", "relocated",
    "repl-mode", "resume-head-vouch", "session-owner", "speculation-accept", "tools-used", "worktree-state",
})  # fmt: skip

# What names the session; written again and again, and told when it changes.
_NAMES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle", "tag": "tag", "agent-name": "agentName"}

TYPES = frozenset({
    "assistant", "attachment", "cost-state", "permission-mode", "pr-link", "progress", "queue-operation", "system", "user",
})  # fmt: skip
ENDS = frozenset({"end_turn", "stop_sequence"})
"""After other reasons the program goes on: it runs the tools, or asks for the rest (max_tokens, refusal)."""

STAND_IN = "No response requested."
"""Written on a resume where an answer was never given, so that roles alternate for the model. Nobody said it."""

ENDING_OUTPUTS = ("<local-command-stdout>", "<local-command-stderr>")

# Repeats come with a compaction, which writes the messages that it keeps again (2.1.197).
REMEMBERED = 20_000


class History(Translator):
    title = "Claude Code"
    dialect = "history"
    is_history = True

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._version: str | None = None
        self._cwd = head.cwd
        self._mode = head.permission_mode
        self._model: str | None = None
        self._native_id: str | None = None
        self._named: dict[str, str] = {}
        self._blocks = Blocks()
        self._tools = Tools()
        self._meter = MessageMeter()
        self._delegations = Delegations()
        self._seen: Recent[str, None] = Recent(REMEMBERED)
        self._waiting = Waiting()
        self._prompt: str | None = None
        self._in_turn = False
        self._is_command = False
        """This turn began with a slash command."""
        self._is_answered = False
        self._was_cut = False
        """The process of this turn was gone before a call had its result."""
        self._compacting: set[str | None] = set()

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"type": str(kind), "sessionId": str()} if not sent:
                return kind in TYPES or kind in _SILENT or kind in _NAMES
            case {"type": "summary", "summary": str(), "leafUuid": _}:
                return True
            case {"type": "file-history-snapshot", "messageId": str()}:
                return True
            case _:
                return False

    def _begin(self) -> Iterable[d.Draft]:
        yield d.Announce({})

    def _read(self, native: Any) -> Outputs:
        if isinstance(id := native.get("uuid"), str):
            if id in self._seen:
                return []
            self._seen[id] = None
        kind, message = native.get("type"), native.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        # Nearly all lines are of these two types: told apart without patterns, and without a generator around each.
        if kind == "assistant" and isinstance(content, list):
            return [*self._identity(native), *self._assistant(native, message)]
        if kind == "user" and isinstance(content, (str, list)):
            return [*self._identity(native), *self._user(native, content)]
        return self._read_seldom(native)

    def _read_seldom(self, native: dict[str, Any]) -> Outputs:
        match native:
            case {"type": "attachment", "attachment": {"type": str()} as attachment}:
                yield from self._identity(native)
                yield from self._attachment(native, attachment)
            case {"type": "system", "subtype": str()}:
                yield from self._identity(native)
                yield from self._system(native)
            case {"type": "progress", "data": {}}:
                self._delegations.progress(native)  # hooks, commands and subagents at work: their results tell it
            case {"type": "queue-operation", "operation": str(operation)}:
                self._waiting.hear(operation, native.get("content"))
            case {"type": "permission-mode", "permissionMode": str(mode)}:
                yield from self._mode_is(mode)
            case {"type": "pr-link", "prUrl": str(url)}:
                yield from self._name("pr-link", f"pull request {url}")
            case {"type": "cost-state", "totalCostUSD": int() | float() as cost}:
                # Written when a process ends, for all its turns together: no turn's own.
                yield from self._name("cost-state", f"total cost: ${cost:.4f}", {"cost_usd": cost})
            case {"type": "agent_metadata"} | {"agentType": str()}:
                self._delegations.introduce(native.get("toolUseId"))  # the file beside a subagent's, taped before its lines
            case {"type": str(kind)} if kind in _NAMES and isinstance(words := native.get(_NAMES[kind]), str):
                yield from self._name(kind, f"{'title' if kind.endswith('title') else kind}: {words}")
            case {"type": str(kind)} if kind in _SILENT:
                pass
            case {"type": str(kind)} if kind in TYPES or kind in _NAMES:
                raise Unparsed(f"{kind} without the fields it must have")
            case _:
                yield d.Unknown(native)

    # --- who and where ------------------------------------------------------

    def _identity(self, native: dict[str, Any]) -> Iterable[d.Draft]:
        is_known = native.get("sessionId") == self._native_id and native.get("version") == self._version
        return () if is_known and "permissionMode" not in native else self._identified(native)

    def _identified(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        """A session that is resumed may go on in another version."""
        if (id := native.get("sessionId")) != self._native_id and isinstance(id, str):
            self._native_id = id
            yield d.NativeSession(id)
        if (version := native.get("version")) != self._version and isinstance(version, str):
            self._version = version
            self._cwd = self._cwd or native.get("cwd")  # later ones follow the shell's
            told = {"agent_version": version, "cwd": self._cwd, "permission_mode": self._mode or native.get("permissionMode")}
            yield d.Announce({key: value for key, value in told.items() if value is not None})
        if isinstance(mode := native.get("permissionMode"), str):
            yield from self._mode_is(mode)

    def _mode_is(self, mode: str) -> Iterator[d.Draft]:
        if self._mode is not None and mode != self._mode:
            yield d.Note("mode", mode)
        self._mode = mode

    def _name(self, kind: str, words: str, json: Any = None) -> Iterator[d.Draft]:
        if self._named.get(kind) != words:
            self._named[kind] = words
            yield d.Note("notice", words, json)

    # --- turns --------------------------------------------------------------

    def _end_turn(self, status: TurnStatus = "completed", error: str | None = None, code: str | None = None) -> Iterator[d.Draft]:
        if self._in_turn:
            self._in_turn = False
            self._tools.end_turn()
            yield d.EndTurn(status, self._meter.take(self._model), error, code)

    def _begin_turn(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        """A prompt: whatever turn is still open is over, unless the prompt belongs to it."""
        prompt = native.get("promptId")
        if self._in_turn and (prompt is None or prompt != self._prompt):
            yield from self._end_turn("interrupted" if self._tools.are_awaited or self._was_cut else "completed")
        self._prompt, self._in_turn, self._is_command, self._is_answered, self._was_cut = prompt, True, False, False, False

    # --- the user's lines ---------------------------------------------------

    def _user(self, native: dict[str, Any], content: Any) -> list[d.Draft | Send]:
        under, opening = self._delegations.nest(native)
        said: list[d.Draft | Send] = [*opening]
        results = [] if isinstance(content, str) else [block for block in content if block.get("type") == "tool_result"]
        for block in results:
            said += self._result(block, native, under, len(results) == 1)
        if native.get("toolEndsTurn") and under is None:
            said += self._end_turn()  # a structured output was wanted, and given
        if results and len(results) == len(content):
            return said
        rest = [block for block in content if block not in results] if results else content
        return [*said, *self._spoken(native, rest, under, beside_results=bool(results))]

    def _spoken(self, native: dict[str, Any], content: Any, under: str | None, *, beside_results: bool) -> Iterator[d.Draft]:
        words, id = text_of(content), native.get("uuid")
        if native.get("isCompactSummary"):
            yield from self._compacted(words, under)
        if words.startswith(INTERRUPTED):
            yield from self._aside(content, id, under)
            if under is None:
                yield from self._end_turn("interrupted")
        elif words.startswith(OUTPUTS):
            yield from self._output_of_command(content, id, under)
        elif words.startswith(NOTIFICATION) or _origin(native) == "task-notification":
            yield from self._delegations.notified(words)
            yield from self._from_elsewhere(native, content, under)
        elif beside_results or native.get("isMeta") or native.get("isCompactSummary") or native.get("isVisibleInTranscriptOnly"):
            yield from self._aside(content, id, under)
        elif _origin(native) not in (None, "human"):
            yield from self._from_elsewhere(native, content, under)
        else:
            yield from self._said(native, content, words, under)

    def _said(self, native: dict[str, Any], content: Any, words: str, under: str | None) -> Iterator[d.Draft]:
        id, command = native.get("uuid"), typed(words)
        if command is not None and str(native.get("entrypoint")).startswith("sdk") and self._waiting.lacks_command:
            yield from self._aside(content, id, under)  # nobody typed it: a client's control request (set_model) is written so
            return
        if under is None:
            yield from self._begin_turn(native)
            self._is_command = command is not None or words.startswith("/")
            taken = self._waiting.take()
            if command is not None and len(taken) == 1:
                command = taken[0]  # as it was typed: an alias is written under its real name
            elif len(taken) > 1 and "\n".join(taken) == words:
                for message in taken:  # sent one by one, taken up together
                    yield d.UserMessage(user_parts(message)[0], id)
                return
        own, added = (command, []) if command is not None else without_reminders(content)
        parts, kept = user_parts(own)
        yield from kept
        yield d.UserMessage(parts, id, under)
        if added:
            yield from self._aside(added, id, under)

    def _aside(self, content: Any, id: str | None, under: str | None) -> Iterator[d.Draft]:
        """Words that the program put into the user's role."""
        parts, kept = user_parts(content)
        yield from kept
        yield d.System(parts, id, under)

    def _output_of_command(self, content: Any, id: str | None, under: str | None) -> Iterator[d.Draft]:
        yield from self._aside(content, id, under)
        # The model answers what a `!` command printed (2.1), and then the next prompt ends that turn at the latest.
        if under is None and self._is_command and not self._is_answered and text_of(content).startswith(ENDING_OUTPUTS):
            yield from self._end_turn()  # it ran without the model

    def _from_elsewhere(self, native: dict[str, Any], content: Any, under: str | None) -> Iterator[d.Draft]:
        """A turn that no user began: background work, another session or a channel reports."""
        if under is None:
            self._waiting.take()
            yield from self._begin_turn(native)
            yield d.BeginTurn()
        yield from self._aside(content, native.get("uuid"), under)

    def _compacted(self, words: str, under: str | None) -> Iterator[d.Draft]:
        if under in self._compacting:
            self._compacting.discard(under)
            yield d.CloseNote(("compaction", under), words)
        else:
            yield d.Note("compaction", words, under=under)  # 1.x writes no boundary

    # --- tools --------------------------------------------------------------

    def _result(self, block: dict[str, Any], native: dict[str, Any], under: str | None, is_alone: bool) -> list[d.Draft]:
        call, told = block["tool_use_id"], native.get("toolUseResult") if is_alone else None
        tool, args = self._tools.call(call)
        questions = asked(tool, args)
        replied = [d.Reply(call, outcome(tool, questions, told, failed=bool(block.get("is_error"))))] if questions else []
        denial, decision = native.get("toolDenialKind"), native.get("permissionDecision")
        self._was_cut = self._was_cut or denial == "interrupted"
        meta = [{"id": call, "non_execution_kind": denial, "permission_decision": decision}] if denial or decision else None
        return [*replied, *self._tools.result_of(block, told, meta, under)]

    # --- the agent's lines --------------------------------------------------

    def _assistant(self, native: dict[str, Any], message: dict[str, Any]) -> list[d.Draft | Send]:
        under, opening = self._delegations.nest(native)
        said: list[d.Draft | Send] = [*opening]
        blocks, id, model = message["content"], str(message.get("id") or native.get("uuid")), message.get("model")
        is_synthetic = model == "<synthetic>"
        if native.get("isApiErrorMessage") or (is_synthetic and native.get("error")):
            return [*said, *self._failed(native, text_of(blocks), under)]
        if is_synthetic and text_of(blocks) == STAND_IN:
            return said
        self._meter.add(id, message.get("usage"))
        if under is None:
            self._in_turn = self._is_answered = True
            if not is_synthetic and model != self._model and isinstance(model, str):
                said += [] if self._model is None else [d.Note("model", model)]
                self._model = model
        for block in blocks:
            call = self._tools.note(block, under)
            said += self._blocks.whole(id, block, under, aborted=bool(native.get("isAbortedMidStream")))
            said += self._called(block, under) if call is not None else ()
        # Blocks of blanks come before others of their message, all of whose lines have its reason to stop.
        if under is None and message.get("stop_reason") in ENDS and text_of(blocks[-1:]).strip():
            said += self._end_turn()
        return said

    def _called(self, block: Any, under: str | None) -> Iterator[d.Draft]:
        match block:
            case {"type": "tool_use", "id": str() as call, "name": str() as tool, "input": {} as args}:
                self._delegations.call(call, tool, args)
                if questions := asked(tool, args):
                    yield d.Query(call, questions, call, under)
            case _:
                pass

    def _failed(self, native: dict[str, Any], words: str, under: str | None) -> Iterator[d.Draft]:
        code, goes_on = str(native.get("error") or "api_error"), under is not None or self._tools.are_awaited
        if self._in_turn and not goes_on:
            yield from self._end_turn("failed", words, code)
        else:
            yield notices.gave_up(words, code, {}, under, goes_on=goes_on)

    # --- beside the conversation --------------------------------------------

    def _attachment(self, native: dict[str, Any], attachment: dict[str, Any]) -> Outputs:
        under, opening = self._delegations.nest(native)
        yield from opening
        match attachment:
            case {"type": "queued_command", "prompt": str() | [*_] as prompt}:
                yield from self._steered(attachment, prompt, under)
            case {"type": "max_turns_reached", "maxTurns": int(limit)}:
                if under is None:
                    yield from self._end_turn("failed", f"Reached maximum number of turns ({limit})", "error_max_turns")
            case {"type": "hook_stopped_continuation"}:
                yield from attached(native, attachment, under)
                if under is None:
                    yield from self._end_turn()
            case {"type": "queued_command" | "max_turns_reached" as kind}:
                raise Unparsed(f"attachment/{kind} without the fields it must have")
            case _:
                yield from attached(native, attachment, under)

    def _steered(self, attachment: dict[str, Any], prompt: Any, under: str | None) -> Iterator[d.Draft]:
        """A message that came while a turn ran, and was taken up by it."""
        words, id = text_of(prompt), attachment.get("source_uuid")
        if words.startswith(NOTIFICATION):
            yield from self._delegations.notified(words)
            yield from self._aside(prompt, id, under)
        elif attachment.get("isMeta") or _origin(attachment) not in (None, "human"):
            yield from self._aside(prompt, id, under)
        else:
            parts, kept = user_parts(typed(words) or prompt)
            yield from kept
            self._in_turn = self._in_turn or under is None
            yield d.UserMessage(parts, id, under)

    def _system(self, native: dict[str, Any]) -> Outputs:
        under, opening = self._delegations.nest(native)
        yield from opening
        match native:
            case {"subtype": "compact_boundary"}:
                yield d.CloseNote(("compaction", under))  # one that never got its summary
                self._compacting.add(under)
                yield d.OpenNote(("compaction", under), "compaction", under=under, native_id=native.get("uuid"))
            case {"subtype": "microcompact_boundary"}:
                yield d.Note("compaction", native.get("content"), under=under)
            case {"subtype": "api_error", "retryAttempt": int(attempt)}:
                wire = {"max_retries": "maxRetries", "retry_delay_ms": "retryInMs"}
                yield notices.retry({name: native.get(key) for name, key in wire.items()} | {"error": notices.error_of(native)}, attempt)
            case {"subtype": "api_error"}:
                yield d.Note("notice", notices.error_of(native), failed=True)
            case {"subtype": "local_command", "content": str(words)}:
                if words.startswith(OUTPUTS):
                    yield from self._output_of_command(words, native.get("uuid"), under)
                else:
                    yield from self._said(native, words, words, under)
            case {"subtype": "turn_duration"}:
                yield from self._end_turn()
            case {"subtype": "stop_hook_summary", "hookErrors": [*errors]}:
                yield d.Note("hook", "Stop", notices.told(native), under, failed=bool(errors))
            case _:
                yield from notices.system(native)


def _origin(native: dict[str, Any]) -> str | None:
    origin = native.get("origin")
    return origin.get("kind") if isinstance(origin, dict) else None
