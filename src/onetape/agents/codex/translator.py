"""Codex's main wire: `codex app-server`, JSON-RPC lines without the `jsonrpc` field, both directions.

Read with the captures of 0.169.0 and the schema that its binary generates. Requests of
both sides are numbered from 0, so what a line is follows from having a `method`, never
from its id. A turn goes from `turn/started` to `turn/completed` of the root thread, under
the id it started with (a review ends with another, capture 31); user messages are echoed
as items. Bare lines lack what was sent, so nothing here needs to know a request to read
its response: threads are found by their shape.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.codex import asks, encode, notices, plain
from onetape.agents.codex.client import Client
from onetape.agents.codex.failures import code_of, details_of
from onetape.agents.codex.items import Items, Place
from onetape.agents.codex.settings import Settings, has_past, started_as
from onetape.agents.codex.threads import Threads
from onetape.agents.codex.usage import Meter
from onetape.commands import Command
from onetape.errors import Unparsed
from onetape.schema import TurnStatus
from onetape.tape import Head
from onetape.translator import Outputs, Send, Translator, hot, often

# Calls that set a subagent to work. To wait for one or to close it does not.
_EMPLOYING = frozenset({"spawnAgent", "sendInput", "resumeAgent", "sendMessage", "followupTask"})
_EMPLOYERS = ("collabAgentToolCall", "subAgentActivity")
_THREADS = frozenset({"thread/start", "thread/resume", "thread/fork"})
_PROMPTS = _THREADS | {"turn/start", "review/start", "thread/compact/start"}


class HotDelta(Struct, frozen=True, gc=False):
    """What matters of a line that brings an answer's next words."""

    method: Literal["item/agentMessage/delta"]
    params: plain.OutputParams
    id: None = None


