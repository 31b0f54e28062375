"""The app-server's notifications."""

from collections.abc import Iterator
from typing import Any

from native import Message, lines, listing, words

THREAD, TURN = "01a1ed0a-29d8-7000-8000-000000000001", "01a1ed0a-29d8-7000-8000-000000000002"


def reply(pieces: int) -> bytes:
    return lines([*_begin(), *_streamed("msg_1", words(pieces)), _end()])


def tools(calls: int) -> bytes:
    return lines([*_begin(), *(line for at in range(calls) for line in _used(at)), _end()])


def _told(method: str, **params: Any) -> Message:
    return {"method": method, "params": {"threadId": THREAD, "turnId": TURN, **params}, "emittedAtMs": 1795000000000}


def _turn(status: str) -> Message:
    return {"id": TURN, "items": [], "itemsView": "notLoaded", "status": status, "error": None}


def _begin() -> list[Message]:
    started = {"thread": {"id": THREAD, "turns": []}, "model": "model-1", "cwd": "/project", "approvalPolicy": "never"}
    return [{"id": 1, "result": started}, _told("turn/started", turn=_turn("inProgress"))]


def _end() -> Message:
    return _told("turn/completed", turn=_turn("completed"))


def _streamed(id: str, pieces: list[str]) -> list[Message]:
    item = {"type": "agentMessage", "id": id, "phase": None, "memoryCitation": None}
    return [
        _told("item/started", item={**item, "text": ""}),
        *(_told("item/agentMessage/delta", itemId=id, delta=piece) for piece in pieces),
        _told("item/completed", item={**item, "text": "".join(pieces)}),
    ]


def _used(at: int) -> Iterator[Message]:
    command = f"/bin/bash -lc 'ls src/module_{at}'"
    item = {
        "type": "commandExecution", "id": f"call_{at}", "command": command, "cwd": "/project", "processId": str(at),
        "source": "unifiedExecStartup", "commandActions": [{"type": "unknown", "command": command}],
    }  # fmt: skip
    yield from _streamed(f"msg_{at}", [f"Let me look at module {at}."])
    yield _told("item/started", item={**item, "status": "inProgress", "aggregatedOutput": None, "exitCode": None, "durationMs": None})
    yield _told("item/commandExecution/outputDelta", itemId=f"call_{at}", delta=listing(at))
    yield _told("item/completed", item={**item, "status": "completed", "aggregatedOutput": listing(at), "exitCode": 0, "durationMs": 12})
