"""Transcripts against their tapes: a changed event is found, and put right again."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from onetape.agents import registry
from onetape.archive.finding import Search
from onetape.archive.importing import bring_in
from onetape.archive.proving import reconvert, verify
from onetape.errors import Conflict
from onetape.stores.memory import Memory
from onetape.stores.store import SessionRow, events

CAPTURES = Path(__file__).parent / "captures"


@pytest.fixture
def store() -> Memory:
    made = Memory()
    for found in Search(registry.every()).named([CAPTURES / "claude", CAPTURES / "pi"]):
        bring_in(made, found)
    return made


def spoil(store: Memory, row: SessionRow, at: int, body: bytes) -> None:
    kept = store._kept[row.session_id].events
    kept[at] = replace(kept[at], body=body)


def test_every_session_is_proved(store: Memory) -> None:
    for row in store.sessions():
        proof = verify(store, row)
        assert proof.holds and proof.events == row.summary.event_count > 0


def test_a_changed_event_is_found_and_put_right(store: Memory) -> None:
    row = store.sessions()[0]
    before = list(events(store, row.session_id))
    spoil(store, row, 3, before[3].replace(b'"synthetic":', b'"synthetic": '))
    proof = verify(store, row)
    assert (proof.sequence, proof.problem) == (4, "not what the tape says")
    assert reconvert(store, row)
    again = store.session(row.session_id)
    assert again is not None and verify(store, again).holds and list(events(store, row.session_id)) == before
    assert again.summary == row.summary and again.created_at == row.created_at
    assert not reconvert(store, again), "there is nothing left to do"


def test_a_lost_and_an_added_event_are_found(store: Memory) -> None:
    short, long = store.sessions()[:2]
    del store._kept[short.session_id].events[-1]
    assert verify(store, short).problem == "the tape has more to say"
    kept = store._kept[long.session_id].events
    kept.append(replace(kept[-1], sequence=kept[-1].sequence + 1))
    assert verify(store, long).problem == "the tape says nothing of this"


def test_a_running_session_is_left_alone(store: Memory) -> None:
    row = store.sessions()[0]
    row.owner = "somebody"
    with pytest.raises(Conflict, match="running"):
        reconvert(store, row)
