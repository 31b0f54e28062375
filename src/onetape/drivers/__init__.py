"""All talking to agents: processes, pipes, sockets and signals. Knows no agent by name."""

from collections.abc import Callable, Mapping
from pathlib import Path

from onetape.agents.agent import Launch
from onetape.drivers.child import Child
from onetape.drivers.driver import Driver
from onetape.drivers.family import Family, kill_marked
from onetape.drivers.stdio import Stdio

__all__ = ["Driver", "driver_for", "end_leftovers", "kill_marked"]


def driver_for(launch: Launch, *, clock: Callable[[], float], key: str, env: Mapping[str, str], private: Path) -> Driver:
    """The driver of a process that is still to be started.

    `clock`: seconds since the tape began. `key` marks everything that the process starts. `env`: the environment to
    start from. `private`: a directory that is made for it, and removed after it.
    """
    child = Child(launch, clock, key, env, private)
    if launch.wire == "stdio":
        return Stdio(child)
    from onetape.drivers.http import Http  # the HTTP client is slow to import, and most agents need none

    return Http(child)


async def end_leftovers(key: str) -> None:
    """Ends what a session of a daemon that died left running."""
    await Family(key).end()
