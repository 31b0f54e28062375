"""Histories into the archive: what is new of them, whatever happens to the files and to us."""

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import onetape
from onetape import promises, tape
from onetape.agents import registry
from onetape.archive import writing
from onetape.archive.finding import Found, Search
from onetape.archive.importing import Importer, bring_in
from onetape.cli import importing
from onetape.errors import StoreFailed
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import Batch, SessionRow, Store, events
from onetape.summary import Summary

CAPTURES = Path(__file__).parent / "captures"


def histories(below: Path = CAPTURES) -> list[Found]:
    return list(Search(registry.every()).named([below]))


def outcomes(store: Store, below: Path) -> list[str]:
    return [bring_in(store, found).outcome for found in histories(below)]


def archive(store: Store) -> dict[str, list[bytes]]:
    """Everything that a reader could see, by session."""
    return {row.session_id: list(events(store, row.session_id)) for row in store.sessions()}


def prove(store: Store) -> None:
    for row in store.sessions():
        stored = list(events(store, row.session_id))
        assert stored == [onetape.to_json(event) for event in onetape.transcribe(store.tape(row.session_id))]
        assert not [fault for fault in promises.check(promises.decode(stored)) if not fault.is_warning]
        assert row.summary.event_count == len(stored)


def claude_session(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """A long enough history without subagents, as a copy that may be changed."""
    found = max((one for one in histories(CAPTURES / "claude") if one.agent.name == "claude"), key=lambda one: one.path.stat().st_size)
    copy = tmp_path / "h" / found.path.name
    copy.parent.mkdir()
    shutil.copy(found.path, copy)
    return copy, copy.read_bytes().splitlines(keepends=True)


def test_every_agents_histories_come_in_once(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    first = outcomes(store, CAPTURES)
    assert {found.agent.name for found in histories()} == {"amp", "claude", "codex", "opencode", "pi"}
    assert set(first) <= {"new", "rewritten", "known", "grown", "beside", "shrunk"} and "new" in first
    prove(store)
    before = archive(store)
    assert set(outcomes(store, CAPTURES)) == {"unchanged"}
    assert archive(store) == before
    store.close()


def test_other_files_are_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "data.json").write_text("{}")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "image.png").write_bytes(b"\x89PNG")
    search = Search(registry.every())
    assert list(search.named([tmp_path])) == [] and search.skipped == 3


def test_a_renamed_history_is_recognised_by_its_content(tmp_path: Path) -> None:
    whole, flat = Memory(), Memory()
    for number, one in enumerate(sorted(histories(CAPTURES), key=lambda found: found.path)):
        file = one.path if one.path.is_file() else one.path.parent
        if not list(file.with_suffix("").rglob("agent-*")):  # what belongs together by its place cannot be told without it
            bring_in(whole, one)
            shutil.copy(file, tmp_path / f"{number}")
    outcomes(flat, tmp_path)
    assert archive(flat).keys() == archive(whole).keys() and len({row.agent for row in flat.sessions()}) == 5


def test_whatever_else_lies_there_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "ses.json").write_text('{"id":"ses_1","a":' + "[" * 100_000)
    (tmp_path / "nulls.jsonl").write_bytes(b"\0" * 5000)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")  # opening it would wait for ever
    search = Search(registry.every())
    assert list(search.named([tmp_path])) == [] and search.skipped == 6 and search.unread == []


def test_what_cannot_be_looked_into_is_told_and_the_rest_comes_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, _ = claude_session(tmp_path)
    secret = copy.with_name("secret.jsonl")
    shutil.copy(copy, secret)
    broken = copy.with_name("opencode.db")
    broken.write_bytes(opencode_database(tmp_path / "whole.db").read_bytes()[:9000])
    (tmp_path / "whole.db").unlink()
    opened = Path.open

    def guarded(path: Path, *how: Any, **more: Any) -> Any:
        if path == secret:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *how, **more)

    monkeypatch.setattr(Path, "open", guarded)
    search = Search(registry.every())
    assert [found.path for found in search.named([tmp_path])] == [copy]
    assert {one.path for one in search.unread} == {secret, broken} and search.skipped == 0


