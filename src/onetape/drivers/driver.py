"""What a session may ask of a running agent, however one talks to it.

A driver carries bytes. It knows no agent, decodes nothing that it need not, and
decides nothing: what a line means is the translator's business.
"""

from collections.abc import AsyncIterator
from typing import Any, Protocol

from onetape.tape import Record


class Driver(Protocol):
    """One process of an agent, and everything that it starts."""

    replies: bool
    """Whether what is sent is answered at once (HTTP): the record of it then comes after whatever it caused."""

    @property
    def pid(self) -> int | None: ...

    async def start(self) -> None:
        """Starts it, or raises `AgentFailed` with the reason in one line."""
        ...

    def heard(self) -> AsyncIterator[list[Record]]:
        """What happened, as tape records in order of arrival, in batches; the last of all is its exit.

        To be asked for once, and to its end, after `stop` too. What is not asked for is not read: the agent's
        pipe fills, and it waits. When the process is gone, whatever of the session still runs is ended first.
        """
        ...

    async def send(self, message: Any) -> Record:
        """Says this, and returns the record of it. `AgentFailed` when the process is gone."""
        ...

    async def stop(self, polite_seconds: float = 3.0) -> None:
        """Ends it: politely, then by SIGTERM, then by SIGKILL, and its hidden children too.
        When this returns nothing of the session is running. May be called at any time and again."""
        ...
