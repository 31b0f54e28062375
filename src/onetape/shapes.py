"""Shapes of messages: which fields they have, of which JSON types, always or sometimes; and how two shapes differ.

A path names a field: `message.content[tool_use].id`. What stands in a list is told apart by its own type. The insides of
what other people write (a tool's arguments, its schema) are nobody's protocol and not looked at; names that are data
(paths, ids, models) are all `*`. So what is kept of a million messages is as small as what is kept of one.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from onetape.kinds import tag_of

Place: TypeAlias = tuple[str, int]
"""A session, and the number of a record on its tape."""
Change: TypeAlias = Literal["appeared", "vanished", "changed type"]

FREE = frozenset({
    "input", "arguments", "args", "rawInput", "rawOutput", "parameters", "inputSchema", "input_schema", "outputSchema", "output_schema",
    "schema", "requestedSchema", "env", "headers", "structuredContent", "structured_content", "structured_output", "_meta",
})  # fmt: skip
"""Fields in which agents hand on what tools, servers and users made up."""
MOST_NAMES = 64
"""An object with more fields is a table."""
MOST_PATHS = 2000
"""Of one type of message. What a hostile message adds beyond is not told field by field."""
DEEPEST = 12

_NAME = re.compile(r"(?=.{1,40}$)[A-Za-z_$][\w$]*(-[A-Za-z_$][A-Za-z_$]*)*")
_DIGITS = re.compile(r"\d")
_TYPES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", list: "array", dict: "object"}


class Field(Struct, gc=False):
    """How often it was there and not null, how often as an object, and where each type was seen first."""

    count: int = 0
    objects: int = 0
    types: dict[str, Place] = field(default_factory=dict)


class Known(Struct, frozen=True, gc=False):
    types: frozenset[str]
    always: bool
    """Whenever what it is a field of is there."""

    @classmethod
    def parse(cls, text: str) -> "Known":
        return cls(frozenset(text.removesuffix("?").split("|")), not text.endswith("?"))

    def __str__(self) -> str:
        return "|".join(sorted(self.types)) + ("" if self.always else "?")


Shape: TypeAlias = dict[str, Known]


class Difference(Struct, frozen=True):
    path: str
    change: Change
    types: list[str]
    """Now; of what vanished, what it was."""
    was: list[str]
    place: Place
    """Where it was seen first; of what vanished, where it was missed first."""


class Observed:
    """The messages of one type that were seen."""

    def __init__(self) -> None:
        self.fields: dict[str, Field] = {}

    def see(self, native: dict[str, Any], place: Place) -> None:
        self._see(native, "", place, 0)

    def _see(self, value: Any, path: str, place: Place, depth: int) -> None:
        told = self.fields.get(path)
        if told is None:
            if len(self.fields) >= MOST_PATHS:
                return
            told = self.fields[path] = Field()
        kind = _TYPES.get(type(value), "string")
        told.types.setdefault(kind, place)
        if kind != "null":
            told.count += 1
        if path.rpartition(".")[2] in FREE or depth == DEEPEST:
            return
        if kind == "object":
            told.objects += 1
            self._see_fields(value, path, place, depth)
        elif kind == "array":
            for each in value:
                self._see(each, f"{path}[{(tag_of(each) or '') if isinstance(each, dict) else ''}]", place, depth + 1)

    def _see_fields(self, value: dict[str, Any], path: str, place: Place, depth: int) -> None:
        is_table = len(value) > MOST_NAMES
        for name, inner in value.items():
            named = "*" if is_table or not is_name(name) else name
            self._see(inner, f"{path}.{named}" if path else named, place, depth + 1)

    def merge(self, other: "Observed") -> None:
        for path, theirs in other.fields.items():
            if path not in self.fields and len(self.fields) >= MOST_PATHS:
                continue
            ours = self.fields.setdefault(path, Field())
            ours.count += theirs.count
            ours.objects += theirs.objects
            ours.types = {**theirs.types, **ours.types}

    def shape(self) -> Shape:
        return {path: Known(frozenset(told.types), self._is_always(path)) for path, told in sorted(self.fields.items()) if path}

    def _is_always(self, path: str) -> bool:
        told, parent = self.fields[path], self.fields.get(parent_of(path))
        return parent is not None and not path.endswith(("]", "*")) and told.count == parent.objects

    # --- compared -----------------------------------------------------------

    def differences(self, known: Shape) -> Iterator[Difference]:
        appeared: dict[str, Place] = {}
        for path, told in sorted(self.fields.items()):
            if path not in known:
                for difference in _appeared(path, told, known):
                    appeared.setdefault(parent_of(path), difference.place)
                    yield difference
            else:
                yield from _changed(path, told, known[path])
        for path, wanted in sorted(known.items()):
            if wanted.always and (missed := self._missed(path, appeared.get(parent_of(path)))) is not None:
                yield Difference(path, "vanished", [], sorted(wanted.types), missed)

    def _missed(self, path: str, appeared: Place | None) -> Place | None:
        """Where a field was missed, if it is in none of the objects that should have it; or not in all, where another field `appeared`
        in them: it was renamed."""
        parent, told = self.fields.get(parent_of(path)), self.fields.get(path)
        if parent is None or not parent.objects:
            return None
        if told is None or not told.count:
            return parent.types["object"]
        return appeared if told.count < parent.objects and "null" not in told.types else None


def _appeared(path: str, told: Field, known: Shape) -> Iterator[Difference]:
    # Of a new object it is enough to name it. Null is how some agents leave a field out: nothing has appeared.
    if told.count and path and (parent_of(path) in known or not parent_of(path)):
        yield Difference(path, "appeared", sorted(told.types), [], next(iter(told.types.values())))


def _changed(path: str, told: Field, known: Known) -> Iterator[Difference]:
    new, was = told.types.keys() - known.types - {"null"}, known.types - {"null"}
    if new and was:
        yield Difference(path, "changed type", sorted(new), sorted(was), told.types[min(new)])


def parent_of(path: str) -> str:
    """The object that has this field, or the list that has this element."""
    return path[: path.rindex("[")] if path.endswith("]") else path.rpartition(".")[0]


def is_name(key: str) -> bool:
    """Whether a key is a field's name rather than data: a path, an id, a model."""
    return _NAME.fullmatch(key) is not None and len(_DIGITS.findall(key)) < 3
