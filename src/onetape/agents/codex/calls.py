"""The model's own calls in a rollout: begun by one line, answered by another, told better by an item between them.

A call is opened when the model makes it. If an item tells its outcome, that counts;
else the output that the model was given does: such calls are silent on the wire.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.codex.content import arguments, command_line, output_of, told
from onetape.agents.codex.items import Items, Place
from onetape.agents.codex.notices import steps
from onetape.agents.codex.outputs import Told, unwrapped
from onetape.agents.codex.tools import snake
from onetape.recent import Recent
from onetape.schema import Option, Question

_SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
_NAMES = {"wait_agent": "wait"}
# apply_patch as a command is no command: Codex takes it for a file change (capture 05c).
_PATCHING = re.compile(r"(?:\A|&&\s*|-l?c ['\"])apply_?patch\b")
_FAILURES = (
    "unsupported call", "apply_patch verification failed", "failed to parse", "exec_command failed", "unknown tool", "aborted by user",
)  # fmt: skip

# A question is told where it is answered: a refused one was never asked (capture 10c).
QUESTION = "request_user_input"


class Calls:
    def __init__(self, items: Items) -> None:
        self._items = items
        self._open: dict[str, dict[str, Any]] = {}
        self._running: dict[str, dict[str, Any]] = {}
        self._settled: Recent[str, None] = Recent(4096)

    def settled(self, id: str) -> None:
        """An item told what became of it."""
        self._settled[id] = None
        self._open.pop(id, None)

    def read(self, item: dict[str, Any], place: Place, *, is_paginated: bool) -> Iterator[d.Draft]:
        match item:
            case {"type": "function_call", "name": str(), "arguments": str(), "call_id": str(id)}:
                yield from self._begin(id, item, place)
            case {"type": "custom_tool_call", "name": str(), "input": str(), "call_id": str(id)}:
                yield from self._begin(id, item, place)
            case {"type": "local_shell_call", "action": {"command": [*_]}}:
                yield from self._begin(item.get("call_id") or item["id"], item, place)
            case {"type": "tool_search_call", "arguments": _}:
                yield from self._begin(item.get("call_id") or item["id"], {**item, "name": "tool_search"}, place)
            case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
                yield from self._answered(item, output, place, is_paginated=is_paginated)
            case {"type": "tool_search_output", "tools": tools}:
                yield from self._answered(item, arguments(tools), place, is_paginated=is_paginated)
            case {"type": "web_search_call", "id": str(id)}:
                action = item.get("action") or {}
                searched = {"type": "webSearch", "id": id, "query": action.get("query") or action.get("url"), "action": action}
                yield from self._whole(searched, place)
            case {"type": "image_generation_call", "id": str(id)}:
                drawn = {"type": "imageGeneration", "id": id, "revisedPrompt": item.get("revised_prompt"), "result": item.get("result")}
                yield from self._whole(drawn, place)
            case {"type": "web_search_call" | "image_generation_call"}:
                pass  # without an id (2025): its event tells it
            case _:
                yield d.Unknown({"type": "response_item", "payload": item})

    def _whole(self, item: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        """Ran at the provider's: call and result in one."""
        if item["id"] not in self._settled:
            self.settled(item["id"])
            yield from self._items.completed(item, place)

    def _begin(self, id: str, item: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        if id in self._open or id in self._settled:
            return
        self._open[id] = item
        if item.get("name") != QUESTION:
            yield d.Call(self._items.call_id(place, id), name_of(item), native_id=id, shell=_shell(item))

    def _answered(self, answer: dict[str, Any], output: Any, place: Place, *, is_paginated: bool) -> Iterator[d.Draft]:
        id = answer.get("call_id")
        item = self._open.get(id) if isinstance(id, str) else None
        if not isinstance(id, str) or item is None:
            return  # an item told it, or the client put it there itself
        body, failed = _body(output)
        text, parts, kept = output_of(body)
        said = unwrapped(text)
        call = self._items.call_id(place, id)
        yield from kept
        if item.get("name") == QUESTION and (answers := _answers(text)) is not None:
            yield from self._asked(call, item, answers)
        elif said.is_running and is_paginated:
            self._running[call] = item  # its item comes when it ends
            yield d.Running(call, background=True)
            yield d.Output(call, said.output)
        else:
            yield _final(call, item)
            yield _result(call, item, said, failed, parts)
            yield from _plan(item)
        del self._open[id]

    def unfinished(self) -> Iterator[d.Draft]:
        """The turn ends, and commands run on: what the model called is all that is known of their arguments."""
        for call, item in self._running.items():
            yield _final(call, item)
        self._running.clear()

    def _asked(self, call: str, item: dict[str, Any], answers: dict[str, Any]) -> Iterator[d.Draft]:
        asked = [
            Question(
                question["id"], question.get("header"), question["question"],
                [Option(option["label"], option.get("description")) for option in question.get("options") or ()],
            )
            for question in _given(item).get("questions") or ()
        ]  # fmt: skip
        yield d.Query(call, asked)
        chosen = [list(map(str, (answers.get(question.id) or {}).get("answers") or ())) for question in asked]
        yield d.Reply(call, chosen if answers else None)


# --- what was called --------------------------------------------------------


def name_of(item: dict[str, Any]) -> str:
    """The tool as the wire would name it."""
    name, namespace = item.get("name") or "shell", item.get("namespace") or ""
    if item["type"] == "local_shell_call" or name in _SHELLS:
        return "apply_patch" if _PATCHING.search(_command(item).get("command", "")) else "shell"
    if namespace.startswith("mcp__"):
        return f"{namespace.removeprefix('mcp__')}.{name}"
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return f"{server}.{tool}"
    server, joint, tool = name.partition("__")  # the first MCP spelling: server__tool
    return f"{server}.{tool}" if joint and server and tool else snake(_NAMES.get(name, name))


def _final(call: str, item: dict[str, Any]) -> d.Draft:
    return d.Call(call, name_of(item), _arguments(item), native_id=item.get("call_id") or item["id"], shell=_shell(item))


def _given(item: dict[str, Any]) -> dict[str, Any]:
    try:
        given = json.loads(item.get("arguments") or "{}")
    except (TypeError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}


def _arguments(item: dict[str, Any]) -> str:
    match item:
        case {"type": "custom_tool_call", "input": str(text)}:
            return arguments({"input": text})
        case {"type": "local_shell_call"}:
            return arguments(_command(item))
        case {"arguments": str(text)}:
            shown = _command(item) if name_of(item) == "shell" else None
            return arguments(shown) if shown else text if _is_json(text) else arguments({"input": text})
        case _:
            return arguments(item.get("arguments") or {})


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _command(item: dict[str, Any]) -> dict[str, Any]:
    """A command's line and directory, from whichever of the shell tools it was given to."""
    given = item["action"] if item["type"] == "local_shell_call" else _given(item)
    command = given.get("cmd") or given.get("command") or ""
    line = command_line(command) if isinstance(command, list) else str(command)
    return told(command=line, cwd=given.get("workdir") or given.get("working_directory"))


def _shell(item: dict[str, Any]) -> d.Shell | None:
    if name_of(item) != "shell":
        return None
    shown = _command(item)
    return d.Shell(shown.get("command"), shown.get("cwd"))


# --- what came of it --------------------------------------------------------


def _body(output: Any) -> tuple[Any, bool]:
    """In 2025 an output could be an object that says whether it was a success."""
    if isinstance(output, dict):
        return output.get("content_items") or output.get("content") or "", output.get("success") is False
    return output, False


def _result(call: str, item: dict[str, Any], answer: Told, failed: bool, parts: list[Any]) -> d.Result:
    shell = None
    if name_of(item) == "shell":
        shown = _command(item)
        ran = answer.exit_code is not None or answer.is_running
        shell = d.Shell(
            shown.get("command"), shown.get("cwd"), answer.exit_code, answer.output if ran else None, None, answer.duration_ms,
        )  # fmt: skip
        failed = failed or not ran
    failed = failed or answer.failed or bool(answer.exit_code) or answer.output.startswith(_FAILURES)
    return d.Result(call, answer.output, failed, "rejected by user" in answer.output, tuple(parts), shell)


def _answers(text: str) -> dict[str, Any] | None:
    try:
        native = json.loads(text)
    except ValueError:
        return None
    answers = native.get("answers") if isinstance(native, dict) else None
    return answers if isinstance(answers, dict) else None


def _plan(item: dict[str, Any]) -> Iterator[d.Draft]:
    if item.get("name") == "update_plan" and isinstance(plan := _given(item).get("plan"), list):
        yield d.Note("plan", _given(item).get("explanation"), steps(plan))
