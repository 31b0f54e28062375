"""Documents made of transcripts: every golden case renders, and hostile content stays text."""

from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

import onetape
from onetape.export import html, markdown
from test_cases import CASES, Conversation

HOSTILE = (
    "<script>alert(1)</script> [x](javascript:alert(2)) ![i](http://evil.example/p.png) "
    "<img src=x onerror=alert(3)> ```\n</details>\"'>"
)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def hostile_session() -> list[onetape.Event]:
    ready = {"type": "ready", "session": HOSTILE, "version": HOSTILE, "model": HOSTILE, "mode": "b", "permission_mode": "d"}
    lines = [
        ready,
        {"type": "turn_start", "turn": "t"},
        {"type": "user", "id": "u", "text": HOSTILE, "attachments": [{"path": HOSTILE}]},
        {"type": "block_start", "block": "b"}, {"type": "block_end", "block": "b", "text": HOSTILE},
        {"type": "block_start", "block": "r", "kind": "reasoning"}, {"type": "block_end", "block": "r", "text": HOSTILE},
        {"type": "tool_call", "call": "c", "name": HOSTILE, "input": {HOSTILE: HOSTILE}},
        {"type": "ask_permission", "ask": "p", "tool": HOSTILE, "call": "c", "input": {"x": HOSTILE}},
        {"type": "tool_result", "call": "c", "output": HOSTILE, "files": [{"path": HOSTILE, "action": "patch", "diff": HOSTILE}]},
        {"type": "ask_question", "ask": "q", "questions": [{"id": "1", "prompt": HOSTILE, "options": [{"label": HOSTILE}]}]},
        {"type": "plan", "steps": [{"text": HOSTILE, "status": "pending"}]},
        {"type": "status", "label": "notice", "detail": HOSTILE},
        {"type": HOSTILE},
        {"type": "error", "message": HOSTILE},
        {"type": "turn_end", "turn": "t", "status": "failed"},
    ]  # fmt: skip
    return list(onetape.transcribe(b"\n".join(map(msgspec.json.encode, lines)), "mock"))


def test_html_is_harmless() -> None:
    tags = Tags("".join(html(hostile_session()))).found
    assert {tag for tag, _ in tags}.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "form", "svg"})
    for tag, attributes in tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert not str(attributes.get("href", "")).startswith("javascript"), tag


def test_html_shows_what_would_make_words_read_as_others() -> None:
    lines = [b'{"type":"turn_start","turn":"t1"}', '{"type":"user","id":"u","text":"run \u202egnp.exe \\u0000\\u001b[2J now"}'.encode()]
    page = "".join(html(onetape.transcribe(b"\n".join(lines), "mock")))
    assert "run [U+202E]gnp.exe \u2400\u241b[2J now" in page
    assert not set(page) & {"\u202e", "\0", "\x1b"}


def test_markdown_fences_cannot_be_ended_from_inside() -> None:
    text = "".join(markdown(hostile_session()))
    assert "````" in text


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.parent.name}/{case.stem}")
def test_every_case_renders(case: Any) -> None:
    events = Conversation(case).session.events
    assert "".join(html(events)).endswith("</body></html>\n")
    assert "".join(markdown(events)).startswith("# Session")
