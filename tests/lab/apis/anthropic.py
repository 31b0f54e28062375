"""Anthropic Messages."""

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from lab.apis import Asked, Frames, frame, texts_in
from lab.script import ApiError, Hold, Step, Text, Thinking, Tool, pieces, said

PATH = "/v1/messages"
USAGE = {"input_tokens": 120, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 900, "output_tokens": 42}


def read(body: dict[str, Any]) -> Asked:
    blocks = [block for message in body["messages"] for block in _blocks(message["content"])]
    results = [block["content"] for block in blocks if block["type"] == "tool_result"]
    inside = [block for content in results if isinstance(content, list) for block in content]
    return Asked(
        model=body["model"],
        effort=(body.get("output_config") or {}).get("effort"),
        tools=[tool["name"] for tool in body.get("tools") or ()],
        texts=[*texts_in(body.get("system")), *texts_in(blocks)],
        results=["".join(texts_in(content)) for content in results],
        images=[base64.b64decode(block["source"]["data"]) for block in blocks + inside if block["type"] == "image"],
        body=body,
    )


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def refuse(error: ApiError) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": error.message}}


def whole(answer: tuple[Step, ...], asked: Asked, id: str) -> dict[str, Any]:
    content = [{"type": "text", "text": step.text} for step in answer if isinstance(step, Text)]
    return _message(asked, id) | {"content": content, "stop_reason": "end_turn", "usage": USAGE}


def _message(asked: Asked, id: str) -> dict[str, Any]:
    return {
        "id": f"msg_{id}", "type": "message", "role": "assistant", "model": asked.model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": USAGE | {"output_tokens": 1},
    }  # fmt: skip


def stream(answer: tuple[Step, ...], asked: Asked, id: str) -> Frames:
    yield _event("message_start", message=_message(asked, id))
    for index, step in enumerate(answer):
        yield from _block(step, index, id)
        yield _event("content_block_stop", index=index)
    reason = "tool_use" if any(isinstance(step, Tool) for step in answer) else "end_turn"
    yield _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=USAGE)
    yield _event("message_stop")


def _block(step: Step, index: int, id: str) -> Frames:
    match step:
        case Text():
            yield _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            for words in said(step):
                yield words if isinstance(words, Hold) else _delta(index, "text_delta", text=words)
        case Thinking():
            yield _event("content_block_start", index=index, content_block={"type": "thinking", "thinking": "", "signature": ""})
            yield from (_delta(index, "thinking_delta", thinking=words) for words in said(step))
            yield _delta(index, "signature_delta", signature="c2lnbmVk")
        case Tool(name, arguments):
            call = {"type": "tool_use", "id": f"toolu_{id}_{index}", "name": name, "input": {}}
            yield _event("content_block_start", index=index, content_block=call)
            yield from _input(index, msgspec.json.encode(arguments).decode())
        case ApiError():
            raise ValueError("an error is an answer of its own")


def _input(index: int, arguments: str) -> Iterator[bytes]:
    yield from (_delta(index, "input_json_delta", partial_json=piece) for piece in pieces(arguments, 3))


def _delta(index: int, type: str, **fields: Any) -> bytes:
    return _event("content_block_delta", index=index, delta={"type": type, **fields})


def _event(type: str, **fields: Any) -> bytes:
    return frame({"type": type, **fields}, type)
