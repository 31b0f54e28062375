"""What every route is given: the sessions, and what the operator allowed."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from litestar.di import NamedDependency
from msgspec import Struct, field

from onetape.errors import Missing
from onetape.server.jail import Jail
from onetape.server.problems import Refusal
from onetape.server.sse import Streams
from onetape.sessions import Sessions
from onetape.stores.store import SessionRow, Store


class Daemon(Struct):
    sessions: Sessions
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    allows_env: bool = False
    """Whether a request may set variables of an agent's environment."""
    streams: Streams = field(default_factory=Streams)

    @property
    def store(self) -> Store:
        return self.sessions.store

    def row(self, session_id: str) -> SessionRow:
        try:
            return self.sessions.row(session_id)
        except Missing as error:
            raise Refusal("session_not_found", str(error), session_id=session_id) from None

    def jail(self, session_id: str | None) -> Jail:
        """The files that a request may touch."""
        if session_id is None:
            return Jail(self.sessions.root)
        directory = self.row(session_id).summary.directory
        if directory is None or not Path(directory).is_dir():
            raise Refusal("not_found", "the directory of this session is not on this machine", session_id=session_id)
        return Jail(Path(directory))


TheDaemon: TypeAlias = NamedDependency[Daemon]
"""How a route asks for it."""
