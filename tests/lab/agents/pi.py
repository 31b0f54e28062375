"""Pi asks OpenAI chat completions, by a provider in `models.json`."""

import json
from pathlib import Path

from lab.agents.subject import Subject, choices
from lab.script import Answer, Tool


def settle(home: Path, url: str) -> dict[str, str]:
    place = home / ".pi" / "agent"
    place.mkdir(parents=True)
    model = {
        "reasoning": True, "input": ["text", "image"], "contextWindow": 128_000, "maxTokens": 16_384,
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
    }  # fmt: skip
    provider = {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": "sk-lab",
        "models": [{"id": name, **model} for name in ("lab-1", "lab-2")],
    }
    (place / "models.json").write_text(json.dumps({"providers": {"lab": provider}}))
    (place / "settings.json").write_text(json.dumps({"defaultProvider": "lab", "defaultModel": "lab-1"}))
    return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def shell(command: str) -> Tool:
    return Tool("bash", {"command": command})


def edit(file: Path, old: str, new: str) -> list[Answer]:
    return [Tool("edit", {"path": str(file), "edits": [{"oldText": old, "newText": new}]})]


def ask(question: str, options: list[str]) -> Tool:
    return Tool("ask_user", {"questions": [{"question": question, "header": "Choice", "options": choices(options)}]})


SUBJECT = Subject(
    name="pi",
    settle=settle,
    shell=shell,
    edit=edit,
    ask=ask,
    model="lab/lab-2",
    steers=True,
    variant="high",
    heard=("lab-2", "high"),
    lacks={"mcp": "it came with 1.0, whose packages npm cannot install"},
)
