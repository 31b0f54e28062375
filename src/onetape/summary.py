"""What a list of sessions shows of each: folded out of its events, one by one.

Pure and cheap: the words of an answer, nine events of ten, change nothing here
but a count. Whoever has the events (a live session, an import, a recovery, a
reconversion) gets the same summary.
"""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from onetape import schema
from onetape.clock import milliseconds
from onetape.schema import Event

Status: TypeAlias = Literal["idle", "running", "waiting", "ended"]
AskKind: TypeAlias = Literal["permission", "question"]

TITLE_LENGTH = 80


class Totals(Struct):
    """What a session was billed so far; null until it is told."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None

    def add(self, usage: schema.Usage) -> None:
        for name in self.__struct_fields__:
            if (told := getattr(usage, name)) is not None:
                setattr(self, name, (getattr(self, name) or 0) + told)


class Ask(Struct, frozen=True):
    """A permission or question of a session, and what became of it."""

    ask_id: str
    kind: AskKind
    sequence: int
    requested_at: int
    data: Any
    """As it was requested."""
    status: str = "requested"
    answer: Any = None
    """As it was resolved."""

    def resolving(self, known: "Ask | None") -> "Ask":
        """The same with what was asked, and when, where this only tells what became of it."""
        if known is None or self.status == "requested":
            return self
        return msgspec.structs.replace(known, status=self.status, answer=self.answer)


class Summary(Struct):
    agent_mode: str | None = None
    permission_mode: str | None = None
    model: str | None = None
    variant: str | None = None
    native_session_id: str | None = None
    directory: str | None = None
    title: str | None = None
    event_count: int = 0
    updated_at: int = 0
    turns: int = 0
    in_turn: bool = False
    waiting: list[str] = field(default_factory=list)
    """The asks that nobody answered yet."""
    ended: bool = False
    error: str | None = None
    """Why the session ended, where it failed."""
    usage: Totals = field(default_factory=Totals)
    strange: int = 0
    """Records that nobody could make sense of: unparsed, or of unknown types."""

    @property
    def status(self) -> Status:
        return "ended" if self.ended else "waiting" if self.waiting else "running" if self.in_turn else "idle"

    def before_all(self) -> "Summary":
        """The same session before anything happened: what it was created with, and nothing that its events tell."""
        settings = self.agent_mode, self.permission_mode, self.model, self.variant, self.native_session_id, self.directory
        return Summary(*settings, updated_at=self.updated_at)

    def see(self, events: list[Event]) -> list[Ask]:
        """Takes in the next events; the asks that they opened or closed."""
        asks = [ask for event in events if (fold := _FOLDS.get(type(event))) and (ask := fold(self, event)) is not None]
        if events:
            last = events[-1]
            self.event_count, self.updated_at = last.sequence, milliseconds(last.time)
            self.native_session_id = last.native_session_id or self.native_session_id
        return asks

    # --- one kind of event each ---

    def _started(self, event: schema.SessionStarted) -> None:
        self._learn(event.data.metadata)

    def _learn(self, told: dict[str, Any]) -> None:
        names = {"model": "model", "variant": "variant", "mode": "agent_mode", "permission_mode": "permission_mode", "cwd": "directory"}
        for theirs, ours in names.items():
            if isinstance(value := told.get(theirs), str):
                setattr(self, ours, value)

    def _turn_started(self, event: schema.TurnStarted) -> None:
        self.in_turn = True

    def _turn_ended(self, event: schema.TurnEnded) -> None:
        self.in_turn = False
        self.turns += 1
        if isinstance(usage := event.data.metadata.usage, schema.Usage):
            self.usage.add(usage)

    def _completed(self, event: schema.ItemCompleted) -> None:
        item = event.data.item
        match item.kind:
            case "message" if self.title is None and item.role == "user" and item.parent_id is None:
                self.title = title_of(" ".join(part.text for part in item.content if isinstance(part, schema.Text)))
            case "status":
                self._status(item)
            case "unknown":
                self.strange += 1
            case _:
                pass  # what is said and called says nothing of the session

    def _status(self, item: schema.Item) -> None:
        match item:
            case schema.Item(content=[schema.Status(label="agent.ready"), schema.Json(json=dict(told))]):
                self._learn(told)
            case schema.Item(content=[schema.Status(label="model"), schema.Json(json=dict(told))], status="completed"):
                self._learn(told)
            case schema.Item(content=[schema.Status(label="model", detail=str(model))], status="completed"):
                self.model = model if " " not in model else self.model  # some agents tell a change in prose
            case schema.Item(content=[schema.Status(label="mode", detail=str(mode)), *_], status="completed"):
                self.agent_mode = mode if mode and " " not in mode else self.agent_mode
            case _:
                pass

    def _asked(self, event: schema.PermissionRequested | schema.QuestionRequested) -> Ask:
        id, kind = _ask_of(event)
        self.waiting.append(id)
        return Ask(id, kind, event.sequence, milliseconds(event.time), msgspec.to_builtins(event.data))

    def _resolved(self, event: schema.PermissionResolved | schema.QuestionResolved) -> Ask:
        id, kind = _ask_of(event)
        if id in self.waiting:
            self.waiting.remove(id)
        return Ask(id, kind, event.sequence, milliseconds(event.time), None, event.data.status, msgspec.to_builtins(event.data))

    def _unparsed(self, event: schema.AgentUnparsed) -> None:
        self.strange += 1

    def _session_ended(self, event: schema.SessionEnded) -> None:
        self.ended, self.in_turn = True, False
        if event.data.reason == "error":
            self.error = str(event.data.message)


def title_of(words: str) -> str | None:
    """The first words of a session are its name until it gets a better one."""
    line = " ".join(words.split())
    return (line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…") or None


def _ask_of(event: Any) -> tuple[str, AskKind]:
    data = event.data
    return (data.permission_id, "permission") if isinstance(data, schema.PermissionData) else (data.question_id, "question")


_FOLDS: dict[type, Any] = {
    schema.SessionStarted: Summary._started,
    schema.TurnStarted: Summary._turn_started,
    schema.TurnEnded: Summary._turn_ended,
    schema.ItemCompleted: Summary._completed,
    schema.PermissionRequested: Summary._asked,
    schema.QuestionRequested: Summary._asked,
    schema.PermissionResolved: Summary._resolved,
    schema.QuestionResolved: Summary._resolved,
    schema.AgentUnparsed: Summary._unparsed,
    schema.SessionEnded: Summary._session_ended,
}
