"""The scripted model itself, without any agent: what it says in each API, what it heard, and that it waits where it is told to."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from lab.model import Model, Talk
from lab.script import Answer, ApiError, Text, Thinking, Tool, pieces

ANTHROPIC, COMPLETIONS, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
PIXEL = "cGl4ZWw="
TOOLS: dict[str, list[dict[str, Any]]] = {
    ANTHROPIC: [{"name": "sh"}],
    COMPLETIONS: [{"type": "function", "function": {"name": "sh"}}],
    RESPONSES: [{"type": "function", "name": "sh"}],
}


def user(path: str, words: str) -> dict[str, Any]:
    """A request of an agent's main loop, which offers a tool and shows an image."""
    match path:
        case "/v1/messages":
            image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
            said = {"messages": [{"role": "user", "content": [{"type": "text", "text": words}, image]}], "output_config": {"effort": "low"}}
        case "/v1/chat/completions":
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
            said = {"messages": [{"role": "user", "content": [{"type": "text", "text": words}, image]}], "reasoning_effort": "low"}
        case _:
            image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
            content = [{"type": "input_text", "text": words}, image]
            said = {"input": [{"type": "message", "role": "user", "content": content}], "reasoning": {"effort": "low"}}
    return {"model": "lab-1", "stream": True, "tools": TOOLS[path], **said}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


def post(model: Model, path: str, body: dict[str, Any]) -> tuple[HTTPConnection, HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", int(model.url.rpartition(":")[2]), timeout=10)
    connection.request("POST", f"{path}?beta=true", json.dumps(body))
    return connection, connection.getresponse()


def answer(model: Model, path: str, body: dict[str, Any]) -> tuple[int, list[Any]]:
    """The status, and the data of each frame."""
    connection, response = post(model, path, body)
    with response:
        text = response.read().decode()
    connection.close()
    data = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: {")]
    return response.status, list(map(json.loads, data or [text]))


def ask(model: Model, path: str, talk: Talk) -> tuple[int, list[Any]]:
    return answer(model, path, user(path, talk.prompt("Hi")))


def strings(value: Any, *names: str) -> str:
    """The strings under these names, wherever they are, joined."""
    if isinstance(value, dict):
        return "".join(inner if name in names and isinstance(inner, str) else strings(inner, *names) for name, inner in value.items())
    return "".join(strings(inner, *names) for inner in value) if isinstance(value, list) else ""


@pytest.mark.parametrize(
    ("path", "words", "thoughts", "arguments"),
    [(ANTHROPIC, "text", "thinking", "partial_json"), (COMPLETIONS, "content", "reasoning_content", "arguments")],
)
def test_it_says_what_the_script_says(model: Model, path: str, words: str, thoughts: str, arguments: str) -> None:
    talk = model.talk("all", (Thinking("Hm, yes."), Text("Hello."), Tool("sh", {"command": "ls"})))
    status, frames = ask(model, path, talk)
    assert status == 200
    assert strings(frames, words) == "Hello."
    assert strings(frames, thoughts) == "Hm, yes."
    assert json.loads(strings(frames, arguments)) == {"command": "ls"}
    assert talk.is_over


def test_it_says_it_by_items_too(model: Model) -> None:
    talk = model.talk("all", (Thinking("Hm."), Text("Hello."), Tool("sh", {"command": "ls"}), Tool("patch", "*** free")))
    _, frames = ask(model, RESPONSES, talk)
    items = [frame["item"] for frame in frames if frame["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call", "custom_tool_call"]
    assert strings([frame for frame in frames if frame["type"] == "response.output_text.delta"], "delta") == "Hello."
    assert (items[2]["arguments"], items[3]["input"]) == ('{"command":"ls"}', "*** free")


@pytest.mark.parametrize("path", [ANTHROPIC, COMPLETIONS, RESPONSES])
def test_it_tells_what_it_heard(model: Model, path: str) -> None:
    talk = model.talk("heard", Text("Yes."))
    ask(model, path, talk)
    [asked] = talk.asked
    assert (asked.model, asked.effort, asked.tools, asked.images) == ("lab-1", "low", ["sh"], [b"pixel"])
    assert asked.texts == ["Hi [talk heard]"]


@pytest.mark.parametrize("path", [ANTHROPIC, COMPLETIONS, RESPONSES])
def test_an_error_is_an_answer(model: Model, path: str) -> None:
    status, [body] = ask(model, path, model.talk("error", ApiError(429, "too much")))
    assert (status, body["error"]["message"]) == (429, "too much")


@pytest.mark.parametrize("path", [ANTHROPIC, COMPLETIONS, RESPONSES])
def test_it_waits_in_mid_answer(model: Model, path: str) -> None:
    talk = model.talk("held", Text("onetwo", chunks=2, hold=1))
    connection, response = post(model, path, user(path, talk.prompt("Hi")))
    talk.wait_held()
    while b"one" not in response.readline():
        pass
    talk.release()
    rest = response.read()
    connection.close()
    assert b"two" in rest


def test_conversations_are_told_apart(model: Model) -> None:
    one, two = model.talk("one", Text("1")), model.talk("two", Text("2"))
    assert strings(ask(model, COMPLETIONS, two)[1], "content") == "2"
    assert (one.is_over, two.is_over) == (False, True)


@pytest.mark.parametrize("answers", [(), (Text("1"),)])
def test_what_no_script_foresaw_is_refused(model: Model, answers: tuple[Answer, ...]) -> None:
    talk = model.talk("short", *answers)
    for _ in range(len(answers) + 1):
        status, _ = ask(model, ANTHROPIC, talk)
    assert (status, talk.is_over) == (403, False)
    assert answer(model, ANTHROPIC, user(ANTHROPIC, "no mark"))[0] == 403
    assert len(model.strays) == 1


def test_titles_take_nothing_from_a_script(model: Model) -> None:
    talk = model.talk("titled", Text("Yes."))
    answer(model, COMPLETIONS, user(COMPLETIONS, talk.prompt("A title, please")) | {"tools": []})
    forced = {"tool_choice": {"type": "tool", "name": "set_title"}}
    assert strings(answer(model, ANTHROPIC, user(ANTHROPIC, talk.prompt("A title, please")) | forced)[1], "name") == "set_title"
    assert (talk.asked, len(model.by_the_way)) == ([], 2)


def test_a_probe_wants_no_stream(model: Model) -> None:
    status, [message] = answer(model, ANTHROPIC, user(ANTHROPIC, "Are you there?") | {"tools": [], "stream": False})
    assert (status, message["type"], message["content"][0]["type"]) == (200, "message", "text")


def test_pieces_add_up() -> None:
    assert pieces("abcdefg", 3) == ["abc", "def", "g"]
    assert pieces("", 3) == [""]
    assert pieces("ab", 5) == ["a", "b"]