def test_a_history_that_grows_adds_what_is_new(tmp_path: Path) -> None:
    copy, lines = claude_session(tmp_path)
    whole = Memory()
    outcomes(whole, copy)
    store = Memory()
    seen: list[str] = []
    for end in (len(lines) // 3, len(lines) // 2, len(lines) - 1, len(lines)):
        copy.write_bytes(b"".join(lines[:end]))
        seen += outcomes(store, copy)
        prove(store)
    assert seen[0] == "new" and set(seen[1:]) <= {"grown", "rewritten"} and "grown" in seen
    assert archive(store) == archive(whole)


@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
def test_half_a_line_is_left_for_the_next_time(agent: str, tmp_path: Path) -> None:
    """An agent writes while we read. What is no whole line yet is neither an event nor a reason to keep two readings."""
    found = next(one for one in histories(CAPTURES / agent) if one.agent.name == agent)
    copy = tmp_path / "h" / found.path.name
    copy.parent.mkdir()
    lines = found.path.read_bytes().splitlines(keepends=True)
    store, seen = Memory(), list[str]()
    for at, line in enumerate(lines):
        for part in (line[: len(line) // 2], line.rstrip(b"\n"), line):
            copy.write_bytes(b"".join(lines[:at]) + part)
            seen += outcomes(store, copy)
            assert not any(b'"type":"agent.unparsed"' in event for told in archive(store).values() for event in told)
    assert seen.count("new") == 1 and "beside" not in seen
    whole = Memory()
    outcomes(whole, copy)
    assert archive(store) == archive(whole)
    copy.write_bytes(b"".join(lines)[:-10])
    assert outcomes(store, copy) == ["shrunk"] and archive(store) == archive(whole)


def opencode_database(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((CAPTURES / "opencode" / "history" / "05-write-edit" / "opencode.sql").read_text())
    return path


def rows_of(database: Path, table: str) -> list[dict[str, Any]]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"select * from {table}")]


def put(database: Path, table: str, row: dict[str, Any]) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        marks = ", ".join("?" * len(row))
        connection.execute(f"insert or replace into {table} ({', '.join(row)}) values ({marks})", list(row.values()))
        connection.commit()


def test_a_database_that_goes_on_changing_its_rows_stays_one_session(tmp_path: Path) -> None:
    """OpenCode writes a row when a part begins and again when it is done; the session's own row with every message."""
    original = opencode_database(tmp_path / "original.db")
    database = tmp_path / "h" / "opencode.db"
    database.parent.mkdir()
    shutil.copy(original, database)
    messages, parts, (session, *_) = (rows_of(original, table) for table in ("message", "part", "session"))
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.executescript("delete from part; delete from message")
    store, seen = Memory(), list[str]()
    for message in messages:
        put(database, "message", message)
        for part in (one for one in parts if one["message_id"] == message["id"]):
            data = json.loads(part["data"])
            if data["type"] == "tool":
                begun = data | {"state": {"status": "running", "input": data["state"]["input"], "time": {"start": 1}}}
                put(database, "part", part | {"data": json.dumps(begun)})
                seen += outcomes(store, database)
            put(database, "part", part)
            put(database, "session", session | {"time_updated": session["time_updated"] + len(seen)})
            seen += outcomes(store, database)
            prove(store)
    assert len(archive(store)) == 1 and seen[0] == "new" and set(seen[1:]) <= {"grown", "rewritten"} and "grown" in seen
    put(database, "session", session)
    outcomes(store, database)
    whole = Memory()
    outcomes(whole, original)
    assert archive(store) == archive(whole)
    told = next(part for part in parts if json.loads(part["data"])["type"] == "text")
    put(database, "part", told | {"data": json.dumps(json.loads(told["data"]) | {"text": "Something else."})})
    assert outcomes(store, database) == ["beside"], "words that are gone from the database are kept"
    assert archive(store).items() >= archive(whole).items()


def test_a_thread_that_is_written_anew_with_each_message_stays_one_session(tmp_path: Path) -> None:
    original = next(one.path for one in histories(CAPTURES / "amp") if one.agent.name == "amp")
    thread = json.loads(original.read_text())
    copy = tmp_path / "h" / "thread"
    copy.parent.mkdir()
    store, seen = Memory(), list[str]()
    for count in range(1, len(thread["messages"]) + 1):
        copy.write_text(json.dumps(thread | {"messages": thread["messages"][:count], "nextMessageId": count, "title": f"{count}"}))
        seen += outcomes(store, copy)
        prove(store)
    assert seen[0] == "new" and set(seen[1:]) <= {"grown", "rewritten"} and len(archive(store)) == 1


def test_a_truncated_file_destroys_nothing(tmp_path: Path) -> None:
    copy, lines = claude_session(tmp_path)
    store = Memory()
    outcomes(store, copy)
    before = archive(store)
    copy.write_bytes(b"".join(lines[: len(lines) // 2]))
    assert outcomes(store, copy) == ["shrunk"] and archive(store) == before
    copy.unlink()
    assert archive(store) == before


def test_a_rewritten_file_stands_beside_what_was_kept(tmp_path: Path) -> None:
    copy, lines = claude_session(tmp_path)
    store = Memory()
    outcomes(store, copy)
    before = archive(store)
    instead = next(line for line in reversed(lines) if b'"uuid":"' in line).replace(b'"uuid":"', b'"uuid":"f')
    copy.write_bytes(b"".join([*lines[: len(lines) // 2], instead]))
    assert outcomes(store, copy) == ["beside"]
    after = archive(store)
    (old,) = before
    assert after[old] == before[old] and len(after) == 2
    beside = store.session(f"{old}-2")
    assert beside is not None and beside.resumed_from == old
    prove(store)
    with copy.open("ab") as file:
        file.write(lines[-1].replace(b'"uuid":"', b'"uuid":"e'))
    assert outcomes(store, copy) == ["grown"] and len(archive(store)) == 2, "it goes on beside, and not beside that again"
    assert archive(store)[old] == before[old]
    copy.write_bytes(b"".join(lines))
    assert outcomes(store, copy) == ["unchanged"] and len(archive(store)) == 2, "put back as it was"
    prove(store)


def test_an_import_that_is_cut_off_anywhere_ends_in_the_same_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cut(Memory):
        left = 0

        def append(self, batch: Batch) -> "Future[None]":
            self.left -= 1
            if self.left < 0:
                done: Future[None] = Future()
                done.set_exception(StoreFailed("killed"))
                return done
            return super().append(batch)

    whole = Memory()
    outcomes(whole, CAPTURES / "claude")
    for together in (3, 50):
        monkeypatch.setattr(writing, "TOGETHER", together)
        store = Cut()
        for left in (0, 1, 2, 5, 9, 10_000):
            store.left = left
            with contextlib.suppress(StoreFailed):
                outcomes(store, CAPTURES / "claude")
        assert archive(store) == archive(whole)
        prove(store)


def test_what_ran_here_is_not_shown_again_and_what_was_added_elsewhere_is(tmp_path: Path) -> None:
    copy, _ = claude_session(tmp_path)
    known = Memory()
    outcomes(known, copy)
    (row,) = known.sessions()
    times = [record.t for record in known.tape(row.session_id)]
    began, native = row.created_at, row.summary.native_session_id

    def live(updated_at: int, owner: str | None = None) -> Memory:
        store = Memory()
        summary = Summary(native_session_id=native, updated_at=updated_at, ended=owner is None)
        store.create(SessionRow("mine", "claude", created_at=began, owner=owner, summary=summary))
        return store

    store = live(began + int(times[-1] * 1000) + 1000)
    assert outcomes(store, copy) == ["ran here"] and [found.session_id for found in store.sessions()] == ["mine"]
    store = live(began, owner="{}")
    assert outcomes(store, copy) == ["runs here"] and outcomes(store, copy) == ["runs here"]
    store = live(began - 5000)
    assert outcomes(store, copy) == ["new"]
    added = next(found for found in store.sessions() if found.session_id != "mine")
    assert added.resumed_from == "mine" and added.origin == "imported"
    assert outcomes(store, copy) == ["unchanged"]
    lines = copy.read_bytes().splitlines(keepends=True)
    at = max(number for number, line in enumerate(lines) if b'"uuid":"' in line)
    copy.write_bytes(b"".join([*lines[:at], lines[at].replace(b'"uuid":"', b'"uuid":"f'), *lines[at + 1 :]]))
    before = archive(store)
    assert outcomes(store, copy) == ["beside"], "rewritten after a part of it ran here"
    beside = store.session(f"{added.session_id}-2")
    assert beside is not None and beside.resumed_from == added.session_id and archive(store).items() >= before.items()


def test_imports_at_the_same_time_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process' import cannot have the lock while this one is at a session."""
    monkeypatch.setenv("ONETAPE_DATA_DIR", str(tmp_path))

    def brought(self: Importer, found: Found, next: Found | None) -> str:
        with (tmp_path / "import.lock").open("a") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return "done"

    monkeypatch.setattr(Importer, "bring_in", brought)
    failed: list[tuple[Path, str]] = []
    assert importing._brought(Importer(Memory()), None, failed) == "done" and failed == []
    assert (tmp_path / "import.lock").stat().st_mode & 0o777 == 0o600, "as all that we make there"


def test_a_damaged_history_is_told_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a reader stumbles over that takes the file for its own."""
    monkeypatch.setenv("ONETAPE_DATA_DIR", str(tmp_path))
    export = tmp_path / "export"
    export.write_text('{"info": {"id": "ses_1", "time": {"created": 1}}, "messages": []}')
    (found,) = histories(export)

    def stumbling(self: Any, path: Path, *, growing: bool = False) -> Iterator[tape.Record]:
        yield tape.record(0.0, "head", {})
        raise KeyError("id")

    monkeypatch.setattr(type(found.agent.history), "read", stumbling)
    failed: list[tuple[Path, str]] = []
    assert importing._brought(Importer(Memory()), found, failed) is None
    ((path, why),) = failed
    assert path == export and why.startswith("damaged")


def test_who_looks_again_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    copy, lines = claude_session(tmp_path)
    opened: list[str] = []
    original = Path.open
    monkeypatch.setattr(Path, "open", lambda path, *how, **more: (opened.append(path.name), original(path, *how, **more))[1])
    search = Search(registry.every())
    for changed, skipped in ((False, 1), (False, 1), (True, 1)):
        if changed:
            copy.write_bytes(b"".join(lines[:-1]))
        before = len(opened)
        assert len(list(search.named([tmp_path]))) == 1 and search.skipped == skipped
        seen = opened[before:]
    assert copy.name in seen and "notes.txt" not in seen
    assert len(list(search.named([tmp_path / "gone"], may_be_gone=True))) == 0


def test_a_database_and_its_export_are_one_session(tmp_path: Path) -> None:
    found = histories(CAPTURES / "opencode")
    assert len({one.path for one in found}) > 1
    store = Memory()
    for one in found:
        bring_in(store, one)
    ids = [row.summary.native_session_id for row in store.sessions()]
    assert len(ids) == len(set(ids))
    prove(store)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    database = tmp_path / "opencode.db"
    connection = sqlite3.connect(database)
    connection.execute("create table session (id)")
    connection.close()
    assert histories(tmp_path) == [], "not every database is a history"


def test_nothing_is_at_a_place_that_is_not_there(tmp_path: Path) -> None:
    assert list(Search(registry.every()).usual(tmp_path, {})) == []
    with pytest.raises(onetape.Refused, match="there is no"):
        list(Search(registry.every()).named([tmp_path / "gone"]))
