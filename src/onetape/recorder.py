"""Drafts into numbered events. The promises are kept here, and only here.

The recorder owns items and their ids; the missing delta; double closes; the table
of asks; and everything that must be closed when a turn, a process or the session
ends. It knows no agent: a promise that would need "if the agent is X" belongs into
X's translator. Numbers, times and envelopes are the pen's (pen.py).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from onetape import drafts as d
from onetape import schema
from onetape.asks import Asks, Pending, id_of, permission_data, question_data
from onetape.echoes import Echoes
from onetape.ending import Ending
from onetape.items import CallState, Items, OpenItem, merged, shell_part
from onetape.pen import Pen
from onetape.recent import forget_oldest
from onetape.schema import (
    ContentPart,
    DeltaData,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemStatus,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    TurnEnded,
    TurnEndedData,
    TurnOutcome,
    TurnStarted,
    TurnStartedData,
    TurnStatus,
)
from onetape.tape import Head, Heard, Record, hash_of

_NO_TEXT = Text("")
# How many turns' ids stay known, so that none is given twice.
REMEMBERED_TURNS = 4096


class Recorder:
    def __init__(
        self, head: Head, session_id: str, key: str, *, include_raw: bool = False, chatty: bool = False,
        spent: Callable[[], schema.Usage | None] = lambda: None,
    ) -> None:  # fmt: skip
        """`spent`: what a turn was billed that nobody but us will end."""
        self._pen = Pen(session_id, key, head.started, include_raw=include_raw, preface=lambda: self._start({}, ours=True))
        self._causes: Sequence[Record] = ()
        self._ends: list[int] = []
        """What is recorded together, and how many events there are after each of those that were: what comes now is caused by the next."""
        self._identity = _identity(head)
        self._chatty = chatty
        self._spent = spent
        self._announced: dict[str, Any] | None = None
        self._turn_id: str | None = None
        self._failed_with: str | None = None
        """The failure of this turn; between turns, one told since the last turn began."""
        self._turns = 0
        self._turn_ids: dict[str, None] = {}
        self._last_turn: TurnStatus | None = None
        self._items = Items(key)
        self.open = self._items.open
        """The messages and statuses that go on, by key."""
        self._calls = self._items.calls
        self._asks = Asks()
        self._echoes = Echoes()
        self._queue_is_due = False
        self._ending = Ending()
        self.blobs: list[d.Blob] = []
        """What the last records brought; whoever keeps them takes them before the next ones."""

    # --- what happened ------------------------------------------------------

    def record(self, cause: Record, drafts: Sequence[d.Draft]) -> list[Event]:
        """The events of one tape record."""
        if not drafts and cause.t == self._pen.t and not self.blobs and not self._ending.exited:
            return []  # as of every other line, which says nothing new
        self._begin(cause)
        for draft in drafts:
            _VERBS[type(draft)](self, draft)
        return self._pen.events

    def heard(self, causes: Sequence[Record], told: list[list[d.Draft]]) -> tuple[list[Event], list[int]]:
        """The events of these, which the agent said one after the other, and how many there are after each: what `record` makes of them,
        in one go."""
        pen, verbs, ends = self._pen, _VERBS, list[int]()
        self._begin(causes[0])
        self._causes, self._ends = causes, ends
        is_one_time = isinstance(causes, Heard) and not pen.includes_raw  # and no event shows its line
        events = pen.events
        for drafts in told:
            if drafts:
                if not is_one_time:
                    pen.dip_again(causes[len(ends)])
                for draft in drafts:
                    verbs[type(draft)](self, draft)
            ends.append(len(events))
        pen.dip_again(causes[-1])  # also where it said nothing: what is closed at the end is not earlier
        return events, ends

    def speaking(self, key: d.Key) -> OpenItem | None:
        """The message that is open under this key; none once the session has ended, whatever the agent still says."""
        return None if self._pen.is_over else self.open.get(key)

    def words(self, causes: Sequence[Record], item: OpenItem, texts: list[str]) -> list[Event]:
        """The short way for the next words of an open message, one record each: the same events as `record` would make."""
        item.add(texts)
        if self.blobs:
            self.blobs.clear()
        return self._pen.tell_words(causes, item.item_id, item.native_id, texts)

    def signal(self, cause: Record, name: Any) -> list[Event]:
        """We signalled the process: if it now ends, it was stopped and did not fail."""
        self._begin(cause)
        self._ending.signal(name)
        return self._pen.events

    def stderr(self, line: str) -> None:
        self._revive()
        self._ending.stderr.add(line)

    def stderr_left_out(self, count: int) -> None:
        """So many lines are not on the tape: who made it kept the first and the last ones only."""
        self._ending.stderr.skip(count)

    def exit(self, cause: Record, code: int | None, drafts: Iterable[d.Draft]) -> list[Event]:
        """The process is gone: what is open is closed. The session may go on in another one."""
        self._begin(cause)
        self._ending.signal(cause.signal)
        for draft in drafts:
            _VERBS[type(draft)](self, draft)
        self._ending.exit(code, in_turn=self._turn_id is not None)
        self._process_gone(stopped=self._ending.stopped)
        return self._pen.events

    def end(self, cause: Record, verdict: dict[str, Any]) -> list[Event]:
        """The daemon ended the session, and says why."""
        self._begin(cause)
        reason, by, why = verdict.get("reason", "completed"), verdict.get("terminated_by", "daemon"), verdict.get("message")
        self._process_gone(stopped=reason != "error", why=why)
        self._pen.tell_end(self._ending.error(why, by) if reason == "error" else schema.EndedData(reason, by))
        return self._pen.events

    def finish(self) -> list[Event]:
        """The tape is over: what is open is closed, and the session with it."""
        self._pen.lift()
        self._causes = ()
        # A process that died before it said anything was a session too.
        if (self._pen.sequence or self._ending.exited) and not self._pen.is_over:
            if not self._ending.exited:
                self._ending.was_in_turn = self._turn_id is not None
            self._process_gone(stopped=False)
            self._pen.tell_end(self._ending.verdict(self._last_turn, self._chatty))
        return self._pen.events

    def _begin(self, cause: Record) -> None:
        self._pen.dip(cause)
        self._causes, self._ends = [cause], []
        self._items.forget()
        if len(self._turn_ids) > REMEMBERED_TURNS:
            forget_oldest(self._turn_ids, REMEMBERED_TURNS)
        if self.blobs:
            self.blobs.clear()
        if self._ending.exited and cause.dir in ("recv", "send"):
            self._revive()

    def _revive(self) -> None:
        """Something happens after an exit: another process took the session up."""
        if self._ending.exited:
            self._ending = Ending()

    # --- the session --------------------------------------------------------

    def _announce(self, draft: d.Announce) -> None:
        if self._announced is None:
            self._start(draft.metadata)
            return
        metadata = self._identity | draft.metadata
        if metadata != self._announced:
            self._announced = metadata
            self._note(d.Note("agent.ready", json=metadata))

    def _start(self, told: dict[str, Any], *, ours: bool = False) -> None:
        metadata = self._identity | told
        self._announced = metadata
        self._pen.tell(schema.SessionStarted, schema.StartedData(metadata), ours=ours)

    def _native_session(self, draft: d.NativeSession) -> None:
        self._pen.native_session_id = draft.id

    # --- turns --------------------------------------------------------------

    def _begin_turn(self, draft: d.BeginTurn) -> None:
        if self._turn_id is None:
            self._open_turn(draft.turn_id, draft.metadata)
            self._queue_is_due = bool(self._echoes.queued)

    def _open_turn(self, native_id: str | None = None, metadata: dict[str, Any] | None = None, *, ours: bool = False) -> None:
        self._turns += 1
        self._turn_id = turn_id = native_id if native_id and native_id not in self._turn_ids else f"turn_{self._turns}"
        self._turn_ids[turn_id] = None
        self._failed_with = None
        self._pen.tell(TurnStarted, TurnStartedData("started", turn_id, metadata or UNSET), ours)

    def _end_turn(self, draft: d.EndTurn, *, ours: bool = False) -> None:
        if self._turn_id is None:
            if draft.status == "failed" and draft.error and self._failed_with is None:
                self._failure(d.Failure(draft.error, draft.code, draft.details), ours=ours)
            return
        if self._queue_is_due:
            self._take_up_queue()
        self._close_turn_bound()
        status, error = draft.status, ""
        if status == "failed":
            error = draft.error or self._failed_with or "the turn failed"
            self._failure(d.Failure(error, draft.code, draft.details), ours=ours)
        outcome = TurnOutcome(status, draft.usage or UNSET, error or UNSET)
        self._pen.tell(TurnEnded, TurnEndedData("ended", self._turn_id, outcome), ours)
        self._turn_id, self._last_turn = None, status

    def _failure(self, draft: d.Failure, *, ours: bool = False) -> None:
        if self._turn_id is not None and self._failed_with is not None:
            return  # the same failure, told again
        self._failed_with = draft.message
        self._pen.tell(schema.Error, schema.ErrorData(draft.message, draft.code, draft.details), ours=ours)

    def _inside(self, under: str | None) -> None:
        """Before any item that is not a status: root items are inside a turn, and come after its user message."""
        if under is None and self._turn_id is None:
            self._open_turn(ours=True)
        elif under is not None and under not in self._items.families:
            self._call(d.Call(under, "unknown", ""), ours=True)  # its call was before this tape began
        if self._queue_is_due:
            self._take_up_queue()

    # --- user messages ------------------------------------------------------

    def _said(self, draft: d.Said) -> None:
        if self._turn_id is not None:
            self._echoes.queued.append(draft)
            return
        self._echoes.recorded(draft)
        self._user_message(d.UserMessage(draft.parts, draft.native_id))

    def _heard(self, draft: d.Heard) -> None:
        taken = None if draft.under is not None else self._echoes.take(draft)
        if taken is None:
            self._user_message(d.UserMessage(draft.parts, draft.native_id, draft.under))
            return
        self._queue_is_due = self._queue_is_due and bool(self._echoes.queued)
        for said in taken:
            self._user_message(d.UserMessage(said.parts, said.native_id or draft.native_id))

    def _withdrawn(self, draft: d.Withdrawn) -> None:
        self._echoes.drop(draft.native_id)
        self._queue_is_due = self._queue_is_due and bool(self._echoes.queued)

    def _take_up_queue(self) -> None:
        """Messages sent during an earlier turn and never echoed belong to this one."""
        self._queue_is_due = False
        for said in self._echoes.take_all():
            self._echoes.recorded(said)
            self._user_message(d.UserMessage(said.parts, said.native_id), ours=True)

    def _user_message(self, draft: d.UserMessage, *, ours: bool = False) -> None:
        ours = ours or draft.ours
        if draft.under is None and self._turn_id is None:
            self._open_turn(ours=ours)
        elif draft.under is not None:
            self._inside(draft.under)
        self._whole("message", "user", draft.parts, draft.native_id, draft.under, ours=ours)

    def _system(self, draft: d.System) -> None:
        if draft.under is not None or self._turn_id is not None:
            self._inside(draft.under)
        self._whole("system", "system", draft.parts, draft.native_id, draft.under)

    # --- assistant messages -------------------------------------------------

    def _open(self, draft: d.Open) -> None:
        under, visibility = draft.under, draft.visibility
        if draft.key in self.open:
            self._abandon(draft.key)
        if under is not None or self._turn_id is None or self._queue_is_due:
            self._inside(under)
        first: ContentPart = _NO_TEXT if visibility is None else Reasoning("", visibility)
        parent_id = None if under is None else self._items.parent(None, under)
        item = OpenItem(self._items.new_id(draft.message), draft.native_id, parent_id, "message", "assistant", first, under)
        self.open[draft.key] = item
        self._pen.tell_item(ItemStarted, item, [first], "in_progress", draft.is_stub)

    def _abandon(self, key: d.Key) -> None:
        """Nobody will end this item any more: its process is gone, or another one begins under its key, for a line that told its end could
        not be read."""
        item = self.open.pop(key)
        self._pen.tell_item(ItemCompleted, item, item.streamed(), "failed", ours=True)

    def _add(self, draft: d.Add) -> None:
        item = self.open.get(draft.key)
        if item is not None and draft.text:
            self._delta(item, draft.text)

    def _close(self, draft: d.Close) -> None:
        item = self.open.pop(draft.key, None)
        if item is not None:
            self._close_message(item, draft)

    def _close_message(self, item: OpenItem, draft: d.Close, *, ours: bool = False) -> None:
        streamed = "".join(item.chunks)
        if draft.parts is not None:
            content = draft.parts
            final = "".join(part.text for part in content if isinstance(part, Text | Reasoning))
        else:
            final = streamed if draft.text is None else draft.text
            content = [_with_text(item.first, final)]
        # Where the final text contradicts what was streamed, the completed item is the truth.
        if final != streamed and final.startswith(streamed):
            self._delta(item, final[len(streamed) :], ours=True)
        self._pen.tell_item(ItemCompleted, item, content, draft.status, ours=ours)

    def _spoken(self, draft: d.Spoken) -> None:
        """What `_open` and `_close` would do one after the other."""
        text, visibility, under, native_id = draft.text, draft.visibility, draft.under, draft.native_id
        if under is not None or self._turn_id is None or self._queue_is_due:
            self._inside(under)
        item_id = self._items.new_id(draft.message)
        first: ContentPart = _NO_TEXT if visibility is None else Reasoning("", visibility)
        whole: ContentPart = Text(text) if visibility is None else Reasoning(text, visibility)
        parent_id = None if under is None else self._items.parent(None, under)
        self._pen.tell_whole(item_id, native_id, parent_id, "message", "assistant", [first], [whole], draft.status, text)

    def _delta(self, item: OpenItem, text: str, *, ours: bool = False) -> None:
        item.add([text])
        self._pen.tell(ItemDelta, DeltaData(item.item_id, item.native_id, text), ours=ours)

    # --- tools --------------------------------------------------------------

    def _call(self, draft: d.Call, *, ours: bool = False) -> None:
        if draft.background:
            self._items.send_to_background(draft.call_id)
        alone = draft.background and draft.under is None and self._turn_id is None
        call = self._calls.get(draft.call_id)
        if call is None:
            if draft.call_id in self._items.families:
                return  # it has its result already: said again
            if draft.under is not None and self._items.is_nested_in(draft.under, draft.call_id):
                draft = replace(draft, under=None)  # nothing is a part of itself, whatever a broken line says
            if draft.under is not None or self._turn_id is None or self._queue_is_due:
                self._inside(draft.under)
            call = self._open_call(draft, ours)
        else:
            self._complete_call(call, draft, ours)
        if alone:
            self._open_result(call, None)
            self._end_turn(d.EndTurn(), ours=True)

    def _open_call(self, draft: d.Call, ours: bool) -> CallState:
        call_id, arguments, under = draft.call_id, draft.arguments, draft.under
        first = ToolCall(draft.name, arguments or "", call_id)
        parent = self._items.parent(draft.message, under)
        item = OpenItem(self._items.new_id(), draft.native_id or call_id, parent, "tool_call", "assistant", first, under)
        call = self._items.called(call_id, draft.name, item, under, arguments is not None, draft.shell)
        if arguments is None:
            self._pen.tell_item(ItemStarted, item, [first], "in_progress", ours=ours)
        else:
            content: list[ContentPart] = [first]
            self._pen.tell_whole(item.item_id, item.native_id, parent, "tool_call", "assistant", content, content, "completed", "", ours)
        return call

    def _complete_call(self, call: CallState, draft: d.Call, ours: bool) -> None:
        call.shell = draft.shell or call.shell
        if draft.arguments is not None and not call.is_final:
            call.is_final = True
            part = ToolCall(draft.name, draft.arguments, draft.call_id)
            self._pen.tell_item(ItemCompleted, call.item, [part], "completed", ours=ours)

    def _running(self, draft: d.Running) -> None:
        if draft.background:
            self._items.send_to_background(draft.call_id)
        call = self._calls.get(draft.call_id)
        if call is not None:
            self._open_result(call, None)

    def _settled(self, draft: d.Settled) -> None:
        self._items.settle(draft.call_id)
        self._close_where(lambda under, _: self._items.is_nested_in(under, draft.call_id))

    def _output(self, draft: d.Output) -> None:
        call = self._calls.get(draft.call_id)
        if call is not None and draft.text:
            self._delta(self._open_result(call, None), draft.text)

    def _result(self, draft: d.Result) -> None:
        call = self._calls.get(draft.call_id)
        if call is None:
            if draft.call_id in self._items.families:
                return  # a second result: the first counts
            self._call(d.Call(draft.call_id, "unknown", ""), ours=True)  # its call was before this tape began
            call = self._calls[draft.call_id]
        if self._asks.pending:
            self._resolve_by_outcome(call, refused=draft.refused)
        self._close_call(call, draft)

    def _close_call(self, call: CallState, draft: d.Result, *, ours: bool = False) -> None:
        """Call and result to their ends: what is not said yet is said now."""
        if not call.is_final:
            self._pen.tell_item(ItemCompleted, call.item, [call.item.first], "failed", ours=True)
        call_id, result, output = call.call_id, call.result, draft.output
        if output is None:
            output = "" if result is None else "".join(result.chunks)
        content: list[ContentPart] = [ToolResult(call_id, output)]
        if (shell := merged(call.shell, draft.shell)) is not None:
            content.append(shell_part(shell))
        content += draft.parts
        status: ItemStatus = "failed" if draft.failed else "completed"
        if result is None:
            first: list[ContentPart] = [ToolResult(call_id, "")]
            native_id, parent_id = draft.native_id or call_id, call.item.parent_id
            self._pen.tell_whole(self._items.new_id(), native_id, parent_id, "tool_result", "tool", first, content, status, "", ours)
        else:
            self._pen.tell_item(ItemCompleted, result, content, status, ours=ours)
        del self._calls[call_id]

    def _open_result(self, call: CallState, native_id: str | None, *, ours: bool = False) -> OpenItem:
        if call.result is None:
            first = ToolResult(call.call_id, "")
            call.result = self._items.new("tool_result", "tool", first, call.item.parent_id, native_id or call.call_id, call.under)
            self._pen.tell_item(ItemStarted, call.result, [first], "in_progress", ours=ours)
        return call.result

    # --- asks ---------------------------------------------------------------

    def _ask(self, draft: Pending) -> None:
        outlives_turn = draft.background or self._turn_id is None or self._items.in_background(draft.under)
        if outlives_turn and not draft.background:
            draft = replace(draft, background=True)
        if isinstance(draft, d.Ask):
            draft = self._named_as_called(draft)
        if not self._asks.request(draft):
            return
        if isinstance(draft, d.Ask):
            self._pen.tell(schema.PermissionRequested, permission_data(draft))
        else:
            self._pen.tell(schema.QuestionRequested, question_data(draft))

    def _named_as_called(self, ask: d.Ask) -> d.Ask:
        """An agent may name the tool of a call in one way, and ask for it in another."""
        family = self._items.families.get(ask.call_id) if ask.call_id is not None else None
        return ask if family is None or family.name == ask.action else replace(ask, action=family.name)

    def _answer(self, draft: d.Answer, *, ours: bool = False) -> None:
        ask = self._asks.resolve(draft.permission_id)
        if isinstance(ask, d.Ask):
            self._pen.tell(schema.PermissionResolved, permission_data(ask, draft), ours=ours)
        elif ask is not None:
            self._pen.tell(schema.QuestionResolved, question_data(ask, d.Reply(draft.permission_id, None)), ours=ours)

    def _reply(self, draft: d.Reply, *, ours: bool = False) -> None:
        ask = self._asks.resolve(draft.question_id)
        if isinstance(ask, d.Query):
            self._pen.tell(schema.QuestionResolved, question_data(ask, draft), ours=ours or draft.ours)

    def _reject(self, ask: Pending) -> None:
        self._answer(d.Answer(id_of(ask), "reject"), ours=True)

    def _resolve_by_outcome(self, call: CallState, *, refused: bool) -> None:
        """The answer is not on the tape (a stranger's recording): whether it ran tells."""
        for ask in self._asks.of_call(call.call_id):
            if refused or isinstance(ask, d.Query):
                self._reject(ask)
            else:
                self._answer(d.Answer(id_of(ask), "accept"), ours=True)

    # --- the rest -----------------------------------------------------------

    def _note(self, draft: d.Note) -> None:
        content: list[ContentPart] = [schema.Status(draft.label, draft.detail)]
        content += [schema.Json(draft.json)] if draft.json is not None else []
        self._whole("status", None, content, draft.native_id, draft.under, "failed" if draft.failed else "completed")

    def _open_note(self, draft: d.OpenNote) -> None:
        if draft.key in self.open:
            self._abandon(draft.key)
        first = schema.Status(draft.label, draft.detail)
        item = self._items.new("status", None, first, self._items.parent(None, draft.under), draft.native_id, draft.under)
        item.followed = True
        self.open[draft.key] = item
        self._pen.tell_item(ItemStarted, item, [first], "in_progress")

    def _close_note(self, draft: d.CloseNote) -> None:
        item = self.open.pop(draft.key, None)
        if item is None and draft.label is not None:
            self._note(d.Note(draft.label, draft.detail, draft.json, failed=draft.failed))
        if item is None or not isinstance(item.first, schema.Status):
            return
        content: list[ContentPart] = [schema.Status(item.first.label, draft.detail if draft.detail is not None else item.first.detail)]
        content += [schema.Json(draft.json)] if draft.json is not None else []
        self._pen.tell_item(ItemCompleted, item, content, "failed" if draft.failed else "completed")

    def _unknown(self, draft: d.Unknown) -> None:
        # Outside a turn it gets one of its own, which says nothing of the agent's.
        alone = self._turn_id is None
        self._inside(None)
        self._whole("unknown", None, [schema.Json(draft.native)], None, None)
        if alone:
            self._end_turn(d.EndTurn(), ours=True)

    def _unreadable(self, draft: d.Unreadable) -> None:
        line = self._causes[len(self._ends)].line if self._causes else b""
        self._pen.tell(schema.AgentUnparsed, schema.UnparsedData(draft.error, draft.location, hash_of(line)), ours=True)

    def _blob(self, draft: d.Blob) -> None:
        self.blobs.append(draft)

    def _unheard(self, draft: d.Unheard) -> None:
        """A send that we do not understand says nothing about the session."""

    # --- items --------------------------------------------------------------

    def _whole(
        self, kind: schema.ItemKind, role: schema.ItemRole | None, content: list[ContentPart],
        native_id: str | None, under: str | None, status: ItemStatus = "completed", *, ours: bool = False,
    ) -> None:  # fmt: skip
        parent_id = None if under is None else self._items.parent(None, under)
        self._pen.tell_whole(self._items.new_id(), native_id, parent_id, kind, role, content, content, status, "", ours)

    # --- closing ------------------------------------------------------------

    def _close_turn_bound(self) -> None:
        """Before a turn ends: all that is of this turn. Background work and status items go on."""
        if self.open or self._calls or self._asks.pending:  # seldom
            background = self._items.in_background
            for call in [call for call in self._calls.values() if call.result is None and call.under is None and background(call.call_id)]:
                self._open_result(call, None, ours=True)  # it was sent there before it was called
            self._close_where(lambda under, call_id: not background(under) and not background(call_id))

    def _close_where(self, wanted: Callable[[str | None, str | None], bool]) -> None:
        """Rejects the asks, fails the items and gives the results of what is nested in the wanted calls."""
        for ask in self._asks.where(lambda ask: not ask.background and wanted(ask.under, ask.call_id)):
            self._reject(ask)
        for key, item in self._items.open_where(lambda item: not item.followed and wanted(item.under, None)):
            del self.open[key]
            self._close_message(item, d.Close(key, status="failed"), ours=True)
        for call in self._items.calls_where(lambda call: wanted(call.under, call.call_id)):
            self._close_call(call, d.Result(call.call_id, failed=True), ours=True)

    def _process_gone(self, *, stopped: bool, why: str | None = None) -> None:
        """Nothing of the process goes on: asks, items, results, background work, statuses, the turn. `why`: where somebody else knows."""
        for ask in self._asks:
            self._reject(ask)
        self._items.forget_background()
        if self._echoes.queued:  # sent, and never seen to be taken up
            self._queue_is_due = True
            stopped = stopped or self._turn_id is None
            self._inside(None)
        if self._turn_id is None:
            self._close_turn_bound()
        elif stopped:
            self._end_turn(d.EndTurn("interrupted", self._spent()), ours=True)
        else:
            self._end_turn(d.EndTurn("failed", self._spent(), why or self._ending.message, "process_exit"), ours=True)
        for key in list(self.open):
            self._abandon(key)


def _identity(head: Head) -> dict[str, Any]:
    """What the head knows for `session.started`; the agent's own announcement goes over it."""
    told = {
        "agent": head.agent, "agent_version": head.version, "model": head.model, "cwd": head.cwd,
        "mode": head.mode, "permission_mode": head.permission_mode, "resumed_from": head.resumed_from,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _with_text(part: ContentPart, text: str) -> ContentPart:
    return Reasoning(text, part.visibility) if isinstance(part, Reasoning) else Text(text)


_VERBS: dict[type[d.Draft], Callable[[Recorder, Any], None]] = {
    d.Add: Recorder._add,
    d.Announce: Recorder._announce,
    d.Answer: Recorder._answer,
    d.Ask: Recorder._ask,
    d.BeginTurn: Recorder._begin_turn,
    d.Blob: Recorder._blob,
    d.Call: Recorder._call,
    d.Close: Recorder._close,
    d.CloseNote: Recorder._close_note,
    d.EndTurn: Recorder._end_turn,
    d.Failure: Recorder._failure,
    d.Heard: Recorder._heard,
    d.NativeSession: Recorder._native_session,
    d.Note: Recorder._note,
    d.Open: Recorder._open,
    d.OpenNote: Recorder._open_note,
    d.Output: Recorder._output,
    d.Query: Recorder._ask,
    d.Reply: Recorder._reply,
    d.Result: Recorder._result,
    d.Running: Recorder._running,
    d.Said: Recorder._said,
    d.Settled: Recorder._settled,
    d.Spoken: Recorder._spoken,
    d.System: Recorder._system,
    d.Unheard: Recorder._unheard,
    d.Unknown: Recorder._unknown,
    d.Unreadable: Recorder._unreadable,
    d.UserMessage: Recorder._user_message,
    d.Withdrawn: Recorder._withdrawn,
}
