"""The rpc mode's events, which tell a message three times and a tool's output twice."""

from collections.abc import Iterator
from typing import Any

from native import Message, lines, listing, words

USAGE = {"input": 1000, "output": 42, "cacheRead": 200, "cacheWrite": 0, "reasoning": 0, "totalTokens": 1242, "cost": {"total": 0.003}}


def reply(pieces: int) -> bytes:
    return lines([{"type": "agent_start"}, *_message([*_streamed(words(pieces))], [_text(words(pieces))], "stop"), *_end()])


def tools(calls: int) -> bytes:
    return lines([{"type": "agent_start"}, *(line for at in range(calls) for line in _used(at)), *_end()])


def _end() -> list[Message]:
    return [{"type": "agent_end", "messages": [], "willRetry": False}, {"type": "agent_settled", "aborted": False}]


def _text(pieces: list[str]) -> Message:
    return {"type": "text", "text": "".join(pieces)}


def _said(kind: str, at: int = 0, **fields: Any) -> Message:
    return {"type": "message_update", "usage": USAGE, "assistantMessageEvent": {"type": kind, "contentIndex": at, **fields}}


def _streamed(pieces: list[str]) -> Iterator[Message]:
    yield _said("text_start")
    yield from (_said("text_delta", delta=piece) for piece in pieces)
    yield _said("text_end", content="".join(pieces))


def _message(updates: list[Message], content: list[Message], stop: str) -> Iterator[Message]:
    message = {"role": "assistant", "content": [], "model": "model-1", "usage": USAGE, "stopReason": "pending"}
    yield {"type": "message_start", "message": message}
    yield from updates
    yield {"type": "message_end", "message": {**message, "content": content, "stopReason": stop}}


def _used(at: int) -> Iterator[Message]:
    call, args, said = f"call_{at}", {"command": f"ls src/module_{at}"}, [f"Let me look at module {at}."]
    use = {"type": "toolCall", "id": call, "name": "bash", "arguments": args}
    begun = [_said("toolcall_start", 1, id=call, toolName="bash"), _said("toolcall_end", 1, toolCall=use)]
    yield from _message([*_streamed(said), *begun], [_text(said), use], "toolUse")
    common = {"toolCallId": call, "toolName": "bash"}
    output = {"content": [{"type": "text", "text": listing(at)}]}
    told = {**output, "structuredContent": {"output": listing(at), "truncated": False, "exit_code": 0, "wall_time_seconds": 0}}
    yield {"type": "tool_execution_start", **common, "args": args}
    yield {"type": "tool_execution_update", **common, "args": args, "partialResult": {**output, "details": {}}}
    yield {"type": "tool_execution_end", **common, "result": told, "isError": False, "durationMs": 6}
    result = {"role": "toolResult", **common, **output, "isError": False}
    yield {"type": "message_start", "message": result}
    yield {"type": "message_end", "message": result}
