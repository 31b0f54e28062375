"""The user message in a one-shot process's arguments: the positional words, then stdin."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any


def words_of(
    argv: Sequence[Any], valued: Collection[str], stdin: Any = None, *, skip: int = 1, lists: Mapping[str, int | None] | None = None,
) -> str:  # fmt: skip
    """`valued`: options that take the next word; `skip`: the program's name and subcommands."""
    words = positionals(argv[skip:], valued, lists)
    return "\n".join([text for text in (" ".join(words), stdin) if isinstance(text, str) and text])


def positionals(args: Sequence[Any], valued: Collection[str], lists: Mapping[str, int | None] | None = None) -> list[str]:
    """`lists`: options that take the words up to the next option, and at most how many (None: all)."""
    words: list[str] = []
    rest = deque(map(str, args))
    while rest:
        word = rest.popleft()
        if word == "--":
            return [*words, *rest]
        if word in valued:
            if rest:
                rest.popleft()
        elif lists is not None and word in lists:
            _skip_values(rest, lists[word])
        elif not word.startswith("-") or word == "-":
            words.append(word)
    return words


def _skip_values(rest: deque[str], most: int | None) -> None:
    taken = 0
    while rest and not rest[0].startswith("-") and taken != most:
        rest.popleft()
        taken += 1


def values_of(args: Sequence[Any], options: Collection[str]) -> list[str]:
    """The values that were given to any of these options, as `--option value` or `--option=value`."""
    values: list[str] = []
    words = iter(map(str, args))
    for word in words:
        name, equals, value = word.partition("=")
        if word in options:
            values += [following for following in [next(words, None)] if following is not None]
        elif equals and name in options:
            values.append(value)
    return values
