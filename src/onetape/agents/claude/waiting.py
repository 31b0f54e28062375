"""Messages that wait for Claude Code, by the `queue-operation` lines of its history.

What a waiting message becomes is a line of its own, but the words as they were
sent are only here: several that waited are written as one, and a slash command
under its real name though an alias was typed.
"""

from collections import deque
from typing import Any

# A queue is emptied between turns; one this long was never read.
LIMIT = 256


class Waiting:
    def __init__(self) -> None:
        self._queued: deque[str] = deque(maxlen=LIMIT)
        self._taken: deque[str] = deque(maxlen=LIMIT)
        self._is_used = False

    @property
    def lacks_command(self) -> bool:
        """Whether all that is said goes through the queue (`--input-format stream-json`), and no command did."""
        return self._is_used and not any(words.startswith("/") for words in self._taken)

    def hear(self, operation: str, content: Any) -> None:
        match operation, content:
            case "enqueue", str():
                self._is_used = True
                self._queued.append(content)
            case "dequeue", _ if self._queued:
                self._taken.append(self._queued.popleft())
            case "remove", _ if content in self._queued:
                self._queued.remove(content)
            case (("remove" | "popAll"), _):
                self._queued.clear()  # 2.1.197 does not say which was removed
            case _:
                pass

    def take(self) -> list[str]:
        """The messages that were taken up since the last prompt."""
        taken = list(self._taken)
        self._taken.clear()
        return taken
