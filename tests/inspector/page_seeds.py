"""Sessions that are there before the daemon starts: captures of every agent, a very long one, and one that means harm."""

import json
import time
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onetape import tape
from onetape.agents import registry
from onetape.archive.writing import Writing
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import SessionRow
from onetape.tape import Head
from onetape.transcribe import Transcriber, head_of

CAPTURES = Path(__file__).parents[1] / "captures"
PER_AGENT = 6
LONG = "sess_long"
LONG_EVENTS = 100_000
HOSTILE = "sess_hostile"
RTL = "\u202e"


def seed(store: Sqlite, session_id: str, agent: str, source: bytes, title: str | None = None) -> int:
    """Puts a recording into the log as an imported session; how many events it has."""
    records, known = list(tape.read([source])), registry.find(agent)
    head = head_of(records[0]) if records and records[0].dir == "head" else Head()
    dialect = Transcriber(known, head, records[:64], session_id=session_id).translator.dialect
    row = SessionRow(session_id, agent, "imported", created_at=int(time.time() * 1000), key=session_id, title=title)
    store.create(row)
    writing = Writing(store, known, replace(head, session_id=session_id, key=session_id, dialect=dialect), row)
    writing.add(records)
    writing.finish()
    return row.summary.event_count


def captures() -> Iterator[tuple[str, str, bytes]]:
    """Some recordings of each agent: a session id, the agent, the bytes."""
    for folder in sorted(CAPTURES.iterdir()):
        recordings = sorted(path for path in folder.rglob("*.jsonl") if "history" not in path.parts and "threads" not in path.parts)
        step = max(1, len(recordings) // PER_AGENT)
        for path in recordings[::step][:PER_AGENT]:
            yield f"sess_{folder.name}_{path.parent.name}_{path.stem}".replace(".", "_"), folder.name, path.read_bytes()


def lines(messages: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def ready() -> dict[str, Any]:
    return {"type": "ready", "session": "m", "version": "1.0", "model": "mock-1", "mode": "build", "permission_mode": "default"}


def long_session() -> bytes:
    return lines(_long())


def _long() -> Iterator[dict[str, Any]]:
    yield ready()
    events = 1
    for turn in count(1):
        if events >= LONG_EVENTS:
            return
        yield {"type": "turn_start", "turn": f"t{turn}"}
        yield {"type": "user", "id": f"u{turn}", "text": f"Message number {turn}"}
        yield {"type": "block_start", "block": f"b{turn}"}
        for word in range(60):
            yield {"type": "block_delta", "block": f"b{turn}", "text": f"word{word} "}
        yield {"type": "block_end", "block": f"b{turn}"}
        run = {"command": f"echo {turn}"}
        yield {"type": "tool_call", "call": f"c{turn}", "name": "bash", "input": run, "run": run}
        yield {"type": "tool_result", "call": f"c{turn}", "output": f"{turn}\n", "run": {**run, "exit_code": 0}}
        yield {"type": "turn_end", "turn": f"t{turn}", "status": "completed", "usage": {"input": 10, "output": 60}}
        events += 70


MARKUP = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><iframe src='https://evil.example'></iframe>"
MARKDOWN = (
    "![pixel](https://evil.example/pixel.png) [click](javascript:window.hurt=1) [data](data:text/html,<script>window.hurt=1</script>)\n\n"
    "<style>body { display: none }</style>\n\n<a href='javascript:window.hurt=1'>raw</a>\n\n"
    f"bidi {RTL}gnp.exe\u202c end\n\n```html\n<script>window.hurt = 1</script>\n```\n"
)


def hostile_session() -> bytes:
    """Harm in every field that a page shows."""
    bad = MARKUP + MARKDOWN
    wide = "x" * 300_000
    ansi = "\x1b]0;title\x07\x1b[31mred\x1b[0m\x1b]8;;javascript:window.hurt=1\x07link\x1b]8;;\x07" + bad
    diff = f"--- {MARKUP}\n+++ {MARKUP}\n@@ -1 +1 @@\n-{bad!r}\n+{wide}\n"
    usage = {"input": 1, "output": 1, "model": MARKUP}
    question = {"id": "1", "prompt": bad, "header": MARKUP, "options": [{"label": MARKUP, "description": bad}], "multi_select": True}
    return lines([
        {**ready(), "model": MARKUP, "cwd": MARKUP},
        {"type": "turn_start", "turn": "t1"},
        {"type": "user", "id": "u1", "text": bad + RTL},
        {"type": "block_start", "block": "b0", "kind": "reasoning"},
        {"type": "block_end", "block": "b0", "text": bad},
        {"type": "block_start", "block": "b1"},
        {"type": "block_end", "block": "b1", "text": bad},
        {"type": "block_start", "block": "b2"},
        {"type": "block_end", "block": "b2", "text": wide},
        {"type": "status", "label": "notice", "detail": bad},
        {"type": "plan", "steps": [{"text": bad, "status": "pending"}]},
        {"type": "tool_call", "call": "c1", "name": MARKUP, "input": {"command": bad}, "run": {"command": bad}},
        {"type": "tool_result", "call": "c1", "output": ansi, "ok": False,
         "run": {"command": bad, "cwd": MARKUP, "exit_code": 1, "stderr": ansi},
         "files": [{"path": MARKUP, "action": "patch", "diff": diff}]},
        {"type": "ask_permission", "ask": "p1", "tool": MARKUP, "call": "c1", "input": {"command": bad}, "reason": bad, "diff": diff},
        {"type": "ask_withdrawn", "ask": "p1"},
        {"type": "ask_question", "ask": "q1", "questions": [question]},
        {"type": "ask_withdrawn", "ask": "q1"},
        {"type": MARKUP, "text": bad},
        {"type": "error", "message": bad, "code": MARKUP, "details": {MARKUP: bad}},
        {"type": "turn_end", "turn": "t1", "status": "failed", "usage": usage},
    ])  # fmt: skip


def seed_all(directory: Path) -> None:
    store = Sqlite(directory)
    try:
        for session_id, agent, source in captures():
            seed(store, session_id, agent, source)
        assert seed(store, LONG, "mock", long_session(), "A hundred thousand events") >= LONG_EVENTS
        seed(store, HOSTILE, "mock", hostile_session(), f"Hostile {MARKUP}{RTL}")
    finally:
        store.close()
