"""One suite over every store: what is appended is committed together and read back as it was."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Raw

from onetape.errors import Exists, Missing, Refused, StoreFailed
from onetape.projection import Rows
from onetape.schema import PermissionData
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import Batch, Queued, SessionRow, Store, Stored, events
from onetape.summary import Ask, Summary
from onetape.tape import Record

Open = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = Memory() if request.param == "memory" else Sqlite(tmp_path / "data")
    yield made
    made.close()


def body(sequence: int, session: str = "s") -> bytes:
    return b'{"session_id":"%s","sequence":%d,"raw":null}' % (session.encode(), sequence)


def batch(session: str, *sequences: int, number: int = 1, **more: object) -> Batch:
    tape = [Record(0.25 * sequence, "recv", Raw(b'{"n":%d}' % sequence)) for sequence in sequences]
    told = [Stored(sequence, body(sequence, session), number + at) for at, sequence in enumerate(sequences)]
    return Batch(session, number, tape, told, **more)  # type: ignore[arg-type]


def row(id: str, created_at: int = 1, **summary: object) -> SessionRow:
    return SessionRow(id, "mock", created_at=created_at, summary=Summary(**summary))  # type: ignore[arg-type]


def test_a_session_is_made_once(store: Store) -> None:
    store.create(row("s"))
    with pytest.raises(Exists, match="session s already"):
        store.create(row("s"))


def test_what_was_appended_is_read_back_in_order(store: Store) -> None:
    store.create(row("s"))
    store.append(batch("s", 1, 2, 3)).result()
    store.append(batch("s", 4, 5, number=4)).result()
    assert [event.sequence for event in store.page("s", 0, 10)] == [1, 2, 3, 4, 5]
    assert [event.body for event in store.page("s", 2, 2)] == [body(3), body(4)]
    assert store.page("s", 5, 10) == [] and store.page("nobody", 0, 10) == []
    assert [bytes(record.payload) for record in store.tape("s")] == [b'{"n":%d}' % n for n in range(1, 6)]
    assert [record.t for record in store.tape("s", after=3)] == [1.0, 1.25]


def test_any_number_of_events_streams(store: Store) -> None:
    store.create(row("s"))
    store.append(batch("s", *range(1, 1203))).result()
    assert len(list(events(store, "s"))) == 1202
    assert list(events(store, "s", after=1200)) == [body(1201), body(1202)]
    assert list(events(store, "s", after=700, limit=2)) == [body(701), body(702)]


def test_raw_is_spliced_in_byte_for_byte(store: Store) -> None:
    store.create(row("s"))
    payload = b'{ "spaced" : 1.50, "\\u00e9": "\xc3\xa9" }'
    told = [Stored(1, body(1), 1), Stored(2, body(2), None)]
    store.append(Batch("s", 1, [Record(0.0, "recv", Raw(payload))], told)).result()
    first, second = store.page("s", 0, 10, raw=True)
    assert first.body == body(1).replace(b'"raw":null', b'"raw":' + payload)
    assert second.body == body(2), "what nothing on the tape caused has none"


def test_a_tape_record_keeps_all_it_had(store: Store) -> None:
    store.create(row("s"))
    records = [
        Record(0.1, "head", Raw(b"{}")),
        Record(0.123456, "recv", Raw(b'"AAE="'), encoding="base64"),
        Record(1e6, "recv", Raw(b'"listening"'), stream="log", note="why"),
        Record(1e6, "exit", Raw(b"-9"), signal="SIGKILL"),
    ]
    store.append(Batch("s", 1, records)).result()
    assert list(store.tape("s")) == records


def test_sessions_come_newest_first_by_pages_and_by_words(store: Store) -> None:
    store.create(row("old", 1, title="Fix the Parser"))
    store.create(row("new", 3, directory="/home/me/Projects"))
    store.create(row("mid", 2, native_session_id="abc-1"))
    store.create(SessionRow("other", "another", created_at=2))
    assert [found.session_id for found in store.sessions()] == ["new", "other", "mid", "old"]
    assert [found.session_id for found in store.sessions(limit=2)] == ["new", "other"]
    assert [found.session_id for found in store.sessions(before="other", limit=1)] == ["mid"]
    assert [found.session_id for found in store.sessions(agent="another")] == ["other"]
    for words, id in (("PARSER", "old"), ("projects", "new"), ("abc-1", "mid"), ("100%", None)):
        assert [found.session_id for found in store.sessions(q=words)] == ([id] if id else [])


def test_sessions_of_one_native_id(store: Store) -> None:
    store.create(row("first", 1, native_session_id="n"))
    store.create(row("second", 2, native_session_id="n"))
    store.create(SessionRow("third", "another", summary=Summary(native_session_id="n")))
    assert [found.session_id for found in store.by_native_id("mock", "n")] == ["first", "second"]


def test_a_row_is_changed_by_a_batch_and_by_hand(store: Store) -> None:
    store.create(row("s"))
    after = row("s", turns=3, waiting=["p"])
    after.queued = [Queued(1, "next")]
    store.append(batch("s", 1, row=after)).result()
    after.summary.turns = 99  # the caller's own goes on changing
    kept = store.session("s")
    assert kept is not None and kept.summary.turns == 3 and kept.status == "waiting" and kept.queued == [Queued(1, "next")]

    def rename(row: SessionRow) -> None:
        row.title = "mine"

    assert store.change("s", rename).title == "mine"
    assert store.sessions(q="mine")[0].session_id == "s"
    with pytest.raises(Missing, match="no session nobody"):
        store.change("nobody", rename)


def test_the_whole_log_has_one_order(store: Store) -> None:
    store.create(row("a"))
    store.create(row("b"))
    store.append(batch("a", 1, 2)).result()
    store.append(batch("b", 1)).result()
    store.append(batch("a", 3, 4, number=3)).result()
    told = [(logged.session_id, logged.body) for logged in store.log(0, 100)]
    assert told == [("a", body(1, "a")), ("a", body(2, "a")), ("b", body(1, "b")), ("a", body(3, "a")), ("a", body(4, "a"))]
    assert [logged.position for logged in store.log(0, 100)] == [1, 2, 3, 4, 5] and store.position() == 5
    for after in range(6):
        assert [logged.position for logged in store.log(after, 2)] == [p for p in (after + 1, after + 2) if p <= 5]


def test_asks_are_kept_with_what_became_of_them(store: Store) -> None:
    store.create(row("s", 1))
    store.create(row("over", 2, ended=True))
    wanted = PermissionData("p", "Bash", "requested", {"input": {"command": "ls"}})
    ask = Ask("p", "permission", 7, 1000, wanted)
    store.append(Batch("s", rows=Rows([ask, Ask("q", "question", 8, 900, {})]))).result()
    store.append(Batch("over", rows=Rows([ask]))).result()
    assert [(pending.session_id, pending.ask.ask_id) for pending in store.pending()] == [("s", "q"), ("s", "p")]
    store.append(Batch("s", rows=Rows([Ask("p", "permission", 9, 2000, None, "accept", {"status": "accept"})]))).result()
    kept = store.ask("s", "p")
    assert kept is not None and (kept.sequence, kept.status, kept.answer) == (7, "accept", {"status": "accept"})
    assert [pending.ask.ask_id for pending in store.pending()] == ["q"]
    assert store.ask("s", "nobody's") is None


def test_a_deleted_session_is_gone_and_the_others_stay(store: Store) -> None:
    store.create(row("a"))
    store.create(row("b"))
    for name in ("a", "b"):
        store.append(batch(name, 1, rows=Rows([Ask("p", "permission", 1, 1, {})]))).result()
    store.delete("a")
    assert store.session("a") is None and store.page("a", 0, 10) == [] and list(store.tape("a")) == [] and store.ask("a", "p") is None
    assert [logged.session_id for logged in store.log(0, 10)] == ["b"]
    assert store.page("b", 0, 10)[0].body == body(1, "b")
    with pytest.raises(Missing):
        store.delete("a")


def test_what_a_history_left_open_waits_for_nobody_here(store: Store) -> None:
    store.create(SessionRow("s", "mock", origin="imported"))
    store.append(batch("s", 1, rows=Rows([Ask("p", "permission", 1, 1, {})]))).result()
    assert store.pending() == [] and store.ask("s", "p") is not None


def test_a_session_is_superseded_at_once(store: Store) -> None:
    store.create(row("s", 5))
    store.append(batch("s", 1, 2, rows=Rows([Ask("p", "permission", 1, 1, {})]))).result()
    store.create(row("~s", 5, turns=1))
    store.append(batch("~s", 1)).result()
    assert [found.session_id for found in store.sessions()] == ["s"], "a draft is in no list"
    store.supersede("s", "~s")
    kept = store.session("s")
    assert kept is not None and kept.summary.turns == 1 and store.session("~s") is None
    assert [event.body for event in store.page("s", 0, 10)] == [body(1, "~s")]
    assert len(list(store.tape("s"))) == 1 and store.ask("s", "p") is None
    assert [logged.session_id for logged in store.log(0, 10)] == ["s"], "whoever follows the log hears of it"
    with pytest.raises(Missing):
        store.supersede("s", "~s")
    assert store.session("s") is not None


def test_who_follows_the_whole_log_is_told_what_is_new_of_a_superseded_session_and_nothing_twice(store: Store) -> None:
    store.create(row("s"))
    store.append(batch("s", 1, 2)).result()
    store.append(batch("s", 3, 4, number=3)).result()
    store.create(row("other"))
    store.append(batch("other", 1)).result()
    before, end = store.log(0, 100), store.position()
    store.create(row("~s"))
    same = [Stored(sequence, body(sequence), sequence) for sequence in (1, 2, 3)]
    fresh = [Stored(sequence, body(sequence, "new"), sequence) for sequence in (4, 5)]
    store.append(Batch("~s", 1, events=[*same, *fresh])).result()
    assert store.log(end, 100) == [], "a draft is nobody's business"
    store.supersede("s", "~s")
    assert [(told.session_id, told.body) for told in store.log(end, 100)] == [("s", body(4, "new")), ("s", body(5, "new"))]
    assert store.log(0, 4) == [told for told in before if told.body != body(4)], "who is behind gets the rest where it was"
    assert store.log(2, 1) == before[2:3]


def test_a_batch_for_nobody_is_refused(store: Store) -> None:
    with pytest.raises(Missing):
        store.append(batch("nobody", 1)).result()


def test_what_follows_something_that_could_not_be_kept_is_not_kept_either(store: Store) -> None:
    store.create(row("s"))
    lost = store.append(batch("nobody", 1))
    next = store.append(batch("s", 2, number=2, after=lost))
    last = store.append(batch("s", 3, number=3, after=next))
    for future in (next, last):
        with pytest.raises(StoreFailed, match="before this could not be kept"):
            future.result()
    assert list(store.tape("s")) == [] and store.page("s", 0, 10) == [], "or the tape would have a hole"
    kept = store.append(batch("s", 1))
    store.append(batch("s", 2, number=2, after=kept)).result()
    assert len(store.page("s", 0, 10)) == 2


def test_blobs_are_kept_by_name(store: Store) -> None:
    store.keep_blob("ab.png", b"\x89PNG")
    store.keep_blob("ab.png", b"\x89PNG")
    assert store.blob("ab.png") == b"\x89PNG"
    assert store.blob("../onetape.db") is None and store.blob("cd.png") is None


# --- what only a file can promise -------------------------------------------


def test_one_bad_batch_takes_nobody_with_it(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    store.create(row("a"))
    store.create(row("b"))
    good, bad, also = store.append(batch("a", 1)), store.append(batch("nobody", 1)), store.append(batch("b", 1))
    good.result()
    also.result()
    with pytest.raises(Missing):
        bad.result()
    again = store.append(batch("a", 1))
    with pytest.raises(StoreFailed, match="UNIQUE"):
        again.result()
    assert len(store.page("a", 0, 10)) == 1
    store.close()


def test_a_store_is_private_and_survives(tmp_path: Path) -> None:
    home = tmp_path / "data"
    store = Sqlite(home)
    store.create(row("s"))
    store.append(batch("s", 1)).result()
    store.keep_blob("ab.png", b"1")
    for path in (home, home / "blobs"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (*home.glob("onetape.db*"), home / "blobs" / "ab.png"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.close()
    again = Sqlite(home)
    assert again.page("s", 0, 10)[0].body == body(1)
    again.close()


def test_what_is_committed_survives_a_kill(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from onetape.stores.sqlite import Sqlite; sys.path.insert(0, sys.argv[2]);"
        "from test_stores import batch, row; store = Sqlite(Path(sys.argv[1])); store.create(row('s'));"
        "[store.append(batch('s', n, number=n)).result() for n in range(1, 51)]; os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path), os.path.dirname(__file__)], check=False)
    store = Sqlite(tmp_path)
    assert len(store.page("s", 0, 100)) == 50 and len(list(store.tape("s"))) == 50
    store.close()


def test_a_full_disk_is_told_and_nothing_committed_is_lost(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    store.create(row("s"))
    store.append(batch("s", 1)).result()
    store._writer.submit(lambda connection: None).result()
    pages = sqlite3.connect(tmp_path / "onetape.db").execute("PRAGMA page_count").fetchone()[0]
    store._writer._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    big = Batch("s", 2, [Record(0.0, "recv", Raw(b'"' + b"x" * 1_000_000 + b'"'))], [Stored(2, body(2), 2)])
    with pytest.raises(StoreFailed, match="full"):
        store.append(big).result()
    assert [event.sequence for event in store.page("s", 0, 10)] == [1]
    store.close()


def test_a_log_of_a_newer_onetape_is_not_touched(tmp_path: Path) -> None:
    Sqlite(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "onetape.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(Refused, match="newer onetape"):
        Sqlite(tmp_path)


def test_two_processes_share_a_log(tmp_path: Path) -> None:
    ours, theirs = Sqlite(tmp_path), Sqlite(tmp_path)
    ours.create(row("a"))
    theirs.create(row("b"))
    ours.append(batch("a", 1)).result()
    theirs.append(batch("b", 1)).result()
    ours.append(batch("a", 2, number=2)).result()
    assert [logged.session_id for logged in theirs.log(0, 10)] == ["a", "b", "a"]
    assert [logged.position for logged in ours.log(0, 10)] == [1, 2, 3]
    ours.close()
    theirs.close()
