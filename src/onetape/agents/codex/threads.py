"""Which threads of a connection are the session: its root, its subagents, and those that are not of it.

A subagent's thread speaks on the same connection without being announced (captures
19, 19b); only the call that started it names it, often after its first words. So
what an unknown thread says is held until a call names it. A thread that was
announced for itself and is not the root is another session's (capture 16d).
"""

from typing import Any

from onetape.recent import Recent

# What is held of an unknown thread. Calls name their thread within a handful of messages.
HELD = 1000


class Threads:
    def __init__(self) -> None:
        self.root: str | None = None
        self._calls: dict[str, str] = {}
        self._strangers: Recent[str, None] = Recent(1024)
        self._held: Recent[str, list[Any]] = Recent(64)

    def announce(self, thread: str) -> bool:
        """Whether this thread, announced for itself, is the session's."""
        if self.root is None:
            self.root = thread
        if thread != self.root and thread not in self._calls:
            self._strangers[thread] = None
            self._held.pop(thread, None)
        return thread == self.root

    def is_ours(self, thread: str) -> bool:
        return thread == self.root or thread in self._calls

    def is_strange(self, thread: str) -> bool:
        """Whether it is another session's, and so nobody here will ever answer it."""
        return thread in self._strangers

    def under(self, thread: str | None) -> str | None:
        """The call that a subagent's thread belongs to; None for the root."""
        return self._calls.get(thread) if thread is not None else None

    def link(self, thread: str, call_id: str) -> list[Any]:
        """A call names the thread that it started: what the thread has said so far."""
        if thread == self.root or thread in self._calls:
            return []
        self._calls[thread] = call_id
        self._strangers.pop(thread, None)
        return self._held.pop(thread, [])

    def hold(self, thread: str, native: Any) -> None:
        if thread in self._strangers:
            return
        held = self._held.get(thread)
        if held is None:
            held = self._held[thread] = []
        if len(held) < HELD:
            held.append(native)
