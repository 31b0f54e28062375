"""Histories on this machine: in every agent's usual places, or wherever the user says. Told by content, never by name."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from onetape.agents import registry
from onetape.agents.agent import Agent, stamp_of
from onetape.errors import Refused
from onetape.tape import Record
from onetape.translator import MALFORMED

# What reading a file ends in that is not what it seemed to be.
DAMAGED = (*MALFORMED, RecursionError)


def damaged(error: Exception) -> str:
    return f"damaged, or of a form that is not known here ({type(error).__name__}: {error})"


class Found(Struct, frozen=True):
    """A session on disk."""

    agent: Agent
    path: Path

    @property
    def stamp(self) -> str:
        return self.agent.history.stamp(self.path)  # type: ignore[union-attr]

    def read(self) -> Iterator[Record]:
        """Its tape, for who reads it as a whole. What is recognised, and is not what it should be further on, is refused."""
        try:
            yield from self.agent.history.read(self.path)  # type: ignore[union-attr]
        except DAMAGED as error:
            raise Refused(f"{self.path} is {damaged(error)}") from None


class Unread(Struct, frozen=True):
    """A file or directory that nobody could look into."""

    path: Path
    why: str


class Search:
    """Walks files and asks every agent whether one is its own; counts what nobody knows.

    Who looks again and again asks the same one: it remembers what became of a file for as long as that is not changed.
    """

    def __init__(self, agents: Iterable[Agent]) -> None:
        self.agents = [agent for agent in agents if agent.history is not None]
        self._verdicts: dict[Path, tuple[str, Agent | None]] = {}
        self.skipped = 0
        """Files that are no history, of the last look."""
        self.unread: list[Unread] = []

    def usual(self, home: Path, env: Mapping[str, str] = os.environ) -> Iterator[Found]:
        self._begin()
        for agent in self.agents:
            for place in agent.history.places(home, env):  # type: ignore[union-attr]
                if os.path.exists(place):
                    yield from self._below(place, [agent])

    def named(self, paths: Iterable[Path], *, may_be_gone: bool = False) -> Iterator[Found]:
        self._begin()
        for path in paths:
            # A path below a file names a session in a database.
            if os.path.exists(path) or os.path.isfile(path.parent):
                yield from self._below(path, self.agents)
            elif not may_be_gone:
                raise Refused(f"there is no {path}")

    def _begin(self) -> None:
        self.skipped = 0
        self.unread = []

    def _below(self, path: Path, agents: list[Agent]) -> Iterator[Found]:
        for file in self._files(path):
            try:
                agent = self._whose(file, agents)
                sessions = list(agent.history.sessions(file)) if agent else []  # type: ignore[union-attr]
            except OSError as error:
                self._cannot_read(file, error)
                continue
            self.skipped += agent is None
            yield from (Found(agent, session) for session in sessions if agent)

    def _files(self, path: Path) -> Iterator[Path]:
        if not os.path.isdir(path):
            yield path
            return
        seen = set[str]()
        for directory, directories, names in os.walk(path, onerror=lambda error: self._cannot_read(path, error), followlinks=True):
            if (here := os.path.realpath(directory)) in seen:
                directories.clear()  # a link that leads back
                continue
            seen.add(here)
            directories.sort()
            yield from (Path(directory, name) for name in sorted(names))

    def _whose(self, file: Path, agents: list[Agent]) -> Agent | None:
        stamp = stamp_of(file)
        if (known := self._verdicts.get(file)) is None or known[0] != stamp:
            known = self._verdicts[file] = stamp, whose(file, agents)
        return known[1]

    def _cannot_read(self, path: Path, error: OSError) -> None:
        self.unread.append(Unread(Path(error.filename or path), error.strerror or str(error)))


def whose(file: Path, agents: Iterable[Agent]) -> Agent | None:
    """The agent whose history this is. Pipes and devices are nobody's: opening one may never end, and what is read of it is gone."""
    if not os.path.isfile(file) and not os.path.isfile(file.parent):
        return None
    return next((agent for agent in agents if agent.history is not None and agent.history.recognises(file)), None)


def agents_named(name: str | None) -> list[Agent]:
    return [registry.find(name)] if name else list(registry.every())
