"""Two at once, and at the worst moment: who wins is decided once, and nobody leaves a process, a hole or a waiter behind."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec
import pytest

import onetape.session
import onetape.sessions
from onetape import owner, schema, tape
from onetape.agents import registry
from onetape.agents.agent import Launch, LaunchOptions
from onetape.agents.mock import AGENT
from onetape.drivers.census import everyone
from onetape.errors import AgentFailed, Conflict, Exists, Missing, OnetapeError, StoreFailed
from onetape.projection import Projection
from onetape.recovery import DIED
from onetape.schema import to_json
from onetape.scribe import BUG, GATHERED
from onetape.sessions import CreateOptions, Sessions
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import Batch, SessionRow, Store, Stored
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber
from rig import prove, until
from test_sessions import mock, run, told, turn
from test_sessions import until as heard

HELLO = '{"type":"ready","session":"n","version":"1.0","model":"m","mode":"build","permission_mode":"default"}'
READY = f"print({HELLO!r}, flush=True)\n"


def children() -> set[int]:
    """The agents that run below this process, and not what other tests keep (the browser's driver)."""
    return {seen.pid for seen in everyone() if seen.parent == os.getpid() and seen.mark is not None}


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets another program, in Python, play the mock agent's part."""

    def play(program: str) -> None:
        def launch(options: LaunchOptions) -> Launch:
            return Launch([sys.executable, "-c", f"import os, signal, sys, time\n{program}"], options.cwd)

        actor = msgspec.structs.replace(AGENT, launch=launch)
        monkeypatch.setattr(registry, "find", lambda name: actor)

    return play


class StuckDriver:
    """Starts, or hears what is said to it, only when it is ended."""

    replies = False
    pid = None

    def __init__(self, *, starts: bool) -> None:
        self._starts = starts
        self.was_cancelled = False
        self.was_told = False
        self._stopped = asyncio.Event()

    async def start(self) -> None:
        try:
            if not self._starts:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise

    async def heard(self) -> Any:
        yield [tape.Record(0.1, "recv", msgspec.Raw(HELLO.encode()))]
        await self._stopped.wait()
        yield [tape.record(0.2, "exit", -15)]

    async def send(self, message: Any) -> Record:
        self.was_told = True
        await self._stopped.wait()
        raise AgentFailed("it is gone")

    async def stop(self, polite_seconds: float = 3.0) -> None:
        self._stopped.set()


# --- two at once --------------------------------------------------------------


def test_one_of_two_makes_the_session() -> None:
    async def scenario(sessions: Sessions) -> None:
        before = children()
        made = await asyncio.gather(*(sessions.create(CreateOptions("mock"), "same") for _ in range(4)), return_exceptions=True)
        assert sorted(type(one).__name__ for one in made) == ["Created", *3 * ["Exists"]]
        assert len(children() - before) == 1
        with pytest.raises(Exists):
            await sessions.create(CreateOptions("mock"), "same")

    run(scenario)


def test_one_of_two_resumes() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.terminate(id)
        made = await asyncio.gather(*(sessions.resume(id) for _ in range(3)), return_exceptions=True)
        assert sorted(type(one).__name__ for one in made) == ["Conflict", "Conflict", "Created"]
        with pytest.raises(Conflict, match="still running"):
            await sessions.resume(id)
        [second] = [one.session_id for one in made if not isinstance(one, BaseException)]
        await sessions.terminate(second)
        assert (await sessions.resume(id)).healthy

    run(scenario)


def test_the_first_answer_counts() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "permission")
        asked = (await heard(sessions, id, schema.PermissionRequested))[-1]
        assert isinstance(asked, schema.PermissionRequested)
        replies = ("reject", "once", "reject")
        outcomes = await asyncio.gather(
            *(sessions.reply_permission(id, asked.data.permission_id, reply) for reply in replies), return_exceptions=True
        )
        refused = [isinstance(outcome, Conflict) for outcome in outcomes]
        assert sum(refused) in (1, 2) and refused[0] == refused[2] != refused[1]
        resolved = [event for event in told(sessions.store, id) if isinstance(event, schema.PermissionResolved)]
        assert [event.data.status for event in resolved] == ["reject" if refused[1] else "accept"]

    run(scenario)


