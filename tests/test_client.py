"""The client against a real daemon: typed events, each once, whatever happens to the connection."""

import asyncio
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

import onetape.client
from daemons import Daemon, daemon
from onetape import promises, schema
from onetape.client import AsyncClient, Client, Failed, Session, Unreachable, calls
from onetape.client.calls import Answer, Follower
from patience import PATIENCE
from twins import without_waiting

HERE = Path(onetape.client.__file__).parent
README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.fixture
def client(running: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Found by itself: nobody tells it where the daemon is, or the token."""
    at_home(running, monkeypatch)
    with Client() as found:
        yield found


def at_home(running: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONETAPE_DATA_DIR", running.env["ONETAPE_DATA_DIR"])
    monkeypatch.delenv("ONETAPE_URL", raising=False)
    monkeypatch.delenv("ONETAPE_TOKEN", raising=False)


def text(events: list[schema.Event]) -> str:
    return "".join(event.data.delta for event in events if isinstance(event, schema.ItemDelta))


def check(events: list[schema.Event]) -> None:
    """Dense, and all that a transcript promises."""
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert not [fault for fault in promises.check(events) if not fault.is_warning]


def test_the_sync_client_is_the_async_one_without_waiting(golden) -> None:  # type: ignore[no-untyped-def]
    golden(HERE / "sync.py", without_waiting((HERE / "aio.py").read_text()))


def test_a_session(client: Client, tmp_path: Path) -> None:
    with client.session("mock", cwd=tmp_path, model="m1", title="mine") as session:
        events = list(session.send("Reply with exactly the word HELLO."))
        assert isinstance(events[0], schema.TurnStarted) and isinstance(events[-1], schema.TurnEnded) and text(events) == "HELLO"
        info = session.info()
        assert (info["directory"], info["title"], info["model"], info["status"]) == (str(tmp_path), "mine", "m1", "idle")
        assert session.id in [told["sessionId"] for told in client.sessions(agent="mock")]
        session.change(title="another")
        assert session.info()["title"] == "another"
        assert session.events(after=events[0].sequence, limit=2) == events[1:3]
    assert session.info()["status"] == "ended"
    check(list(session.follow()))
    with pytest.raises(Failed, match="is over") as refused:
        session.post("more")
    assert (refused.value.status, refused.value.kind) == (409, "conflict")
    session.delete()
    with pytest.raises(Failed) as gone:
        session.info()
    assert gone.value.kind == "session_not_found"


def test_asks_are_answered_on_the_way(client: Client) -> None:
    with client.session("mock") as session:
        events = []
        for event in session.send("permission"):
            events.append(event)
            if isinstance(event, schema.PermissionRequested):
                assert [told["sessionId"] for told in client.pending()] == [session.id]
                session.reply_permission(event, "once" if event.data.action == "bash" else "reject", "not now")
        assert text(events).endswith("The command ran, the write was refused.")
        for event in session.send("question"):
            events.append(event)
            match event:
                case schema.QuestionRequested(data=data) if data.prompt == "Which colour?":
                    session.reply_question(event, [["blue"]])
                case schema.QuestionRequested():
                    session.reject_question(event)
        assert text(events).endswith("You chose: blue; no answer.")
    assert client.pending() == []


def test_interrupted_queued_taken_back_resumed(client: Client) -> None:
    with client.session("mock", id="with/a slash") as session:
        for event in session.send("hang"):
            if isinstance(event, schema.ItemDelta):
                session.post("echo queued")
                [queued] = session.info()["queued"]
                session.take_back(queued["number"])
                session.interrupt()
        assert isinstance(event, schema.TurnEnded) and event.data.metadata.status == "interrupted"
    again = session.resume()
    assert again.id != session.id and again.info()["resumedFrom"] == session.id
    assert text(list(again.send("echo on"))) == "on"
    again.terminate()


def test_an_agent_that_ends_ends_the_answer(client: Client) -> None:
    with client.session("mock") as session:
        *_, error, turn = session.send("crash")
        assert isinstance(error, schema.Error) and isinstance(turn, schema.TurnEnded)
        assert isinstance(list(session.follow(after=turn.sequence))[-1], schema.SessionEnded)


def test_many_at_once(running: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home(running, monkeypatch)

    async def one(client: AsyncClient, word: str) -> str:
        async with client.session("mock") as session:
            return text([event async for event in session.send(f"echo {word}")])

    async def all() -> list[str]:
        async with AsyncClient() as client, asyncio.timeout(PATIENCE):
            return await asyncio.gather(*(one(client, word) for word in ("a", "b", "c", "d")))

    assert asyncio.run(all()) == ["a", "b", "c", "d"]


def test_what_is_refused_says_why(client: Client, running: Daemon) -> None:
    with pytest.raises(Failed, match="no agent is called 'nobody'") as unknown:
        client.create("nobody")
    assert unknown.value.kind == "unsupported_agent"
    with Client(running.url, "wrong") as stranger, pytest.raises(Failed, match="token") as shut:
        stranger.sessions()
    assert shut.value.status == 401
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}") as nobody, pytest.raises(Unreachable):
        nobody.sessions()


def test_without_a_daemon(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="onetape server"):
        calls.daemon(None, None, {"ONETAPE_DATA_DIR": str(tmp_path)})
    named = calls.daemon(None, None, {"ONETAPE_URL": "http://elsewhere/", "ONETAPE_TOKEN": "t"})
    assert named == calls.Daemon("http://elsewhere", "t")
    assert calls.daemon("http://here", "u", {"ONETAPE_URL": "http://elsewhere", "ONETAPE_TOKEN": "t"}) == calls.Daemon("http://here", "u")


# --- lost connections ---------------------------------------------------------


@contextmanager
def cutting(port: int, most: int) -> Iterator[str]:
    """The address of a bad line to this port: every connection breaks after so many bytes of answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, port, most), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, port: int, most: int) -> None:
    with suppress(OSError):
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=_pass, args=(near, far, 1 << 62), daemon=True).start()
            threading.Thread(target=_pass, args=(far, near, most), daemon=True).start()


