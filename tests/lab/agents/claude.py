"""Claude Code asks Anthropic Messages."""

from pathlib import Path

from lab.agents.subject import Subject, choices
from lab.script import Answer, Tool


def settle(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-lab", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",  # else it refuses to bypass permissions where the tests run as root
    }  # fmt: skip


def shell(command: str) -> Tool:
    return Tool("Bash", {"command": command, "description": "Run a command"})


def edit(file: Path, old: str, new: str) -> list[Answer]:
    # It edits no file that it has not read.
    return [
        Tool("Read", {"file_path": str(file)}),
        Tool("Edit", {"file_path": str(file), "old_string": old, "new_string": new}),
    ]


def ask(question: str, options: list[str]) -> Tool:
    asked = {"question": question, "header": "Choice", "options": choices(options), "multiSelect": False}
    return Tool("AskUserQuestion", {"questions": [asked]})


SUBJECT = Subject(
    name="claude",
    settle=settle,
    shell=shell,
    edit=edit,
    ask=ask,
    mcp=lambda server, tool, arguments: Tool(f"mcp__{server}__{tool}", arguments),
    model="claude-opus-4-5",
    steers=True,
    variant="low",
    heard=("claude-opus-4-5", "low"),
)
