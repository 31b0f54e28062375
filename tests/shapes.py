"""Values that a JSON Schema allows, for translators that must read every shape an agent has published."""

from collections.abc import Callable
from random import Random
from typing import Any


def instances(shape: Any, named: dict[str, Any], *, full: bool, depth: int = 0) -> list[Any]:
    """A few values that a schema allows: the required fields alone, or all of them."""
    if shape is True or depth > 12:
        return [{}]
    if "$ref" in shape:
        return instances(named[shape["$ref"].rpartition("/")[2]], named, full=full, depth=depth + 1)
    if "enum" in shape:
        return [shape["enum"][0], shape["enum"][-1]]
    base: list[Any] = [{}]
    for field, inner in shape.get("properties", {}).items():
        if full or field in shape.get("required", ()):
            values = instances(inner, named, full=full, depth=depth + 1)
            grown = [{**value, field: each} for value in base for each in values]
            base = grown if len(grown) <= 64 and depth < 4 else [{**v, field: values[at % len(values)]} for at, v in enumerate(base)]
    for alternatives in (shape.get("oneOf"), shape.get("anyOf")):
        if alternatives:
            told = [value for inner in alternatives for value in instances(inner, named, full=full, depth=depth + 1)]
            return [{**begun, **value} if isinstance(value, dict) else value for value in told for begun in base][:200]
    for inner in shape.get("allOf", ()):
        told = instances(inner, named, full=full, depth=depth + 1)
        base = [{**begun, **value} if isinstance(value, dict) else value for begun in base for value in told]
    if "properties" in shape or shape.get("allOf") or shape.get("type") == "object":
        return base
    return [_simple(shape, named, full)]


def _simple(shape: dict[str, Any], named: dict[str, Any], full: bool) -> Any:
    kind = shape.get("type")
    if isinstance(kind, list):
        kind = "null" if "null" in kind and not full else next(each for each in kind if each != "null")
    match kind:
        case "array":
            return instances(shape["items"], named, full=full) if full and "items" in shape else []
        case "string":
            return "eA=="  # base64 as well, where that is wanted
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _:
            return None


TEXTS = ("", "x", "eA==", "/a/b c.txt", "data:image/png;base64,eA==", "data:image/png;base64,x", "@@ -1 +1 @@\n-a\n+b\n")
NUMBERS = (0, 1, 7, 2**53 - 1)


def drawn(shape: Any, named: dict[str, Any], dice: Random, depth: int = 0) -> Any:
    """Any value that a schema allows, odd ones among them: empty texts, what says that it is base64 and is not, numbers too large."""

    def inner(inside: Any) -> Any:
        return drawn(inside, named, dice, depth + 1)

    if shape is True or not shape:
        return dice.choice([None, 1, "x", {}, [], {"a": 1}])
    if "$ref" in shape:
        return inner(named[shape["$ref"].rpartition("/")[2]])
    if "enum" in shape:
        return dice.choice(shape["enum"])
    alternatives = shape.get("oneOf") or shape.get("anyOf")
    base = inner(dice.choice(alternatives)) if alternatives else {}
    for part in shape.get("allOf", ()):
        told = inner(part)
        base = {**base, **told} if isinstance(told, dict) else told
    kind = shape.get("type")
    kind = dice.choice(kind) if isinstance(kind, list) else kind
    if not isinstance(base, dict) or (kind is None and "properties" not in shape):
        return base
    if kind not in (None, "object"):
        return _plain(kind, shape, inner, dice, depth)
    wanted = shape.get("required", ())
    fields = {name: inside for name, inside in shape.get("properties", {}).items() if name in wanted or (depth < 9 and dice.random() < 0.5)}
    return {name: inner(inside) for name, inside in fields.items()} | base


def _plain(kind: str, shape: dict[str, Any], inner: Callable[[Any], Any], dice: Random, depth: int) -> Any:
    match kind:
        case "array":
            return [inner(shape.get("items", True)) for _ in range(dice.randint(0, 2) if depth < 9 else 0)]
        case "string":
            return dice.choice(TEXTS)
        case "integer" | "number":
            return dice.choice(NUMBERS)
        case "boolean":
            return dice.random() < 0.5
        case _:
            return None