def test_messages_go_out_in_the_order_in_which_they_came() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        words = [f"echo {number}" for number in range(12)]
        sent = await asyncio.gather(*(sessions.send(id, word) for word in words))
        assert [one.place for one in sent] == [None, *range(1, 12)], "one at a time: the first has no turn yet when the second comes"
        for one in sent:
            await heard(sessions, id, schema.TurnEnded, await one.begins)
        noted = [msgspec.json.decode(record.payload) for record in sessions.store.tape(id) if record.dir == "cmd"]
        assert [command["text"] for command in noted] == words

    run(scenario)


def test_who_comes_when_a_turn_ends_does_not_overtake() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        live = sessions.live(id)
        await sessions.send(id, "hang")
        await heard(sessions, id, schema.TurnStarted)
        waiting = await sessions.send(id, "echo first")
        async with live._lock:  # nobody can be sent anything while the turn ends
            interrupting = asyncio.ensure_future(sessions.interrupt(id))
            late = asyncio.ensure_future(sessions.send(id, "echo second"))
            await asyncio.sleep(0)
        await interrupting
        second = await late
        assert second.place is not None and await waiting.begins < await second.begins

    run(scenario)


# --- ends at bad moments --------------------------------------------------------


def test_an_end_while_the_agent_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = StuckDriver(starts=False)

    async def scenario(sessions: Sessions) -> None:
        monkeypatch.setattr(onetape.sessions, "driver_for", lambda *_, **__: driver)
        making = asyncio.ensure_future(sessions.create(CreateOptions("mock"), "s"))
        await until(lambda: "s" in sessions._live and sessions._live["s"]._launching is not None)
        await sessions.terminate("s")
        assert driver.was_cancelled
        with pytest.raises(Conflict, match="ended while its agent started"):
            await making
        row = sessions.row("s")
        assert row.status == "ended" and row.owner is None
        await until(lambda: not sessions._live)

    run(scenario)


def test_an_agent_that_never_says_hello(act: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    act("time.sleep(600)")
    monkeypatch.setattr(onetape.session, "HANDSHAKE_SECONDS", 0.2)

    async def scenario(sessions: Sessions) -> None:
        before = children()
        created = await sessions.create(CreateOptions("mock"))
        assert (created.healthy, created.error) == (False, "the agent did not answer in time")
        assert len(children() - before) == 1
        await sessions.terminate(created.session_id)
        assert children() <= before and sessions.row(created.session_id).status == "ended"

    run(scenario)


def test_an_end_during_the_handshake(act: Callable[[str], None]) -> None:
    act("time.sleep(600)")

    async def scenario(sessions: Sessions) -> None:
        before = children()
        making = asyncio.ensure_future(sessions.create(CreateOptions("mock"), "s"))
        await until(lambda: "s" in sessions._live and sessions._live["s"].pid is not None)
        await sessions.terminate("s")
        created = await making
        assert not created.healthy and created.error and children() <= before

    run(scenario)


def test_an_agent_that_reads_nothing_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onetape.session, "LOCK_SECONDS", 0.05)

    async def scenario(sessions: Sessions) -> None:
        driver = StuckDriver(starts=True)
        monkeypatch.setattr(onetape.sessions, "driver_for", lambda *_, **__: driver)
        id = await mock(sessions)
        sending = asyncio.ensure_future(sessions.send(id, "are you there?"))
        await until(lambda: driver.was_told)
        await sessions.terminate(id)
        with pytest.raises(AgentFailed, match="it is gone"):  # nobody heard it, which is not kept from whoever said it
            await sending
        assert sessions.row(id).status == "ended"

    run(scenario)


