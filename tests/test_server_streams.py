"""Server-sent events over real sockets: framing, the seam, cut connections, readers that stall, the end of the server."""

import itertools
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from onetape.server import sse
from patience import PATIENCE
from serving import TOKEN, Served, frames, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("root")) as running:
        yield running


def read(server: Served, path: str, until: str, headers: dict[str, str] | None = None) -> list[tuple[int, dict[str, object]]]:
    """The frames of a stream up to the first of a type."""
    text = ""
    with server.http.stream("GET", path, headers=headers or {}) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        for chunk in answer.iter_text():
            text += chunk
            whole, _, _ = text.rpartition("\n\n")
            if any(event["type"] == until for _, event in frames(whole)):
                break
    told = frames(whole)
    last = next(at for at, (_, event) in enumerate(told, 1) if event["type"] == until)
    return told[:last]


def test_history_then_live_without_gap_or_double(server: Served) -> None:
    id = server.session()
    server.say(id, "demo")
    with server.http.stream("GET", f"/v1/sessions/{id}/events/sse") as answer:
        chunks = answer.iter_text()
        text = next(chunks)
        for words in ("echo one", "big 200", "echo two"):
            server.http.post(f"/v1/sessions/{id}/messages", json={"message": words})
        while sum(event["type"] == "turn.ended" for _, event in frames(text.rpartition("\n\n")[0])) < 4:
            text += next(chunks)
    told = frames(text.rpartition("\n\n")[0])
    assert [number for number, _ in told] == list(range(1, len(told) + 1))
    assert [event for _, event in told] == server.events(id)[: len(told)]
    server.until(lambda: len(server.daemon.streams) == 0)


def test_goes_on_where_it_was_cut_off(server: Served) -> None:
    id = server.session()
    server.say(id, "echo words")
    path = f"/v1/sessions/{id}/events/sse"
    whole = read(server, path, "turn.ended")
    assert read(server, f"{path}?offset=3", "turn.ended") == whole[3:]
    assert read(server, f"{path}?offset=1", "turn.ended", {"Last-Event-ID": "4"}) == whole[4:]
    raw = read(server, f"{path}?includeRaw=true", "turn.ended")
    assert [event["raw"] is not None for _, event in raw if not event["synthetic"]] == [True] * len(raw)
    for wrong in ("x", "-1", "1.5", str(1 << 63)):
        assert server.http.get(path, headers={"Last-Event-ID": wrong}).status_code == 400


def test_every_session_in_one_stream(server: Served) -> None:
    position = server.http.get("/v1/sessions").json()["position"]
    ids = [server.session(), server.session()]
    for id in ids:
        server.say(id, "echo x")
    server.http.post(f"/v1/sessions/{ids[1]}/terminate")
    told = read(server, f"/v1/events/sse?after={position}", "session.ended")
    assert {event["session_id"] for _, event in told} == set(ids)
    assert all(before < after for before, after in itertools.pairwise(number for number, _ in told))
    middle = told[len(told) // 2][0]
    assert read(server, "/v1/events/sse", "session.ended", {"Last-Event-ID": str(middle)}) == [one for one in told if one[0] > middle]


def test_a_turn_as_the_answer_to_its_message(server: Served) -> None:
    id = server.session()
    first = server.say(id, "echo one", includeRaw=True)
    assert (first[0]["type"], first[-1]["type"]) == ("turn.started", "turn.ended") and first[0]["raw"]
    assert server.say(id, "permission")[-1]["type"] == "permission.requested"
    asked = server.events(id)[-1]["data"]["permission_id"]
    # What is said during a turn waits, and so does its stream.
    server.http.post(f"/v1/sessions/{id}/permissions/{asked}/reply", json={"reply": "reject"})
    server.http.post(f"/v1/sessions/{id}/interrupt")
    assert server.say(id, "echo after")[-1]["type"] == "turn.ended"
    assert server.say(id, "error")[-1]["type"] == "error"
    server.until(lambda: server.daemon.row(id).status == "idle")
    assert server.say(id, "unparsed")[-1]["type"] == "agent.unparsed"


def test_a_turn_that_never_comes(server: Served) -> None:
    id = server.session()
    server.http.post(f"/v1/sessions/{id}/messages", json={"message": "hang"})
    for end in (lambda: server.http.delete(f"/v1/sessions/{id}/queue/1"), lambda: server.http.post(f"/v1/sessions/{id}/terminate")):
        with server.http.stream("POST", f"/v1/sessions/{id}/messages/stream", json={"message": "echo never"}) as answer:
            chunks = answer.iter_text()
            assert next(chunks) == ": heartbeat\n\n"
            assert end().status_code == 204
            assert frames("".join(chunks)) == []


def test_a_digest_as_it_comes(server: Served) -> None:
    id = server.session()
    server.say(id, "echo one")
    headers = {"Accept": "text/event-stream"}
    told = read(server, f"/v1/sessions/{id}/digest", "completed", headers)
    assert [event["type"] for _, event in told] == ["started", "completed"]
    rest = read(server, f"/v1/sessions/{id}/digest", "completed", headers | {"Last-Event-ID": str(told[0][0])})
    assert rest == told[1:]


def test_heartbeats(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.01)
    id = server.session()
    with server.http.stream("GET", f"/v1/sessions/{id}/events/sse?offset=1") as answer:
        beats = itertools.islice(answer.iter_lines(), 6)
        assert list(beats) == [": heartbeat", ""] * 3


def test_a_reader_that_goes_away_is_noticed(server: Served) -> None:
    id = server.session()
    with server.http.stream("GET", f"/v1/sessions/{id}/events/sse") as answer:
        chunks = answer.iter_raw()  # held: once it is collected the connection is closed
        next(chunks)
        assert len(server.daemon.streams) == 1
    server.until(lambda: len(server.daemon.streams) == 0)  # though nothing happened in the session


def test_a_reader_that_stalls_costs_nobody_else_anything(server: Served) -> None:
    id = server.session()
    address = urlsplit(server.url)
    request = f"GET /v1/sessions/{id}/events/sse HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    with socket.socket() as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect((address.hostname, address.port))
        stalled.sendall(request.encode())
        server.until(lambda: len(server.daemon.streams) == 1)
        for _ in range(3):
            server.say(id, "big 2000")
        told = read(server, f"/v1/sessions/{id}/events/sse?offset={server.daemon.row(id).summary.event_count - 1}", "turn.ended")
        assert len(told) == 1
    server.until(lambda: len(server.daemon.streams) == 0)


def test_the_end_of_the_server_ends_its_streams(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        id = server.session()
        with server.http.stream("GET", f"/v1/sessions/{id}/events/sse") as answer:
            chunks = answer.iter_text()
            text = next(chunks)
            server.run(server.daemon.sessions.close())
            server._loop.call_soon_threadsafe(server.daemon.streams.close)
            text += "".join(chunks)  # ends
            assert frames(text)[-1][1]["type"] == "session.ended"
        # One that comes too late is told what there is no longer: nothing.
        late = httpx.get(f"{server.url}/v1/sessions/{id}/events/sse", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE)
        assert late.status_code == 200
