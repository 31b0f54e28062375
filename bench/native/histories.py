"""A history file as one agent leaves it on disk: turns of a message, a few words, a command and its result."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from native import Message, lines, listing

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
USAGE = {"input_tokens": 1200, "output_tokens": 57, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 300}


def history(number: int, size: int) -> Iterator[bytes]:
    """Turns until they are of this size together."""
    made, told = 0, _Session(number)
    while made < size:
        turn = lines(told.turn())
        made += len(turn)
        yield turn


class _Session:
    def __init__(self, number: int) -> None:
        self._id = f"{number:08d}-4c5e-4a0e-9d43-b9a3a3f0a0f1"
        self._count = 0
        self._turns = 0

    def turn(self) -> list[Message]:
        self._turns += 1
        at = self._turns
        call = f"toolu_{at}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"ls src/module_{at}", "description": "List"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": listing(at), "is_error": False}
        told = {"stdout": listing(at), "stderr": "", "interrupted": False, "isImage": False}
        return [
            self._line("user", {"role": "user", "content": f"Look at module {at}."}, promptId=f"p{at}"),
            self._said(f"msg_{at}", {"type": "text", "text": f"Let me look at module {at}."}, "tool_use"),
            self._said(f"msg_{at}", use, "tool_use"),
            self._line("user", {"role": "user", "content": [result]}, toolUseResult=told),
            self._said(f"msg_{at}b", {"type": "text", "text": f"Module {at} handles requests, forty of them."}, "end_turn"),
        ]

    def _said(self, id: str, block: Message, stop: str) -> Message:
        return self._line(
            "assistant", {"id": id, "role": "assistant", "model": "model-1", "content": [block], "stop_reason": stop, "usage": USAGE}
        )

    def _line(self, kind: str, message: Message, **more: Any) -> Message:
        self._count += 1
        return {
            "type": kind, "uuid": f"{self._id}-{self._count}", "parentUuid": f"{self._id}-{self._count - 1}" if self._count > 1 else None,
            "timestamp": (BEGAN + timedelta(seconds=self._count)).isoformat(timespec="milliseconds"), "isSidechain": False,
            "sessionId": self._id, "version": "2.1.326", "cwd": "/project", "gitBranch": "main", "message": message, **more,
        }  # fmt: skip
