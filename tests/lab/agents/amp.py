"""Amp asks Anthropic Messages, through its own server (amp_server.py)."""

from pathlib import Path

from lab.agents.subject import Subject
from lab.script import Answer, Tool


def settle(home: Path, url: str) -> dict[str, str]:
    return {"AMP_URL": url, "AMP_API_KEY": "sgamp_lab"}


def shell(command: str) -> Tool:
    return Tool("Bash", {"cmd": command})


def edit(file: Path, old: str, new: str) -> list[Answer]:
    return [Tool("Read", {"path": str(file)}), Tool("edit_file", {"path": str(file), "old_str": old, "new_str": new})]


SUBJECT = Subject(
    name="amp",
    settle=settle,
    shell=shell,
    edit=edit,
    mcp=lambda server, tool, arguments: Tool(f"mcp__{server}__{tool}", arguments),
    variant="rush",
    heard=("claude-haiku-4-5-20251001", None),
    streams=False,
    ends_with_an_error=True,
    forgets_when_cut_off=True,  # the build of May crashes then, and has uploaded nothing of the thread
    lacks={
        "question_answered": "it has no tool that asks",
        "question_rejected": "it has no tool that asks",
        "change_of_model": "its mode, which chooses the model, is set when a session starts",
    },
)
