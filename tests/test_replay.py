"""A recording played over HTTP: the same events, at the pace that was asked for, and faults that a client survives."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import onetape
from onetape import schema
from onetape.agents import registry
from onetape.client import Client
from onetape.replay import Pace, Replay, recording
from onetape.schema import Event
from onetape.server.faults import Faults
from patience import PATIENCE
from serving import TOKEN, Served, served

CAPTURES = Path(__file__).parent / "captures"
ASKING = CAPTURES / "claude" / "2.1.326" / "07-permission-once.jsonl"


def told(tape: Path, agent: str = "claude") -> list[Event]:
    return list(onetape.transcribe(tape.read_bytes(), agent))


@contextmanager
def playing(tape: Path, pace: dict[str, object], faults: Faults | None = None, agent: str = "claude") -> Iterator[tuple[Served, Pace, str]]:
    made: list[tuple[Pace, str]] = []

    def sessions() -> Replay:
        played = recording([tape.read_bytes()], registry.find(agent))
        made.append((Pace(**pace), played.session_id))  # type: ignore[arg-type]
        return Replay(played, made[0][0])

    with served(tape.parent, sessions=sessions, streams=(faults or Faults()).streams()) as server:
        yield server, *made[0]


def types(server: Served, session: str) -> list[str]:
    return [event["type"] for event in server.events(session)]


def until_played(server: Served, session: str, wanted: str) -> None:
    server.until(lambda: wanted in [json.loads(stored.body)["type"] for stored in server.daemon.store.page(session, 0, 10_000)])


@pytest.mark.parametrize(
    ("agent", "tape"),
    [
        ("claude", ASKING), ("codex", CAPTURES / "codex" / "0.169.0" / "03-shell.jsonl"),
        ("opencode", CAPTURES / "opencode" / "1.18.33" / "03-shell.serve.jsonl"), ("pi", CAPTURES / "pi" / "0.87.1" / "own-gate.jsonl"),
        ("amp", CAPTURES / "amp" / "2026-05" / "03-shell.jsonl"),
    ],
)  # fmt: skip
def test_what_was_recorded_is_what_happens(agent: str, tape: Path) -> None:
    wanted = [json.loads(onetape.to_json(event)) for event in told(tape, agent)]
    with playing(tape, {"speed": 0}, agent=agent) as (server, _, session), Client(server.url, token=TOKEN) as client:
        seen = [json.loads(onetape.to_json(event)) for event in client.attach(session).follow()]
        assert seen == wanted == server.events(session)
        assert server.http.get(f"/v1/sessions/{session}").json()["status"] == "ended"


def test_it_waits_to_be_watched_and_goes_step_by_step() -> None:
    with playing(ASKING, {"stepwise": True}) as (server, pace, session):
        assert [info["eventCount"] for info in server.http.get("/v1/sessions").json()["sessions"]] == [0]
        server.http.get(f"/v1/sessions/{session}")
        server._loop.call_soon_threadsafe(pace.step)
        until_played(server, session, "session.started")
        first = types(server, session)
        server._loop.call_soon_threadsafe(pace.step, 1000)
        until_played(server, session, "session.ended")
        assert first == [onetape.type_of(event) for event in told(ASKING)][: len(first)] and len(first) < 5


def test_what_a_client_says_ends_the_waiting() -> None:
    with playing(ASKING, {"stepwise": True}) as (server, pace, session):
        turn = f"/v1/sessions/{session}"
        assert server.http.post(f"{turn}/messages", json={"message": "whatever"}).status_code == 204
        until_played(server, session, "turn.started")
        server._loop.call_soon_threadsafe(pace.hurry, lambda event: isinstance(event, schema.PermissionRequested))
        until_played(server, session, "permission.requested")
        [pending] = server.http.get("/v1/pending").json()["pending"]
        ask = pending["data"]["permission_id"]
        assert server.http.post(f"{turn}/permissions/nobody/reply", json={"reply": "once"}).status_code == 400
        assert server.http.post(f"{turn}/permissions/{ask}/reply", json={"reply": "once"}).status_code == 204
        until_played(server, session, "permission.resolved")
        assert "turn.ended" not in types(server, session)
        assert server.http.post(f"{turn}/interrupt").status_code == 204
        until_played(server, session, "turn.ended")


def test_it_can_be_ended_and_runs_no_agents() -> None:
    with playing(ASKING, {"stepwise": True}) as (server, _, session):
        refused = server.http.post("/v1/sessions", json={"agent": "mock"})
        assert (refused.status_code, "replay" in refused.json()["detail"]) == (400, True)
        assert server.http.post(f"/v1/sessions/{session}/terminate").status_code == 204
        assert server.http.post(f"/v1/sessions/{session}/messages", json={"message": "x"}).status_code == 409


@pytest.mark.parametrize("faults", [Faults(drop_every=3), Faults(drop_every=1), Faults(stall_seconds=0.01, stall_every=2)])
def test_a_client_survives_faults(faults: Faults) -> None:
    with playing(ASKING, {"speed": 0}, faults) as (server, _, session), Client(server.url, token=TOKEN) as client:
        seen = list(client.attach(session).follow())
        assert [event.sequence for event in seen] == list(range(1, len(told(ASKING)) + 1))


def test_a_lost_connection_is_lost_in_the_middle_of_an_answer() -> None:
    with playing(ASKING, {"speed": 0}, Faults(drop_every=2)) as (server, _, session):
        seen: list[str] = []
        with pytest.raises(httpx.RemoteProtocolError), server.http.stream("GET", f"/v1/sessions/{session}/events/sse") as answer:
            seen.extend(line for line in answer.iter_lines() if line.startswith("id:"))
        assert seen == ["id: 1", "id: 2"]


def test_the_command(tmp_path: Path) -> None:
    env = {**os.environ, "ONETAPE_DATA_DIR": str(tmp_path), "ONETAPE_TOKEN": TOKEN}
    command = [sys.executable, "-m", "onetape", "replay", str(ASKING), "--port", "0", "--step"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        url = process.stdout.readline().split()[-1]
        session = process.stdout.readline().partition("/sessions/")[2].partition("#")[0]
        assert "Enter" in process.stdout.readline()
        with Client(url, token=TOKEN) as client:
            for words in ("\n", "t\n", "1000\n"):
                process.stdin.write(words)
            process.stdin.flush()
            assert len(list(client.attach(session).follow())) == len(told(ASKING))
        process.stdin.write("q\n")
        process.stdin.flush()
        assert process.wait(PATIENCE) in (0, -signal.SIGINT)


def test_what_cannot_be_played_is_refused(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("roses are red\n")
    for name, words in (("poem.txt", "say --agent"), ("nothing", "there is no session nothing")):
        env = {**os.environ, "ONETAPE_DATA_DIR": str(tmp_path / "data")}
        run = subprocess.run([sys.executable, "-m", "onetape", "replay", name], env=env, cwd=tmp_path, capture_output=True, text=True)
        assert (run.returncode, words in run.stderr, "Traceback" in run.stderr) == (2, True, False), run.stderr
