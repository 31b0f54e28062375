"""The checker: does this transcript keep its promises? (placeholder until written)"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from onetape.schema import Event


class Violation(Struct, frozen=True):
    """One broken promise, and where."""

    sequence: int
    rule: str
    message: str
    is_warning: bool = False


def check(events: Iterable[Event]) -> Iterator[Violation]:
    yield from ()
