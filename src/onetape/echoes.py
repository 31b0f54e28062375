"""User messages that were sent and are yet to be echoed: each becomes exactly one item.

For agents that neither tell a turn's start nor number their messages reliably.
A message sent while no turn is open is recorded at once and its echo swallowed;
one sent during a turn waits for its echo, because only that tells in which turn
the agent took it up.
"""

from collections import deque

from onetape.drafts import Heard, Said
from onetape.schema import ContentPart, Text

# An agent that never echoes must not make this grow; none has had more than a handful in flight.
REMEMBERED = 256


class Echoes:
    def __init__(self) -> None:
        self.queued: deque[Said] = deque()
        self._recorded: deque[Said] = deque(maxlen=REMEMBERED)

    def recorded(self, said: Said) -> None:
        """This message has its item; an echo of it says nothing new."""
        self._recorded.append(said)

    def take(self, heard: Heard) -> list[Said] | None:
        """The messages that this echo brings to light, oldest first; None if it is no echo of ours."""
        if (at := _find(self._recorded, heard)) is not None:
            del self._recorded[at]
            return []
        if (at := _find(self.queued, heard)) is not None:
            # What was queued before it was taken up with it: Claude Code merges waiting messages into one.
            return [self.queued.popleft() for _ in range(at + 1)]
        return None

    def drop(self, native_id: str) -> None:
        """It was taken back before the agent took it up."""
        self.queued = deque(said for said in self.queued if said.native_id != native_id)

    def take_all(self) -> list[Said]:
        taken = list(self.queued)
        self.queued.clear()
        return taken


def _find(waiting: deque[Said], heard: Heard) -> int | None:
    if heard.native_id is not None:
        for at, said in enumerate(waiting):
            if said.native_id == heard.native_id:
                return at
    words = text_of(heard.parts)
    for at, said in enumerate(waiting):
        # Two ids that differ are two messages, however equal their text.
        if (said.native_id is None or heard.native_id is None) and text_of(said.parts) == words:
            return at
    return None


def text_of(parts: list[ContentPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
