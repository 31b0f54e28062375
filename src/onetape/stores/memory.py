"""A log that lives as long as its process: for tests, and for a daemon that must leave no trace."""

import copy
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import islice
from threading import RLock

from msgspec import Struct, field
from msgspec.structs import replace as changed

from onetape.errors import Exists, Missing, StoreFailed
from onetape.ledger import Bill
from onetape.projection import Passage, Turn
from onetape.spacing import GAP, spaced
from onetape.stores.store import (
    CUT_OFF,
    DRAFT,
    Batch,
    Hit,
    Logged,
    Pending,
    SessionRow,
    Sought,
    Source,
    Stored,
    bounded,
    with_raw,
)
from onetape.summary import Ask
from onetape.tape import Record


class _Kept(Struct):
    row: SessionRow
    order: int
    tape: list[Record] = field(default_factory=list)
    events: list[Stored] = field(default_factory=list)
    asks: dict[str, Ask] = field(default_factory=dict)
    passages: list[Passage] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)


class Memory:
    def __init__(self) -> None:
        self._lock = RLock()
        self._kept: dict[str, _Kept] = {}
        self._log: list[tuple[str, bytes] | None] = []
        """None where a session was deleted: the places of the others stay."""
        self._blobs: dict[str, bytes] = {}
        self._sources: dict[str, Source] = {}
        self._made = 0

    # --- writing ------------------------------------------------------------

    def create(self, row: SessionRow) -> None:
        with self._lock:
            if row.session_id in self._kept:
                raise Exists(f"there is a session {row.session_id} already")
            self._made += 1
            self._kept[row.session_id] = _Kept(copy.deepcopy(row), self._made)

    def append(self, batch: Batch) -> "Future[None]":
        done: Future[None] = Future()
        with self._lock:
            kept = self._kept.get(batch.session_id)
            if kept is None or batch.is_cut_off:
                done.set_exception(Missing(f"there is no session {batch.session_id}") if kept is None else StoreFailed(CUT_OFF))
                return done
            kept.tape += batch.tape
            kept.events += batch.events
            self._log += [(batch.session_id, event.body) for event in batch.events]
            kept.passages += batch.rows.passages
            kept.turns += batch.rows.turns
            for ask in batch.rows.asks:
                kept.asks[ask.ask_id] = ask.resolving(kept.asks.get(ask.ask_id))
            if batch.row is not None:
                kept.row = copy.deepcopy(batch.row)
        done.set_result(None)
        return done

    def change(self, session_id: str, edit: Callable[[SessionRow], None]) -> SessionRow:
        with self._lock:
            kept = self._find(session_id)
            edit(kept.row)
            return copy.deepcopy(kept.row)

    def supersede(self, session_id: str, draft_id: str) -> None:
        with self._lock:
            draft, old = self._find(draft_id), self._find(session_id)
            draft.order = old.order
            draft.row.session_id = session_id
            pairs = enumerate(zip(draft.events, old.events, strict=False))
            same = next((at for at, (new, was) in pairs if new.body != was.body), min(len(draft.events), len(old.events)))
            places = [at for at, told in enumerate(self._log) if told and told[0] == session_id]
            self._forget(draft_id)
            for at in places[same:]:
                self._log[at] = None
            self._log += [(session_id, event.body) for event in draft.events[same:]]
            self._kept[session_id] = self._kept.pop(draft_id)

    def delete(self, session_id: str) -> None:
        with self._lock:
            self._find(session_id)
            del self._kept[session_id]
            self._forget(session_id)

    def keep_source(self, source: Source) -> None:
        self._sources[source.path] = source

    # --- reading ------------------------------------------------------------

    def session(self, session_id: str) -> SessionRow | None:
        with self._lock:
            kept = self._kept.get(session_id)
            return copy.deepcopy(kept.row) if kept else None

    def sessions(
        self, *, agent: str | None = None, q: str | None = None, limit: int | None = None, before: str | None = None
    ) -> list[SessionRow]:
        with self._lock:
            ranked = sorted(self._kept.values(), key=_age, reverse=True)
            if before is not None:
                oldest = _age(self._kept[before]) if before in self._kept else (0, 0)
                ranked = [kept for kept in ranked if _age(kept) < oldest]
            shown = (kept.row for kept in ranked if not kept.row.session_id.startswith(DRAFT))
            rows = [row for row in shown if agent in (None, row.agent) and _mentions(row, q)]
            return copy.deepcopy(rows[:limit])

    def owned(self) -> list[SessionRow]:
        with self._lock:
            rows = [kept.row for kept in sorted(self._kept.values(), key=_age)]
            return copy.deepcopy([row for row in rows if row.owner is not None and not row.summary.ended])

    def by_native_id(self, agent: str, native_session_id: str) -> list[SessionRow]:
        with self._lock:
            found = [kept.row for kept in sorted(self._kept.values(), key=_age)]
            return copy.deepcopy([row for row in found if row.agent == agent and row.summary.native_session_id == native_session_id])

    def page(self, session_id: str, after: int, limit: int, raw: bool = False) -> list[Stored]:
        with self._lock:
            kept = self._kept.get(session_id)
            page = kept.events[max(0, after) : max(0, after) + limit] if kept else []
            if not raw or kept is None:
                return bounded(page)
            return bounded(changed(event, body=with_raw(event.body, _cause(kept, event.cause))) for event in page)

    def tape(self, session_id: str, after: int = 0) -> Iterator[Record]:
        kept = self._kept.get(session_id)
        return iter(kept.tape[after:] if kept else [])

    def log(self, after: int, limit: int) -> list[Logged]:
        with self._lock:
            numbered = enumerate(self._log[after:], after + 1)
            there = ((at, told) for at, told in numbered if told is not None and not told[0].startswith(DRAFT))
            return [Logged(at, *told) for at, told in islice(there, limit)]

    def position(self) -> int:
        return len(self._log)

    def written(self, after: int) -> set[str]:
        with self._lock:
            return {told[0] for told in self._log[after:] if told is not None}

    def pending(self) -> list[Pending]:
        with self._lock:
            going_on = [kept for kept in self._kept.values() if not kept.row.summary.ended and kept.row.origin == "live"]
            found = [Pending(kept.row.session_id, kept.row.agent, ask) for kept in going_on for ask in kept.asks.values()]
            return sorted((one for one in found if one.ask.status == "requested"), key=lambda one: one.ask.requested_at)

    def ask(self, session_id: str, ask_id: str) -> Ask | None:
        with self._lock:
            kept = self._kept.get(session_id)
            return kept.asks.get(ask_id) if kept else None

    def search(self, sought: Sought) -> list[Hit]:
        """By brute force; the newest first, for want of a better rank."""
        wanted = words_of(sought.words)
        found = [
            Hit(kept.row.session_id, kept.row.agent, passage, passage.words[:200].replace(GAP, ""))
            for kept in sorted(self._kept.values(), key=_age, reverse=True)
            for passage in kept.passages
            if sought.agent in (None, kept.row.agent) and _suits(passage, sought) and wanted and wanted <= words_of(passage.words)
        ]
        return found[sought.skip : sought.skip + sought.limit]

    def billed(self, since: int | None = None, until: int | None = None) -> Iterator[Bill]:
        seen: set[tuple[str, str]] = set()
        for kept in sorted(self._kept.values(), key=_age):
            for turn in kept.turns:
                mark = (kept.row.agent, turn.mark)
                if mark not in seen and (since or 0) <= turn.time < (until or 1 << 62):
                    yield Bill(kept.row.session_id, kept.row.agent, kept.row.summary.directory, turn)
                seen.add(mark)

    def source(self, path: str) -> Source | None:
        return self._sources.get(path)

    # --- blobs --------------------------------------------------------------

    def keep_blob(self, name: str, content: bytes) -> None:
        self._blobs[name] = content

    def blob(self, name: str) -> bytes | None:
        return self._blobs.get(name)

    def close(self) -> None:
        pass

    def _forget(self, session_id: str) -> None:
        self._log = [told if told and told[0] != session_id else None for told in self._log]

    def _find(self, session_id: str) -> _Kept:
        if session_id not in self._kept:
            raise Missing(f"there is no session {session_id}")
        return self._kept[session_id]


def _age(kept: _Kept) -> tuple[int, int]:
    return kept.row.created_at, kept.order


def _mentions(row: SessionRow, q: str | None) -> bool:
    told = (row.session_id, row.agent, row.title, row.summary.title, row.summary.directory, row.summary.native_session_id)
    return q is None or any(q.casefold() in text.casefold() for text in told if text)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", spaced(text.casefold())))


def _suits(passage: Passage, sought: Sought) -> bool:
    return (
        sought.kind in (None, passage.kind)
        and (sought.tool is None or sought.tool.casefold() == (passage.tool or "").casefold())
        and (sought.path is None or sought.path in passage.paths)
        and passage.time >= (sought.since or 0)
    )


def _cause(kept: _Kept, number: int | None) -> bytes | None:
    return bytes(kept.tape[number - 1].payload) if number else None
