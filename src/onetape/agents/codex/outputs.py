"""Tool outputs as the model was told them: the only outcome that the rollout keeps of a call without an item.

Codex wraps a command's output in a few lines of facts; three wrappings are known.
"""

import json
import re
from typing import Any

from msgspec import Struct

# 2026: exec_command and write_stdin. "Process running with session ID" in place of the exit code: it goes on.
_CHUNK = re.compile(
    r"\A(?:Chunk ID: \w+\n)?Wall time: (?P<wall>[\d.]+) seconds\n"
    r"(?:Process exited with code (?P<code>-?\d+)\n|Process running with session ID (?P<session>\d+)\n)"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:\n(?P<output>.*)\Z",
    re.DOTALL,
)
# 2025: shell, and apply_patch to this day.
_EXIT = re.compile(
    r"\AExit code: (?P<code>-?\d+)\nWall time: (?P<wall>[\d.]+) seconds\n(?:Total output lines: \d+\n)?Output:\n(?P<output>.*)\Z", re.DOTALL
)
# A script of code mode, whose own words follow in a piece of their own.
_SCRIPT = re.compile(r"\AScript (?P<outcome>completed|failed)\nWall time [\d.]+ seconds\nOutput:\n{0,2}")
# MCP results, which may come in pieces; and what was aborted.
_WALL = re.compile(r"\AWall time: [\d.]+ seconds\n(?:Output:(?:\n|\Z))?")


class Told(Struct, frozen=True):
    output: str
    exit_code: int | None = None
    duration_ms: int | None = None
    is_running: bool = False
    failed: bool = False
    """Said in words; a command's exit code says it too."""


def unwrapped(text: str) -> Told:
    for wrapping in (_CHUNK, _EXIT):
        if match := wrapping.match(text):
            facts = match.groupdict()
            code = facts.get("code")
            wall = round(float(facts["wall"]) * 1000)
            return Told(facts["output"], int(code) if code is not None else None, wall, facts.get("session") is not None)
    if (told := _from_json(text)) is not None:
        return told
    if script := _SCRIPT.match(text):
        return Told(text[script.end() :], failed=script["outcome"] == "failed")
    return Told(_WALL.sub("", text))


def _from_json(text: str) -> Told | None:
    """The first wrapping of all: `{"output": …, "metadata": {"exit_code": …, "duration_seconds": …}}`."""
    if not text.startswith('{"output"'):
        return None
    try:
        native: Any = json.loads(text)
    except ValueError:
        return None
    match native:
        case {"output": str(output), "metadata": {"exit_code": int(code), "duration_seconds": int() | float() as seconds}}:
            return Told(output, code, round(seconds * 1000))
        case _:
            return None
