"""Everything that an agent started, also where it hides, and its end.

Agents run their tools in sessions and process groups of their own, so a signal to the
agent's group does not reach them, and when the agent is killed they live on as nobody's
children. So they are known by four signs, each of which the others may lack: a parent
in the family, the agent's session or group, having been seen as a descendant before,
and the mark in the environment.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable

from onetape.drivers.census import Census, Identity, Seen, everyone

# How long is waited between two looks, by signal: a second for those who tidy up, then as long as the kernel needs.
_LOOKS = (
    (signal.SIGTERM, (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.4)),
    (signal.SIGKILL, (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0)),
)


_census = Census()


class Family:
    def __init__(self, key: str, root: int | None = None) -> None:
        self._key = key
        self._root = root
        self._known: set[Identity] = set()

    async def remember(self) -> None:
        """Notes the agent's descendants: once it is dead they are nobody's."""
        if self._root is not None:
            self._known |= {seen.identity for seen in _with_children(await _census.take(), {self._root})}

    async def strays(self) -> list[Seen]:
        """Those who are alive, the agent itself apart."""
        everyone = await _census.take()
        members = {seen.pid for seen in everyone if self._is_ours(seen)}
        return [seen for seen in _with_children(everyone, members) if seen.pid != self._root]

    async def end(self) -> None:
        """Ends those who are left. Whoever appears meanwhile is ended too."""
        for number, pauses in _LOOKS:
            told: set[Identity] = set()
            for pause in pauses:
                strays = await self.strays()
                if not strays:
                    return
                _signal(number, [stray for stray in strays if stray.identity not in told])
                told |= {stray.identity for stray in strays}
                await asyncio.sleep(pause)

    def _is_ours(self, seen: Seen) -> bool:
        return seen.mark == self._key or self._root in (seen.session, seen.group) or seen.identity in self._known


def kill_marked(keys: set[str]) -> None:
    """At once, and without waiting: for a daemon that has no time left."""
    everybody = everyone()
    _signal(signal.SIGKILL, _with_children(everybody, {seen.pid for seen in everybody if seen.mark in keys}))


def _with_children(everyone: list[Seen], roots: set[int]) -> list[Seen]:
    """Those of `everyone` who are among the roots or descend from them."""
    children: dict[int, list[Seen]] = {}
    for seen in everyone:
        children.setdefault(seen.parent, []).append(seen)
    found = {seen.pid: seen for seen in everyone if seen.pid in roots}
    unasked = list(roots)
    while unasked:
        for child in children.get(unasked.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                unasked.append(child.pid)
    return list(found.values())


def _signal(number: int, whom: Iterable[Seen]) -> None:
    for seen in whom:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(seen.pid, number)
