"""Native lines to measure with, made by script: any length, the same every time.

A module per agent, in that agent's own words: `reply(n)` is one long answer in so many pieces (one long line
where an agent does not stream), `tools(n)` one turn of so many commands, each announced by a few words and answered by forty lines.
"""

import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Protocol

AGENTS = ("amp", "claude", "codex", "opencode", "pi")

Message = dict[str, Any]


class Native(Protocol):
    def reply(self, pieces: int) -> bytes: ...

    def tools(self, calls: int) -> bytes: ...


def of(agent: str) -> Native:
    made: Any = import_module(f"native.{agent}")
    return made


def lines(messages: Iterable[Message]) -> bytes:
    return b"".join(json.dumps(message, separators=(",", ":")).encode() + b"\n" for message in messages)


def words(pieces: int) -> list[str]:
    return [f"word{at} " for at in range(pieces)]


def listing(at: int) -> str:
    """What a command printed: forty lines of a search."""
    return "".join(f"src/module_{at}/file_{line}.py:{line * 7}:    def handle(self, request: Request) -> Response:\n" for line in range(40))
