"""The coverage matrix is what the golden cases witness, and the README shows it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onetape import agents, coverage
from onetape.agents import registry
from onetape.machine.capabilities import CAPABILITIES
from test_cases import CASES, Conversation

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- coverage: generated -->\n", "\n<!-- /coverage -->"


def evidence(case: Path) -> coverage.Evidence:
    conversation = Conversation(case)
    translator = conversation.session.transcriber.translator
    return coverage.Evidence(translator.head, translator.is_history, conversation.commands, conversation.session.events)


def witnesses(agent: str) -> dict[str, str]:
    """The first case, by name, that shows each feature: one of a live session where there is one."""
    found: dict[str, str] = {}
    every = [(case.stem, evidence(case)) for case in CASES if case.parent.parent.name == agent]
    for name, shown in sorted(every, key=lambda case: case[1].is_history):
        for feature in coverage.witnessed(shown):
            found.setdefault(feature, name)
    return {feature: found[feature] for feature in coverage.FEATURES if feature in found}


@pytest.mark.parametrize("agent", registry.names())
def test_features_are_witnessed(agent: str, golden: Callable[[Path, str], None]) -> None:
    found = msgspec.json.format(msgspec.json.encode(witnesses(agent)), indent=2).decode() + "\n"
    golden(Path(agents.__path__[0]) / agent / "features.json", found)


@pytest.mark.parametrize("agent", registry.names())
def test_capabilities_are_shown_by_live_sessions(agent: str) -> None:
    """A client that asks what an agent can do is about to start it."""
    claimed = {feature for features in CAPABILITIES.values() for feature in features} - {"compaction"}  # one of three that show a status
    for feature, case in coverage.of(agent).items():
        if feature in claimed:
            assert not evidence(Path(agents.__path__[0]) / agent / "cases" / f"{case}.case").is_history, feature


@pytest.mark.parametrize("agent", registry.names())
def test_what_is_missing_is_explained(agent: str) -> None:
    """By its name, in the agent's own README, with the evidence."""
    words = (Path(agents.__path__[0]) / agent / "README.md").read_text().lower()
    assert [feature for feature in coverage.FEATURES if feature not in coverage.of(agent) and feature.lower() not in words] == []


def test_the_readme_shows_the_matrix(golden: Callable[[Path, str], None]) -> None:
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    table = coverage.matrix((agent.name, agent.title) for agent in registry.every())
    golden(README, before + BEGIN + table + END + after)
