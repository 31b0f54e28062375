"""Everything that was recorded of an agent: tapes and histories under captures, and the tapes of its golden cases.

`python tests/recordings.py AGENT DIRECTORY` compares what a directory of whole recordings holds with the slimmed ones here,
and writes down which fields slimming took away, so that nobody's real sessions seem to drift for it.
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from onetape import drift, tape
from onetape.agents import registry
from onetape.agents.agent import Agent
from onetape.drift import Watch, Written
from onetape.shapes import Known
from onetape.tape import Record
from test_cases import CASES, Conversation

CAPTURES = Path(__file__).parent / "captures"
SLIMMED_AWAY = "slimmed-away.json"


def tapes(agent: Agent, below: Path | None = None) -> Iterator[tuple[str, Iterator[Record]]]:
    for file in sorted((below or CAPTURES / agent.name).rglob("*")):
        if agent.history is not None and file.is_file() and agent.history.recognises(file):
            yield from ((str(path), agent.history.read(path)) for path in agent.history.sessions(file))
        elif file.suffix == ".sql":
            yield from _database(agent, file)
        elif file.suffix == ".jsonl" and "subagents" not in file.parts:
            yield str(file), tape.read([file.read_bytes()])


def _database(agent: Agent, script: Path) -> Iterator[tuple[str, Iterator[Record]]]:
    assert agent.history is not None
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{script.stem}.db"
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(script.read_text())
        yield from ((str(path), agent.history.read(path)) for path in agent.history.sessions(file))


def recorded(agent: Agent, below: Path | None = None) -> Watch:
    watch = Watch(is_teaching=True)
    for name, records in tapes(agent, below):
        watch.take(records, agent, name)
    return watch


def rehearsed(agent: Agent) -> Watch:
    watch = Watch(is_teaching=True)
    for case in CASES:
        if case.parent.parent.name == agent.name:
            session = Conversation(case).session
            begun = [] if session.tape[0].dir == "head" else [tape.record(0.0, "head", session.transcriber.translator.head)]
            watch.take(iter(begun + session.tape), agent, case.stem)
    return watch


def slimmed_away(agent: Agent) -> Written:
    file = CAPTURES / agent.name / SLIMMED_AWAY
    return msgspec.json.decode(file.read_bytes(), type=Written) if file.exists() else {}


def written(shapes: Written) -> str:
    return msgspec.json.format(msgspec.json.encode(shapes), indent=1).decode() + "\n"


def missing(agent: Agent, whole: Path) -> Written:
    here = drift.read(drift.shapes_of(recorded(agent), {}, Watch()))
    left: Written = {}  # all of it `?`: the recordings here do without
    for dialect, kind, shape in recorded(agent, whole).shapes():
        known = here.get(dialect, {}).get(kind, {})
        gone = {path: told.types for path, told in shape.items() if path not in known or told.types - known[path].types}
        if gone:
            left.setdefault(dialect, {})[kind] = {path: str(Known(types, False)) for path, types in gone.items()}
    return left


if __name__ == "__main__":
    agent = registry.find(sys.argv[1])
    (CAPTURES / agent.name / SLIMMED_AWAY).write_text(written(missing(agent, Path(sys.argv[2]))))