def test_an_agent_that_is_gone_before_it_is_greeted(act: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its translator waits for answers: there will be none, so that it is ready from the exit on."""
    act("sys.exit('no licence')")
    mocks = AGENT.translators[0]
    monkeypatch.setattr(mocks, "is_ready", property(lambda self: self.is_closed), raising=False)
    monkeypatch.setattr(mocks, "is_closed", False, raising=False)
    close = mocks.close

    def closed(self: Any, *given: Any) -> Any:
        self.is_closed = True
        return close(self, *given)

    monkeypatch.setattr(mocks, "close", closed)

    async def scenario(sessions: Sessions) -> None:
        made = await sessions.create(CreateOptions("mock"))
        assert (made.healthy, made.error) == (False, "no licence")

    run(scenario)


def test_what_is_said_to_closed_ears_is_not_lost_without_a_word(act: Callable[[str], None]) -> None:
    act(f"os.close(0)\n{READY}time.sleep(600)")

    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        for _ in range(2):
            with pytest.raises(AgentFailed, match="no longer listens"):
                await sessions.send(id, "are you there?")
        await sessions.interrupt(id)
        assert sessions.row(id).status == "idle" and sessions.row(id).queued == []

    run(scenario)


def test_an_agent_that_will_not_end_is_ended_with_all(act: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    tool = f"import signal, time; {deaf.strip()}; time.sleep(600)"
    act(f"{deaf}import subprocess; subprocess.Popen([sys.executable, '-c', {tool!r}], start_new_session=True)\n{READY}time.sleep(600)")
    monkeypatch.setattr(onetape.sessions, "SHUTDOWN_SECONDS", 0.1)
    monkeypatch.setattr(onetape.sessions, "CLOSE_SECONDS", 0.5)  # it ends with the last means

    async def whole() -> None:
        sessions = Sessions(Memory())
        ids = [await mock(sessions) for _ in range(2)]
        keys = {sessions.row(id).key for id in ids}
        await until(lambda: sum(seen.mark in keys for seen in everyone()) == 4)
        await sessions.close()
        assert not [seen for seen in everyone() if seen.mark in keys]
        assert all(sessions.row(id).status == "ended" for id in ids)

    asyncio.run(whole())


def test_what_is_being_made_when_all_ends(tmp_path: Path) -> None:
    async def whole() -> None:
        store, before = Sqlite(tmp_path / "data"), children()
        sessions = Sessions(store)
        making = [asyncio.ensure_future(sessions.create(CreateOptions("mock"), f"s{number}")) for number in range(6)]
        await until(lambda: len(sessions._live) > 2)
        await sessions.close()
        await asyncio.gather(*making, return_exceptions=True)
        assert children() <= before
        for row in store.sessions():
            assert row.status == "ended"
            prove(store, row.session_id)
        store.close()

    asyncio.run(whole())


def test_a_kill_while_a_permission_is_asked_for() -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        await sessions.send(id, "permission")
        await heard(sessions, id, schema.PermissionRequested)
        os.kill(sessions.live(id).pid or 0, signal.SIGKILL)
        kinds = [type(event) for event in await heard(sessions, id, schema.SessionEnded)]
        assert kinds.count(schema.PermissionResolved) == 1 and sessions.store.pending() == []
        await until(lambda: not sessions._live)

    run(scenario)


def test_nothing_is_left_of_sessions_that_are_over() -> None:
    async def scenario(sessions: Sessions) -> None:
        ids = [await mock(sessions) for _ in range(3)]
        reading = asyncio.ensure_future(heard(sessions, ids[0], schema.SessionEnded))
        for id in ids:
            await sessions.terminate(id)
        await reading
        await until(lambda: not sessions._live)
        assert not sessions._following._watched and not sessions._lost and not sessions._resuming

    run(scenario)


@pytest.mark.parametrize("is_live", [True, False])
def test_whoever_follows_a_deleted_session_is_released(is_live: bool) -> None:
    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        if not is_live:
            await sessions.terminate(id)
            await until(lambda: not sessions._live)

        async def all_of(batches: Any) -> list[Any]:
            return [batch async for batch in batches]

        readers = [asyncio.ensure_future(all_of(sessions.follow(id))), asyncio.ensure_future(all_of(sessions.follow_frames(id)))]
        await asyncio.sleep(0)
        await sessions.delete(id)
        await asyncio.gather(*readers)
        with pytest.raises(Missing):
            sessions.row(id)
        assert not sessions._following._watched

    run(scenario)


# --- who leaves harms nobody ----------------------------------------------------


class Slow(Memory):
    """A disk that takes its time: what is handed in is committed when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_slow = False
        self.waiting: list[tuple[Batch, Future[None]]] = []

    def append(self, batch: Batch) -> "Future[None]":
        if not self.is_slow:
            return super().append(batch)
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()
        self.waiting.append((msgspec.structs.replace(batch, row=msgspec.convert(msgspec.to_builtins(batch.row), SessionRow)), done))
        return done

    def write(self) -> None:
        for batch, done in self.waiting:
            super().append(batch).result()
            done.set_result(None)
        self.waiting.clear()


def test_a_slow_disk_holds_back_one_batch_and_no_more() -> None:
    store = Slow()

    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        store.is_slow = True
        sending = asyncio.ensure_future(sessions.send(id, "big 200000"))
        for _ in range(20):
            await until(lambda: bool(store.waiting))
            assert len(store.waiting) == 1, "the next is translated meanwhile, and waits"
            store.write()
        store.is_slow = False
        store.write()
        await heard(sessions, id, schema.TurnEnded, await (await sending).begins)

    run(scenario, store)


def test_what_comes_during_a_commit_gathers_into_the_next_and_no_more_than_so_much() -> None:
    store = Slow()

    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        scribe = sessions.live(id)._scribe
        store.is_slow = True
        for number in range(1 + GATHERED):
            await asyncio.wait_for(scribe.take(tape.record(0.0, "note", number)), 30)
        assert [len(batch.tape) for batch, _ in store.waiting] == [1]
        next_one = asyncio.ensure_future(scribe.take(tape.record(0.0, "note", 1 + GATHERED)))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not next_one.done(), "a slow disk is felt by whoever writes"
        store.write()
        await next_one
        assert [len(batch.tape) for batch, _ in store.waiting] == [GATHERED]
        store.is_slow = False
        store.write()
        await scribe.ready()
        noted = [msgspec.json.decode(record.payload) for record in store.tape(id) if record.dir == "note"]
        assert noted == list(range(2 + GATHERED))

    run(scenario, store)


def test_nothing_that_gathered_is_committed_over_a_hole() -> None:
    store = Slow()

    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        scribe = sessions.live(id)._scribe
        store.is_slow = True
        for number in range(3):
            await scribe.take(tape.record(0.0, "note", number))
        waits = asyncio.ensure_future(scribe.ready())
        await asyncio.sleep(0)
        store.is_slow = False
        store.waiting.pop()[1].set_exception(StoreFailed("the log cannot be written: disk is full"))
        with pytest.raises(StoreFailed, match="disk is full"):
            await waits
        assert not [record for record in store.tape(id) if record.dir == "note"]
        await until(lambda: not sessions._live and not sessions._lost)

    run(scenario, store)


def test_who_waits_for_a_commit_may_leave() -> None:
    store = Slow()

    async def scenario(sessions: Sessions) -> None:
        id = await mock(sessions)
        store.is_slow = True
        sending = asyncio.ensure_future(sessions.send(id, "echo one"))
        await until(lambda: bool(store.waiting))
        sending.cancel()
        await asyncio.wait([sending])
        store.is_slow = False
        store.write()
        following = asyncio.ensure_future(turn(sessions, id, "echo two"))
        seen = await following
        assert any(isinstance(event, schema.ItemDelta) and event.data.delta == "two" for event in seen)

    run(scenario, store)


# --- what cannot be kept --------------------------------------------------------


class Full(Memory):
    full = False

    def append(self, batch: Batch) -> "Future[None]":
        if not self.full:
            return super().append(batch)
        done: Future[None] = Future()
        done.set_exception(StoreFailed("the log cannot be written: disk is full"))
        return done


def test_a_session_lost_to_a_full_disk_is_ended_when_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onetape.sessions, "BURY_SECONDS", 0.01)
    store = Full()

    async def scenario(sessions: Sessions) -> None:
        id, before = await mock(sessions), children()
        await sessions.send(id, "slow 2000")
        await heard(sessions, id, schema.ItemDelta)
        waiting = await sessions.send(id, "echo never")

        async def ended() -> None:
            async for block in sessions.follow_frames(id):
                if b'"session.ended"' in block:
                    return

        reading = asyncio.ensure_future(ended())
        store.full = True
        await until(lambda: not sessions._live)
        assert not children() & before and waiting.begins.cancelled()
        assert sessions.row(id).summary.error == "the log cannot be written: disk is full"
        with pytest.raises(StoreFailed, match="disk is full"):
            await sessions.send(id, "hello?")
        store.full = False
        await reading
        row = sessions.row(id)
        assert row.status == "ended" and row.summary.error == "the log cannot be written: disk is full" and row.owner is None
        again = await sessions.resume(id)
        assert again.healthy

    run(scenario, store)


