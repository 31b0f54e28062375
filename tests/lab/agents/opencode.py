"""OpenCode asks OpenAI chat completions, by a provider of the user's configuration."""

import json
from pathlib import Path
from typing import Any

from lab.agents.subject import Subject, choices
from lab.script import Answer, Tool

MODEL = {
    "reasoning": True, "attachment": True, "tool_call": True, "limit": {"context": 200_000, "output": 32_000},
    "cost": {"input": 3, "output": 15}, "modalities": {"input": ["text", "image"], "output": ["text"]},
}  # fmt: skip


def settle(home: Path, url: str) -> dict[str, str]:
    place = home / ".config" / "opencode"
    place.mkdir(parents=True)
    (place / "opencode.json").write_text(json.dumps(config(url)))
    return {"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}


def config(url: str) -> dict[str, Any]:
    names = ("lab-1", "lab-2", "small-1")
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Lab",
        "options": {"baseURL": f"{url}/v1", "apiKey": "sk-lab"},
        "models": {name: MODEL | {"name": name} for name in names},
    }
    return {"model": "lab/lab-1", "small_model": "lab/small-1", "enabled_providers": ["lab"], "provider": {"lab": provider}}


def shell(command: str) -> Tool:
    return Tool("bash", {"command": command, "description": "Run a command"})


def edit(file: Path, old: str, new: str) -> list[Answer]:
    return [Tool("read", {"filePath": str(file)}), Tool("edit", {"filePath": str(file), "oldString": old, "newString": new})]


def ask(question: str, options: list[str]) -> Tool:
    return Tool("question", {"questions": [{"question": question, "header": "Choice", "options": choices(options)}]})


SUBJECT = Subject(
    name="opencode",
    settle=settle,
    shell=shell,
    edit=edit,
    ask=ask,
    mcp=lambda server, tool, arguments: Tool(f"{server}_{tool}", arguments),
    model="lab/lab-2",
    variant="high",
    heard=("lab-2", "high"),
    stops_when_rejected=True,
)
