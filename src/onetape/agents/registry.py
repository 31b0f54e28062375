"""All agents: found by walking this folder, and by entry points for agents of third parties.

No name is written down here. A folder with an `AGENT` in its `__init__` is an agent.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from onetape import agents
from onetape.agents.agent import Agent
from onetape.errors import Refused

ENTRY_POINTS = "onetape.agents"


@cache
def names() -> tuple[str, ...]:
    """All agents' names, without importing any of them."""
    ours = {module.name for module in iter_modules(agents.__path__) if module.ispkg}
    return tuple(sorted(ours | _theirs().keys()))


@cache
def find(name: str) -> Agent:
    if name not in names():
        raise Refused(f"no agent is called {name!r}; there are: {', '.join(names())}")
    agent: Agent = _theirs()[name].load() if name in _theirs() else import_module(f"onetape.agents.{name}").AGENT
    return agent


@cache
def _theirs() -> dict[str, Any]:
    # Imported when asked for: it costs more than all the rest of `import onetape`.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def every() -> tuple[Agent, ...]:
    return tuple(find(name) for name in names())
