"""What holds of every tape, tried on all golden cases cut, chunked and mixed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

import onetape
from onetape import schema, tape
from onetape.agents.agent import Agent
from onetape.commands import (
    Attachment,
    Command,
    Interrupt,
    RejectQuestion,
    ReplyPermission,
    ReplyQuestion,
    SendMessage,
    SetMode,
    SetModel,
    Terminate,
)
from onetape.schema import Event
from onetape.tape import Record
from onetape.transcribe import transcribe
from rehearsal import Rehearsal, broken
from test_cases import CASES, Conversation

Told = tuple[Agent, str, tuple[Record, ...]]


@cache
def taped(at: int) -> Told:
    session = Conversation(CASES[at]).session
    return session.agent, session.transcriber.translator.dialect, tuple(session.tape)


def bytes_of(events: list[Event]) -> list[bytes]:
    return list(map(onetape.to_json, events))


cases = st.integers(0, len(CASES) - 1).map(taped)


@given(cases, st.data())
@settings(deadline=None, max_examples=60)
def test_chunking_changes_nothing(told: Told, data: st.DataObject) -> None:
    agent, dialect, records = told
    file = b"".join(map(tape.encode, records))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(file)), max_size=12)))
    chunks = [file[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(file)], strict=True)]
    whole = list(transcribe(file, agent, dialect=dialect))
    assert bytes_of(list(transcribe(chunks, agent, dialect=dialect))) == bytes_of(whole)


@given(cases, st.data())
@settings(deadline=None, max_examples=150)
def test_a_cut_tape_keeps_the_promises(told: Told, data: st.DataObject) -> None:
    agent, dialect, records = told
    kept = records[: data.draw(st.integers(0, len(records)))]
    assert broken(list(transcribe(iter(kept), agent, dialect=dialect))) == []


@given(cases, st.data())
@settings(deadline=None, max_examples=100)
def test_a_file_cut_in_mid_line_keeps_the_promises(told: Told, data: st.DataObject) -> None:
    agent, dialect, records = told
    file = b"".join(map(tape.encode, records))
    cut = file[: data.draw(st.integers(0, len(file)))]
    assert broken(list(transcribe(cut, agent, dialect=dialect))) == []


@given(cases, st.data())
@settings(deadline=None, max_examples=150)
def test_lost_records_break_no_promise(told: Told, data: st.DataObject) -> None:
    """Recordings of strangers begin anywhere and have holes."""
    agent, dialect, records = told
    lost = data.draw(st.sets(st.integers(0, len(records)), max_size=6))
    kept = [record for at, record in enumerate(records) if at not in lost]
    assert broken(list(transcribe(iter(kept), agent, dialect=dialect)), bare=True) == []


# --- fields of the wrong type -----------------------------------------------

JUNK = (None, 7, -1.5, "x", "", True, [], {}, [1], {"a": 1}, [None])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a message, with each of its keys."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@given(cases, st.data())
@settings(deadline=None, max_examples=300)
def test_a_field_of_a_wrong_type_breaks_nothing(told: Told, data: st.DataObject) -> None:
    """Known messages with a field missing or of another type: no traceback, and every event is of the schema."""
    agent, dialect, records = told
    heard = [at for at, record in enumerate(records) if record.dir == "recv" and bytes(record.payload).startswith(b"{")]
    if not heard:
        return
    at = data.draw(st.sampled_from(heard))
    native = msgspec.json.decode(records[at].payload)
    container, key = data.draw(st.sampled_from(list(places(native)) or [(native, "type")]))
    container[key] = data.draw(st.sampled_from(JUNK))
    spoilt = [*records[:at], tape.record(records[at].t, "recv", native), *records[at + 1 :]]
    for event in transcribe(iter(spoilt), agent, dialect=dialect):
        msgspec.json.decode(onetape.to_json(event), type=schema.Event)


# --- what a client may want at any time -------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
paths = st.sampled_from(["/project/a.py", "my notes.md", "red.png", "x.pdf"])
attachments = st.lists(st.builds(Attachment, paths, content=st.none() | st.just(b"bytes")), max_size=3)


def wishes(asks: list[str]) -> st.SearchStrategy[Command]:
    ask = st.sampled_from([*asks, "nobody asked this"])
    return st.one_of(
        st.builds(SendMessage, texts, attachments),
        st.builds(ReplyPermission, ask, st.sampled_from(["once", "always", "reject"]), st.none() | texts),
        st.builds(ReplyQuestion, ask, st.lists(st.lists(texts, max_size=2), max_size=3)),
        st.builds(RejectQuestion, ask),
        st.builds(Interrupt),
        st.builds(SetModel, st.none() | texts, st.none() | texts),
        st.builds(SetMode, texts),
        st.builds(Terminate),
    )


@given(cases, st.data())
@settings(deadline=None, max_examples=150)
def test_what_is_encoded_is_understood_when_sent(told: Told, data: st.DataObject) -> None:
    """Whatever was said before, a wish is refused or becomes sends that the same translator knows."""
    agent, dialect, records = told
    session = Rehearsal(agent, dialect=dialect)
    for record in records[: data.draw(st.integers(0, len(records)))]:
        session.add(record)
    asks = [event.data.permission_id for event in session.events if isinstance(event, schema.PermissionRequested)]
    asks += [event.data.question_id for event in session.events if isinstance(event, schema.QuestionRequested)]
    for wish in data.draw(st.lists(wishes(asks), min_size=1, max_size=4)):
        with suppress(onetape.Refused):
            session.command(wish)
    assert session.unheard == []


@contextmanager
def ordinary(agent: Agent) -> Iterator[None]:
    """Without the short ways."""
    with pytest.MonkeyPatch.context() as patch:
        for translator in agent.translators:
            patch.setattr(translator, "hot", None)
            patch.setattr(translator, "often", None)
        yield


@pytest.mark.parametrize("at", range(len(CASES)), ids=lambda at: f"{CASES[at].parent.parent.name}/{CASES[at].stem}")
def test_the_short_way_says_the_same(at: int) -> None:
    agent, dialect, records = taped(at)
    quick = bytes_of(list(transcribe(list(records), agent, dialect=dialect)))
    assert bytes_of(list(transcribe(iter(records), agent, dialect=dialect))) == quick, "taken one by one"
    with ordinary(agent):
        assert bytes_of(list(transcribe(list(records), agent, dialect=dialect))) == quick


# Fields that mean something elsewhere.
ODD_FIELDS = ["id", "type", "part", "info", "payload", "params", "error", "usage", "text", "status", "message", "content", "model"]


def spoilt(record: Record, data: st.DataObject) -> Record:
    """With another thing in one of its fields, or in one that it did not have, or without it."""
    native = msgspec.json.decode(record.payload)
    if record.dir != "recv" or not isinstance(native, dict | list) or not (found := list(places(native))):
        return record
    container, key = data.draw(st.sampled_from(found))
    thing = data.draw(st.sampled_from([*JUNK, 10**30, ...]))
    if isinstance(container, dict) and data.draw(st.integers(0, 3)) == 0:
        container[data.draw(st.sampled_from(ODD_FIELDS))] = thing if thing is not ... else 1
    elif thing is ...:
        del container[key]
    else:
        container[key] = thing
    return msgspec.structs.replace(record, payload=Raw(json.dumps(native).encode()))


@given(cases, st.data())
@settings(deadline=None, max_examples=300)
def test_the_short_way_says_the_same_of_lines_that_nobody_expects(told: Told, data: st.DataObject) -> None:
    """What one line leaves behind may decide how a later one is read."""
    agent, dialect, records = told
    lines = list(records)
    for at in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=4)):
        lines[at] = spoilt(lines[at], data)
    bare = b"\n".join(bytes(record.payload) for record in lines if tape.is_heard(record))
    source = data.draw(st.sampled_from([bare, lines]))
    quick = bytes_of(list(transcribe(source, agent, dialect=dialect)))
    with ordinary(agent):
        assert bytes_of(list(transcribe(source, agent, dialect=dialect))) == quick
