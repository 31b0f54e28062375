"""Messages and parts of OpenCode into drafts: the same on the wire and in every history.

One native message per call of the model; its parts are the items. The first root
session is the transcript's, sessions that its `task` calls start are nested in
it, all others make no events. Knows turns only so far: what opens one, and what
its outcome is once somebody says that it is over (the wire by `session.idle`,
a history by what follows).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from onetape import drafts as d
from onetape.agents.opencode import content, plain
from onetape.agents.opencode.calls import Calls
from onetape.agents.opencode.compactions import Compactions
from onetape.agents.opencode.content import Meter, model_name
from onetape.agents.opencode.streams import Streams
from onetape.agents.opencode.wire import PARTS
from onetape.errors import Unparsed
from onetape.recent import Recent
from onetape.schema import Text

REMEMBERED = 4096
_UNREADABLE = "Read tool failed to read "


def later(read: Callable[..., Iterable[d.Draft]], *told: Any) -> Iterator[d.Draft]:
    """Reads when it is asked for its drafts and not before: so it fails where those before it are safe already."""
    yield from read(*told)


class Message(Struct):
    id: str
    session: str
    role: str
    is_summary: bool = False
    """It is a compaction's: its text is the summary, and no item."""
    cwd: str | None = None
    is_foreign: bool = False
    """History that a fork copied into the session: told before, in another transcript."""
    is_ordinary: bool = False
    """A call of the model in the root, and neither of the above."""
    outcome: Any = None
    """How it finished, or its error; None also when it was cut off."""


class Session(Struct):
    """A session of this transcript: the root, or a subagent's."""

    id: str
    created: float = 0.0
    has_own_call: bool = False
    """Nothing on the wire called this subagent, so it has a call made for it."""
    has_own_turn: bool = False
    running: str | None = None
    """Its message that is not completed: an abort has a subagent rest before its last words, as it has the root."""
    is_idle: bool = False


class Waiting(Struct):
    """A user message whose parts are still arriving: they follow it at once, and nothing says how many."""

    info: dict[str, Any]
    by_id: dict[str, dict[str, Any]] = field(default_factory=dict)
    """A part that is told again replaces itself."""

    @property
    def parts(self) -> list[dict[str, Any]]:
        return list(self.by_id.values())


class Turn(Struct):
    running: str | None = None
    """The root's message that is not completed."""
    last: Message | None = None
    """The call of the model that began last."""
    is_idle: bool = False
    was_aborted: bool = False
    error: Any = None


