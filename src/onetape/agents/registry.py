"""All agents: found by walking this folder, and by entry points for agents of third parties.

No name is written down here. A folder with an `AGENT` in its `__init__` is an agent.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from onetape import agents
from onetape.agents.agent import Agent
from onetape.errors import Refused

ENTRY_POINTS = "onetape.agents"


@cache
def names() -> tuple[str, ...]:
    """All agents' names, without importing any of them."""
    ours = {module.name for module in iter_modules(agents.__path__) if module.ispkg}
    return tuple(sorted(ours | {entry.name for entry in entry_points(group=ENTRY_POINTS)}))


@cache
def find(name: str) -> Agent:
    if name not in names():
        raise Refused(f"no agent is called {name!r}; there are: {', '.join(names())}")
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name == name:
            return entry.load()  # type: ignore[no-any-return]
    return import_module(f"onetape.agents.{name}").AGENT  # type: ignore[no-any-return]


def every() -> tuple[Agent, ...]:
    return tuple(find(name) for name in names())
