"""Values that a JSON Schema allows, for translators that must read every shape an agent has published."""

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
