"""The server's events: more lines for each thing that happens than any other agent has."""

from typing import Any

from native import Message, lines, listing, words

SESSION = "ses_e12f70579ffeE1XWVd6dQVU7Jw"
MODEL = {"providerID": "provider", "modelID": "model-1"}
TIMES = {"start": 1794988808452, "end": 1794988809120}


def reply(pieces: int) -> bytes:
    return lines([*_begin(), *_message(0, _streamed(0, words(pieces))), _event("session.idle")])


def tools(calls: int) -> bytes:
    told = [line for at in range(calls) for line in _message(at, [*_streamed(at, [f"Let me look at module {at}."]), *_used(at)])]
    return lines([*_begin(), *told, _event("session.idle")])


def _event(kind: str, **properties: Any) -> Message:
    return {"id": "evt_1ed08fab2001epUjiLnUHtXWK8", "type": kind, "properties": {"sessionID": SESSION, **properties}}


def _begin() -> list[Message]:
    info = {"id": SESSION, "version": "1.18.33", "directory": "/project", "title": "New session", "time": {"created": 1, "updated": 1}}
    user = {"id": "msg_user", "role": "user", "sessionID": SESSION, "time": {"created": 2}, "agent": "build", "model": MODEL}
    part = {"id": "prt_user", "type": "text", "text": "Go on.", "messageID": "msg_user", "sessionID": SESSION}
    return [
        _event("session.created", info=info), _event("message.updated", info=user), _event("message.part.updated", part=part, time=2),
        _event("session.status", status={"type": "busy"}),
    ]  # fmt: skip


def _message(at: int, parts: list[Message]) -> list[Message]:
    """One call of the model: begun, its parts, billed, completed."""
    info = {
        "id": f"msg_{at}", "role": "assistant", "sessionID": SESSION, "parentID": "msg_user", "mode": "build", "agent": "build",
        "path": {"cwd": "/project", "root": "/project"}, "time": {"created": 3}, **MODEL,
    }  # fmt: skip
    tokens = {"total": 1245, "input": 200, "output": 45, "reasoning": 0, "cache": {"read": 1000, "write": 0}}
    billed = {"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.001}
    return [
        _event("message.updated", info=info), _part(at, "begun", {"type": "step-start"}), *parts, _part(at, "billed", billed),
        _event("message.updated", info=info | {"time": {"created": 3, "completed": 4}, "tokens": tokens, "cost": 0.001}),
    ]  # fmt: skip


def _part(at: int, name: str, part: Message) -> Message:
    return _event("message.part.updated", part={"id": f"prt_{name}_{at}", "messageID": f"msg_{at}", "sessionID": SESSION, **part}, time=3)


def _streamed(at: int, pieces: list[str]) -> list[Message]:
    where = {"messageID": f"msg_{at}", "partID": f"prt_text_{at}", "field": "text"}
    return [
        _part(at, "text", {"type": "text", "text": "", "time": {"start": TIMES["start"]}}),
        *(_event("message.part.delta", **where, delta=piece) for piece in pieces),
        _part(at, "text", {"type": "text", "text": "".join(pieces), "time": TIMES}),
    ]


def _used(at: int) -> list[Message]:
    output = listing(at)
    args, told = {"command": f"ls src/module_{at}", "description": "List"}, {"output": output, "exit": 0, "truncated": False}
    states = [
        {"status": "pending", "input": {}, "raw": ""},
        {"status": "running", "input": args, "time": {"start": TIMES["start"]}},
        {"status": "running", "input": args, "time": {"start": TIMES["start"]}, "metadata": {"output": output}},
        {"status": "completed", "input": args, "output": output, "title": "List", "metadata": told, "time": TIMES},
    ]
    return [_part(at, "tool", {"type": "tool", "callID": f"call_{at}", "tool": "bash", "state": state}) for state in states]
