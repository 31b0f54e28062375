"""The API's description for people: a page that loads nothing from anywhere, and the table in docs/http.md."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

SCHEMAS = "#/components/schemas/"

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 13px/1.4 ui-monospace, monospace } pre { overflow-x: auto; padding: .6rem; border: 1px solid #8884; border-radius: 6px }
summary { cursor: pointer; padding: .25rem 0 } summary code { font-weight: 600 } .verb { display: inline-block; width: 4.5rem }
"""


def page(document: dict[str, Any]) -> str:
    by_tag: dict[str, list[str]] = {}
    for method, path, operation in _operations(document):
        by_tag.setdefault(operation["tags"][0], []).append(_shown(method, path, operation))
    parts = "".join(f"<h2>{escape(tag)}</h2>{''.join(shown)}" for tag, shown in by_tag.items())
    shapes = "".join(_shape(name, shape) for name, shape in sorted(document["components"]["schemas"].items()))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Onetape API</title><style>{_STYLE}</style>'
        f'<h1>Onetape {escape(document["info"]["version"])}: HTTP API</h1><p>As <a href="/v1/openapi.json">OpenAPI 3.1</a>. '
        f"Every route but <code>/v1/health</code> needs <code>Authorization: Bearer TOKEN</code>.</p>{parts}<h2>shapes</h2>{shapes}</html>"
    )


def _shown(method: str, path: str, operation: dict[str, Any]) -> str:
    about = [escape(operation.get("description", ""))]
    about += [
        f"<li><code>{escape(told['name'])}</code> ({told['in']}{', required' if told.get('required') else ''}) "
        f"{escape(told.get('description', ''))} <code>{escape(_type(told.get('schema', {})))}</code></li>"
        for told in operation.get("parameters", ())
    ]
    about += [f"<li>takes {_content(operation['requestBody'])}</li>"] if "requestBody" in operation else []
    about += [f"<li>{escape(status)}: {_content(told)}</li>" for status, told in operation["responses"].items()]
    head = f'<span class="verb"><code>{method.upper()}</code></span><code>{escape(path)}</code> {escape(operation.get("summary", ""))}'
    return f"<details><summary>{head}</summary><ul>{''.join(about)}</ul></details>"


def _content(told: dict[str, Any]) -> str:
    content = told.get("content") or {}
    return ", ".join(f"{escape(mime)} <code>{escape(_type(body.get('schema', {})))}</code>" for mime, body in content.items()) or "nothing"


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": str(target)}:
            return target.removeprefix(SCHEMAS)
        case {"type": "array", "items": items}:
            return f"{_type(items)}[]"
        case {"oneOf": [*choices]} | {"anyOf": [*choices]}:
            return " or ".join(map(_type, choices))
        case {"type": kind}:
            return kind if isinstance(kind, str) else " or ".join(kind)
        case _:
            return "any"


def _shape(name: str, shape: dict[str, Any]) -> str:
    text = escape(json.dumps(shape, indent=2, ensure_ascii=False))
    return f"<details><summary><code>{escape(name)}</code></summary><pre>{text}</pre></details>"


# --- docs/http.md ---------------------------------------------------------------


def table(document: dict[str, Any]) -> str:
    """Every route as a row of Markdown."""
    rows = ["| route | what it does | query | takes | gives |", "|---|---|---|---|---|"]
    for method, path, operation in _operations(document):
        query = ", ".join(f"`{told['name']}`" for told in operation.get("parameters", ()) if told["in"] == "query")
        status, answer = next(iter(operation["responses"].items()))
        takes = _named(operation["requestBody"]) if "requestBody" in operation else ""
        rows.append(f"| `{method.upper()} {path}` | {operation['summary']} | {query} | {takes} | {status} {_named(answer)} |")
    return "\n".join(rows)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def _named(told: dict[str, Any]) -> str:
    """The shape, or the media type of what has none."""
    for mime, body in (told.get("content") or {}).items():
        shape = _type(body.get("schema", {}))
        return f"`{shape}`" if mime == "application/json" else f"`{mime}`"
    return ""
