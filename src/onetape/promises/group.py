"""What the groups of promises have in common: they see every event once, in order, and name faults."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias

from onetape.schema import Event

Fault: TypeAlias = tuple[str, str]
"""A rule, and how it was broken; `check` adds where."""


class Group(Protocol):
    """Promises that need the same memory."""

    def see(self, event: Event) -> Iterator[Fault]: ...
