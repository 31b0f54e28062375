"""The log's interface: what is appended together is committed together, and is there for readers once it is.

    append commits; readers read by sequence. Nothing here waits for news: who
    follows a session rings a bell of his own (tail.py) and reads again.

One suite of tests runs over every implementation (tests/test_stores.py).
Methods are plain and thread-safe: `append` hands its batch to whoever writes and
returns a future, everything else answers at once.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from onetape.ledger import Bill
from onetape.projection import Passage, Rows
from onetape.summary import Ask, Status, Summary
from onetape.tape import Record

Origin: TypeAlias = Literal["live", "imported"]

DRAFT = "~"
"""Sessions whose id begins so are being made to supersede another: no list shows them."""

BEGINS, ENDS = "\x02", "\x03"
"""The marks around what was found in a snippet: characters that no text has."""

RAW = b'"raw":null}'
"""How every stored event ends; what it says of `raw` is put in when somebody asks for it."""


class Queued(Struct, frozen=True):
    """A message that waits for the running turn to end."""

    number: int
    text: str


class SessionRow(Struct):
    """One session, as a list shows it."""

    session_id: str
    agent: str
    origin: Origin = "live"
    created_at: int = 0
    resumed_from: str | None = None
    key: str = ""
    version: str | None = None
    """The agent's."""
    translator: str = ""
    """Which translator made the transcript: the dialect, and onetape's version."""
    title: str | None = None
    """Given by a person; the summary has one of its own."""
    owner: str | None = None
    """The process that drives it; None for one that nobody drives."""
    queued: list[Queued] = field(default_factory=list)
    mcp: dict[str, object] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)

    @property
    def status(self) -> Status:
        return self.summary.status


class Stored(Struct, frozen=True, gc=False):
    """An event in the log. `cause`: the number of the tape record that it follows from."""

    sequence: int
    body: bytes
    cause: int | None = None


class Logged(Struct, frozen=True, gc=False):
    """An event of any session, and its place in the whole log."""

    position: int
    session_id: str
    body: bytes


class Pending(Struct, frozen=True):
    session_id: str
    agent: str
    ask: Ask


class Sought(Struct, frozen=True):
    """What is searched for. The words are words and nothing else: they have no syntax."""

    words: str
    agent: str | None = None
    kind: str | None = None
    tool: str | None = None
    """In whatever case: each agent writes `bash` in its own."""
    path: str | None = None
    since: int | None = None
    """Unix milliseconds."""
    limit: int = 20
    skip: int = 0


class Hit(Struct, frozen=True):
    session_id: str
    agent: str
    passage: Passage
    snippet: str
    """With what was found between the two marks."""


class Source(Struct, frozen=True):
    """A history on disk that was looked at: nothing is to be done while its stamp is the same."""

    path: str
    stamp: str
    session_id: str | None
    outcome: str


class Batch(Struct):
    """What is committed together. Tape records of a session are numbered from 1; `number` is that of the first one here."""

    session_id: str
    number: int = 1
    tape: list[Record] = field(default_factory=list)
    events: list[Stored] = field(default_factory=list)
    rows: Rows = field(default_factory=Rows)
    """What else is to be kept of these events."""
    row: SessionRow | None = None
    """The session as it is after this batch."""
    after: "Future[None] | None" = None
    """The batch before this one, where nobody has waited for it: what follows something that could not be kept is not kept either, or
    the tape would have a hole."""

    @property
    def is_cut_off(self) -> bool:
        return self.after is not None and self.after.done() and self.after.exception() is not None

    def extend(self, more: "Batch") -> None:
        """By what follows."""
        self.tape += more.tape
        self.events += more.events
        self.rows.extend(more.rows)
        self.row = more.row


CUT_OFF = "what comes before this could not be kept"


class Store(Protocol):
    # --- writing ---
    def create(self, row: SessionRow) -> None:
        """A new session; `Exists` where there is one of this id."""
        ...

    def append(self, batch: Batch) -> "Future[None]":
        """Done when it is committed. `StoreFailed` when it, or the one before it, could not be: then nothing of it is."""
        ...

    def change(self, session_id: str, edit: Callable[[SessionRow], None]) -> SessionRow:
        """Changes a session's row; `Missing` where there is none."""
        ...

    def supersede(self, session_id: str, draft_id: str) -> None:
        """The session that was made under `draft_id` takes the place and the name of another, all at once."""
        ...

    def delete(self, session_id: str) -> None: ...

    def keep_source(self, source: Source) -> None: ...

    # --- reading ---
    def session(self, session_id: str) -> SessionRow | None: ...

    def sessions(
        self, *, agent: str | None = None, q: str | None = None, limit: int | None = None, before: str | None = None
    ) -> list[SessionRow]:
        """Newest first. `before`: those older than this one."""
        ...

    def owned(self) -> list[SessionRow]:
        """Those that are not over and that somebody drives, or drove when he died."""
        ...

    def by_native_id(self, agent: str, native_session_id: str) -> list[SessionRow]:
        """All sessions that are one to the agent, oldest first."""
        ...

    def page(self, session_id: str, after: int, limit: int, raw: bool = False) -> list[Stored]:
        """The next events of a session, in order, none only where there are none; with `raw`, each body has its tape
        record's payload. At most `limit`, and not many more bytes than `PAGE_BYTES`: a page is held in memory."""
        ...

    def tape(self, session_id: str, after: int = 0) -> Iterator[Record]: ...

    def log(self, after: int, limit: int) -> list[Logged]:
        """The next events of all sessions, in the order in which they were committed."""
        ...

    def position(self) -> int:
        """The end of the whole log."""
        ...

    def written(self, after: int) -> set[str]:
        """The sessions that have events behind this place of the whole log."""
        ...

    def pending(self) -> list[Pending]:
        """Asks that wait for an answer from here: of sessions that are not over, and not of histories, whose agents run elsewhere."""
        ...

    def ask(self, session_id: str, ask_id: str) -> Ask | None: ...

    def search(self, sought: Sought) -> list[Hit]:
        """The best first."""
        ...

    def billed(self, since: int | None = None, until: int | None = None) -> Iterator[Bill]:
        """Every turn that has a bill, oldest session first; copies of a turn in other sessions are left out."""
        ...

    def source(self, path: str) -> Source | None: ...

    # --- blobs ---
    def keep_blob(self, name: str, content: bytes) -> None: ...

    def blob(self, name: str) -> bytes | None: ...

    def close(self) -> None: ...


PAGE = 500
PAGE_BYTES = 1 << 20


def bounded(page: Iterable[Stored]) -> list[Stored]:
    """As many as fit into a page; the first in any case."""
    kept, size = list[Stored](), 0
    for stored in page:
        kept.append(stored)
        size += len(stored.body)
        if size >= PAGE_BYTES:
            break
    return kept


def events(store: Store, session_id: str, after: int = 0, limit: int | None = None, *, raw: bool = False) -> Iterator[bytes]:
    """The events' JSON, any number of them in constant memory."""
    left = limit if limit is not None else 1 << 62
    while left > 0 and (page := store.page(session_id, after, min(PAGE, left), raw)):
        yield from (stored.body for stored in page)
        after, left = page[-1].sequence, left - len(page)


def with_raw(body: bytes, payload: bytes | None) -> bytes:
    """The event with the bytes that caused it spliced in."""
    return body if payload is None else body[: -len(RAW)] + b'"raw":' + payload + b"}"
