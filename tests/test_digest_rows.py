"""The digest of every agent, row by row of its table: golden, from the same cases as the transcripts.

`digests/<agent>.jsonl` holds, for each row, the digest of the first case of that agent
which shows it. What no case of an agent can show is listed here with the reason.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onetape.agents import registry
from onetape.digest import ActionEvent, Completed, DigestEvent, Started, digest
from test_cases import CASES, Conversation

DIGESTS = Path(__file__).parent / "digests"
Row = Callable[[DigestEvent], bool]


def done(kind: str, *, ok: bool) -> Row:
    return lambda event: isinstance(event, ActionEvent) and (event.action.kind, event.phase, event.ok) == (kind, "completed", ok)


def warned(level: str) -> Row:
    return lambda event: isinstance(event, ActionEvent) and (event.action.kind, event.level) == ("warning", level)


def called(kind: str) -> Row:
    """A tool's action that ran: thoughts and plans without a call are notes as well."""
    return lambda event: done(kind, ok=True)(event) and isinstance(event, ActionEvent) and "name" in event.action.detail


ROWS: dict[str, Row] = {
    "started, to be resumed": lambda event: isinstance(event, Started) and bool(event.resume),
    "started, with its model": lambda event: isinstance(event, Started) and isinstance(event.meta, dict) and "model" in event.meta,
    "an action starts": lambda event: isinstance(event, ActionEvent) and event.phase == "started",
    "a command": called("command"),
    "a command that fails": done("command", ok=False),
    "a file is changed": called("file_change"),
    "a tool": called("tool"),
    "a tool that fails": done("tool", ok=False),
    "the web": called("web_search"),
    "a list": called("note"),
    "a subagent": called("subagent"),
    "a thought": lambda event: done("note", ok=True)(event) and isinstance(event, ActionEvent) and not event.action.detail,
    "an attempt fails": warned("warning"),
    "an error": warned("error"),
    "completed, with an answer": lambda event: isinstance(event, Completed) and event.ok and bool(event.answer),
    "completed, with its cost": lambda event: isinstance(event, Completed) and bool(event.usage and event.usage.total_cost_usd),
    "completed, with its tokens": lambda event: isinstance(event, Completed) and bool(event.usage and event.usage.tokens.output),
    "failed": lambda event: isinstance(event, Completed) and not event.ok and bool(event.error),
    "interrupted": lambda event: isinstance(event, Completed) and not event.ok and not event.error,
}
IMPOSSIBLE = {
    "amp": {"an attempt fails": "its retries are silent", "completed, with its cost": "it tells none"},
    "codex": {"completed, with its cost": "it tells none"},
    "opencode": {"a subagent": "its seed calls `task` a tool"},
    "pi": {"the web": "it has no such tool", "a subagent": "it has none"},
}


def digests_of(agent: str) -> dict[str, list[DigestEvent]]:
    conversations = {case.stem: Conversation(case) for case in CASES if case.parent.parent.name == agent}
    return {name: list(digest(told.session.events, told.agent.kinds)) for name, told in conversations.items()}


@pytest.mark.parametrize("agent", registry.names())
def test_every_row(agent: str, golden: Callable[[Path, str], None]) -> None:
    told = digests_of(agent)
    shown = {row: next((name for name, run in told.items() if any(map(shows, run))), None) for row, shows in ROWS.items()}
    assert {row for row, name in shown.items() if name is None} == set(IMPOSSIBLE.get(agent, {}))
    lines = [f"# {row}: {name}" for row, name in shown.items() if name is not None]
    for name in dict.fromkeys(name for name in shown.values() if name is not None):
        lines += [f"# --- {name}", *(msgspec.json.encode(event).decode() for event in told[name])]
    golden(DIGESTS / f"{agent}.jsonl", "\n".join(lines) + "\n")