class Conversation:
    def __init__(self) -> None:
        self.root: str | None = None
        self.calls = Calls()
        self.meter = Meter()
        self.turn: Turn | None = None
        self.waiting: dict[str, Waiting] = {}
        self.streams = Streams()
        self._family: dict[str, Session] = {}
        self._messages: Recent[str, Message] = Recent(REMEMBERED)
        self._early: Recent[str, list[dict[str, Any]]] = Recent(256)
        self._model: tuple[str | None, str | None] | None = None
        self._mode: str | None = None
        self.compactions = Compactions()
        self._finished: str | None = None
        """The message whose call of the model came to its end last."""

    # --- sessions -----------------------------------------------------------

    def adopt(self, session: str, created: float = 0.0) -> Iterator[d.Draft]:
        """This is the session of the transcript, unless there is one."""
        if self.root is None:
            self.root = session
            self._family[session] = Session(session, created)
            yield d.NativeSession(session)

    def created(self, info: dict[str, Any]) -> Iterator[d.Draft]:
        id, parent, time = info["id"], info.get("parentID"), float((info.get("time") or {}).get("created") or 0)
        if parent is None:
            yield from self.adopt(id, time)
        elif parent in self._family and id not in self._family:
            self._family[id] = Session(id, time)
        if id == self.root:
            self._family[id].created = time

    def owns(self, session: Any) -> bool:
        return session in self._family

    def under(self, session: str) -> str | None:
        """The call that a session's items are nested in; None for the root."""
        if session == self.root:
            return None
        return self.calls.of_child(session) or session

    def _nested(self, session: str) -> Iterator[d.Draft]:
        """Before the first words of a subagent: it has a call to hang on."""
        if session == self.root or self.calls.of_child(session) is not None:
            return
        if (call := self.calls.unclaimed_task()) is not None:
            self.calls.claim(session, call)
        elif not self._family[session].has_own_call:
            self._family[session].has_own_call = True
            if self.turn is None:
                self._family[session].has_own_turn = True
                self.turn = Turn()
                yield d.BeginTurn()
            yield d.Call(session, "task", "{}")
            yield d.Running(session, background=True)

    def child_idle(self, session: str) -> Iterator[d.Draft]:
        known = self._family[session]
        known.is_idle = True
        if known.running is not None:
            return
        if known.has_own_call:
            known.has_own_call = False
            yield d.Result(session)
        if (call := self.under(session)) is not None:
            yield d.Settled(call)
        if known.has_own_turn:
            known.has_own_turn = False
            yield from self.idle()

    # --- messages -----------------------------------------------------------

    def message(self, info: dict[str, Any]) -> list[d.Draft]:
        return self.answer(plain.info(info)) if info["role"] == "assistant" else self._prompt(info)

    def _prompt(self, info: dict[str, Any]) -> list[d.Draft]:
        id, session = info["id"], info["sessionID"]
        if id in self._messages:
            return []
        known = self._meet(id, session, info["role"], plain.times(info.get("time")), plain.path(info.get("path")))
        if not known.is_foreign:
            self.waiting[session] = Waiting(info)
        return self._catch_up(known)

    def answer(self, info: plain.Info) -> list[d.Draft]:
        """A call of the model, as far as it has come."""
        id, session = info.id, info.sessionID
        is_completed = info.time is not None and bool(info.time.completed)
        known = self._messages.get(id)
        told: list[d.Draft] = []
        if known is None:
            known = self._meet(id, session, "assistant", info.time, info.path, is_summary=info.summary is True)
            if not known.is_foreign and (not is_completed or id in self._early):
                told += self._begin(known)
                if known.is_summary:
                    told += self.compactions.summarise(session, id, self.under(session))
            if self._early:
                told += self._catch_up(known)
        if known.role == "assistant" and not known.is_foreign:
            self._went_on(known, info, is_completed, told)
        return told

    def _catch_up(self, message: Message) -> list[d.Draft]:
        """With the parts that came before it."""
        early = self._early.pop(message.id, ())
        return [draft for part in early for draft in self.part(part)] if not message.is_foreign else []

    def _meet(
        self, id: str, session: str, role: str, time: plain.Times | None, path: plain.Path | None, *, is_summary: bool = False
    ) -> Message:
        created = 0 if time is None else time.created or 0
        cwd = None if path is None else path.cwd
        if cwd is not None and type(cwd) is not str:
            raise Unparsed("'cwd' is no text")
        is_foreign = created < self._family[session].created
        is_ordinary = role == "assistant" and session == self.root and not is_summary and not is_foreign
        known = self._messages[id] = Message(id, session, role, is_summary, cwd, is_foreign, is_ordinary)
        return known

    def _begin(self, message: Message) -> list[d.Draft]:
        """A call of the model begins. Without a turn the agent itself, or a tape cut off at its front, opens one."""
        if message.session != self.root:
            return self._supersede(message, self._family[message.session])
        told: list[d.Draft] = []
        if self.turn is None:
            self.turn = Turn()
            told.append(d.BeginTurn())
        told += self._supersede(message, self.turn)
        if self.turn.error is not None:
            # It failed and goes on by itself: an overflowing context is compacted (capture 14f).
            told.append(d.Note("retry", content.words_of(self.turn.error)))
            self.turn.error = None
        self.turn.last = message
        return told

    def _supersede(self, message: Message, at_work: Turn | Session) -> list[d.Draft]:
        """One call of the model runs at a time: an older one without an end was killed with its process, or its end was lost."""
        given_up = self.abandon(message.session, at_work.running) if at_work.running is not None else []
        at_work.running = message.id
        at_work.is_idle = False
        return given_up

    def _went_on(self, message: Message, info: plain.Info, is_completed: bool, told: list[d.Draft]) -> None:
        is_root, error = message.session == self.root, info.error
        if is_root and isinstance(info.providerID, str) and isinstance(info.modelID, str):
            self.meter.model = f"{info.providerID}/{info.modelID}"
        if not is_completed:
            return
        message.outcome = error or info.finish
        if message.is_summary:
            told += self.compactions.end(message.session, failed=error is not None)
        if not is_root:
            told += self._child_done(message)
        elif self.turn is not None and message is self.turn.last:
            # Some failures are told once more than the completion, and nowhere else (a StructuredOutputError).
            self.turn.running = None
            self.failed(error)
            if self.turn.is_idle:
                told += self.idle()

    def _child_done(self, message: Message) -> Iterator[d.Draft]:
        known = self._family[message.session]
        if known.running == message.id:
            known.running = None
        if known.is_idle:
            yield from self.child_idle(message.session)

    def failed(self, error: Any) -> None:
        """What went wrong in this turn, so far: whether that is its end shows at its end."""
        if self.turn is None or error is None:
            return
        if content.is_abort(error):
            self.turn.was_aborted = True
        else:
            self.turn.error = error

    # --- the user's message -------------------------------------------------

    def flush(self, session: str) -> Iterator[d.Draft]:
        """All parts of a user message are here."""
        waiting = self.waiting.get(session)
        if waiting is None or not waiting.parts:
            return  # its first part is yet to come: words of an answer that is being streamed came between them
        del self.waiting[session]
        yield from self._nested(session)
        id, under = waiting.info["id"], self.under(session)
        if session == self.root:
            if self.turn is not None and self.turn.is_idle:  # it rests, and the end of its last message was lost
                self.turn.running = None
                yield from self.idle()
            yield from self._turn_for(waiting.info)
        said, kept = content.said(waiting.parts)
        yield from kept
        if said and self.compactions.repeats(session, waiting.parts):
            self.compactions.repeated(session)
            yield d.System(said, id, under)
        elif said:
            self.compactions.asked(session, waiting.parts)
            yield d.UserMessage(said, id, under)
        for part in waiting.parts:
            yield from self._late_user_part(part, under)

    def _turn_for(self, info: dict[str, Any]) -> Iterator[d.Draft]:
        model = model_name(info.get("model")), (info.get("model") or {}).get("variant")
        mode = info.get("agent")
        if self.turn is None:
            self.turn = Turn()
            told = {"model": model[0], "variant": model[1], "mode": mode}
            yield d.BeginTurn(info["id"], {name: value for name, value in told.items() if value is not None} or None)
        if self._model not in (None, model):
            yield d.Note("model", f"{model[0]} ({model[1]})" if model[1] else model[0])
        if self._mode not in (None, mode):
            yield d.Note("mode", mode)
        self._model, self._mode = model, mode

    def _late_user_part(self, part: dict[str, Any], under: str | None) -> Iterator[d.Draft]:
        """What is not the user's own in a user message."""
        match part:
            case {"type": "text", "text": str() as text} if not content.is_the_users(part):
                yield d.System([Text(text)], part["messageID"], under)
                if self.turn is not None and text.startswith(_UNREADABLE) and content.words_of(self.turn.error) in text:
                    self.turn.error = None  # told as if the session had failed, and it goes on
            case {"type": "compaction"}:
                yield from self.compactions.begin(part["sessionID"], part["messageID"], under, overflow=bool(part.get("overflow")))
            case _:
                pass  # it is in the message

    # --- parts --------------------------------------------------------------

    def often(self, part: plain.Part) -> list[d.Draft] | None:
        """What `part` says of a part of an ordinary message; None for any other."""
        message = self._messages.get(part.messageID)
        if message is None or not message.is_ordinary:
            return None
        if isinstance(part, plain.Tool):
            # What is attached may be anything: it is looked at in the ordinary way. So is nothing that comes when the turn is over.
            return None if part.state.attachments or self.turn is None else self.calls.part(part, None, message.cwd)
        if isinstance(part, plain.StepFinish):
            self._billed(part.tokens, part.cost, message)
            return []
        if self.turn is None:
            return []  # trailing words of a turn that is over never open another
        if isinstance(part, plain.StepStart):
            return self.abandon(message.session, message.id)
        return self.streams.part(part, message.id, None)

    def part(self, part: dict[str, Any]) -> Iterable[d.Draft]:
        kind, session, id = part["type"], part["sessionID"], part["messageID"]
        message = self._messages.get(id)
        if kind not in PARTS:
            return [d.Unknown(part)]
        if message is None:
            return self._before_its_message(part, kind)
        if message.is_foreign:
            return ()
        if message.role == "user":
            return self._user_part(part, session, id)
        if kind == "step-finish":
            self._billed(plain.tokens(part["tokens"]), part.get("cost"), message)
            return ()
        if message.session != self.root:
            return self._childs_part(part, kind, message)
        if self.turn is None:
            return ()  # trailing words of a turn that is over never open another
        return self._said_or_done(part, kind, message, None)

    def _billed(self, tokens: plain.Tokens, cost: Any, message: Message) -> None:
        self.meter.add(tokens, cost)
        self._finished = message.id

    def _user_part(self, part: dict[str, Any], session: str, id: str) -> Iterator[d.Draft]:
        waiting = self.waiting.get(session)
        if waiting is not None and waiting.info["id"] == id:
            self.streams.saw(part["id"])
            waiting.by_id[part["id"]] = part
        elif part["id"] not in self.streams:
            self.streams.saw(part["id"])
            # What was cut off by such words is said late rather than never.
            said, kept = content.said([part] if self.turn is not None else [])
            yield from [*kept, d.UserMessage(said, id, self.under(session))] if said else []
            yield from self._late_user_part(part, self.under(session))  # a reminder that the agent adds once the turn runs (capture 12)

    def _before_its_message(self, part: dict[str, Any], kind: str) -> Iterator[d.Draft]:
        """The seeds' rule for a part before its message, which 1.18.33 never sends: what only a model
        says is a message of its own at once, so that deltas have an item; the rest waits for its role."""
        id, session = part["messageID"], part["sessionID"]
        if (kind in ("text", "reasoning") and (part.get("time") or {}).get("start")) or kind in ("tool", "step-start"):
            message = self._messages[id] = Message(id, session, "assistant")
            yield from self._begin(message)
            yield from self.part(part)
        else:
            self._early[id] = [*self._early.get(id, ()), part]

    def _childs_part(self, part: dict[str, Any], kind: str, message: Message) -> Iterator[d.Draft]:
        yield from self._nested(message.session)
        yield from self._said_or_done(part, kind, message, self.under(message.session))

    def _said_or_done(self, part: dict[str, Any], kind: str, message: Message, under: str | None) -> Iterable[d.Draft]:
        if kind == "tool":
            return self.calls.part(plain.tool(part), under, message.cwd)
        if kind in ("text", "reasoning"):
            if not message.is_summary:
                return self.streams.part(plain.text(part), message.id, under)
            if kind == "text":
                self.compactions.told(message.session, part["text"])
        elif kind == "step-start":
            return self.abandon(message.session, message.id)  # a retry within the same message (capture 14e)
        elif kind == "file":
            return self._shown(part, message.id, under)
        elif kind == "retry":
            return (d.Note("retry", content.words_of(part.get("error")), under=under),)
        return ()  # the rest are marks, or a user's parts

    def _shown(self, part: dict[str, Any], message: str, under: str | None) -> Iterator[d.Draft]:
        """A file that the model made."""
        shown, kept = content.file_part(part)
        if part["id"] in self.streams:
            return
        self.streams.saw(part["id"])
        yield from [kept] if kept else []
        yield d.Open(part["id"], None, message, under, message)
        yield d.Close(part["id"], parts=[shown])

    def delta(self, told: dict[str, Any]) -> Iterator[d.Draft]:
        part, message = told["partID"], self._messages.get(told["messageID"])
        words, session = told["delta"], told["sessionID"]
        if told["field"] != "text" or (message is not None and (message.is_summary or message.is_foreign)):
            return  # the summary is told whole at its end
        if part not in self.streams and (message is None or message.role == "assistant"):
            # Neither its part nor, perhaps, its message came before it: never seen in 1.18.33.
            if message is None:
                message = self._messages[told["messageID"]] = Message(told["messageID"], session, "assistant")
                yield from self._begin(message)
            yield from self._nested(session)
            yield self.streams.stub(part, session, message.id, self.under(session))
        if (added := self.streams.add(part, words)) is not None:
            yield added

    def abandon(self, session: str, message: str | None = None) -> list[d.Draft]:
        """An attempt is given up: what it had begun to say never ends by itself, nor soon."""
        return self.streams.abandon(session, message) + self.calls.abandon(session, message)

    # --- the end of a turn --------------------------------------------------

    def idle(self) -> Iterator[d.Draft]:
        """The root rests. On an error or an abort it says so before its last message is completed, and then again."""
        turn = self.turn
        if turn is None:
            return
        turn.is_idle = True
        if turn.running is not None:
            return
        self.turn = None
        self.streams.forget(str(self.root))
        yield from self.compactions.end(str(self.root), failed=True)
        error, last = turn.error, turn.last
        # An abort while it waits to try again, or of the user's own command, is told by nothing else.
        was_cut_off = error is None and last is not None and last.outcome is None and not self._has_said(last.id)
        if turn.was_aborted or was_cut_off:
            yield d.EndTurn("interrupted", self.meter.take())
        elif error is not None:
            told = content.words_of(error), content.name_of(error), content.details_of(error)
            yield d.EndTurn("failed", self.meter.take(), *told)
        else:
            yield d.EndTurn("completed", self.meter.take())

    def _has_said(self, message: str) -> bool:
        """Whether anything of it came to an end of its own: its call of the model, a text, a tool."""
        return message in (self._finished, self.streams.last_whole) or self.calls.has_done(message)

    def gone(self) -> Iterator[d.Draft]:
        """The process ended: nothing that it left open goes on."""
        for session in list(self.waiting):
            yield from self.flush(session)
        self.turn = None
        self.compactions.forget()
        for session, known in self._family.items():
            known.running = None
            self.streams.forget(session)
