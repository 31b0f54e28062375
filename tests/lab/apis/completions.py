"""OpenAI chat completions."""

import base64
from typing import Any

import msgspec

from lab.apis import Asked, Frames, frame, texts_in
from lab.script import ApiError, Hold, Step, Text, Thinking, Tool, pieces, said

PATH = "/v1/chat/completions"
USAGE = {
    "prompt_tokens": 1200, "completion_tokens": 42, "total_tokens": 1242,
    "prompt_tokens_details": {"cached_tokens": 200}, "completion_tokens_details": {"reasoning_tokens": 7},
}  # fmt: skip


def read(body: dict[str, Any]) -> Asked:
    messages = body["messages"]
    parts = [part for message in messages if isinstance(message.get("content"), list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return Asked(
        model=body["model"],
        effort=body.get("reasoning_effort"),
        tools=[tool["function"]["name"] for tool in body.get("tools") or ()],
        texts=[text for message in messages if message["role"] != "tool" for text in texts_in(message.get("content"))],
        results=["".join(texts_in(message["content"])) for message in messages if message["role"] == "tool"],
        images=[base64.b64decode(url.partition("base64,")[2]) for url in urls],
        body=body,
    )


def refuse(error: ApiError) -> dict[str, Any]:
    return {"error": {"message": error.message, "type": "invalid_request_error", "param": None, "code": None}}


def stream(answer: tuple[Step, ...], asked: Asked, id: str) -> Frames:
    base = {"id": f"chatcmpl-{id}", "object": "chat.completion.chunk", "created": 1767225600, "model": asked.model}
    calls = [step for step in answer if isinstance(step, Tool)]
    yield _chunk(base, {"role": "assistant", "content": ""})
    for step in answer:
        yield from _step(base, step, calls, id)
    yield _chunk(base, {}, "tool_calls" if calls else "stop")
    yield frame(base | {"choices": [], "usage": USAGE})
    yield frame("[DONE]")


def _step(base: dict[str, Any], step: Step, calls: list[Tool], id: str) -> Frames:
    match step:
        case Text():
            for words in said(step):
                yield words if isinstance(words, Hold) else _chunk(base, {"content": words})
        case Thinking():
            yield from (_chunk(base, {"reasoning_content": words}) for words in said(step))
        case Tool(name, arguments):
            index = calls.index(step)
            call = {"index": index, "id": f"call_{id}_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
            yield _chunk(base, {"tool_calls": [call]})
            for piece in pieces(msgspec.json.encode(arguments).decode(), 3):
                yield _chunk(base, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        case ApiError():
            raise ValueError("an error is an answer of its own")


def _chunk(base: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return frame(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
