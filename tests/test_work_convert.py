"""How much is done for a native line, counted and not timed: decodes, and encodes of a call's arguments. And that what is decoded
together says the same as what is decoded line by line, whatever lies between."""

import json
import sys
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from onetape import schema, tape
from onetape.agents import registry
from onetape.schema import to_json
from onetape.tape import Record
from onetape.transcribe import UNDECIDED, transcribe
from onetape.translator import FEW, NOT_HOT, TOGETHER, Hot, Translator

BENCH = Path(__file__).parent.parent / "bench"
AGENTS = ("amp", "claude", "codex", "opencode", "pi")
STREAMING = ("claude", "codex", "opencode", "pi")
PIECES = 3000
CALLS = 300


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The workloads of the benchmark."""
    monkeypatch.syspath_prepend(str(BENCH))
    import native

    yield native
    for name in [name for name in sys.modules if name.partition(".")[0] == "native"]:
        del sys.modules[name]


def main(agent: str) -> type[Translator]:
    return registry.find(agent).translators[0]


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    calls: list[None] = []
    function = getattr(owner, name)

    def counting(*arguments: Any) -> Any:
        calls.append(None)
        return function(*arguments)

    monkeypatch.setattr(owner, name, counting)
    return calls


def plain(translator: type[Translator], line: bytes) -> Any:
    """The struct of a message that comes often; None for another."""
    try:
        return translator.often and translator.often.decode(Raw(line))
    except NOT_HOT:
        return None


# --- decodes and encodes ----------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_line_is_decoded_once(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source, translator = native.of(agent).tools(CALLS), main(agent)
    decodes, read = counted(monkeypatch, tape, "quick"), counted(monkeypatch, translator, "read_often")
    glanced = counted(monkeypatch, translator, "glance")
    assert list(transcribe(source, agent))
    often = 0 if translator.often is None else sum(plain(translator, line) is not None for line in source.splitlines())
    assert often - len(glanced) <= len(read) <= often, "as the struct of what matters in it, or as a whole, and never both"
    assert len(decodes) + often <= source.count(b"\n") + 2 * UNDECIDED, "and the first ones twice more, to see who is speaking"


@pytest.mark.parametrize("agent", STREAMING)
def test_a_long_answer_is_decoded_by_the_handful(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source, translator, decodes = native.of(agent).reply(PIECES), main(agent), [0]
    hot = translator.hot
    assert hot is not None

    def counting(decode: Any) -> Any:
        def decoded(line: Any) -> Any:
            decodes[0] += 1
            return decode(line)

        return decoded

    changed = msgspec.structs.replace(hot, decode=counting(hot.decode), decode_list=counting(hot.decode_list))
    monkeypatch.setattr(translator, "hot", changed)
    ordinary = counted(monkeypatch, tape, "quick")
    assert sum(isinstance(event, schema.ItemDelta) for event in transcribe(source, agent)) == PIECES
    batches = PIECES // tape.TOGETHER + 1
    assert decodes[0] <= PIECES // TOGETHER + batches * (FEW + 2) + 2 * TOGETHER
    assert len(ordinary) <= 2 * UNDECIDED + 20


@pytest.mark.parametrize("agent", AGENTS)
def test_arguments_are_encoded_when_they_are_told(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = native.of(agent).tools(CALLS)
    encodes = counted(monkeypatch, schema, "_encode")
    assert list(transcribe(source, agent))
    assert len(encodes) <= 2 * CALLS, "once when the call begins, once when it is final; no event is encoded to make another"


# --- together as one by one -------------------------------------------------


def words(agent: str, native: Any) -> list[Record]:
    """An answer that takes a minute, a hundredth of a second apart."""
    lines = native.of(agent).reply(4 * TOGETHER).splitlines()
    return [Record(at / 100, "recv", Raw(line)) for at, line in enumerate(lines)]


def junk(records: list[Record]) -> Iterator[Record]:
    line, next = bytes(records[100].payload), bytes(records[101].payload)
    half = len(line) // 2
    yield Record(1.0, "recv", Raw(line + next))
    yield Record(1.0, "recv", Raw(line + b"," + next))
    yield Record(1.0, "recv", Raw(line[:half]))
    yield Record(1.0, "recv", Raw(b""))
    yield Record(1.0, "recv", Raw(line.replace(b"word", b"w\xffrd")))
    yield Record(1.0, "recv", Raw(line.replace(b"word", b"w\\ud83drd")))
    yield Record(1.0, "recv", Raw(b'{"type":"nobody knows"}'))
    yield Record(1.0, "stderr", Raw(b'"a warning"'))
    yield Record(1.0, "recv", Raw(line), stream="log")


@pytest.mark.parametrize("agent", STREAMING)
def test_what_lies_between_words_is_told_as_it_would_be_alone(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    records = words(agent, native)
    spoilt = [[*records[:at], each, *records[at:]] for at in (20, FEW + 3 + TOGETHER, 2 * TOGETHER) for each in junk(records)]
    quick = [list(map(to_json, transcribe(some, agent))) for some in spoilt]
    monkeypatch.setattr(main(agent), "hot", None)
    assert [list(map(to_json, transcribe(some, agent))) for some in spoilt] == quick


def fields(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield *path, name
        yield from fields(inner, (*path, name))


def changed(line: bytes) -> Iterator[bytes]:
    """The line without one of its fields, or with another thing in it."""
    for path in fields(json.loads(line)):
        for thing in (None, 0, -1, 1.5, True, "x", [], {}, ...):
            whole = json.loads(line)
            parent = reduce(getitem, path[:-1], whole)
            if thing is ...:
                del parent[path[-1]]
            else:
                parent[path[-1]] = thing
            yield json.dumps(whole).encode()


@pytest.mark.parametrize("agent", STREAMING)
def test_words_of_another_shape_are_told_as_they_would_be_alone(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing passes for the next words that the translator would not read as such."""
    records = words(agent, native)[: 4 * FEW]
    at = 2 * FEW
    tapes = [[*records[:at], Record(1.0, "recv", Raw(line)), *records[at:]] for line in changed(bytes(records[at].payload))]
    quick = [list(map(to_json, transcribe(tape, agent))) for tape in tapes]
    monkeypatch.setattr(main(agent), "hot", None)
    assert [list(map(to_json, transcribe(tape, agent))) for tape in tapes] == quick


