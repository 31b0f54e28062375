"""Words found again: ranked, literal, each at its place."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onetape import schema
from onetape.agents import registry
from onetape.archive.finding import Search
from onetape.archive.importing import bring_in
from onetape.projection import Projection
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite, literally
from onetape.stores.store import BEGINS, ENDS, Batch, SessionRow, Sought, Store, Stored
from onetape.summary import Summary
from onetape.transcribe import transcribe

CAPTURES = Path(__file__).parent / "captures"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Sqlite(tmp_path_factory.mktemp("data"))
    for found in Search(registry.every()).named([CAPTURES]):
        bring_in(made, found)
    return made


def test_words_of_every_agents_histories_are_found(store: Store) -> None:
    """Each message of each transcript leads back to itself."""
    for row in store.sessions():
        for stored in store.page(row.session_id, 0, 10_000):
            event = msgspec.json.decode(stored.body, type=schema.Event)
            match event:
                case schema.ItemCompleted(data=schema.ItemData(schema.Item(kind="message", content=[schema.Text(text=words), *_]))):
                    first = " ".join(words.split()[:6])
                    if literally(first):
                        hits = store.search(Sought(first, row.agent, limit=5_000))
                        assert (row.session_id, event.sequence) in {(hit.session_id, hit.passage.sequence) for hit in hits}, words
                case _:
                    pass


def test_a_snippet_shows_what_was_found(store: Store) -> None:
    hit = store.search(Sought("hello"))[0]
    assert BEGINS in hit.snippet and ENDS in hit.snippet
    found = hit.snippet.split(BEGINS)[1].split(ENDS)[0]
    assert found.lower() == "hello"


@pytest.mark.parametrize("words", ['"', "a OR", "NOT", "col:x", "x*", "(", "^a", "NEAR(a b)", "a\0b", "{", "-x", "'; drop table x; --"])
def test_nothing_in_the_words_is_syntax(store: Store, words: str) -> None:
    store.search(Sought(words))


def test_no_words_find_nothing(store: Store) -> None:
    assert store.search(Sought("  ")) == [] and store.search(Sought('""')) == []


def test_filters_narrow(store: Store) -> None:
    every = store.search(Sought("hello", limit=1000))
    for name, value in (("agent", every[0].agent), ("kind", every[0].passage.kind), ("since", every[0].passage.time)):
        some = store.search(Sought("hello", limit=1000, **{name: value}))
        assert some and len(some) <= len(every)
        assert all(getattr(hit, name, None) or getattr(hit.passage, name, None) or hit.passage.time >= value for hit in some)
    assert store.search(Sought("hello", agent="nobody")) == []
    tools = [hit for hit in store.search(Sought("echo", limit=1000)) if hit.passage.tool]
    assert tools and store.search(Sought("echo", tool=tools[0].passage.tool))
    assert all(hit.passage.tool == tools[0].passage.tool for hit in store.search(Sought("echo", tool=tools[0].passage.tool)))
    first, second = store.search(Sought("hello", limit=1)), store.search(Sought("hello", limit=1, skip=1))
    assert first != second


def test_a_tool_is_found_in_whatever_case(store: Store) -> None:
    spelled = {hit.passage.tool for hit in store.search(Sought("echo", tool="BASH", limit=1000))}
    assert {"Bash", "bash"} <= spelled


@pytest.mark.parametrize("make", [lambda path: Memory(), Sqlite], ids=["memory", "sqlite"])
def test_words_are_found_in_scripts_without_spaces(make: Callable[[Path], Store], tmp_path: Path) -> None:
    store = make(tmp_path)
    texts = ["これは日本語の文です。", "我们修复了搜索功能", "파일을 고쳤습니다", "main.pyを直した"]
    lines = [b'{"type":"user","id":"u%d","text":"%s"}' % (at, text.encode()) for at, text in enumerate(texts)]
    write(store, "s", [b'{"type":"turn_start","turn":"t1"}', *lines])
    for words, text in (("日本", texts[0]), ("日本語", texts[0]), ("搜索", texts[1]), ("파일", texts[2]), ("main.py 直", texts[3])):
        assert [hit.snippet.replace(BEGINS, "").replace(ENDS, "") for hit in store.search(Sought(words))] == [text]
    assert store.search(Sought("本日")) == [] or isinstance(store, Memory), "a phrase, in this order"
    store.close()


def test_files_are_found_by_their_path(store: Store) -> None:
    hits = store.search(Sought("py", path=".py", limit=1000))
    assert hits and all(".py" in hit.passage.paths for hit in hits)


def test_what_is_deleted_is_not_found(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    for name in ("keep", "lose"):
        write(store, name, [b'{"type":"turn_start","turn":"t1"}', b'{"type":"user","id":"u","text":"zebra crossing"}'])
    assert {hit.session_id for hit in store.search(Sought("zebra"))} == {"keep", "lose"}
    store.delete("lose")
    assert {hit.session_id for hit in store.search(Sought("zebra"))} == {"keep"}
    store._writer.submit(lambda connection: connection.execute("INSERT INTO search(search) VALUES ('integrity-check')").fetchall()).result()
    store.close()


def test_the_memory_store_finds_the_same_words() -> None:
    store = Memory()
    write(store, "s", [b'{"type":"turn_start","turn":"t1"}', b'{"type":"user","id":"u","text":"Zebra, crossing!"}'])
    assert [hit.session_id for hit in store.search(Sought("crossing zebra"))] == ["s"]
    assert store.search(Sought("zebras")) == []


def write(store: Store, name: str, lines: list[bytes]) -> None:
    events = list(transcribe(b"\n".join(lines), "mock", session_id=name))
    row = SessionRow(name, "mock", summary=Summary())
    store.create(row)
    told = [Stored(event.sequence, b"{}") for event in events]
    store.append(Batch(name, events=told, rows=Projection(row.summary).see(events), row=row)).result()