class AppServer(Translator):
    title = "Codex"
    dialect = "app-server"
    steers = True
    stderr_is_chatter = True  # its log, where every refused tool is an ERROR
    hot = hot(b'"item/agentMessage/delta"', HotDelta, place="params.itemId params.turnId params.threadId", words="params.delta")
    often = often(plain.Started | plain.Completed | plain.Words | plain.Output)

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._threads = Threads()
        self._items = Items()
        self._asks = asks.Asks()
        self._meter = Meter()
        self._notices = notices.Notices()
        self._settings = Settings()
        self._client = Client(head, self._asks)
        self._version: str | None = None
        self._is_announced = False
        self._hears_sends = False
        self._here: Place | None = None
        """Where the last item belongs, and mostly the next one too: a thread that is ours remains so, under the same call."""
        self._early: list[d.Draft] = []
        """Notices that came before the thread they belong to was announced."""

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"method": str() as method}:
                return method in notices.METHODS or method in asks.METHODS or (sent and method in ("initialize", *_PROMPTS))
            case {"id": _, "result": {"userAgent": str(), "codexHome": str()}}:
                return not sent
            case _:
                return False

    @property
    def is_ready(self) -> bool:
        return self._client.has_thread

    # --- the agent says -----------------------------------------------------

    def glance(self, message: HotDelta) -> d.Add | None:
        words = message.params  # of a thread of ours if its message is open: others' are never opened
        return self._items.words((words.threadId, words.turnId, words.itemId), words.delta)

    def read_often(self, message: plain.Started | plain.Completed | plain.Words | plain.Output) -> list[d.Draft] | None:
        params, here = message.params, self._here
        if here is None or here.thread != params.threadId or here.turn != params.turnId:
            return None
        if isinstance(params, plain.OutputParams):
            if isinstance(message, plain.Words):
                return self._items.said(params.itemId, params.delta, here)
            return [self._items.output(params.itemId, params.delta, here)]
        return self._items.begun(params.item, here) if isinstance(message, plain.Started) else self._items.done(params.item, here)

    def _read(self, native: dict[str, Any]) -> Outputs:
        # Every line comes through here: notifications, which most are, take no pattern and no generator.
        method = native.get("method")
        if type(method) is str:
            if isinstance(id := native.get("id"), (int, str)):
                return self._asked(native, id, method, native.get("params") or {})
            if method in notices.SILENT:
                return ()  # why, says the list
            if method in notices.METHODS:
                return self._notified(native, method, native["params"])
        return self._answer(native)

    def _answer(self, native: dict[str, Any]) -> Outputs:
        match native:
            case {"id": _, "result": result}:
                yield from self._responded(native["id"], result)
            case {"id": _, "error": {"message": str() as why}}:
                yield from self._failed(native["id"], why)
            case _:
                yield d.Unknown(native)

    def _notified(self, native: dict[str, Any], method: str, params: dict[str, Any]) -> Outputs:
        if method == "thread/started":
            return self._thread_started(params["thread"])
        thread, here = params.get("threadId"), self._here
        if here is None or here.thread != thread:
            if self._threads.root is None and isinstance(thread, str) and method.startswith(("turn/", "item/")):
                self._threads.announce(thread)  # the recording begins in the middle
            if thread is not None and not self._threads.is_ours(thread):
                self._threads.hold(thread, native)
                return ()
        if (spoken := _SPOKEN.get(method)) is not None:
            if here is None or here.thread != thread or here.turn != params.get("turnId"):
                here = self._place(params)
                self._here = here if thread else None
            return spoken(self, params, here)
        if method in notices.TOLD:
            return self._noticed(method, params)
        raise Unparsed(f"{method} is known, and nobody reads it")

    def _place(self, params: dict[str, Any]) -> Place:
        thread = params.get("threadId") or params.get("conversationId") or self._threads.root or ""
        return Place(thread, params.get("turnId") or "", self._threads.under(thread))

    def _words(self, params: dict[str, Any], place: Place) -> Outputs:
        return self._items.said(params["itemId"], params["delta"], place)

    def _item_started(self, params: dict[str, Any], place: Place) -> Outputs:
        drafts = self._items.started(item := params["item"], place)
        return chain(drafts, self._employ(item, place)) if item.get("type") in _EMPLOYERS else drafts

    def _item_completed(self, params: dict[str, Any], place: Place) -> Outputs:
        drafts = self._items.completed(item := params["item"], place)
        return chain(drafts, self._employ(item, place)) if item.get("type") in _EMPLOYERS else drafts

    def _output(self, params: dict[str, Any], place: Place) -> Outputs:
        return (self._items.output(params["itemId"], params["delta"], place),)

    def _summary(self, params: dict[str, Any], place: Place) -> Outputs:
        return self._items.thought(params["itemId"], params["delta"], params["summaryIndex"], "public", place)

    def _reasoning(self, params: dict[str, Any], place: Place) -> Outputs:
        return self._items.thought(params["itemId"], params["delta"], params["contentIndex"], "private", place)

    def _patch(self, params: dict[str, Any], place: Place) -> Outputs:
        return (self._items.preview(params["itemId"], place),)

    def _spent(self, params: dict[str, Any], place: Place) -> Outputs:
        usage = params["tokenUsage"]
        self._meter.told(place.thread, usage["total"], usage["last"], in_turn=self._client.is_busy(place.thread))
        return ()

    def _settings_updated(self, params: dict[str, Any], place: Place) -> Outputs:
        return self._settings.updated(params["threadSettings"]) if place.under is None else ()

    def _noticed(self, method: str, params: dict[str, Any]) -> Iterator[d.Draft]:
        drafts = self._notices.read(method, params, self._threads.under(params.get("threadId")))
        if method == "model/rerouted" and self._threads.under(params["threadId"]) is None:
            self._settings.model = params["toModel"]
        if self._is_announced or self._threads.root is not None:
            yield from drafts
        else:
            self._early += drafts

    # --- threads and turns --------------------------------------------------

    def _thread_started(self, thread: dict[str, Any]) -> Iterator[d.Draft]:
        if thread.get("forkedFromId") is None:
            self._meter.born(thread["id"])
        if thread.get("parentThreadId") in (None, thread["id"]) and self._threads.announce(thread["id"]) and not self._is_announced:
            yield from self._announce(thread, thread)

    def _announce(self, thread: dict[str, Any], answer: dict[str, Any]) -> Iterator[d.Draft]:
        self._is_announced = True
        self._settings.begin(answer)
        yield d.NativeSession(thread["id"])
        yield d.Announce(started_as(thread, answer, self._version, self.head))
        yield from self._early
        self._early = []

    def _employ(self, item: dict[str, Any], place: Place) -> Outputs:
        """A call that sets subagents to work names their threads: what they said and say belongs under it."""
        match item:
            case {"type": "collabAgentToolCall", "tool": tool, "receiverThreadIds": [*threads]} if tool in _EMPLOYING:
                pass
            case {"type": "subAgentActivity", "kind": "started", "agentThreadId": str() as thread}:
                threads = [thread]
            case _:
                return
        for thread in threads:
            for native in self._threads.link(thread, self._items.call_id(place, item["id"])):
                yield from self._read(native)

    def _turn_started(self, params: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        id = params["turn"]["id"]
        self._client.busy(place.thread, id)
        if place.under is None:
            yield d.BeginTurn(id)
        else:
            yield d.Running(place.under, background=True)  # it may go on when the turn that started it ends

    def _turn_completed(self, params: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        turn = params["turn"]
        self._client.idle(place.thread)
        unsaid = self._items.unsaid(place.thread)  # the end of the root's turn closes them
        yield from self._items.outliving(place.thread)
        error = turn.get("error") or {}
        if place.under is not None:
            yield from (d.Close(key, status="failed") for key in unsaid)
            if error:
                yield d.Note("subagent", error["message"], under=place.under, failed=True)
            if not self._items.is_outlived(place.thread):
                yield d.Settled(place.under)
            return
        status: TurnStatus = {"failed": "failed", "interrupted": "interrupted"}.get(turn["status"], "completed")  # type: ignore[assignment]
        usage = self._meter.take(self._settings.model)
        yield d.EndTurn(status, usage, error.get("message"), code_of(error), details_of(error))

    def _error(self, params: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        error = params["error"]
        if params["willRetry"]:
            yield from self._items.abandon(place.thread)
            yield d.Note("retry", error["message"], details_of(error), place.under)
        elif place.under is None:
            yield d.Failure(error["message"], code_of(error), details_of(error))
        # A subagent that gives up says so once more when its turn ends.

    # --- asks ---------------------------------------------------------------

    def _asked(self, native: dict[str, Any], id: int | str, method: str, params: dict[str, Any]) -> Outputs:
        thread = params.get("threadId") or params.get("conversationId")
        if method not in asks.METHODS:
            yield Send(encode.error(id, f"onetape does not know {method}"))
            yield d.Unknown(native)
        elif method in asks.UNSERVED or params.get("mode") == "openai/userVerification":
            yield Send(encode.error(id, f"onetape does not serve {method}"))
        elif thread is not None and self._threads.is_strange(thread):
            yield Send(encode.error(id, "this thread is not of onetape's session"))
        elif thread is not None and not self._threads.is_ours(thread):
            self._threads.hold(thread, native)
        else:
            try:
                yield self._asks.request(id, method, params, self._place(params), self._items)
            except (KeyError, TypeError, ValueError, AttributeError, Unparsed) as error:
                # It must be answered all the same, or the agent would wait for ever.
                yield Send(encode.error(id, f"malformed {method}"))
                yield d.Unreadable(f"{method} without the fields it must have: {error}", type(self).__name__)

    def _withdrawn(self, params: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        """The request is over. With the answer on the tape it was answered; without sends only the outcome tells."""
        id = params["requestId"]
        if self._hears_sends and (wanted := self._asks.withdrawn(id)) is not None:
            yield d.Answer(wanted.id, "reject") if wanted.questions is None else d.Reply(wanted.id, None)

    # --- responses ----------------------------------------------------------

    def _responded(self, id: Any, result: Any) -> Outputs:
        self._client.responded(id)
        match result:
            case {"userAgent": str() as agent, "codexHome": str()}:
                self._version = agent.partition("/")[2].partition(" ")[0] or None
                yield from map(Send, self._client.opened())
            case {"thread": {"id": str() as id} as thread, "approvalPolicy": _}:
                if thread.get("forkedFromId") is None and not has_past(thread):
                    self._meter.born(id)
                if self._threads.announce(id):
                    yield from self._announce(thread, result)
                    yield from map(Send, self._client.ready(id, self._settings, self.next_id))
            case {"turn": {"id": str() as turn}}:
                self._client.starting(turn)
            case _:
                pass  # lists, settings and histories: for who asked, no event

    def _failed(self, id: Any, why: str) -> Outputs:
        method, params = self._client.responded(id)
        if method == "turn/steer":
            # The turn ended meanwhile, or takes no steering. As a turn of its own the message is not lost.
            yield d.Note("notice", f"the running turn could not be steered: {why}", failed=True)
            yield from map(Send, self._client.again(params))
        elif method in _PROMPTS:
            if method in _THREADS:
                self._client.stranded(why)
            yield d.Failure(why, method)
        else:
            yield d.Note("notice", f"{method or 'a request'} was refused: {why}", failed=True)

    # --- we say -------------------------------------------------------------

    def _open(self) -> Iterable[Send]:
        yield Send(self._client.request("initialize", encode.initialize()))

    def _sent(self, native: Any) -> Iterable[d.Draft]:
        self._hears_sends = True
        match native:
            case {"method": str() as method, "id": int() | str() as id}:
                self._client.requested(id, method, native.get("params") or {})
            case {"method": "initialized"} | {"argv": _}:
                pass
            case {"id": int() | str() as id, "result": result}:
                yield from self._answered(id, result)
            case {"id": int() | str() as id, "error": _}:
                yield from self._answered(id, None)
            case _:
                yield d.Unheard(native)

    def _answered(self, id: int | str, result: Any) -> Iterator[d.Draft]:
        if (answer := self._asks.answered(id, result)) is not None:
            draft, wanted = answer
            if isinstance(draft, d.Answer) and draft.status != "reject":
                self._items.permit(wanted.call_id)
            yield draft

    def _write(self, command: Command) -> Iterable[Send]:
        messages = self._client.write(command, self._settings, self.next_id)
        if messages is None:
            raise self.cannot(command)
        yield from map(Send, messages)

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        if not self._is_announced and self._threads.root is None:
            yield d.Announce({})  # it died, or was used, without a thread
            yield from self._early
        self._items.forget()
        self._asks.restart()
        self._client.restart()
        self._early = []


_Reader: TypeAlias = Callable[[AppServer, dict[str, Any], Place], Outputs]
_SPOKEN: dict[str, _Reader] = {
    "item/agentMessage/delta": AppServer._words,
    "item/plan/delta": AppServer._words,
    "item/started": AppServer._item_started,
    "item/completed": AppServer._item_completed,
    "item/commandExecution/outputDelta": AppServer._output,
    "item/reasoning/summaryTextDelta": AppServer._summary,
    "item/reasoning/textDelta": AppServer._reasoning,
    "item/fileChange/patchUpdated": AppServer._patch,
    "turn/started": AppServer._turn_started,
    "turn/completed": AppServer._turn_completed,
    "thread/tokenUsage/updated": AppServer._spent,
    "thread/settings/updated": AppServer._settings_updated,
    "serverRequest/resolved": AppServer._withdrawn,
    "error": AppServer._error,
}
