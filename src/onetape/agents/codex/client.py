"""Our half of the conversation with app-server: requests under way, and a client's wishes as messages.

A wish that comes before the thread exists waits for it. Which turn is running is
known from the wire alone, so a replay knows it too.
"""

from collections.abc import Callable, Iterator
from typing import Any

from onetape.agents.codex import asks, encode
from onetape.agents.codex.settings import Settings
from onetape.commands import Command, Interrupt, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from onetape.errors import Refused
from onetape.tape import Head

Message = dict[str, Any]


class Client:
    def __init__(self, head: Head, asked: asks.Asks) -> None:
        self._head = head
        self._asks = asked
        self._count = 0
        self._requests: dict[Any, tuple[str, Message]] = {}
        self._turns: dict[str, str] = {}
        self._thread: str | None = None
        self._starting: str | None = None
        self._waiting: list[Command] = []
        self._no_thread: str | None = None
        """Why there is none and will be none."""
        self._mode = "plan" if "plan" in (head.mode, head.permission_mode) else None
        """A collaboration mode that the next turn is to begin with."""

    # --- what is under way --------------------------------------------------

    def request(self, method: str, params: Message) -> Message:
        self._count += 1
        return {"method": method, "id": self._count - 1, "params": params}

    def requested(self, id: Any, method: str, params: Message) -> None:
        self._requests[id] = method, params

    def responded(self, id: Any) -> tuple[str | None, Message]:
        return self._requests.pop(id, (None, {}))

    def busy(self, thread: str, turn: str) -> None:
        self._turns[thread] = turn

    def starting(self, turn: str) -> None:
        """The answer to turn/start: it will run, and can be interrupted."""
        self._starting = turn

    def idle(self, thread: str) -> None:
        self._turns.pop(thread, None)
        if thread == self._thread:
            self._starting = None

    def is_busy(self, thread: str) -> bool:
        return thread in self._turns

    @property
    def has_thread(self) -> bool:
        return self._thread is not None

    def restart(self) -> None:
        """The process is gone, and with it all that was under way."""
        self._requests.clear()
        self._turns.clear()
        self._thread = self._starting = self._no_thread = None

    def stranded(self, why: str) -> None:
        """The thread was refused: what waits for it would wait for ever."""
        if self._thread is None:
            self._no_thread = why
            self._waiting.clear()

    # --- the handshake ------------------------------------------------------

    def opened(self) -> Iterator[Message]:
        yield {"method": "initialized"}
        yield self.request(*encode.thread(self._head))

    def ready(self, thread: str, settings: Settings, new_id: Callable[[], str]) -> Iterator[Message]:
        """The thread exists: what was wished for before goes out now."""
        self._thread = thread
        waiting, self._waiting = self._waiting, []
        for command in waiting:
            yield from self._do(thread, command, settings, new_id) or ()

    # --- wishes -------------------------------------------------------------

    def write(self, command: Command, settings: Settings, new_id: Callable[[], str]) -> list[Message] | None:
        """The messages for a client's wish; None for what Codex cannot do."""
        if self._thread is None and isinstance(command, SendMessage | SetModel | SetMode):
            if self._no_thread is not None:
                raise Refused(f"Codex has no thread to talk to: {self._no_thread}")
            _check(command)
            self._waiting.append(command)
            return []
        return self._do(self._thread or "", command, settings, new_id)

    def _do(self, thread: str, command: Command, settings: Settings, new_id: Callable[[], str]) -> list[Message] | None:
        match command:
            case SendMessage():
                return [self._message(thread, encode.message(thread, command, new_id()), settings)]
            case ReplyPermission(permission_id=id, reply=reply, message=why):
                return self._permission(thread, self._asks.find(id, "permission"), reply, why, settings, new_id)
            case ReplyQuestion(question_id=id, answers=answers):
                wanted = self._asks.find(id, "question")
                return [{"id": wanted.native_id, "result": asks.reply(wanted, answers)}]
            case RejectQuestion(question_id=id):
                wanted = self._asks.find(id, "question")
                return [{"id": wanted.native_id, "result": asks.deny(wanted, None)}]
            case Interrupt():
                turn = self._turns.get(thread) or self._starting
                if turn is None:
                    raise Refused("no turn is running that could be interrupted")
                return [self.request("turn/interrupt", {"threadId": thread, "turnId": turn})]
            case SetModel() | SetMode():
                changed = _changed(command, settings)
                if isinstance(command, SetMode):
                    self._mode = None  # the newer wish
                return [self.request("thread/settings/update", {"threadId": thread, **changed})]
            case _:
                return None

    def _message(self, thread: str, params: Message, settings: Settings) -> Message:
        turn = self._turns.get(thread)
        if turn is not None:
            return self.request("turn/steer", {**params, "expectedTurnId": turn})
        if self._mode is not None and settings.model is not None:
            params["collaborationMode"] = encode.collaboration(self._mode, settings.model, settings.effort)
            self._mode = None
        return self.request("turn/start", params)

    def again(self, params: Message) -> Iterator[Message]:
        """A message that could not steer, as one that starts a turn; while a turn runs that steers it too (capture 16c)."""
        yield self.request("turn/start", {name: value for name, value in params.items() if name != "expectedTurnId"})

    def _permission(
        self, thread: str, wanted: asks.Wanted, reply: str, why: str | None, settings: Settings, new_id: Callable[[], str]
    ) -> list[Message]:
        if reply != "reject":
            return [{"id": wanted.native_id, "result": asks.allow(wanted, always=reply == "always")}]
        answer = {"id": wanted.native_id, "result": asks.deny(wanted, why)}
        if why is None or asks.carries_reason(wanted):
            return [answer]
        # A refusal has no room for a reason: it is said to the model as a message in the same turn.
        return [answer, self._message(thread, encode.message(thread, SendMessage(why), new_id()), settings)]


def _check(command: Command) -> None:
    """What would be refused later is refused now."""
    if isinstance(command, SetModel | SetMode):
        _changed(command, Settings())


def _changed(command: SetModel | SetMode, settings: Settings) -> Message:
    match command:
        case SetModel(model=None, variant=None):
            raise Refused("set_model needs a model or a variant")
        case SetModel(model=model, variant=variant):
            return {name: value for name, value in (("model", model), ("effort", variant)) if value is not None}
        case SetMode(mode=mode) if mode in encode.POLICIES:
            collaboration = encode.collaboration_of(mode)
            changed = encode.policy(mode)
            if collaboration != settings.mode:  # told with a model, so that telling it again could take a newer model back
                changed["collaborationMode"] = encode.collaboration(collaboration, settings.model or "", settings.effort)
            return changed
        case _:
            raise Refused(f"Codex has no mode {command.mode!r}; it has: {', '.join(encode.POLICIES)}")
