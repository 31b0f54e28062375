"""Messages that wait for the running turn to end, in the order in which they came. The session's row shows them."""

import asyncio

from msgspec import Struct

from onetape.commands import SendMessage
from onetape.errors import OnetapeError, Refused
from onetape.stores.store import Queued, SessionRow


class Sent(Struct):
    """A message on its way. `place`: its number in the queue where it has to wait; `begins`: after which event its turn comes;
    cancelled where it never will."""

    begins: "asyncio.Future[int]"
    place: int | None = None

    def starts(self, after: int) -> None:
        if not self.begins.done():
            self.begins.set_result(after)

    def fails(self, error: OnetapeError) -> None:
        if not self.begins.done():
            self.begins.set_exception(error)
            self.begins.exception()  # nobody need have waited for it


class Waiting(Struct):
    message: SendMessage
    sent: Sent


class Outbox:
    def __init__(self, row: SessionRow) -> None:
        self._row = row
        self._waiting: list[Waiting] = []
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: SendMessage, sent: Sent) -> None:
        self._numbers += 1
        sent.place = self._numbers
        self._keep([*self._waiting, Waiting(message, sent)])

    def next(self) -> Waiting:
        first, *others = self._waiting
        self._keep(others)
        return first

    def take_back(self, place: int) -> None:
        left = [waiting for waiting in self._waiting if waiting.sent.place != place]
        if len(left) == len(self._waiting):
            raise Refused(f"no message {place} waits in this session")
        self._cancel(place)
        self._keep(left)

    def drop(self) -> None:
        """Their turns will never come."""
        self._cancel()
        self._keep([])

    def _cancel(self, place: int | None = None) -> None:
        for waiting in self._waiting:
            if place in (None, waiting.sent.place):
                waiting.sent.begins.cancel()

    def _keep(self, waiting: list[Waiting]) -> None:
        self._waiting = waiting
        self._row.queued = [Queued(one.sent.place or 0, one.message.text) for one in waiting]
