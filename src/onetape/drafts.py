"""What a translator may say: verbs on the transcript, with the agent's own keys.

A draft is not yet an event. It has no number, time or id; the recorder gives it
those, pairs it with what came before under the same key, and adds what the
promises demand (the missing delta, the rejected ask, the failed result). So a
translator may say a thing twice, late, or not at all, and the transcript holds.

Keys: items are named by any hashable `key` that is unique among the open items;
calls, asks and messages by the agent's ids. `message` names the native message
an item belongs to (a call is parented to the latest message item of its own
native message); `under` names the call whose subagent this is part of.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from onetape.errors import Unparsed
from onetape.schema import ContentPart, ItemStatus, PermissionStatus, Question, StatusLabel, TurnStatus, Usage, Visibility

Key: TypeAlias = Hashable


class Draft(Struct, frozen=True, gc=False):
    """The subclasses are the whole vocabulary."""


# --- the session and its turns ----------------------------------------------


class Announce(Draft, frozen=True):
    """The agent (or the head) tells who it is: `session.started`, or `agent.ready` when that was already said."""

    metadata: dict[str, Any]


class NativeSession(Draft, frozen=True):
    """The agent's own id of this session, from now on."""

    id: str


class BeginTurn(Draft, frozen=True):
    """A turn runs. Nothing happens if one is open."""

    turn_id: str | None = None
    metadata: dict[str, Any] | None = None


class EndTurn(Draft, frozen=True):
    """The turn is over. If none is open nothing happens, but a failure is told all the same."""

    status: TurnStatus = "completed"
    usage: Usage | None = None
    error: str | None = None
    code: str | None = None
    details: Any = None


# --- messages ---------------------------------------------------------------


class Open(Draft, frozen=True):
    """An assistant message begins: text, or reasoning when `visibility` is set."""

    key: Key
    visibility: Visibility | None = None
    message: Key | None = None
    under: str | None = None
    native_id: str | None = None
    is_stub: bool = False
    """The agent did not say that it begins, but speaks in it: its start is ours."""


class Add(Draft, frozen=True):
    """More text of an open message."""

    key: Key
    text: str


class Close(Draft, frozen=True):
    """A message is whole. `text` is the final text where the agent tells it; else what was added."""

    key: Key
    text: str | None = None
    status: ItemStatus = "completed"
    parts: list[ContentPart] | None = None
    """The final parts where a message is more than one text."""


class Spoken(Draft, frozen=True):
    """An assistant message that is told whole: what `Open` and `Close` would say of it, in one."""

    text: str
    visibility: Visibility | None = None
    message: Key | None = None
    under: str | None = None
    native_id: str | None = None
    status: ItemStatus = "completed"


class Said(Draft, frozen=True):
    """A user message was sent to an agent that does not tell a turn's start itself. Its echo is `Heard`."""

    parts: list[ContentPart]
    native_id: str | None = None


class Heard(Draft, frozen=True):
    """The agent echoes a user message. Matched with what was `Said`: by id, else by equal text, oldest first."""

    parts: list[ContentPart]
    native_id: str | None = None
    under: str | None = None


class Withdrawn(Draft, frozen=True):
    """A message that was `Said` will never be taken up: whoever sent it has taken it back."""

    native_id: str


class UserMessage(Draft, frozen=True):
    """A user message, told once and for all: by an agent that echoes each, or the prompt of a subagent.

    `ours`: the agent did not say it; what we sent earlier is known to be taken up now.
    """

    parts: list[ContentPart]
    native_id: str | None = None
    under: str | None = None
    ours: bool = False


class System(Draft, frozen=True):
    """Text that the agent itself put into the conversation."""

    parts: list[ContentPart]
    native_id: str | None = None
    under: str | None = None


# --- tools ------------------------------------------------------------------


class Shell(Draft, frozen=True):
    """A command's run, as far as told: the second part of its result."""

    command: str | None = None
    cwd: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    duration_ms: int | None = None


class Call(Draft, frozen=True):
    """The agent names a tool call; with `arguments` (JSON text) they are final."""

    call_id: str
    name: str
    arguments: str | None = None
    message: Key | None = None
    under: str | None = None
    native_id: str | None = None
    shell: Shell | None = None
    """Set for a command, so that its result has the command part also when it never ran."""
    background: bool = False
    """It began by itself and may outlive its turn: where none is open it gets one of its own, which says nothing of the agent's."""


class Running(Draft, frozen=True):
    """The tool started; `background` once the agent says that it may outlive its turn."""

    call_id: str
    background: bool = False


class Settled(Draft, frozen=True):
    """The background work of a call is over: what is still open of it is closed."""

    call_id: str


class Output(Draft, frozen=True):
    """New output of a running tool."""

    call_id: str
    text: str


class Result(Draft, frozen=True):
    """The tool is done. `refused`: it did not run because a permission was denied."""

    call_id: str
    output: str | None = None
    """None: what was streamed."""
    failed: bool = False
    refused: bool = False
    parts: tuple[ContentPart, ...] = ()
    shell: Shell | None = None
    native_id: str | None = None


