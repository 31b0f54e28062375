"""The mock's mind: what it hears, what it says next. No I/O, no clock, no randomness.

Somebody else owns the pipes and the time:

    hear(line)   a line came in
    hang_up()    no more lines will come
    step()       what to do next; None: nothing until something is heard, or the pause is over
    rested()     the pause that `step` asked for is over

One turn at a time: a message that comes during a turn is queued, and told so. An
interrupt is obeyed between any two steps. The same lines at the same steps give
the same words, always.
"""

from collections import deque
from typing import Literal

import msgspec

from onetape.agents.mock import wire
from onetape.agents.mock.scripts import script_for
from onetape.agents.mock.stage import Answer, Ask, Exit, Pause, Say, Script, Settings, Stage, Step
from onetape.errors import Unparsed

TOOLS = ("bash", "clock.now", "edit", "read", "screenshot", "task", "write")


class Brain:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stage = Stage(settings)
        self._to_say: deque[Step] = deque()
        self._queue: deque[wire.User] = deque()
        self._script: Script | None = None
        self._turn = ""
        self._asked: wire.AskPermission | wire.AskQuestion | None = None
        self._answer: Answer | None = None
        self._is_resting = False
        self._is_deaf = False
        self._introduce()

    # --- what comes in ------------------------------------------------------

    def hear(self, line: bytes) -> None:
        try:
            message = wire.to_agent(msgspec.json.decode(line))
        except (ValueError, Unparsed) as error:
            self._notice(f"not understood: {error}")
            return
        match message:
            case wire.User() if self._script is None:
                self._begin_turn(message)  # now, so that an interrupt right behind it finds its turn
            case wire.User():
                self._queue.append(message)
                self._say(wire.Queued(message.id, len(self._queue)))
            case wire.AnswerPermission() | wire.AnswerQuestion():
                self._take(message)
            case wire.Interrupt() if self._script is not None:
                self._interrupt()
            case wire.Interrupt():
                self._notice("nothing to interrupt")
            case wire.SetModel(model, variant):
                self._set_model(model, variant)
            case wire.SetMode("default" | "acceptEdits" | "bypass" as mode):
                self._settings.permission_mode = mode
                self._greet()
            case wire.SetMode(mode):
                self._settings.mode = mode
                self._say(wire.ModeNow(mode))
            case _:
                self._notice("not understood: unknown type")

    def hang_up(self) -> None:
        """Nobody is left to answer; what was begun or queued is still done."""
        self._is_deaf = True
        if self._asked is not None:
            self._interrupt()

    def rested(self) -> None:
        self._is_resting = False

    # --- what goes out ------------------------------------------------------

    def step(self) -> Step | None:
        while not self._to_say:
            if self._script is None:
                return Exit(0) if self._is_deaf else None
            if self._is_resting or self._asked is not None:
                return None
            if (step := self._go_on(self._script)) is not None:
                return step
        return self._to_say.popleft()

    def _go_on(self, script: Script) -> Step | None:
        """The script's next step; None when it is over."""
        answer, self._answer = self._answer, None
        try:
            step = script.send(answer)
        except StopIteration as over:
            if over.value == "goodbye":
                self._queue.clear()  # whoever leaves answers no more
            self._end_turn("failed" if over.value == "failed" else "completed")
            if over.value == "goodbye":
                self._say(wire.Goodbye())
                self._to_say.append(Exit(0))
            return None
        match step:
            case Ask(question):
                self._asked = question
                if self._is_deaf:
                    self._interrupt()
            case Pause():
                self._is_resting = True
            case _:
                pass
        return step

    # --- turns --------------------------------------------------------------

    def _begin_turn(self, message: wire.User) -> None:
        self._turn = self._stage.id("t")
        self._stage.begin(message.text)
        self._script = script_for(self._stage, message.text)
        self._say(wire.TurnStart(self._turn))
        self._say(wire.Echo(message.id, message.text, message.attachments))

    def _end_turn(self, status: Literal["completed", "failed", "interrupted"]) -> None:
        self._script = None
        self._say(wire.TurnEnd(self._turn, status, self._stage.usage()))
        if self._queue:
            self._begin_turn(self._queue.popleft())

    def _interrupt(self) -> None:
        """The rest of the script is never said; blocks and calls stay as open as they are."""
        if self._asked is not None:
            self._say(wire.Withdrawn(self._asked.ask))
        self._asked, self._answer, self._is_resting = None, None, False
        self._end_turn("interrupted")

    def _take(self, answer: Answer) -> None:
        match self._asked, answer:
            case (wire.AskPermission(ask), wire.AnswerPermission(answered)) if ask == answered:
                self._asked, self._answer = None, answer
            case (wire.AskQuestion(ask), wire.AnswerQuestion(answered)) if ask == answered:
                self._asked, self._answer = None, answer
            case _:
                self._notice(f"nothing is asked as {answer.ask}")

    # --- the session --------------------------------------------------------

    def _introduce(self) -> None:
        self._greet()
        for server in self._settings.mcp:
            self._say(wire.Status("mcp", f"{server}: pretended to connect"))

    def _greet(self) -> None:
        now = self._settings
        self._say(
            wire.Ready(
                now.session, wire.VERSION, now.model, now.mode, now.permission_mode,
                variant=now.variant, cwd=now.cwd, tools=list(TOOLS), resumed=now.resumed,
            )
        )  # fmt: skip

    def _set_model(self, model: str | None, variant: str | None) -> None:
        # Another model starts without a variant: the old one may not exist there.
        self._settings.variant = variant if variant is not None or model is not None else self._settings.variant
        self._settings.model = model or self._settings.model
        self._say(wire.ModelNow(self._settings.model, self._settings.variant))

    def _say(self, message: wire.Message) -> None:
        self._to_say.append(Say(message))

    def _notice(self, detail: str) -> None:
        self._say(wire.Status("notice", detail))
