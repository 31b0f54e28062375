"""Live sessions of the mock agent: what is committed is what the tape says, whatever happens in between."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

import onetape
from onetape import promises, schema, summary
from onetape.answers import is_settled
from onetape.commands import ReplyQuestion
from onetape.drivers.census import everyone
from onetape.errors import Conflict, Exists, Missing, ModeNotSupported, Refused, StoreFailed
from onetape.schema import Event
from onetape.sessions import Created, CreateOptions, Sessions
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import Batch, Store, events
from onetape.summary import Summary
from patience import PATIENCE

Scenario = Callable[[Sessions], Awaitable[None]]


def run(scenario: Scenario, store: Store | None = None, tmp_path: Path | None = None) -> None:
    """One scenario, then the checks that hold for every session."""

    async def whole() -> None:
        kept = store or Memory()
        sessions = Sessions(kept, root=tmp_path)
        await sessions.start()
        try:
            async with asyncio.timeout(PATIENCE):
                await scenario(sessions)
        finally:
            await sessions.close()
        for row in kept.sessions():
            prove(kept, row.session_id)
        kept.close()

    asyncio.run(whole())


def told(store: Store, session_id: str) -> list[Event]:
    return [msgspec.json.decode(body, type=schema.Event) for body in events(store, session_id)]


def prove(store: Store, session_id: str) -> None:
    """The promises hold, and the stored tape gives the stored events, byte for byte."""
    stored = list(events(store, session_id))
    again = [onetape.to_json(event) for event in onetape.transcribe(store.tape(session_id))]
    assert stored == again
    faults = [fault for fault in promises.check(promises.decode(stored)) if not fault.is_warning]
    assert not faults
    row = store.session(session_id)
    assert row is not None and row.summary.event_count == len(stored)


async def until(sessions: Sessions, session_id: str, kind: type[Event], after: int = 0) -> list[Event]:
    """The events up to the first of this kind."""
    seen: list[Event] = []
    async for page in sessions.follow(session_id, after):
        for stored in page:
            seen.append(msgspec.json.decode(stored.body, type=schema.Event))
            if isinstance(seen[-1], kind):
                return seen
    raise AssertionError("the log ended")


async def mock(sessions: Sessions, **options: object) -> str:
    created = await sessions.create(CreateOptions("mock", **options))  # type: ignore[arg-type]
    assert created.healthy
    return created.session_id


async def turn(sessions: Sessions, session_id: str, words: str) -> list[Event]:
    sent = await sessions.send(session_id, words)
    return await until(sessions, session_id, schema.TurnEnded, await sent.begins)


def text(seen: list[Event]) -> str:
    return "".join(event.data.delta for event in seen if isinstance(event, schema.ItemDelta))


def test_a_session_from_hello_to_the_end(tmp_path: Path) -> None:
    async def scenario(sessions: Sessions) -> None:
        created = await sessions.create(CreateOptions("mock", model="m1", title="mine"), "my-session")
        assert created == Created("my-session", True, None, created.native_session_id) and created.native_session_id
        row = sessions.row("my-session")
        assert (row.status, row.title, row.summary.model, row.summary.event_count) == ("idle", "mine", "m1", 1)
        assert text(await turn(sessions, "my-session", "Reply with exactly the word FIRST.")) == "FIRST"
        assert text(await turn(sessions, "my-session", "Reply with exactly the word SECOND.")) == "SECOND"
        with pytest.raises(Exists):
            await sessions.create(CreateOptions("mock"), "my-session")
        await sessions.terminate("my-session")
        await sessions.terminate("my-session")
        row = sessions.row("my-session")
        assert row.status == "ended" and row.summary.turns == 2 and row.owner is None and row.summary.error is None
        with pytest.raises(Conflict, match="is over"):
            await sessions.send("my-session", "more")
        with pytest.raises(Missing):
            sessions.row("nobody")

    run(scenario, Sqlite(tmp_path / "data"))


def test_everything_once(tmp_path: Path) -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        sent = await sessions.send(id, "demo")
        seen, after = list[Event](), await sent.begins
        while not seen or not isinstance(seen[-1], schema.TurnEnded):
            seen = await until(sessions, id, (schema.PermissionRequested, schema.QuestionRequested, schema.TurnEnded), after)  # type: ignore[arg-type]
            after = seen[-1].sequence
            match seen[-1]:
                case schema.PermissionRequested(data=data):
                    assert [pending.ask.ask_id for pending in sessions.store.pending()] == [data.permission_id]
                    assert sessions.row(id).status == "waiting"
                    await sessions.reply_permission(id, data.permission_id, "once")
                case schema.QuestionRequested(data=data):
                    await sessions.reply_question(id, data.question_id, [[data.options[0]]])
                case _:
                    pass
        assert sessions.store.pending() == [] and sessions.row(id).summary.strange > 0

    run(scenario, Sqlite(tmp_path / "data"))


def test_an_answer_counts_once() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "permission")
        asked = (await until(sessions, id, schema.PermissionRequested))[-1]
        assert isinstance(asked, schema.PermissionRequested)
        ask = asked.data.permission_id
        with pytest.raises(Refused, match="has no permission"):
            await sessions.reply_permission(id, "nobody's", "once")
        with pytest.raises(Refused, match="once, always or reject"):
            await sessions.reply_permission(id, ask, "maybe")
        await sessions.reply_permission(id, ask, "always")
        resolved = (await until(sessions, id, schema.PermissionResolved))[-1]
        assert isinstance(resolved, schema.PermissionResolved) and resolved.data.status == "accept_for_session"
        await sessions.reply_permission(id, ask, "always")
        with pytest.raises(Conflict, match="answered otherwise"):
            await sessions.reply_permission(id, ask, "reject")
        await sessions.terminate(id)
        await sessions.reply_permission(id, ask, "always")
        with pytest.raises(Conflict):
            await sessions.reply_permission(id, ask, "once")

    run(scenario)


def test_questions_that_were_left_out_have_no_answer() -> None:
    questions = [{"answers": ["red"]}, {"answers": []}, {}]
    answer = {"question_id": "q1", "status": "answered", "questions": questions}
    ask = summary.Ask("q1", "question", 5, 0, {"questions": questions}, "answered", answer)
    for same in ([["red"]], [["red"], []], [["red"], [], []]):
        assert is_settled(ask, "q1", ReplyQuestion("q1", same), same)
    for other in ([["blue"]], [[], ["red"]]):
        with pytest.raises(Conflict):
            is_settled(ask, "q1", ReplyQuestion("q1", other), other)


def test_asks_expire_with_their_turn() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "question")
        await until(sessions, id, schema.QuestionRequested)
        await sessions.interrupt(id)
        ended = (await until(sessions, id, schema.TurnEnded))[-1]
        assert isinstance(ended, schema.TurnEnded) and ended.data.metadata.status == "interrupted"
        assert sessions.store.pending() == []
        assert text(await turn(sessions, id, "echo still here")) == "still here"

    run(scenario)


def test_messages_wait_for_the_running_turn() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "hang")
        await until(sessions, id, schema.TurnStarted)
        first, second, third = [await sessions.send(id, f"echo {word}") for word in ("one", "two", "three")]
        assert [first.place, second.place, third.place] == [1, 2, 3]
        await sessions.take_back(id, 2)
        with pytest.raises(Refused, match="no message 2"):
            await sessions.take_back(id, 2)
        assert [(queued.number, queued.text) for queued in sessions.row(id).queued] == [(1, "echo one"), (3, "echo three")]
        await sessions.interrupt(id)
        assert text(await until(sessions, id, schema.TurnEnded, await first.begins)) == "one"
        assert text(await until(sessions, id, schema.TurnEnded, await third.begins)) == "three"
        assert sessions.row(id).queued == []

    run(scenario)


@pytest.mark.parametrize("words, reason, status", [("crash", "error", "failed"), ("end", "completed", "completed")])
def test_a_process_that_leaves_ends_its_session(words: str, reason: str, status: str) -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, words)
        seen = await until(sessions, id, schema.SessionEnded)
        ended = seen[-1]
        assert isinstance(ended, schema.SessionEnded) and (ended.data.reason, ended.data.terminated_by) == (reason, "agent")
        assert [event.data.metadata.status for event in seen if isinstance(event, schema.TurnEnded)] == [status]
        row = sessions.row(id)
        assert row.status == "ended" and (row.summary.error is not None) == (reason == "error") and row.owner is None

    run(scenario)


def test_a_kill_in_mid_turn_is_told_whole() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "slow 500")
        await until(sessions, id, schema.ItemDelta)
        os.kill(sessions.live(id).pid or 0, signal.SIGKILL)
        seen = await until(sessions, id, schema.SessionEnded)
        errors = [event for event in seen if isinstance(event, schema.Error)]
        assert [error.data.code for error in errors] == ["process_exit"]

    run(scenario)


def test_terminate_leaves_nothing_running() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "hang")
        await until(sessions, id, schema.TurnStarted)
        pid = sessions.live(id).pid
        await sessions.terminate(id)
        with pytest.raises(ProcessLookupError):
            os.kill(pid or 0, 0)
        seen = told(sessions.store, id)
        assert isinstance(seen[-1], schema.SessionEnded) and seen[-1].data.reason == "terminated"
        assert [event.data.metadata.status for event in seen if isinstance(event, schema.TurnEnded)] == ["interrupted"]
        assert not any(isinstance(event, schema.Error) for event in seen)

    run(scenario)


def test_a_session_goes_on_as_another(tmp_path: Path) -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions, directory=str(tmp_path), title="first", permission_mode="acceptEdits")
        await turn(sessions, id, "echo one")
        with pytest.raises(Conflict, match="still running"):
            await sessions.resume(id)
        await sessions.terminate(id)
        again = await sessions.resume(id, {"title": "second"})
        row, old = sessions.row(again.session_id), sessions.row(id)
        assert again.healthy and row.resumed_from == id and row.title == "second"
        assert row.summary.native_session_id == old.summary.native_session_id
        assert row.summary.directory == str(tmp_path) and row.summary.permission_mode == "acceptEdits"
        started = told(sessions.store, again.session_id)[0]
        assert isinstance(started, schema.SessionStarted) and started.data.metadata["resumed_from"] == id
        assert text(await turn(sessions, again.session_id, "echo two")) == "two"

    run(scenario)


def test_settings_are_changed_and_told() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.change(id, title="named", model="m2", variant="high", permission_mode="plan")
        await turn(sessions, id, "echo x")
        row = sessions.row(id)
        assert (row.title, row.summary.model, row.summary.variant, row.summary.permission_mode) == ("named", "m2", "high", "plan")
        await sessions.terminate(id)
        await sessions.change(id, title="renamed")
        assert sessions.row(id).title == "renamed"
        with pytest.raises(Conflict):
            await sessions.change(id, model="m3")

    run(scenario)


def test_a_mode_that_is_told_in_prose_is_no_mode() -> None:
    summary = Summary()
    for number, (detail, mode) in enumerate((("plan", "plan"), ("approval policy: never", "plan"), (None, "plan"), ("build", "build")), 1):
        item = schema.Item("i", None, None, "status", None, [schema.Status("mode", detail)], "completed")
        envelope = {"event_id": "e", "sequence": number, "time": "2026-01-01T00:00:00.000Z", "session_id": "s", "native_session_id": None}
        summary.see([schema.ItemCompleted(**envelope, synthetic=False, source="agent", data=schema.ItemData(item))])
        assert summary.agent_mode == mode


def test_what_cannot_be_made_is_refused_before_anything_starts(tmp_path: Path) -> None:
    async def scenario(sessions: Sessions) -> None:
        for options, error, words in (
            (CreateOptions("nobody"), Refused, "no agent is called"),
            (CreateOptions("mock", directory=str(tmp_path / "nowhere")), Refused, "no directory"),
            (CreateOptions("mock", agent_mode="flying"), ModeNotSupported, "no mode 'flying'"),
            (CreateOptions("mock", permission_mode="yolo"), ModeNotSupported, "no permission mode"),  # type: ignore[arg-type]
            (CreateOptions("mock", agent_version="99"), Refused, "99 is wanted"),
        ):
            with pytest.raises(error, match=words):
                await sessions.create(options)
        assert sessions.store.sessions() == []

    run(scenario)


def test_attachments_are_read_from_the_sessions_directory(tmp_path: Path) -> None:
    from onetape.commands import Attachment

    async def scenario(sessions: Sessions) -> None:
        (tmp_path / "note.txt").write_text("hello")
        id = await mock(sessions, directory=str(tmp_path))
        sent = await sessions.send(id, "echo see", [Attachment("note.txt")])
        await until(sessions, id, schema.TurnEnded, await sent.begins)
        os.mkfifo(tmp_path / "pipe")
        endless = [(name, "not a file") for name in (".", "pipe", "/dev/zero")]
        for name, why in (("gone.txt", "No such file"), ("a\0b", "null"), *endless):
            with pytest.raises(Refused, match=f"cannot attach {name}: .*{why}"):
                await sessions.send(id, "see", [Attachment(name)])

    run(scenario)


def test_many_readers_see_each_event_once() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)

        async def frames(after: int) -> list[int]:
            seen: list[int] = []
            async for block in sessions.follow_frames(id, after):
                seen += [int(line[4:]) for line in block.split(b"\n") if line.startswith(b"id: ")]
                if b'"type":"turn.ended"' in block:
                    return seen
            raise AssertionError("the log ended")

        readers = [asyncio.ensure_future(frames(after)) for after in (0, 0, 1)]
        await asyncio.sleep(0)
        await sessions.send(id, "big 3000")
        late = asyncio.ensure_future(frames(2))
        for reader, after in zip([*readers, late], (0, 0, 1, 2), strict=True):
            seen = await reader
            assert seen == list(range(after + 1, seen[-1] + 1)) and len(seen) > 2990

    run(scenario)


def test_the_whole_log_is_followed_over_sessions() -> None:
    async def scenario(sessions: Sessions) -> None:
        one, two = await mock(sessions), await mock(sessions)

        async def ends() -> set[str]:
            over: set[str] = set()
            last = 0
            async for block in sessions.follow_all():
                for part in block.split(b"\n\n")[:-1]:
                    id, data = part.split(b"\n")
                    assert int(id[4:]) == last + 1
                    last += 1
                    event = msgspec.json.decode(data[6:], type=schema.Event)
                    if isinstance(event, schema.TurnEnded):
                        over.add(event.session_id)
                if len(over) == 2:
                    return over
            raise AssertionError("the log ended")

        reading = asyncio.ensure_future(ends())
        await turn(sessions, one, "echo a")
        await turn(sessions, two, "echo b")
        assert await reading == {one, two}

    run(scenario)


def test_a_session_of_another_process_is_followed_and_left_alone(tmp_path: Path) -> None:
    async def scenario(sessions: Sessions) -> None:
        elsewhere = Sessions(Sqlite(tmp_path / "data"))
        elsewhere._owner = '{"host":"another","pid":1,"started":"x"}'
        id = (await elsewhere.create(CreateOptions("mock"))).session_id
        with pytest.raises(Conflict, match="another process"):
            await sessions.send(id, "hello")
        with pytest.raises(Conflict, match="another process"):
            await sessions.delete(id)
        with pytest.raises(Conflict, match="another process"):
            await sessions.change(id, title="lost with the next event")
        reading = asyncio.ensure_future(until(sessions, id, schema.TurnEnded))
        await elsewhere.send(id, "echo over there")
        assert text(await reading) == "over there"
        await elsewhere.close()
        elsewhere.store.close()

    run(scenario, Sqlite(tmp_path / "data"))


def test_a_full_disk_stops_the_session_with_a_clear_error() -> None:
    class Full(Memory):
        full = False

        def append(self, batch: Batch):  # type: ignore[no-untyped-def]
            done = super().append(Batch("nobody") if self.full else batch)
            if self.full:
                from concurrent.futures import Future

                done = Future()
                done.set_exception(StoreFailed("the log cannot be written: disk is full"))
            return done

    async def whole() -> None:
        store = Full()
        sessions = Sessions(store)
        id = await mock(sessions)
        session = sessions.live(id)
        follower = asyncio.ensure_future(until(sessions, id, schema.TurnEnded))
        await asyncio.sleep(0)  # it follows, and nothing has happened yet
        store.full = True
        with pytest.raises(StoreFailed, match="full"):
            await sessions.send(id, "slow 500")
            await session.over()
            await session.committed()
        await session.over()
        assert session.pid is None
        for row in (sessions.row(id), *sessions.rows()):
            assert "full" in str(row.summary.error)
        assert [type(event) for event in told(store, id)] == [schema.SessionStarted]
        with pytest.raises(StoreFailed, match="full"):
            await asyncio.wait_for(follower, 30)
        await sessions.close()

    asyncio.run(whole())


async def ask_and_die(directory: str) -> None:
    sessions = Sessions(Sqlite(Path(directory)))
    id = await mock(sessions)
    await sessions.send(id, "permission")
    await until(sessions, id, schema.PermissionRequested)
    print(id, sessions.live(id).pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_dead_process_left_is_ended_honestly(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1]); import test_sessions;"
        "asyncio.run(test_sessions.ask_and_die(sys.argv[2]))"
    )
    argv = [sys.executable, "-c", program, str(Path(__file__).parent), str(tmp_path / "data")]
    id, pid = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()

    async def scenario(sessions: Sessions) -> None:
        seen = told(sessions.store, id)
        kinds = [type(event) for event in seen]
        assert kinds[-1] is schema.SessionEnded and schema.PermissionResolved in kinds
        row = sessions.row(id)
        assert row.status == "ended" and row.summary.error == "the process that drove this session died" and row.owner is None
        [error] = [event.data for event in seen if isinstance(event, schema.Error)]
        assert (error.code, error.message) == ("process_exit", row.summary.error)
        assert sessions.store.pending() == []
        assert int(pid) not in {seen.pid for seen in everyone()}
        again = await sessions.resume(id)
        assert again.healthy and sessions.row(again.session_id).resumed_from == id

    run(scenario, Sqlite(tmp_path / "data"))
