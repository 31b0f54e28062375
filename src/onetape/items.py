"""The items of a transcript: opened, added to, completed, each under one id.

Knows how an item begins and ends and who its parent is. Which items must end
when (a turn ends, a process dies) is the recorder's to say.
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from onetape import schema
from onetape.drafts import Key, Shell
from onetape.recent import forget_oldest
from onetape.schema import ContentPart, ItemKind, ItemRole

# How many closed items stay known as parents. A child that names an older one has been waited for
# through thousands of others, which no agent does; the bound keeps memory constant.
REMEMBERED = 20_000

JOINED = 512
"""So many pieces of an open item become one: each is joined once, however long the item grows."""


class OpenItem(Struct, gc=False):
    """An item between its start and its completion."""

    item_id: str
    native_id: str | None
    parent_id: str | None
    kind: ItemKind
    role: ItemRole | None
    first: ContentPart
    under: str | None
    chunks: list[str] = []
    """What it holds so far, joined: a string for each piece would take ten times the room of its words."""
    joined: int = 0
    """How many of the chunks were pieces once."""
    followed: bool = False
    """It lasts until told: neither the end of its turn nor a retry completes it (status items)."""

    def add(self, texts: list[str]) -> None:
        self.chunks += texts
        if len(self.chunks) - self.joined >= JOINED:
            self.chunks[self.joined :] = ["".join(self.chunks[self.joined :])]
            self.joined += 1

    def streamed(self) -> list[ContentPart]:
        """What the item holds if nobody says more."""
        text = "".join(self.chunks)
        match self.first:
            case schema.Text():
                return [schema.Text(text)]
            case schema.Reasoning(visibility=visibility):
                return [schema.Reasoning(text, visibility)]
            case schema.ToolResult(call_id=call_id):
                return [schema.ToolResult(call_id, text)]
            case _:
                return [self.first]


class CallState(Struct, gc=False):
    """A tool call and what became of it; gone once it has its result."""

    call_id: str
    item: OpenItem
    under: str | None
    is_final: bool = False
    shell: Shell | None = None
    result: OpenItem | None = None


class Family(Struct, frozen=True, gc=False):
    """What later items must know of a call: its item, and the call that it is nested in."""

    item_id: str
    name: str
    under: str | None


class Items:
    def __init__(self, key: str) -> None:
        self._prefix = f"itm_{key}_"
        self._count = 0
        self.open: dict[Key, OpenItem] = {}
        self.calls: dict[str, CallState] = {}
        self.families: dict[str, Family] = {}
        self._latest: dict[Key, str] = {}
        self._background: set[str] = set()

    def new(
        self, kind: ItemKind, role: ItemRole | None, first: ContentPart, parent_id: str | None,
        native_id: str | None, under: str | None,
    ) -> OpenItem:  # fmt: skip
        return OpenItem(self.new_id(), native_id, parent_id, kind, role, first, under)

    def new_id(self, message: Key | None = None) -> str:
        """`message`: the native message that a message item belongs to."""
        self._count = count = self._count + 1
        item_id = f"{self._prefix}{count}"
        if message is not None:
            self._latest[message] = item_id
        return item_id

    def forget(self) -> None:
        """Now and then: to look whenever there is a new item would take longer than all else that is done with it."""
        if len(self._latest) > REMEMBERED:
            forget_oldest(self._latest, REMEMBERED)
        if len(self.families) > REMEMBERED:
            forget_oldest(self.families, REMEMBERED)

    def parent(self, message: Key | None, under: str | None) -> str | None:
        """The latest item of the same native message, else the call that this is nested in."""
        if message is not None and (latest := self._latest.get(message)) is not None:
            return latest
        family = self.families.get(under) if under is not None else None
        return family.item_id if family else None

    def called(self, call_id: str, name: str, item: OpenItem, under: str | None, is_final: bool, shell: Shell | None) -> CallState:
        """A call that awaits its result from now on."""
        call = self.calls[call_id] = CallState(call_id, item, under, is_final, shell)
        self.families[call_id] = Family(item.item_id, name, under)
        return call

    # --- background work ---

    def send_to_background(self, call_id: str) -> None:
        self._background.add(call_id)

    def settle(self, call_id: str) -> None:
        self._background.discard(call_id)

    def forget_background(self) -> None:
        self._background.clear()

    def in_background(self, call_id: str | None) -> bool:
        """Whether this call, or one that it is nested in, may outlive its turn."""
        while call_id is not None:
            if call_id in self._background:
                return True
            family = self.families.get(call_id)
            call_id = family.under if family else None
        return False

    def is_nested_in(self, under: str | None, call_id: str) -> bool:
        while under is not None:
            if under == call_id:
                return True
            family = self.families.get(under)
            under = family.under if family else None
        return False

    # --- what to complete ---

    def open_where(self, wanted: Callable[[OpenItem], bool]) -> list[tuple[Key, OpenItem]]:
        return [(key, item) for key, item in self.open.items() if wanted(item)]

    def calls_where(self, wanted: Callable[[CallState], bool]) -> Iterator[CallState]:
        return iter([call for call in self.calls.values() if wanted(call)])


def shell_part(shell: Shell) -> schema.Json:
    told: dict[str, Any] = {
        "command": shell.command, "cwd": shell.cwd, "exit_code": shell.exit_code,
        "stdout": shell.stdout, "stderr": shell.stderr, "duration_ms": shell.duration_ms,
    }  # fmt: skip
    return schema.Json(told)


def merged(known: Shell | None, told: Shell | None) -> Shell | None:
    """A command's run from what its call said and what its result says."""
    if known is None or told is None:
        return told or known
    if told.command is not None and told.cwd is not None:
        return told  # nearly always
    return Shell(
        command=told.command if told.command is not None else known.command,
        cwd=told.cwd if told.cwd is not None else known.cwd,
        exit_code=told.exit_code, stdout=told.stdout, stderr=told.stderr, duration_ms=told.duration_ms,
    )  # fmt: skip
