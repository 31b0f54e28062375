"""Codex asks OpenAI Responses."""

from pathlib import Path

from lab.agents.subject import Subject, choices
from lab.script import Answer, Tool

# No retries: an error of the model is the turn's. Models that are not named gpt-5.5 get another set of tools.
CONFIG = """\
model = "gpt-5.5"
model_provider = "lab"
model_reasoning_summary = "auto"
check_for_update_on_startup = false

[model_providers.lab]
name = "Lab"
base_url = "{url}/v1"
env_key = "LAB_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[analytics]
enabled = false

[feedback]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
shell_snapshot = false
"""


def settle(home: Path, url: str) -> dict[str, str]:
    place = home / ".codex"
    place.mkdir()
    (place / "config.toml").write_text(CONFIG.format(url=url))
    return {"CODEX_HOME": str(place), "LAB_KEY": "sk-lab"}


def shell(command: str) -> Tool:
    return Tool("exec_command", {"cmd": command, "yield_time_ms": 30_000})


def edit(file: Path, old: str, new: str) -> list[Answer]:
    return [Tool("apply_patch", f"*** Begin Patch\n*** Update File: {file.name}\n@@\n-{old}\n+{new}\n*** End Patch\n")]


def ask(question: str, options: list[str]) -> Tool:
    asked = {"id": "choice", "header": "Choice", "question": question, "options": choices(options)}
    return Tool("request_user_input", {"questions": [asked]})


SUBJECT = Subject(
    name="codex",
    settle=settle,
    shell=shell,
    edit=edit,
    ask=ask,
    mcp=lambda server, tool, arguments: Tool(f"mcp__{server}/{tool}", arguments),
    model="gpt-5.5",
    steers=True,
    variant="high",
    heard=("gpt-5.5", "high"),
    questions={"agentMode": "plan"},
)
