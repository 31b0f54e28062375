"""The API's description, OpenAPI 3.1, made from the routes; and the routes that show it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from litestar import Litestar, Response, get
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig

from onetape import __version__, schemas
from onetape.archive.exporting import FORMATS
from onetape.server import docs, problems
from onetape.server.fs import ARCHIVES

STREAMS = frozenset({"streamEvents", "streamAllEvents", "sendMessageAndStream"})
"""Operations that answer with server-sent events, the first two without end."""

# What the framework cannot see, since these bytes pass as they are.
_TAKES = {"writeFile": ["application/octet-stream"], "uploadBatch": list(ARCHIVES)}
_GIVES = {"readFile": "application/octet-stream", "getBlob": "application/octet-stream"} | dict.fromkeys(STREAMS, "text/event-stream")
_FILES = {format.media_type for format in FORMATS.values()}
_STREAM = {"text/event-stream": {"schema": {"type": "string"}}}
_BINARY = {"type": "string", "format": "binary"}


def describe(routes: Sequence[HTTPRouteHandler]) -> dict[str, Any]:
    config = OpenAPIConfig("Onetape", __version__, operation_id_creator=_operation_id, use_handler_docstrings=True)
    nobody = {"daemon": Provide(lambda: None, sync_to_thread=False)}  # nothing is called
    described = Litestar(list(routes), dependencies=nobody, openapi_config=config, logging_config=None)
    made: dict[str, Any] = described.openapi_schema.to_schema()
    components = made.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **_transcript(), "Problem": _PROBLEM}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"token": []}]
    for operation in _operations(made):
        _complete(operation)
    return made


def _operation_id(handler: HTTPRouteHandler, method: Any, path: Any) -> str:
    first, *rest = handler.handler_name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from (told for told in path.values() if isinstance(told, dict) and "operationId" in told)


def _complete(operation: dict[str, Any]) -> None:
    name, answers = operation["operationId"], operation["responses"]
    answers.pop("400", None)  # the framework's own idea of a problem
    answers["default"] = {"description": "A problem.", "content": {problems.MEDIA_TYPE: {"schema": {"$ref": docs.SCHEMAS + "Problem"}}}}
    if name == "health":
        operation["security"] = []
    if name in _TAKES:
        operation["requestBody"] = {"content": {mime: {"schema": _BINARY} for mime in _TAKES[name]}, "required": True}
    if name in _GIVES:
        answers["200"]["content"] = {_GIVES[name]: {"schema": {"type": "string"} if name in STREAMS else _BINARY}}
    if name == "exportSession":
        answers["200"]["content"] = {mime: {"schema": _BINARY} for mime in sorted(_FILES)}
    if name == "listEvents":
        answers["200"]["content"] = {"application/json": {"schema": _EVENTS}}
    if name == "getDigest":
        answers["200"]["content"] = {"application/json": {"schema": {"type": "object"}}, **_STREAM}


_EVENTS = {
    "type": "object",
    "required": ["events", "hasMore"],
    "properties": {"events": {"type": "array", "items": {"$ref": docs.SCHEMAS + "transcript.Event"}}, "hasMore": {"type": "boolean"}},
}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "enum": [problems.URN + kind for kind in problems.KINDS]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "agent": {"type": "string"},
        "sessionId": {"type": "string"},
        "details": {},
    },
}


def _transcript() -> dict[str, Any]:
    """The schema of events, under names of its own: `Usage` is one thing there and another here."""
    whole = json.loads(schemas.json_schema().replace("#/$defs/", f"{docs.SCHEMAS}transcript."))
    event = {key: value for key, value in whole.items() if key not in ("$schema", "$defs")}
    return {"transcript.Event": event} | {f"transcript.{name}": shape for name, shape in whole["$defs"].items()}


def routes(described: Sequence[HTTPRouteHandler]) -> tuple[HTTPRouteHandler, ...]:
    """The routes that show the description; it is made when it is first asked for."""
    kept: list[bytes] = []

    def document() -> bytes:
        if not kept:
            kept.append(json.dumps(describe(described), ensure_ascii=False).encode())
        return kept[0]

    @get("/v1/openapi.json", include_in_schema=False, sync_to_thread=True)
    def openapi() -> Response[bytes]:
        return Response(document(), media_type="application/json")

    @get("/docs", include_in_schema=False, sync_to_thread=True)
    def page() -> Response[bytes]:
        headers = {"Content-Security-Policy": docs.POLICY}
        return Response(docs.page(json.loads(document())).encode(), media_type="text/html", headers=headers)

    return (openapi, page)
