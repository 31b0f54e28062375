"""OpenAI Responses."""

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from lab.apis import Asked, Frames, frame, texts_in
from lab.script import ApiError, Hold, Step, Text, Thinking, Tool, pieces, said

PATH = "/v1/responses"
USAGE = {
    "input_tokens": 1200, "output_tokens": 42, "total_tokens": 1242,
    "input_tokens_details": {"cached_tokens": 1000}, "output_tokens_details": {"reasoning_tokens": 7},
}  # fmt: skip
OUTPUTS = ("function_call_output", "custom_tool_call_output")


def read(body: dict[str, Any]) -> Asked:
    items = body["input"]
    parts = [part for item in items if isinstance(item.get("content"), list) for part in item["content"]]
    urls = [part["image_url"] for part in parts if part["type"] == "input_image"]
    return Asked(
        model=body["model"],
        effort=(body.get("reasoning") or {}).get("effort"),
        tools=[name for tool in body.get("tools") or () for name in _names(tool)],
        texts=[text for item in items if item.get("type", "message") == "message" for text in texts_in(item["content"])],
        results=["".join(texts_in(item["output"])) for item in items if item.get("type") in OUTPUTS],
        images=[base64.b64decode(url.partition("base64,")[2]) for url in urls],
        body=body,
    )


def _names(tool: dict[str, Any]) -> list[str]:
    """A tool, or all tools of a namespace; what the provider itself would run has a type and no name."""
    if tool["type"] == "namespace":
        return [f"{tool['name']}/{inner['name']}" for inner in tool["tools"]]
    return [tool.get("name", tool["type"])]


def refuse(error: ApiError) -> dict[str, Any]:
    return {"error": {"message": error.message, "type": "invalid_request_error", "param": None, "code": None}}


def stream(answer: tuple[Step, ...], asked: Asked, id: str) -> Frames:
    yield _event("response.created", response={"id": f"resp_{id}"})
    for index, step in enumerate(answer):
        yield from _item(step, index, f"{id}_{index}")
    yield _event("response.completed", response={"id": f"resp_{id}", "usage": USAGE})


def _item(step: Step, index: int, id: str) -> Frames:
    match step:
        case Text():
            yield from _message(step, index, f"msg_{id}")
        case Thinking():
            yield from _reasoning(step, index, f"rs_{id}")
        case Tool(name, str(freeform)):
            call = {"type": "custom_tool_call", "id": f"ctc_{id}", "call_id": f"call_{id}", "name": name, "status": "completed"}
            yield from _call(call, "input", freeform, "custom_tool_call_input", index)
        case Tool(name, arguments):
            namespace, slash, tool = name.rpartition("/")
            call = {"type": "function_call", "id": f"fc_{id}", "call_id": f"call_{id}", "name": tool}
            call |= {"namespace": namespace} if slash else {}
            yield from _call(call, "arguments", msgspec.json.encode(arguments).decode(), "function_call_arguments", index)
        case ApiError():
            raise ValueError("an error is an answer of its own")


def _message(step: Text, index: int, id: str) -> Frames:
    message = {"type": "message", "role": "assistant", "id": id}
    yield _event("response.output_item.added", output_index=index, item=message | {"status": "in_progress", "content": []})
    for words in said(step):
        yield words if isinstance(words, Hold) else _delta("output_text", id, index, words, content_index=0)
    content = [{"type": "output_text", "text": step.text, "annotations": []}]
    yield _event("response.output_item.done", output_index=index, item=message | {"status": "completed", "content": content})


def _reasoning(step: Thinking, index: int, id: str) -> Iterator[bytes]:
    thought = {"type": "reasoning", "id": id}
    part = {"item_id": id, "output_index": index, "summary_index": 0}
    yield _event("response.output_item.added", output_index=index, item=thought | {"summary": []})
    yield _event("response.reasoning_summary_part.added", **part, part={"type": "summary_text", "text": ""})
    for words in said(step):
        yield _event("response.reasoning_summary_text.delta", **part, delta=words)
    summary = {"type": "summary_text", "text": step.text}
    yield _event("response.reasoning_summary_part.done", **part, part=summary)
    done = thought | {"summary": [summary], "encrypted_content": "c2VjcmV0"}
    yield _event("response.output_item.done", output_index=index, item=done)


def _call(call: dict[str, Any], field: str, words: str, name: str, index: int) -> Iterator[bytes]:
    yield _event("response.output_item.added", output_index=index, item=call | {field: ""})
    for piece in pieces(words, 3):
        yield _delta(name, call["id"], index, piece)
    yield _event("response.output_item.done", output_index=index, item=call | {field: words})


def _delta(name: str, item: str, index: int, words: str, **fields: Any) -> bytes:
    return _event(f"response.{name}.delta", item_id=item, output_index=index, delta=words, **fields)


def _event(type: str, **fields: Any) -> bytes:
    return frame({"type": type, **fields}, type)