def _pass(source: socket.socket, sink: socket.socket, most: int) -> None:
    with suppress(OSError), source, sink:
        while most > 0 and (chunk := source.recv(min(most, 65536))):
            sink.sendall(chunk)
            most -= len(chunk)
        for end in (source, sink):
            end.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("most", [5_000, 20_011, 65_537])
def test_a_stream_survives_lost_connections(client: Client, running: Daemon, most: int) -> None:
    with client.session("mock") as session:
        list(session.send("big 400"))
    whole = session.events()
    with cutting(running.port, most) as url, Client(url, calls.daemon(None, None).token) as unlucky:
        assert list(unlucky.attach(session.id).follow()) == whole
    check(whole)


def test_an_answer_survives_lost_connections(client: Client, running: Daemon) -> None:
    with (
        client.session("mock") as session,
        cutting(running.port, 9_000) as url,
        Client(url, calls.daemon(None, None).token) as unlucky,
    ):
        events = list(unlucky.attach(session.id).send("big 300"))
        assert isinstance(events[-1], schema.TurnEnded)
        assert events == session.events(after=events[0].sequence - 1)


def test_a_stream_survives_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in mid-answer, and started anew at another address: each event once, and the honest end."""
    first = Daemon(tmp_path)
    at_home(first, monkeypatch)
    second: list[Daemon] = []
    with Client() as client:
        session = client.create("mock")
        events = []
        for event in session.send("slow 100000"):
            events.append(event)
            if isinstance(event, schema.ItemDelta) and not second:
                first.kill()
                second.append(Daemon(tmp_path))
        try:
            assert isinstance(events[-1], schema.TurnEnded) and events[-1].data.metadata.status == "failed"
            whole = list(session.follow())
            assert isinstance(whole[-1], schema.SessionEnded) and events == whole[events[0].sequence - 1 : -1]
            check(whole)
        finally:
            second[0].stop()


# --- the state of a stream, without one ---------------------------------------


def test_frames_may_break_anywhere(client: Client) -> None:
    with client.session("mock") as session:
        list(session.send("echo ü € 𝄞"))
    heard = list(session.heard())
    told = b": heartbeat\n\n" + b"".join(b"id: %d\ndata: %b\n\n" % (one.event.sequence, one.body) for one in heard)
    follower = Follower(session.id, 0)
    assert [one for byte in told for one in follower.feed(bytes([byte]))] == heard
    assert list(follower.feed(told)) == []  # told again


def test_a_large_event_is_looked_through_once() -> None:
    event = _event("item.delta", {"item_id": "i", "native_item_id": None, "delta": "x" * (16 << 20)}, 1)
    told = b"id: 1\ndata: %b\n\n" % schema.to_json(event)
    follower, began = Follower("s", 0), time.monotonic()
    heard = [one for at in range(0, len(told), 1 << 14) for one in follower.feed(told[at : at + (1 << 14)])]
    assert [one.event for one in heard] == [event]
    assert time.monotonic() - began < 5  # it takes a tenth of a second; a thousand looks at all of it take many


def test_a_session_that_does_not_start_well_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    unwell = {"sessionId": "s", "healthy": False, "error": {"type": "agent_process_exited", "message": "no licence"}}
    with Client("http://127.0.0.1:9") as client:
        monkeypatch.setattr(client, "call", lambda call: unwell)
        for make in (lambda: client.create("mock"), client.attach("old").resume):
            with pytest.raises(Failed, match="no licence") as raised:
                make()
            assert raised.value.kind == "agent_process_exited"


def test_a_refused_prompt_ends_the_answer() -> None:
    """It opens no turn: the session has to say that it does nothing."""
    error, ready = _event("error", {"message": "no"}, 3), _event("turn.started", {"phase": "started", "turn_id": "t"}, 3)
    answer = Answer()
    assert answer.doubts(error)
    answer.settle({"status": "running", "eventCount": 3})
    assert not answer.ends_with(error)
    answer.settle({"status": "idle", "eventCount": 3})
    assert answer.ends_with(error)
    begun = Answer()
    assert not begun.doubts(ready) and not begun.doubts(error)


def _event(type: str, data: object, sequence: int) -> schema.Event:
    told = {
        "event_id": "e", "sequence": sequence, "time": "", "session_id": "s", "native_session_id": None, "synthetic": False,
        "source": "agent", "type": type, "data": data, "raw": None,
    }  # fmt: skip
    return msgspec.convert(told, schema.Event)


# --- the README ---------------------------------------------------------------


def test_the_example_of_the_readme_runs(running: Daemon, tmp_path: Path) -> None:
    [example] = [block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.S) if "onetape.client" in block]
    assert len(example.splitlines()) == 5
    run = subprocess.run([sys.executable, "-c", example], env=running.env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "Hello from any agent."


def test_sessions_are_typed() -> None:
    assert Session.send.__annotations__["return"].__args__ == (schema.Event,)
