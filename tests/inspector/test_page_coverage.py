"""The page shows everything that a transcript may hold: its tables against the schema, entry by entry.

The page's own types check the same against inspector/src/schema.ts, so that file must be what the schema says today.
"""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onetape import schemas
from onetape.schema import Event

PAGE = Path(__file__).parents[2] / "inspector" / "src"
TABLE = re.compile(r"^export const (\w+): Record<.*?> = \{\n(.*?)^\};", re.M | re.S)
ENTRY = re.compile(r'^  "?([\w.]+)"?: ', re.M)


def tables() -> dict[str, set[str]]:
    return {name: set(ENTRY.findall(body)) for name, body in TABLE.findall((PAGE / "renderers.ts").read_text())}


def tagged(name: str, definitions: dict[str, Any]) -> str:
    return definitions[name]["properties"]["type"]["enum"][0]


def schema() -> dict[str, set[str]]:
    """What the schema lists, under the names of the page's tables."""
    definitions = msgspec.json.decode(schemas.json_schema())["$defs"]
    events = {tagged(name, definitions) for name, shape in definitions.items() if "sequence" in shape.get("properties", {})}
    parts = [reference["$ref"].rpartition("/")[2] for reference in definitions["Item"]["properties"]["content"]["items"]["anyOf"]]
    return {
        "EVENTS": events,
        "ITEMS": set(definitions["Item"]["properties"]["kind"]["enum"]),
        "PARTS": {tagged(name, definitions) for name in parts},
        "LABELS": set(definitions["Status"]["properties"]["label"]["enum"]),
    }


@pytest.mark.parametrize("table", ["EVENTS", "ITEMS", "PARTS", "LABELS"])
def test_every_entry_of_the_schema_has_a_rendering(table: str) -> None:
    assert tables()[table] == schema()[table]


def test_the_lists_are_not_empty() -> None:
    assert len(schema()["EVENTS"]) == len(Event.__args__)  # type: ignore[attr-defined]
    assert all(len(entries) > 4 for entries in schema().values())


def test_every_rendering_is_reached() -> None:
    """A table's entry is worth nothing if no component looks it up."""
    row, part = (PAGE / "rows" / "RowView.svelte").read_text(), (PAGE / "rows" / "Part.svelte").read_text()
    for type in schema()["PARTS"]:
        assert f'part.type === "{type}"' in part
    for kind in ("message", "status", "system"):
        assert f'ITEMS[row.item.kind] === "{kind}"' in row


def test_the_pages_types_are_the_schemas() -> None:
    assert (PAGE / "schema.ts").read_text() == schemas.typescript() + "\n", "run: onetape schema --typescript > inspector/src/schema.ts"
