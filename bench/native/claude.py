"""Stream-json with partial messages."""

from collections.abc import Iterator
from typing import Any

from native import Message, lines, listing, words

SESSION = "5a1bd0bd-4c5e-4a0e-9d43-b9a3a3f0a0f1"


def reply(pieces: int) -> bytes:
    return lines(conversation(words(pieces)))


def conversation(pieces: list[str]) -> list[Message]:
    """One answer in these pieces."""
    return [*_begin(), *_streamed(0, pieces), _result()]


def tools(calls: int) -> bytes:
    return lines([*_begin(), *(line for at in range(calls) for line in _used(at)), _result()])


def turn(number: int, pieces: int) -> bytes:
    """An answer in so many pieces, and a tool."""
    return lines([*_begin(), *_streamed(number, words(pieces)), *_used(number), _result()])


def turns(size: int) -> Iterator[bytes]:
    """Turns of an answer and a tool, until they are of this size together."""
    made, number = 0, 0
    while made < size:
        turn = [*_begin(), *_streamed(number, ["some ", "more ", "words "] * 20), *_used(number), _result()]
        chunk = lines(turn)
        made, number = made + len(chunk), number + 1
        yield chunk


def _message(at: int, **fields: Any) -> Message:
    return {**fields, "parent_tool_use_id": None, "session_id": SESSION, "uuid": f"00000000-0000-4000-8000-{at:012d}"}


def _begin() -> list[Message]:
    init = {"type": "system", "subtype": "init", "cwd": "/project", "tools": ["Bash", "Read"], "model": "model-1"}
    return [_message(0, **init, permissionMode="default", claude_code_version="2.1.326")]


def _event(at: int, event: Message) -> Message:
    return _message(at, type="stream_event", event=event, api_message_id=f"msg_{at}")


def _streamed(at: int, pieces: list[str]) -> list[Message]:
    started = {"id": f"msg_{at}", "model": "model-1", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    whole = [{"type": "text", "text": "".join(pieces)}]
    return [
        _event(at, {"type": "message_start", "message": started}),
        _event(at, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        *(_event(at, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}) for piece in pieces),
        _message(at, type="assistant", message={**started, "content": whole}),
        _event(at, {"type": "content_block_stop", "index": 0}),
    ]


def _used(at: int) -> list[Message]:
    call, output = f"toolu_{at}", listing(at)
    use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"ls src/module_{at}", "description": "List"}}
    result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}
    said = [{"type": "text", "text": f"Let me look at module {at}."}]
    return [
        _message(at, type="assistant", message={"id": f"msg_t{at}", "model": "model-1", "role": "assistant", "content": said}),
        _message(at, type="assistant", message={"id": f"msg_t{at}", "model": "model-1", "role": "assistant", "content": [use]}),
        _message(
            at, type="user", message={"role": "user", "content": [result]},
            tool_use_result={"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
        ),
    ]  # fmt: skip


def _result() -> Message:
    used = {"model-1": {"inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "costUSD": 0.01}}
    return _message(0, type="result", subtype="success", is_error=False, result="done", model_usage_since_last_result=used, modelUsage=used)