def test_a_log_that_fails_with_the_first_word_leaves_no_process() -> None:
    store = Full()

    async def whole() -> None:
        before = children()
        sessions = Sessions(store)
        store.full = True
        with pytest.raises(StoreFailed):
            await sessions.create(CreateOptions("mock"), "s")
        await until(lambda: not sessions._live and children() <= before)
        store.full = False
        await sessions.close()

    asyncio.run(whole())


def test_a_bug_of_ours_ends_the_session_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Transcriber.together

    def stumbling(self: Transcriber, records: list[Record], at: int) -> Any:
        if any(b"stumble" in record.line and record.dir == "recv" for record in records[at:]):
            raise ZeroDivisionError
        return together(self, records, at)

    async def scenario(sessions: Sessions) -> None:
        id, before = await mock(sessions), children()
        with monkeypatch.context() as patching:
            patching.setattr(Transcriber, "together", stumbling)
            with contextlib.suppress(OnetapeError):  # as the case may be before or after it is acknowledged
                await sessions.send(id, "echo stumble")
            await until(lambda: not sessions._live and not sessions._lost)
        assert not children() & before
        row = sessions.row(id)
        assert row.status == "ended" and row.summary.error == BUG

    run(scenario)


# --- recovery -------------------------------------------------------------------


def dead(session_id: str, agent: str = "mock") -> SessionRow:
    gone = owner.Owner(owner.this_process().host, 1 << 22, "never")
    return SessionRow(session_id, agent, key=session_id, owner=str(gone), created_at=1)


