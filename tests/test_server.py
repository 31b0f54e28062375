"""Every route over a real socket, with the mock agent behind it."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from onetape import promises
from onetape.agents import registry
from onetape.agents.agent import Launch, LaunchOptions, Mode
from onetape.agents.mock import AGENT
from onetape.schema import to_json
from onetape.server.problems import KINDS, URN
from serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("root")) as running:
        yield running


def check_problem(answer: httpx.Response, kind: str) -> dict[str, object]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    told = answer.json()
    assert told["type"] == URN + kind, told
    assert told["status"] == answer.status_code == KINDS[kind][0]
    assert told["title"] == KINDS[kind][1]
    return told


# --- sessions -----------------------------------------------------------------

INFO = {
    "sessionId", "agent", "agentMode", "permissionMode", "model", "variant", "nativeSessionId", "ended", "eventCount", "createdAt",
    "updatedAt", "directory", "title", "status", "origin", "queued", "usage", "resumedFrom", "turns", "error", "strange",
}  # fmt: skip


def test_a_session_from_its_creation_to_its_end(server: Served) -> None:
    made = server.http.post("/v1/sessions/first", json={"agent": "mock", "title": "A title", "unknownKey": 1})
    assert made.status_code == 200 and made.json()["healthy"] is True and made.json()["nativeSessionId"]
    assert [event["type"] for event in server.events("first")] == ["session.started"]

    turn = server.say("first", "echo hello")
    assert turn[0]["type"] == "turn.started" and turn[-1]["type"] == "turn.ended"

    info = server.http.get("/v1/sessions/first").json()
    assert set(info) == INFO
    assert info["title"] == "A title" and info["status"] == "idle" and info["turns"] == 1 and info["origin"] == "live"
    assert info["directory"] == str(server.daemon.sessions.root)
    assert info["eventCount"] == turn[-1]["sequence"] and 0 < info["createdAt"] <= info["updatedAt"]

    for _ in range(2):
        assert server.http.post("/v1/sessions/first/terminate").status_code == 204
    info = server.http.get("/v1/sessions/first").json()
    assert info["ended"] is True and info["status"] == "ended" and info["error"] is None
    assert not list(promises.check(promises.decode(map(to_json, server.events("first")))))


def test_an_id_of_ours_and_the_list(server: Served) -> None:
    answer = server.http.post("/v1/sessions", json={"agent": "mock"})
    assert answer.status_code == 201
    id = answer.json()["sessionId"]
    assert id.startswith("sess_")
    other = server.session()
    listed = server.http.get("/v1/sessions").json()
    ids = [one["sessionId"] for one in listed["sessions"]]
    assert ids.index(other) < ids.index(id) and listed["position"] >= 2
    assert [one["sessionId"] for one in server.http.get("/v1/sessions", params={"limit": 1}).json()["sessions"]] == [ids[0]]
    assert server.http.get("/v1/sessions", params={"before": other, "limit": 1}).json()["sessions"][0]["sessionId"] == id
    assert server.http.get("/v1/sessions", params={"agent": "nobody"}).json()["sessions"] == []
    assert server.http.get("/v1/sessions", params={"before": "nobody"}).json()["sessions"] == []
    assert len(server.http.get("/v1/sessions", params={"limit": 10**12}).json()["sessions"]) == len(ids)
    assert [one["sessionId"] for one in server.http.get("/v1/sessions", params={"q": id}).json()["sessions"]] == [id]


def test_an_id_with_a_slash(server: Served) -> None:
    server.session("a%2Fb c")
    assert server.http.get("/v1/sessions/a%2Fb%20c").json()["sessionId"] == "a/b c"
    assert server.say("a%2fb%20c", "echo x")[-1]["session_id"] == "a/b c"
    assert server.http.delete("/v1/sessions/a%2Fb%20c").status_code == 204
    check_problem(server.http.get("/v1/sessions/a%2Fb%20c"), "session_not_found")


def test_what_a_session_is_created_with(server: Served, tmp_path: Path) -> None:
    options = {"directory": str(tmp_path), "model": "mock-1", "variant": "high", "agentMode": "plan", "permissionMode": "acceptEdits"}
    mcp = {"notes": {"type": "local", "command": ["notes", "--stdio"], "cwd": None}, "far": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}
    id = server.session(mcp=mcp, **options)
    info = server.http.get(f"/v1/sessions/{id}").json()
    assert {name: info[name] for name in options} == options
    assert server.daemon.row(id).mcp == {
        "notes": {"type": "local", "command": ["notes", "--stdio"]},
        "far": {"type": "remote", "url": "http://127.0.0.1:9/mcp"},
    }


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({}, "invalid_request"),
        ({"agent": 1}, "invalid_request"),
        ({"agent": "nobody"}, "unsupported_agent"),
        ({"agent": "mock", "agentMode": "none"}, "mode_not_supported"),
        ({"agent": "mock", "permissionMode": "none"}, "mode_not_supported"),
        ({"agent": "mock", "directory": "not/there"}, "invalid_request"),
        ({"agent": "mock", "directory": "~nobody-of-this-name"}, "invalid_request"),
        ({"agent": "mock", "directory": "x" * 5000}, "invalid_request"),
        ({"agent": "mock", "skills": {"sources": [{}]}}, "invalid_request"),
        ({"agent": "mock", "env": {"PATH": "/"}}, "permission_denied"),
        ({"agent": "mock", "agentVersion": "0.0.1"}, "agent_not_installed"),
        ({"agent": "mock", "mcp": {"x": {"type": "local"}}}, "invalid_request"),
        ({"agent": "mock", "mcp": {"x": {"type": "remote"}}}, "invalid_request"),
        ({"agent": "mock", "mcp": {"x": {"type": "other", "url": "http://127.0.0.1"}}}, "invalid_request"),
    ],
)
def test_what_is_refused_before_anything_starts(server: Served, told: dict[str, object], kind: str) -> None:
    before = server.http.get("/v1/sessions").json()["sessions"]
    for path in ("/v1/sessions", "/v1/sessions/refused"):
        check_problem(server.http.post(path, json=told), kind)
    assert server.http.get("/v1/sessions").json()["sessions"] == before


@pytest.mark.parametrize("id", ["~hidden", "a%0Ab", "%00", "%1B%5B2J", "x" * 600])
def test_ids_that_a_list_could_not_show(server: Served, id: str) -> None:
    check_problem(server.http.post(f"/v1/sessions/{id}", json={"agent": "mock"}), "invalid_request")
    check_problem(server.http.get(f"/v1/sessions/{id}"), "session_not_found")


def test_modes_as_clients_of_the_published_api_name_them(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """They send "build" for every agent, and their page the first mode of another agent, which may be "default"."""
    modes = {"default": Mode("Default", ""), "plan": Mode("Plan", "")}
    for known, told, meant in (
        (AGENT.modes, "build", "build"), (AGENT.modes, "default", "build"), (AGENT.modes, "plan", "plan"),
        (modes, "build", "build"), (modes, "default", "build"), (modes, "plan", "plan"),
    ):  # fmt: skip
        agent = msgspec.structs.replace(AGENT, modes=known)
        monkeypatch.setattr(registry, "find", lambda name, agent=agent: agent)
        id = server.session(agentMode=told)
        assert server.http.get(f"/v1/sessions/{id}").json()["agentMode"] == meant  # the mock's own, where it was told none
    agent = msgspec.structs.replace(AGENT, modes={"first": Mode("First", ""), "plan": Mode("Plan", "")})
    monkeypatch.setattr(registry, "find", lambda name: agent)
    assert server.http.patch(f"/v1/sessions/{id}", json={"agentMode": "build"}).status_code == 200
    server.until(lambda: server.daemon.row(id).summary.agent_mode == "first")
    check_problem(server.http.patch(f"/v1/sessions/{id}", json={"agentMode": "flying"}), "mode_not_supported")


def test_an_agent_that_does_not_start_well(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(options: LaunchOptions) -> Launch:
        return Launch([sys.executable, "-c", "import sys; sys.exit('no licence')"], options.cwd)

    monkeypatch.setattr(registry, "find", lambda name: msgspec.structs.replace(AGENT, launch=launch))
    told = {"healthy": False, "error": {"type": "agent_process_exited", "message": "no licence"}}
    assert server.http.post("/v1/sessions/unwell", json={"agent": "mock"}).json() == told
    made = server.http.post("/v1/sessions", json={"agent": "mock"})
    assert made.status_code == 201 and made.json() == {"sessionId": made.json()["sessionId"], **told}


def test_skills_that_are_none_are_no_skills(server: Served) -> None:
    assert server.session(skills={"sources": []}) and server.session(skills={"paths": None})


def test_the_environment_where_the_operator_lets_requests_set_it(tmp_path: Path) -> None:
    with served(tmp_path, allows_env=True) as lenient:
        assert lenient.session(env={"COLOUR": "blue"})


def test_change_and_delete(server: Served) -> None:
    id = server.session()
    changed = server.http.patch(f"/v1/sessions/{id}", json={"title": "Another", "model": "mock-1", "variant": "low"})
    assert changed.status_code == 200 and changed.json()["title"] == "Another"
    check_problem(server.http.patch(f"/v1/sessions/{id}", json={"permissionMode": "none"}), "mode_not_supported")
    assert server.http.delete(f"/v1/sessions/{id}").status_code == 204
    check_problem(server.http.get(f"/v1/sessions/{id}/events"), "session_not_found")


def test_the_permission_mode_of_a_running_session(server: Served) -> None:
    id = server.session()
    info = server.http.patch(f"/v1/sessions/{id}", json={"permissionMode": "bypass"}).json()
    assert (info["permissionMode"], info["agentMode"]) == ("bypass", "build")
    assert server.say(id, "permission")[-1]["type"] == "turn.ended"
    server.http.patch(f"/v1/sessions/{id}", json={"permissionMode": "default"})
    assert server.say(id, "permission")[-1]["type"] == "permission.requested"


def test_interrupt_and_resume(server: Served) -> None:
    id = server.session(title="Kept")
    assert server.http.post(f"/v1/sessions/{id}/messages", json={"message": "hang"}).status_code == 204
    assert server.http.post(f"/v1/sessions/{id}/interrupt").status_code == 204
    server.until(lambda: server.daemon.row(id).summary.turns == 1)
    assert server.events(id)[-1]["data"]["metadata"]["status"] == "interrupted"
    check_problem(server.http.post(f"/v1/sessions/{id}/resume", json={}), "conflict")
    server.http.post(f"/v1/sessions/{id}/terminate")
    check_problem(server.http.post(f"/v1/sessions/{id}/messages", json={"message": "echo"}), "conflict")
    again = server.http.post(f"/v1/sessions/{id}/resume")
    assert again.status_code == 201
    info = server.http.get(f"/v1/sessions/{again.json()['sessionId']}").json()
    assert info["resumedFrom"] == id and info["title"] == "Kept"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None), ("PATCH", "", {}), ("DELETE", "", None), ("POST", "/messages", {"message": "x"}),
        ("POST", "/messages/stream", {"message": "x"}), ("POST", "/interrupt", None), ("POST", "/terminate", None), ("POST", "/resume", {}),
        ("GET", "/events", None), ("GET", "/events/sse", None), ("GET", "/digest", None), ("DELETE", "/queue/1", None),
        ("POST", "/permissions/p/reply", {"reply": "once"}), ("POST", "/questions/q/reply", {"answers": []}),
        ("POST", "/questions/q/reject", None),
    ],
)  # fmt: skip
def test_a_session_that_is_not_there(server: Served, method: str, path: str, body: object) -> None:
    told = check_problem(server.http.request(method, f"/v1/sessions/nobody{path}", json=body), "session_not_found")
    assert told["sessionId"] == "nobody"


# --- messages and events --------------------------------------------------------


def test_a_message_during_a_turn_waits_and_can_be_taken_back(server: Served) -> None:
    id = server.session()
    server.http.post(f"/v1/sessions/{id}/messages", json={"message": "hang"})
    for words in ("echo one", "echo two"):
        assert server.http.post(f"/v1/sessions/{id}/messages", json={"message": words}).status_code == 204
    queued = server.http.get(f"/v1/sessions/{id}").json()["queued"]
    assert [one["message"] for one in queued] == ["echo one", "echo two"]
    assert server.http.delete(f"/v1/sessions/{id}/queue/{queued[0]['number']}").status_code == 204
    check_problem(server.http.delete(f"/v1/sessions/{id}/queue/{queued[0]['number']}"), "invalid_request")
    server.http.post(f"/v1/sessions/{id}/interrupt")
    server.until(lambda: server.daemon.row(id).summary.turns == 2)
    assert server.http.get(f"/v1/sessions/{id}").json()["queued"] == []


def test_pages_of_events(server: Served) -> None:
    id = server.session()
    server.say(id, "demo")
    whole = server.http.get(f"/v1/sessions/{id}/events").json()
    count = len(whole["events"])
    assert whole["hasMore"] is False and [event["sequence"] for event in whole["events"]] == list(range(1, count + 1))
    page = server.http.get(f"/v1/sessions/{id}/events", params={"offset": 2, "limit": 3}).json()
    assert [event["sequence"] for event in page["events"]] == [3, 4, 5] and page["hasMore"] is True
    last = server.http.get(f"/v1/sessions/{id}/events", params={"offset": count - 1, "limit": 1}).json()
    assert len(last["events"]) == 1 and last["hasMore"] is False
    assert server.http.get(f"/v1/sessions/{id}/events", params={"offset": count}).json() == {"events": [], "hasMore": False}
    assert server.http.get(f"/v1/sessions/{id}/events", params={"limit": 10**12}).json() == whole
    for offset, more in ((0, True), (count, False)):
        none = server.http.get(f"/v1/sessions/{id}/events", params={"offset": offset, "limit": 0}).json()
        assert none == {"events": [], "hasMore": more}
    for spelling in ("includeRaw", "include_raw"):
        assert all(event["raw"] is not None for event in server.events(id, **{spelling: "true"}) if not event["synthetic"])
    assert all(event["raw"] is None for event in whole["events"])
    for query in ({"limit": -1}, {"offset": -1}, {"offset": "x"}, {"offset": 1 << 53}):
        check_problem(server.http.get(f"/v1/sessions/{id}/events", params=query), "invalid_request")


def test_digest(server: Served) -> None:
    id = server.session()
    server.say(id, "echo hello")
    told = server.http.get(f"/v1/sessions/{id}/digest").json()["events"]
    assert [event["type"] for event in told] == ["started", "completed"] and told[-1]["answer"] == "hello"
    assert server.http.get(f"/v1/sessions/{server.session()}/digest").json() == {"events": []}


def test_blobs(server: Served) -> None:
    id = server.session()
    server.say(id, "image")
    parts = [part for event in server.events(id) if event["type"] == "item.completed" for part in event["data"]["item"]["content"]]
    path = next(part["path"] for part in parts if part["type"] == "image")
    answer = server.http.get(f"/v1/{path}")
    assert answer.status_code == 200 and answer.headers["content-type"] == "image/png" and "immutable" in answer.headers["cache-control"]
    for name in ("0" * 64 + ".png", "nothing", "..%2F..%2Fetc%2Fpasswd"):
        check_problem(server.http.get(f"/v1/blobs/{name}"), "not_found")


# --- asks ------------------------------------------------------------------------


def test_a_permission_is_answered_once(server: Served) -> None:
    id = server.session()
    asked = server.say(id, "permission")[-1]
    assert asked["type"] == "permission.requested"
    waiting = [one for one in server.http.get("/v1/pending").json()["pending"] if one["sessionId"] == id]
    assert len(waiting) == 1 and waiting[0]["type"] == "permission" and waiting[0]["agent"] == "mock"
    assert waiting[0]["data"] == asked["data"] and isinstance(waiting[0]["requestedAt"], int)
    assert server.http.get(f"/v1/sessions/{id}").json()["status"] == "waiting"

    reply = f"/v1/sessions/{id}/permissions/{asked['data']['permission_id']}/reply"
    check_problem(server.http.post(reply, json={"reply": "maybe"}), "invalid_request")
    assert server.http.post(reply, json={"reply": "once"}).status_code == 204
    assert any(event["type"] == "permission.resolved" for event in server.events(id))
    assert server.http.post(reply, json={"reply": "once"}).status_code == 204
    check_problem(server.http.post(reply, json={"reply": "reject"}), "conflict")
    check_problem(server.http.post(f"/v1/sessions/{id}/permissions/none/reply", json={"reply": "once"}), "invalid_request")
    assert asked["data"] not in [one["data"] for one in server.http.get("/v1/pending").json()["pending"]]


def test_questions(server: Served) -> None:
    id = server.session()
    first = server.say(id, "question")[-1]
    assert first["type"] == "question.requested"
    reply = f"/v1/sessions/{id}/questions/{first['data']['question_id']}/reply"
    assert server.http.post(reply, json={"answers": [["blue"]]}).status_code == 204
    server.until(lambda: server.daemon.row(id).status == "waiting")
    second = next(one for one in server.http.get("/v1/pending").json()["pending"] if one["sessionId"] == id)["data"]["question_id"]
    assert second != first["data"]["question_id"]
    assert server.http.post(f"/v1/sessions/{id}/questions/{second}/reject").status_code == 204
    resolved = [event["data"]["status"] for event in server.events(id) if event["type"] == "question.resolved"]
    assert resolved == ["answered", "rejected"]
    check_problem(server.http.post(f"/v1/sessions/{id}/questions/none/reject"), "invalid_request")


def test_an_answer_without_answers_is_a_reject(server: Served) -> None:
    id = server.session()
    for nothing in ([], [[]]):
        ask = server.say(id, "question")[-1]["data"]["question_id"]
        for _ in range(2):  # the second time it is settled
            assert server.http.post(f"/v1/sessions/{id}/questions/{ask}/reply", json={"answers": nothing}).status_code == 204
        assert server.http.post(f"/v1/sessions/{id}/questions/{ask}/reject").status_code == 204
        check_problem(server.http.post(f"/v1/sessions/{id}/questions/{ask}/reply", json={"answers": [["blue"]]}), "conflict")
        server.http.post(f"/v1/sessions/{id}/interrupt")
        server.until(lambda: not server.daemon.row(id).summary.in_turn)
    assert {event["data"]["status"] for event in server.events(id) if event["type"] == "question.resolved"} == {"rejected"}


def test_an_answer_to_a_question_counts_once(server: Served) -> None:
    id = server.session()
    ask = server.say(id, "question")[-1]["data"]["question_id"]
    reply = f"/v1/sessions/{id}/questions/{ask}/reply"
    told = check_problem(server.http.post(reply, json={"answers": [["red"], ["blue"]]}), "invalid_request")
    assert told["detail"] == f"{ask} has 1 question, and 2 answers were given"
    for _ in range(2):
        assert server.http.post(reply, json={"answers": [["red"]]}).status_code == 204
    check_problem(server.http.post(reply, json={"answers": [["blue"]]}), "conflict")
    check_problem(server.http.post(f"/v1/sessions/{id}/questions/{ask}/reject"), "conflict")


# --- agents ------------------------------------------------------------------------


def test_agents(server: Served) -> None:
    listed = {agent["id"]: agent for agent in server.http.get("/v1/agents").json()["agents"]}
    mock = listed["mock"]
    assert mock["installed"] is True and mock["credentialsAvailable"] is True and mock["version"]
    assert mock["capabilities"]["permissions"] is True and mock["capabilities"]["sharedProcess"] is False
    assert len(mock["capabilities"]) == 19
    assert [mode["id"] for mode in server.http.get("/v1/agents/mock/modes").json()["modes"]] == ["build", "plan"]
    models = server.http.get("/v1/agents/mock/models").json()
    assert models["models"][0]["id"] == models["defaultModel"]
    for path in ("modes", "models"):
        assert check_problem(server.http.get(f"/v1/agents/nobody/{path}"), "unsupported_agent")["agent"] == "nobody"
    for body in (None, {"reinstall": True}):
        assert server.http.post("/v1/agents/mock/install", json=body).status_code == 204  # built in: clients install whatever is listed
    check_problem(server.http.post("/v1/agents/nobody/install", json={}), "unsupported_agent")


def test_an_answer_to_something_else(server: Served) -> None:
    id = server.session()
    ask = server.say(id, "permission")[-1]["data"]["permission_id"]
    for _ in range(2):
        check_problem(server.http.post(f"/v1/sessions/{id}/questions/{ask}/reply", json={"answers": [["x"]]}), "invalid_request")
        check_problem(server.http.post(f"/v1/sessions/{id}/questions/{ask}/reject"), "invalid_request")
        assert server.http.post(f"/v1/sessions/{id}/permissions/{ask}/reply", json={"reply": "once"}).status_code == 204


# --- the framework's own errors ------------------------------------------------------


def test_errors_of_the_framework_are_problems(server: Served) -> None:
    check_problem(server.http.get("/v1/nothing"), "not_found")
    refused = server.http.put("/v1/sessions")
    check_problem(refused, "method_not_allowed")
    for answer in (refused, server.http.options("/v1/sessions")):
        assert set(answer.headers["allow"].split(", ")) == {"GET", "OPTIONS", "POST"}
    check_problem(server.http.post("/v1/sessions", content=b'{"agent": '), "invalid_request")
    told = check_problem(server.http.post("/v1/sessions", json={"agent": "mock", "title": 3}), "invalid_request")
    assert told["details"] == [{"message": "Expected `str | null`, got `int`", "key": "title", "source": "body"}]
    check_problem(server.http.post("/v1/sessions", content=b'"' + b"x" * (16 << 20) + b'"'), "too_large")
    check_problem(server.http.post("/v1/sessions", content=b'{"agent": "\xff"}'), "invalid_request")


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("POST", "/v1/sessions", {"agent": "mock", "title": 3}, "title: Expected `str | null`, got `int`"),
        ("POST", "/v1/sessions", {}, "Object missing required field `agent`"),
        ("POST", "/v1/sessions", None, "a JSON body is missing"),
        ("GET", "/v1/search?q=x&limit=0", None, "limit: Expected `int` >= 1"),
        ("GET", "/v1/sessions/x/events?include_raw=maybe", None, "includeRaw: Expected `bool`, got `str`"),
    ],
)
def test_a_problem_says_in_one_sentence_what_is_wrong(server: Served, method: str, path: str, body: object, detail: str) -> None:
    """Clients show the detail, and nothing else."""
    assert check_problem(server.http.request(method, path, json=body), "invalid_request")["detail"] == detail


@pytest.mark.parametrize(
    ("method", "path", "content", "kind", "detail"),
    [
        ("GET", "/v1/no%2Fthing%ff?q={}", b"", "not_found", "there is no route GET /v1/no%2Fthing%ff"),
        ("PUT", "/v1/sessions", b"", "method_not_allowed", "there is no route PUT /v1/sessions: the path takes other methods"),
        ("POST", "/v1/sessions", b" " * (16 << 20) + b"1", "too_large", "the body of POST /v1/sessions is too large"),
    ],
)
def test_what_only_the_framework_knows(server: Served, method: str, path: str, content: bytes, kind: str, detail: str) -> None:
    assert check_problem(server.http.request(method, path, content=content), kind)["detail"] == detail


def test_health_without_words(server: Served) -> None:
    assert server.http.head("/v1/health").status_code == 200


def test_a_bug_of_ours_tells_nothing(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(server.daemon.store, "pending", broken)
    answer = server.http.get("/v1/pending")
    check_problem(answer, "internal_error")
    assert "secret" not in answer.text


def test_a_full_disk_is_no_bug_of_ours(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/place")

    monkeypatch.setattr(server.daemon.store, "pending", full)
    told = check_problem(server.http.get("/v1/pending"), "internal_error")
    assert told["detail"] == "the server's system says: No space left on device"