@pytest.mark.parametrize("agent", AGENTS)
def test_often_lines_of_another_shape_are_read_as_they_would_be_alone(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is missing, added or odd in one of them."""
    lines = native.of(agent).tools(3).splitlines()
    assert any(plain(main(agent), line) is not None for line in lines)
    tapes = [
        [Record(at / 10, "recv", Raw(line)) for at, line in enumerate([*lines[:at], other, *lines[at + 1 :]])]
        for at, line in enumerate(lines)
        if plain(main(agent), line) is not None
        for other in changed(line)
    ]
    quick = [list(map(to_json, transcribe(tape, agent))) for tape in tapes]
    monkeypatch.setattr(main(agent), "often", None)
    assert [list(map(to_json, transcribe(tape, agent))) for tape in tapes] == quick


@pytest.mark.parametrize("agent", STREAMING)
def test_what_is_closed_at_the_end_is_not_earlier_than_the_last_words(agent: str, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    records = words(agent, native)[: 2 * TOGETHER]
    events = list(transcribe(records, agent))
    assert isinstance(events[-1], schema.SessionEnded)
    assert [event.time for event in events] == sorted(event.time for event in events)
    monkeypatch.setattr(main(agent), "hot", None)
    assert list(transcribe(records, agent)) == events


def test_a_plain_line_begins_with_neither_a_blank_nor_a_quote() -> None:
    odd = [b"", b" ", b"\t", b"\x0b", b'"x"', b'"\xff\xff', b' {"a":1}', b"\r"]
    lines = [b'{"a":1}', *odd, b"x", b"[1]"]
    assert [bytes(record.payload) for record in tape.read([b"\n".join(lines) + b"\n"])] == [
        b'{"a":1}', *[bytes(tape.quoted(Record(0.0, "recv", Raw(line))).payload) for line in odd[4:6]], odd[6], b"x", b"[1]"
    ]  # fmt: skip


def test_who_speaks_does_not_depend_on_how_much_comes_together() -> None:
    """What would tell the dialect comes later than anybody waits for it."""
    agent = registry.find("claude")
    quiet = [tape.record(0.0, "recv", {"nobody": at}) for at in range(UNDECIDED + 10)]
    late = tape.record(0.0, "recv", {"type": "user", "uuid": "u", "parentUuid": None, "isSidechain": False, "sessionId": "s"})
    records = [*quiet, late]
    one_by_one = list(map(to_json, transcribe(iter(records), agent)))
    assert list(map(to_json, transcribe(records, agent))) == one_by_one


def test_hot_lines_name_what_is_compared() -> None:
    for agent in AGENTS:
        assert (main(agent).hot is not None) == (agent in STREAMING)
        assert main(agent).hot is None or isinstance(main(agent).hot, Hot)