def began(session_id: str, agent: str = "mock", started: str = "2026-01-01T00:00:00Z") -> Record:
    return tape.record(0.0, "head", Head(agent=agent, key=session_id, session_id=session_id, started=started, dialect="stdio"))


def leave_behind(store: Store, session_id: str, started: str = "2026-01-01T00:00:00Z") -> None:
    """What a process that died in mid-turn leaves."""
    row = dead(session_id)
    store.create(row)
    said = (
        b'{"type":"turn_start","turn":"t1"}', b'{"type":"block_start","block":"b1"}', b'{"type":"block_delta","block":"b1","text":"so"}',
    )  # fmt: skip
    head = began(session_id, started=started)
    records = [head, *(tape.Record(5.0 + at, "recv", msgspec.Raw(line)) for at, line in enumerate(said))]
    transcriber = Transcriber(registry.find("mock"), msgspec.json.decode(head.payload, type=Head))
    events = [(number, event) for number, record in enumerate(records, 1) for event in transcriber.take(record)]
    rows = Projection(row.summary).see([event for _, event in events])
    store.append(Batch(session_id, 1, records, [Stored(event.sequence, to_json(event), number) for number, event in events], rows, row))


def test_recovery_that_was_cut_off_is_done_again() -> None:
    class Failing(Memory):
        left = 2

        def append(self, batch: Batch) -> "Future[None]":
            if batch.tape and batch.tape[-1].dir == "end" and self.left > 0:
                self.left -= 1
                done: Future[None] = Future()
                done.set_exception(StoreFailed("cut off"))
                return done
            return super().append(batch)

    store = Failing()
    for number in range(4):
        leave_behind(store, f"s{number}")
    store.create(dead("stranger", agent="nobody"))

    async def recovered() -> int:
        await Sessions(store).start()
        return sum(row.summary.ended for row in store.sessions())

    assert asyncio.run(recovered()) == 2
    assert asyncio.run(recovered()) == 4, "but for the one of an agent that nobody knows"
    for number in range(4):
        row = store.session(f"s{number}")
        assert row is not None and row.owner is None and row.summary.error == DIED
        prove(store, row.session_id)
    assert [row.session_id for row in store.owned()] == ["stranger"]


def test_a_clock_that_was_set_back_does_not_turn_time_around() -> None:
    store = Memory()
    leave_behind(store, "s", started="2999-01-01T00:00:00Z")
    asyncio.run(Sessions(store).start())
    times = [event.time for event in told(store, "s")]
    assert times == sorted(times) and len(set(times)) > 1
    assert [record.t for record in store.tape("s")][-2:] == [7.0, 7.0]
    prove(store, "s")


# --- a tape's first word ----------------------------------------------------------


def test_a_session_that_ends_before_it_began_has_a_head() -> None:
    store = Memory()

    async def whole() -> None:
        sessions = Sessions(store)
        make = store.create

        def make_and_close(row: SessionRow) -> None:
            make(row)
            sessions._is_closing = True

        store.create = make_and_close  # type: ignore[method-assign]
        with pytest.raises(AgentFailed):
            await sessions.create(CreateOptions("mock"), "s")

    asyncio.run(whole())
    assert [record.dir for record in store.tape("s")] == ["head", "end"]
    prove(store, "s")


def test_a_session_whose_daemon_died_before_its_first_word_has_a_head() -> None:
    store = Memory()
    store.create(dead("s"))
    asyncio.run(Sessions(store).start())
    assert [record.dir for record in store.tape("s")] == ["head", "end"]
    assert store.owned() == []
    prove(store, "s")
