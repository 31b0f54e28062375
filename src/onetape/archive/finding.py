"""Histories on this machine: in every agent's usual places, or wherever the user says. Told by content, never by name."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from onetape.agents import registry
from onetape.agents.agent import Agent
from onetape.errors import Refused


class Found(Struct, frozen=True):
    """A session on disk."""

    agent: Agent
    path: Path

    @property
    def stamp(self) -> str:
        return self.agent.history.stamp(self.path)  # type: ignore[union-attr]


class Search:
    """Walks files and asks every agent whether one is its own; counts what nobody knows."""

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = [agent for agent in agents if agent.history is not None]
        self.skipped = 0
        """Files that are no history."""

    def usual(self, home: Path, env: Mapping[str, str] = os.environ) -> Iterator[Found]:
        for agent in self._agents:
            for place in agent.history.places(home, env):  # type: ignore[union-attr]
                yield from self._below(place, [agent])

    def named(self, paths: Iterable[Path]) -> Iterator[Found]:
        for path in paths:
            # A path below a file names a session in a database.
            if not path.exists() and not path.parent.is_file():
                raise Refused(f"there is no {path}")
            yield from self._below(path, self._agents)

    def _below(self, path: Path, agents: list[Agent]) -> Iterator[Found]:
        for file in _files(path):
            found = list(_whose(file, agents))
            self.skipped += not found
            yield from found


def agents_named(name: str | None) -> list[Agent]:
    return [registry.find(name)] if name else list(registry.every())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for directory, directories, names in os.walk(path):
        directories.sort()
        yield from (Path(directory, name) for name in sorted(names))


def _whose(file: Path, agents: list[Agent]) -> Iterator[Found]:
    for agent in agents:
        history = agent.history
        if history is not None and history.recognises(file):
            yield from (Found(agent, session) for session in history.sessions(file))
            return
