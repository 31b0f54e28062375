"""Sessions to be read: from the store of this machine, which needs no daemon, or from the daemon that `ONETAPE_URL` names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import msgspec

from onetape import paths
from onetape.errors import Missing, Refused
from onetape.info import SessionInfo, info_of
from onetape.owner import Owner, owner_of
from onetape.stores import store
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import SessionRow, Store

if TYPE_CHECKING:
    from onetape.client import Client

OURS = "sess_"


class Shelf(Protocol):
    def infos(self, *, agent: str | None = None, q: str | None = None, limit: int | None = None) -> list[SessionInfo]:
        """Newest first."""
        ...

    def events(self, session_id: str, *, raw: bool = False) -> Iterator[bytes]:
        """As they are stored."""
        ...

    def owner(self, session_id: str) -> Owner | None:
        """The process that drives it, or did until it died; None where nobody does or nobody knows."""
        ...


@contextmanager
def shelf() -> Iterator[Shelf]:
    if os.environ.get("ONETAPE_URL"):
        from onetape.client import Client

        with Client() as client:
            yield _Elsewhere(client)
        return
    with opened() as kept:
        yield _Here(kept)


@contextmanager
def opened() -> Iterator[Store]:
    """The store of this machine, for commands that want more of it than a list and events."""
    kept = Sqlite(paths.data_dir())
    try:
        yield kept
    finally:
        kept.close()


class _Here:
    def __init__(self, kept: Store) -> None:
        self._store = kept

    def infos(self, *, agent: str | None = None, q: str | None = None, limit: int | None = None) -> list[SessionInfo]:
        return [info_of(row) for row in self._store.sessions(agent=agent, q=q, limit=limit)]

    def events(self, session_id: str, *, raw: bool = False) -> Iterator[bytes]:
        return store.events(self._store, session_id, raw=raw)

    def owner(self, session_id: str) -> Owner | None:
        row = self._store.session(session_id)
        return owner_of(row.owner) if row is not None and row.owner is not None else None


class _Elsewhere:
    def __init__(self, client: "Client") -> None:
        self._client = client

    def infos(self, *, agent: str | None = None, q: str | None = None, limit: int | None = None) -> list[SessionInfo]:
        return msgspec.convert(self._client.sessions(agent=agent, q=q, limit=limit), list[SessionInfo])

    def events(self, session_id: str, *, raw: bool = False) -> Iterator[bytes]:
        for event in self._client.attach(session_id).stored(raw=raw):
            yield bytes(event)

    def owner(self, session_id: str) -> Owner | None:
        return None


def find(shelf: Shelf, name: str | None) -> SessionInfo:
    """The session of this id, or the only one whose id begins so; None: the newest."""
    if name is None:
        if not (newest := shelf.infos(limit=1)):
            raise Missing("there are no sessions yet: `onetape run` makes one")
        return newest[0]
    known = {info.session_id: info for info in shelf.infos(q=name)}
    if name in known:
        return known[name]
    begun = [id for id in known if id.startswith((name, OURS + name))]
    if len(begun) > 1:
        raise Refused(f"{name} may be any of {len(begun)} sessions: {', '.join(begun[:4])}{', …' if len(begun) > 4 else ''}")
    if not begun:
        raise Missing(f"there is no session {name}")
    return known[begun[0]]


def row_of(kept: Store, name: str | None) -> SessionRow:
    """The same, as the store has it."""
    row = kept.session(find(_Here(kept), name).session_id)
    assert row is not None
    return row
