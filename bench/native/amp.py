"""Stream-json without deltas: a message is one line, however long."""

import json
from collections.abc import Iterator

from native import Message, lines, listing, words

COMMON = {"parent_tool_use_id": None, "session_id": "T-01a1ed0a-29d8-7000-8000-000000000001"}
USAGE = {"input_tokens": 120, "cache_read_input_tokens": 900, "output_tokens": 42}
PARAGRAPH = "".join(words(100))


def reply(pieces: int) -> bytes:
    """So many paragraphs, a message each."""
    said = [f"{at} {PARAGRAPH}" for at in range(pieces)]
    return lines([*_begin(), *(_assistant([{"type": "text", "text": text}], "end_turn") for text in said), _end(said[-1])])


def tools(calls: int) -> bytes:
    return lines([*_begin(), *(line for at in range(calls) for line in _used(at)), _end("done")])


def _begin() -> list[Message]:
    return [
        {"type": "system", "subtype": "init", "cwd": "/project", "tools": ["Bash"], "mcp_servers": [], **COMMON},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}, **COMMON},
    ]


def _end(text: str) -> Message:
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": text, **COMMON}


def _assistant(content: list[Message], stop: str) -> Message:
    message = {"type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": USAGE}
    return {"type": "assistant", "message": message, **COMMON}


def _used(at: int) -> Iterator[Message]:
    said = {"type": "text", "text": f"Let me look at module {at}."}
    use = {"type": "tool_use", "id": f"toolu_{at}", "name": "Bash", "input": {"cmd": f"ls src/module_{at}", "cwd": "/project"}}
    output = json.dumps({"output": listing(at), "exitCode": 0})
    yield _assistant([said, use], "tool_use")
    result = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": output, "is_error": False}
    yield {"type": "user", "message": {"role": "user", "content": [result]}, **COMMON}