# --- asks -------------------------------------------------------------------


class Ask(Draft, frozen=True):
    """A permission is wanted. `background`: for work that outlives the turn."""

    permission_id: str
    action: str
    call_id: str | None = None
    metadata: dict[str, Any] = {}
    under: str | None = None
    background: bool = False


class Answer(Draft, frozen=True):
    """A permission is decided. The first answer counts."""

    permission_id: str
    status: PermissionStatus
    message: str | None = None


class Query(Draft, frozen=True):
    """One or more questions are asked in one request."""

    question_id: str
    questions: list[Question]
    call_id: str | None = None
    under: str | None = None
    background: bool = False


class Reply(Draft, frozen=True):
    """A question request is answered (one list of labels or free texts per question), or rejected (None)."""

    question_id: str
    answers: list[list[str]] | None
    ours: bool = False
    """Not told: it follows from the outcome."""


# --- the rest ---------------------------------------------------------------


class Note(Draft, frozen=True):
    """A status item, whole."""

    label: StatusLabel
    detail: str | None = None
    json: Any = None
    under: str | None = None
    native_id: str | None = None
    failed: bool = False


class OpenNote(Draft, frozen=True):
    """A status that lasts; `CloseNote` with the same key ends it, or the end of the process does."""

    key: Key
    label: StatusLabel
    detail: str | None = None
    under: str | None = None
    native_id: str | None = None


class CloseNote(Draft, frozen=True):
    key: Key
    detail: str | None = None
    json: Any = None
    failed: bool = False
    label: StatusLabel | None = None
    """Set where its end says enough to be told though its beginning was not."""


class Failure(Draft, frozen=True):
    """The agent gives up on something: one `error`, however often it is repeated within a turn."""

    message: str
    code: str | None = None
    details: Any = None


class Blob(Draft, frozen=True):
    """Inline bytes for the store; the part that shows them names `blobs/<name>`."""

    name: str
    content: bytes


class Unknown(Draft, frozen=True):
    """A well-formed message of a type that the translator does not know: kept, and counted as drift."""

    native: Any


class Unreadable(Draft, frozen=True):
    """What cannot be decoded: `agent.unparsed`."""

    error: str
    location: str


class Unheard(Draft, frozen=True):
    """A send that the translator does not know makes no event; tests look for it."""

    native: Any


# --- the border -------------------------------------------------------------


_Fits: TypeAlias = Callable[[Any], bool]
D = TypeVar("D", bound=Struct)


def _fits(kind: type[Struct]) -> _Fits:
    """Whether the plain fields of such a thing are of their types. Compiled once per kind: to look fields up for each thing takes longer
    than all that is done with it."""
    checks = [*_checks(kind, "it"), *(["told(it)"] if kind in _DEEP else [])]
    compiled: _Fits = eval(f"lambda it: {' and '.join(checks) or True}", {"nested": _nested, "told": _told})
    return compiled


def _checks(kind: type[Struct], thing: str) -> Iterator[str]:
    for name, hint in kind.__annotations__.items():
        field = f"{thing}.{name}"
        if hint == Shell | None:  # written out: it comes with every command
            yield f"({field} is None or {' and '.join(_checks(Shell, field))})"
        elif hint in _CHECKS:
            yield _CHECKS[hint].format(field)


class _Compiled(dict[type[Struct], _Fits]):
    """Each when it is first wanted: all of them would take as long as the rest of the import."""

    def __missing__(self, kind: type[Struct]) -> _Fits:
        self[kind] = _fits(kind)
        return self[kind]


def _nested(things: Iterable[Struct]) -> bool:
    for thing in things:  # noqa: SIM110 - no generator: this is on the way of every result
        if not _FITS[type(thing)](thing):
            return False
    return True


_CHECKS: dict[Any, str] = {
    str: "type({0}) is str",
    str | None: "({0} is None or type({0}) is str)",
    int | None: "({0} is None or type({0}) is int)",
    Key: "hash({0}) is not None",
    Key | None: "hash({0}) is not None",
    list[ContentPart]: "nested({0})",
    list[ContentPart] | None: "({0} is None or nested({0}))",
    tuple[ContentPart, ...]: "(not {0} or nested({0}))",
}
_DEEP = frozenset({Query, Reply})
_FITS = _Compiled()


def fitting(drafts: Iterable[D]) -> list[D]:
    """The drafts themselves. A native id or text that is no string must not get further: it would break the transcript, not the line."""
    told = drafts if type(drafts) is list else [*drafts]
    for draft in told:
        if not _FITS[type(draft)](draft):
            _told(draft)
            raise Unparsed(f"{type(draft).__name__}: an id or a text that is none")
    return told


def _told(draft: Struct) -> bool:
    """Looks at the insides, and says what is wrong there, and where."""
    for name, hint in type(draft).__annotations__.items():
        if name in ("parts", "questions", "shell", "answers"):
            msgspec.convert(msgspec.to_builtins(getattr(draft, name)), hint)
    return True
