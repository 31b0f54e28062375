"""OpenCode's server: HTTP requests one way, server-sent events the other.

Read with the captures of 1.18.33 and the OpenAPI document that the server gives
at `/doc`. A send is on the tape after its answer, often after the events that it
caused; so where the agent echoes or confirms, that is the event, and a send
makes one only where nothing else will. Both streams are understood: `/event`,
and `/global/event`, which wraps each event and repeats the durable ones.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from onetape import drafts as d
from onetape.agents.opencode import content, plain, requests, wire
from onetape.agents.opencode.asks import Asked
from onetape.agents.opencode.conversation import Conversation, later
from onetape.agents.opencode.permissions import agent_of, spelled
from onetape.agents.opencode.prompts import Refusals, answered, is_prompt, session_in, text_of
from onetape.commands import Command, Interrupt, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from onetape.errors import Refused, Unparsed
from onetape.schema import Usage
from onetape.tape import Head
from onetape.translator import Native, Outputs, Send, Translator, hot, often

STACK = "\n    at "
# How the failures begin that a prompt is refused with (1.18.33). Any other one without a turn is of a file that was attached:
# the prompt goes on without it, and says so.
REFUSED = ("Agent not found: ", "Command not found: ", "Model not found: ")


class Serve(Translator):
    title = "OpenCode"
    dialect = "serve"
    hot = hot(
        b'"message.part.delta"', wire.Delta,
        place="properties.partID properties.messageID properties.sessionID", words="properties.delta",
    )  # fmt: skip
    often = often(plain.PartUpdated | plain.PartDelta | plain.MessageUpdated)

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._talk = Conversation()
        self._asked = Asked(self._talk)
        self._refusals = Refusals()
        self._is_announced = False
        self._has_told_error = False
        self._has_told_refusal = False
        """Of a prompt whose request will be answered with the same failure."""
        self._was_refused = False
        """The answer to its prompt has failed the last turn; the stream may tell the reason yet."""
        self._attempts: dict[str, Any] = {}
        self._last_prompt = ""
        self._chosen = requests.Chosen(head.model, head.variant, "plan" if head.permission_mode == "plan" else head.mode)

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"method": str(), "path": str()}:
                return sent
            case {"type": str(), "properties": {}} | {"payload": {"type": str()}}:
                return not sent
            case {"id": str(), "type": str(kind), "data": {}}:
                return not sent and "." in kind  # what Pi answers looks the same, and is a `response`
            case _:
                return False

    @property
    def is_ready(self) -> bool:
        return self._is_announced

    # --- the agent says -----------------------------------------------------

    def _begin(self) -> Iterable[d.Draft]:
        if self.head.resume:
            yield from self._talk.adopt(self.head.resume)

    def glance(self, message: Any) -> d.Add | None:
        talk, told = self._talk, message.properties
        if talk.waiting or not (told.sessionID == talk.root or talk.owns(told.sessionID)):
            return None
        return talk.streams.add(told.partID, told.delta, told.messageID)

    def read_often(self, message: plain.PartUpdated | plain.PartDelta | plain.MessageUpdated) -> list[d.Draft] | None:
        told, talk = message.properties, self._talk
        if told.sessionID != talk.root or talk.waiting:
            return None
        if isinstance(told, plain.Parted):
            return talk.often(told.part)
        if isinstance(told, plain.Informed):
            return self._answer(told.info)
        added = talk.streams.add(told.partID, told.delta, told.messageID)
        return None if added is None else [added]

    def _read(self, native: Native) -> Outputs:
        # Every line comes through here, so this is no generator around what the event's own reader gives.
        if type(wrapped := native.get("payload")) is dict:
            native = wrapped
        kind = native.get("type")
        happened = _EVENTS.get(kind) if type(kind) is str else None
        if happened is None:
            return () if type(kind) is str and wire.is_silent(kind) else (d.Unknown(native),)
        told = native["properties"] if "properties" in native else native.get("data")  # of /api/event, the second API's stream
        if texts := wire.TOLD[kind]:
            wire.check_texts(told, texts)
        # Whose this is; of a message or a part only once it was found to have what it must.
        session = told.get("sessionID")
        if (part := told.get("part")) is not None:
            wire.check_part(part)
            session = session or part["sessionID"]  # versions before this one told it there alone
        elif (info := told.get("info")) is not None:
            session = _session_of_info(info, session)
        if type(session) is not str:
            if session is not None:
                raise Unparsed("'sessionID' is no text")
            if kind not in wire.MAY_BE_NOBODYS:
                raise Unparsed(f"{kind} of no session")
        talk = self._talk
        if talk.waiting or talk.root is None or kind == "session.created":
            return self._more_than_itself(kind, happened, told, session)
        if session is None:
            return happened(self, told, "")
        return happened(self, told, session) if session == talk.root or talk.owns(session) else ()

    def _more_than_itself(self, kind: str, happened: "_Reader", told: dict[str, Any], session: str | None) -> Iterator[d.Draft]:
        yield from self._before(kind, told, session)
        if session is None:
            yield from happened(self, told, "")
        elif self._talk.owns(session):
            # What became clear by its coming is not lost with what it says.
            yield from self._all_or_unreadable(later(happened, self, told, session))

    def _before(self, kind: str, told: dict[str, Any], session: str | None) -> Iterator[d.Draft]:
        """Whose tape this is, and a user message that is whole now."""
        if kind == "session.created":
            yield from self._created(told["info"])
        elif self._talk.root is None and session is not None and kind != "session.deleted":
            # A tape that begins in mid-session, or one that was resumed: there is no other.
            yield from self._talk.adopt(session)
        if session is not None and self._talk.owns(session) and self._talk.waiting and not self._is_of_waiting(told, session):
            yield from self._all_or_unreadable(self._flush(session))

    def _is_of_waiting(self, told: dict[str, Any], session: str) -> bool:
        waiting = self._talk.waiting.get(session)
        return waiting is not None and "part" in told and told["part"]["messageID"] == waiting.info["id"]

    def _flush(self, session: str) -> Iterator[d.Draft]:
        waiting = self._talk.waiting.get(session)
        yield from self._talk.flush(session)
        if waiting is not None and waiting.parts and session == self._talk.root and self._talk.turn is not None:
            self._has_told_error = self._has_told_refusal = self._was_refused = False
            self._last_prompt = text_of(waiting.parts)
            # A prompt that the server answered with an error, and yet took (capture 24): nothing else follows.
            if (error := self._refusals.take(self._last_prompt)) is not None:
                yield from self._refused(error)

    # --- sessions -----------------------------------------------------------

    def _created(self, info: dict[str, Any]) -> Iterator[d.Draft]:
        yield from self._talk.created(info)
        if info["id"] == self._talk.root:
            yield from self._announce(info)

    def _announce(self, info: dict[str, Any]) -> Iterator[d.Draft]:
        self._is_announced = True
        model = info.get("model") or {}
        told = {
            "agent_version": info.get("version"), "cwd": info.get("directory"), "model": content.model_name(model),
            "variant": model.get("variant"), "mode": info.get("agent"),
        }  # fmt: skip
        yield d.Announce({name: value for name, value in told.items() if value is not None})

    def _session_updated(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        return ()  # titles, running sums, reverts: the messages tell what happened, and those that are removed

    def _session_deleted(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        yield d.Note("notice", "session deleted", under=self._talk.under(session))

    def _status(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        status = told["status"]
        match status:
            case {"type": "retry", "attempt": attempt, "message": str() as words}:
                if self._attempts.get(session) == attempt:
                    return  # repeated while it waits
                self._attempts[session] = attempt
                yield from self._talk.abandon(session)
                yield d.Note("retry", f"attempt {attempt} failed: {words}", status, self._talk.under(session))
            case {"type": "busy" | "idle"}:
                self._attempts.pop(session, None)
            case {"type": str() as kind} if kind != "retry":
                yield d.Unknown({"type": "session.status", "properties": told})
            case _:
                raise Unparsed("session.status without the fields it must have")

    def _idle(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        if session != self._talk.root:
            yield from self._talk.child_idle(session)
        else:
            yield from self._talk.idle()
            if self._talk.turn is None:
                self._asked.forget()  # what an abort leaves behind is answered by nobody (capture 46)

    def _error(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        error = told.get("error")
        if error is None:
            return
        words = content.words_of(error)
        if not session:  # of a plugin or a skill that could not be loaded: no session's, and nothing fails by it
            yield from [d.Note("notice", words, failed=True)] if self._talk.root is not None else []
        elif session != self._talk.root:
            if not content.is_abort(error):
                yield d.Note("subagent", words, under=self._talk.under(session), failed=True)
        elif self._talk.turn is not None:
            self._has_told_error = True
            self._talk.failed(error)
        elif content.is_abort(error) or (self._has_told_error and STACK in words) or (self._was_refused and words.startswith(REFUSED)):
            # The second report of the same failure; one by who called carries a stack (capture 24).
            self._has_told_error = self._has_told_refusal = self._was_refused = False
        elif words.startswith(REFUSED) or STACK in words or content.name_of(error) != "UnknownError":
            self._has_told_error = True
            self._has_told_refusal = not self._refusals.take_first()  # what the request is answered with says less
            yield d.Failure(words, content.name_of(error), content.details_of(error))
        else:
            yield d.Note("notice", words, failed=True)

    def _compacted(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        return self._talk.compactions.end(session)

    # --- messages -----------------------------------------------------------

    def _message(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        info = told["info"]
        return self._answer(plain.info(info)) if info["role"] == "assistant" else self._talk.message(info)

    def _answer(self, info: plain.Info) -> list[d.Draft]:
        drafts = self._talk.answer(info)
        if self._talk.turn is None and info.sessionID == self._talk.root:
            self._asked.forget()
        return drafts

    def _message_removed(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        yield d.Note("notice", f"message removed: {told['messageID']}", under=self._talk.under(session), native_id=told["messageID"])

    def _part(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        return self._talk.part(told["part"])

    def _part_removed(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        detail = f"part removed: {told['partID']}"
        yield d.Note("notice", detail, under=self._talk.under(session), native_id=told["messageID"])

    def _delta(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        return self._talk.delta(told)

    # --- asks and the rest --------------------------------------------------

    def _permission_asked(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        yield self._asked.permission(told, session)

    def _permission_replied(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        yield self._asked.permission_replied(told)

    def _question_asked(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        yield self._asked.question(told, session)

    def _question_replied(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        if self._asked.approves_plan(told):
            self._chosen.agent = wire.BUILD  # OpenCode goes on with it, and so do the prompts that follow
        yield self._asked.question_replied(told)

    def _question_rejected(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        yield self._asked.question_replied(told)

    def _mcp_tools(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        if self._talk.root is not None:
            yield d.Note("mcp", f"{told['server']}: tools changed")

    def _mcp_browser(self, told: dict[str, Any], session: str) -> Iterable[d.Draft]:
        if self._talk.root is not None:
            yield d.Note("mcp", f"{told['mcpName']}: sign in at {told['url']}", failed=True)

    # --- we say -------------------------------------------------------------

    def _open(self) -> Iterable[Send]:
        yield requests.listen()
        if self.head.resume:
            yield requests.get_session(self.head.resume)
        else:
            yield requests.create_session(self.head.permission_mode)

    def _sent(self, native: Native) -> Iterable[d.Draft]:
        if isinstance(native, dict) and isinstance(path := native.get("path"), str):
            native = native | {"path": path.partition("?")[0]}  # `?directory=`: of which project (capture 41)
        match native:
            case {"method": "POST", "path": "/session"} | {"method": "POST", "path": "/api/session"}:
                yield from self._session_made(answered(native))
            case {"method": "GET", "path": "/mcp"}:
                self._talk.calls.servers.update({spelled(name): name for name in answered(native) or ()})
            case {"method": "POST", "path": str() as path} if path.startswith("/permission/"):
                self._asked.sent(path.split("/")[2], native.get("body"))
            case {"method": "POST", "path": str() as path} if is_prompt(path):
                yield from self._prompted(native, session_in(path))
            case {"method": "GET", "path": str() as path} if path == f"/session/{self.head.resume or self._talk.root}":
                yield from self._looked_up(native)
            case {"method": str(), "path": str()}:
                pass  # lists, settings, aborts and answers: what comes of them is told on the stream
            case _:
                yield d.Unheard(native)

    def _session_made(self, info: Any) -> Iterator[d.Draft]:
        match info:
            case {"id": str(), "parentID": str()}:
                pass  # a subagent's; its session.created tells it
            case {"id": str() as session} | {"data": {"id": str() as session}}:
                yield from self._talk.adopt(session)
            case _:
                pass  # refused, or not answered yet

    def _looked_up(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        """A resumed session announces itself by nothing but this."""
        match native:
            case _ if self._is_announced:
                pass  # somebody looks at it again
            case {"status": int() as status, "response": response} if status >= 400:
                yield d.Failure(content.words_of(response), content.name_of(response))
            case {"response": {"id": str() as session} as info}:
                yield from self._talk.adopt(session)
                yield from self._announce(info)
            case _:
                pass  # not answered yet

    def _prompted(self, native: dict[str, Any], session: str) -> Iterator[d.Draft]:
        status = native.get("status")
        if not isinstance(status, int) or status < 400:
            yield from self._talk.adopt(session)
        elif session == self._talk.root:
            text, error = text_of((native.get("body") or {}).get("parts")), native.get("response")
            if self._talk.turn is not None and text == self._last_prompt:
                yield from self._refused(error)
            elif status < 500:
                yield d.Failure(content.words_of(error), content.name_of(error))
            elif not self._has_told_refusal and not (self._has_told_error and text == self._last_prompt):
                self._refusals.add(text, error)
            self._has_told_refusal = False

    def _refused(self, error: Any) -> Iterator[d.Draft]:
        """A prompt that was taken up, and yet answered with an error."""
        self._was_refused = True
        self._talk.failed(error)
        yield from self._talk.idle()

    def _write(self, command: Command) -> Iterable[Send]:
        match command:
            case SendMessage(text=text, attachments=files):
                yield requests.prompt(self._session(), text, files, self._chosen, self.head.cwd)
            case ReplyPermission(permission_id=id, reply=reply, message=message):
                yield requests.reply_permission(self._asked.open(id, "permission"), reply, message)
            case ReplyQuestion(question_id=id, answers=answers):
                yield requests.reply_question(id, self._asked.native_answers(id, answers))
            case RejectQuestion(question_id=id):
                yield requests.reject_question(self._asked.open(id, "question"))
            case Interrupt():
                yield requests.abort(self._session())
            case SetModel(model=model, variant=variant):
                self._set_model(model, variant)
            case SetMode(mode=mode):
                self._chosen.agent = agent_of(mode, self.head)  # told with the next prompt
            case _:
                raise self.cannot(command)

    def _session(self) -> str:
        if self._talk.root is None:
            raise Refused(f"{self.title} has not made its session yet")
        return self._talk.root

    def _set_model(self, model: str | None, variant: str | None) -> None:
        """Told with the next prompt, and not before: OpenCode has no model of its own for a session."""
        if model is None and variant is None:
            raise Refused("set_model needs a model or a variant")
        if model is not None:
            requests.native_model(model)
            self._chosen.model = model
        self._chosen.variant = variant

    def spent(self) -> Usage | None:
        return self._talk.meter.take()

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        self._asked.forget()
        self._attempts.clear()
        yield from self._finish()
        yield from self._talk.gone()

    def _finish(self) -> Iterable[d.Draft]:
        for session in list(self._talk.waiting):
            yield from self._flush(session)
        for error in self._refusals.take_all():
            yield d.Failure(content.words_of(error), content.name_of(error))


def _session_of_info(info: dict[str, Any], session: Any) -> Any:
    """Of a message, or of a session itself."""
    if "role" in info:
        wire.check_message(info)
    return session or info.get("sessionID", info["id"])


_Reader: TypeAlias = Callable[[Serve, dict[str, Any], str], Iterable[d.Draft]]
_EVENTS: dict[str, _Reader] = {
    "message.part.updated": Serve._part,
    "message.part.delta": Serve._delta,
    "message.updated": Serve._message,
    "message.removed": Serve._message_removed,
    "message.part.removed": Serve._part_removed,
    "session.created": lambda _serve, _told, _session: (),
    "session.updated": Serve._session_updated,
    "session.deleted": Serve._session_deleted,
    "session.status": Serve._status,
    "session.idle": Serve._idle,
    "session.error": Serve._error,
    "session.compacted": Serve._compacted,
    "permission.asked": Serve._permission_asked,
    "permission.replied": Serve._permission_replied,
    "question.asked": Serve._question_asked,
    "question.replied": Serve._question_replied,
    "question.rejected": Serve._question_rejected,
    "mcp.tools.changed": Serve._mcp_tools,
    "mcp.browser.open.failed": Serve._mcp_browser,
}
