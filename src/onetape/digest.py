"""The run-level view of a transcript: started, actions, completed. The same for every agent.

    for event in digest(transcribe(tape, "…")): ...

Per turn one `started`, any number of `action`, one `completed`. Derived from events
alone and as they come: an action appears when its item does.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from onetape import schema
from onetape.agents import registry
from onetape.schema import Event, Item

ActionKind: TypeAlias = Literal["command", "file_change", "tool", "web_search", "subagent", "note", "turn", "warning", "telemetry"]

# Tool names in every agent's spelling, compared without case; an agent's folder may override them.
_TOOLS: dict[str, tuple[str, ...]] = {
    "command": (
        "bash", "shell", "powershell", "exec", "exec_command", "shell_command", "async_shell_command", "local_shell", "unified_exec",
        "run_command",
    ),
    "file_change": (
        "edit", "write", "multiedit", "notebookedit", "apply_patch", "applypatch", "patch", "create_file", "edit_file", "file_change",
        "undo_edit",
    ),
    "web_search": ("websearch", "web_search", "webfetch", "web_fetch", "read_web_page"),
    "note": (
        "todowrite", "todoread", "todo_write", "todo_read", "todo", "update_plan", "taskcreate", "taskupdate", "tasklist", "taskget",
        "task_list",
    ),
    "subagent": ("task", "agent", "subagent", "spawn_agent"),
}  # fmt: skip
KINDS: Mapping[str, str] = {name: kind for kind, names in _TOOLS.items() for name in names}

# Where a call says what it is about, by the kind of its action.
_TITLES: dict[str, tuple[str, ...]] = {
    "command": ("command", "cmd"),
    "web_search": ("query", "url", "objective"),
    "subagent": ("description", "prompt", "task"),
}
_PATHS = ("file_path", "filePath", "path", "notebook_path")
_QUERIES = ("query", "pattern", "filePattern")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


class Resume(Struct, frozen=True):
    engine: str
    value: str


class Action(Struct, frozen=True):
    id: str
    kind: ActionKind
    title: str
    detail: dict[str, Any]


class Started(Struct, frozen=True, tag="started"):
    engine: str
    resume: Resume | UnsetType = UNSET
    title: str | UnsetType = UNSET
    meta: dict[str, Any] | UnsetType = UNSET


class ActionEvent(Struct, frozen=True, tag="action"):
    engine: str
    action: Action
    phase: Literal["started", "updated", "completed"]
    ok: bool | UnsetType = UNSET
    message: str | UnsetType = UNSET
    level: Literal["info", "warning", "error"] | UnsetType = UNSET


class Tokens(Struct, frozen=True):
    input: int | None
    output: int | None
    reasoning: int | None
    cache_read: int | None
    cache_write: int | None


class Billed(Struct, frozen=True):
    total_cost_usd: float | None
    tokens: Tokens


class Completed(Struct, frozen=True, tag="completed"):
    engine: str
    ok: bool
    answer: str
    resume: Resume | UnsetType = UNSET
    error: str | UnsetType = UNSET
    usage: Billed | UnsetType = UNSET


DigestEvent: TypeAlias = Started | ActionEvent | Completed


def digest(events: Iterable[Event], kinds: Mapping[str, str] | None = None) -> Iterator[DigestEvent]:
    """`kinds`: another view of what its tools are than that of the agent whose transcript this is (`Agent.kinds`)."""
    condenser = Condenser(None if kinds is None else {**KINDS, **kinds})
    for event in events:
        yield from condenser.see(event)


class Condenser:
    def __init__(self, kinds: Mapping[str, str] | None = None) -> None:
        self._kinds = kinds
        self._engine = ""
        self._meta: dict[str, Any] = {}
        self._native_id: str | None = None
        self._answer = ""
        self._calls: dict[str, Action] = {}
        self._just_noted = False

    def see(self, event: Event) -> Iterator[DigestEvent]:
        self._native_id = event.native_session_id
        match event:
            case schema.SessionStarted(data=data):
                self._learn(data.metadata)
                self._engine = str(data.metadata.get("agent", ""))
                if self._kinds is None:
                    self._kinds = {**KINDS, **(registry.find(self._engine).kinds if self._engine in registry.names() else {})}
            case schema.TurnStarted(data=data):
                self._answer = ""
                self._learn(data.metadata or {})
                yield Started(self._engine, self._resume(), meta=self._meta or UNSET)
            case schema.TurnEnded(data=data):
                yield self._completed(data.metadata)
            case schema.ItemStarted(data=schema.ItemData(item)):
                yield from self._began(item)
            case schema.ItemCompleted(data=schema.ItemData(item)):
                yield from self._ended(item)
            case schema.Error(data=data):
                detail = {"code": data.code} if data.code is not None else {}
                yield self._warning(event.event_id, data.message, detail, "error")
            case _:
                pass  # deltas, asks, unparsed records and the session's end: not of a run-level view

    # --- items --------------------------------------------------------------

    def _began(self, item: Item) -> Iterator[DigestEvent]:
        match item.content:
            case [schema.ToolCall() as call]:
                action = self._calls[call.call_id] = self._action(call)
                yield ActionEvent(self._engine, action, "started")
            case _:
                pass

    def _ended(self, item: Item) -> Iterator[DigestEvent]:
        match item.kind, item.content:
            case "tool_call", [schema.ToolCall() as call]:
                action = self._action(call)
                if action != self._calls.get(call.call_id):  # it was named before its arguments were whole
                    self._calls[call.call_id] = action
                    yield ActionEvent(self._engine, action, "updated")
            case "tool_result", [schema.ToolResult() as result, *rest]:
                yield from self._result(item, result, rest)
            case "message", [schema.Reasoning(text=text), *_] if text:
                yield self._note(item.item_id, text, {})
            case "message", [schema.Text(text=text), *_] if text and item.role == "assistant" and item.parent_id is None:
                self._answer = text
            case "status", [schema.Status() as status, *rest]:
                yield from self._status(item, status, rest)
            case _:
                pass

    def _result(self, item: Item, result: schema.ToolResult, rest: list[schema.ContentPart]) -> Iterator[DigestEvent]:
        action = self._calls.pop(result.call_id, None)
        if action is None:
            return
        outcome: dict[str, Any] = {"output": result.output}
        for part in rest:
            match part:
                case schema.Json(json={"exit_code": code}):
                    outcome["exit_code"] = code
                case schema.FileRef(path=path, action=done):
                    outcome.setdefault("files", []).append({"path": path, "action": done})
                case _:
                    pass
        ok = item.status == "completed"
        self._just_noted = action.kind == "note"
        whole = msgspec.structs.replace(action, detail={**action.detail, **outcome})
        message = result.output if not ok and result.output else UNSET
        yield ActionEvent(self._engine, whole, "completed", ok=ok, message=message)

    def _status(self, item: Item, status: schema.Status, rest: list[schema.ContentPart]) -> Iterator[DigestEvent]:
        told = next(({"json": part.json} for part in rest if isinstance(part, schema.Json)), {})
        match status.label:
            case "retry":
                yield self._warning(item.item_id, status.detail or "retry", told, "warning")
            case "plan" if not self._just_noted:  # a plan tool's own call is its note already
                yield self._note(item.item_id, "plan", told)
            case "compaction":
                yield self._note(item.item_id, status.detail or "compaction", told)
            case "rate_limit":
                action = Action(item.item_id, "telemetry", status.detail or "rate limit", told)
                yield ActionEvent(self._engine, action, "completed", ok=True)
            case "agent.ready":
                self._learn(told.get("json") or {})
            case _:
                pass
        self._just_noted = False

    # --- pieces -------------------------------------------------------------

    def _learn(self, metadata: dict[str, Any]) -> None:
        self._meta |= {name: metadata[name] for name in ("model", "cwd", "agent_version", "permission_mode", "mode") if metadata.get(name)}

    def _resume(self) -> Resume | UnsetType:
        return Resume(self._engine, self._native_id) if self._native_id else UNSET

    def _action(self, call: schema.ToolCall) -> Action:
        kind: Any = (self._kinds or KINDS).get(call.name.lower(), "tool")
        arguments = _parsed(call.arguments)
        return Action(call.call_id, kind, _title(kind, call.name, arguments), {"name": call.name, "arguments": arguments})

    def _note(self, id: str, words: str, detail: dict[str, Any]) -> ActionEvent:
        return ActionEvent(self._engine, Action(id, "note", words, detail), "completed", ok=True)

    def _warning(self, id: str, words: str, detail: dict[str, Any], level: Literal["warning", "error"]) -> ActionEvent:
        return ActionEvent(self._engine, Action(id, "warning", words, detail), "completed", ok=False, message=words, level=level)

    def _completed(self, outcome: schema.TurnOutcome) -> Completed:
        return Completed(
            self._engine,
            outcome.status == "completed",
            self._answer,
            self._resume(),
            outcome.error,
            _billed(outcome.usage) if outcome.usage else UNSET,
        )


def _parsed(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments


def _title(kind: str, name: str, arguments: Any) -> str:
    if kind == "file_change" and (paths := _patched(arguments)):
        return ", ".join(paths)
    if not isinstance(arguments, dict):
        return name
    for key in (*_TITLES.get(kind, ()), *_PATHS, *_QUERIES):
        match arguments.get(key):
            case str(words) if words:
                return words
            case [*words] if words:
                return " ".join(map(str, words))
            case _:
                pass
    return name


def _patched(arguments: Any) -> list[str]:
    """The files of a patch, which no argument names by itself."""
    match arguments:
        case {"changes": [*changes]}:
            return [str(change["path"]) for change in changes if isinstance(change, dict) and "path" in change]
        case {"changes": {} as changes}:
            return [str(path) for path in changes]
        case str(patch) | {"patchText": str(patch)} | {"patch": str(patch)} | {"input": str(patch)}:
            return _PATCHED.findall(patch)
        case _:
            return []


def _billed(usage: schema.Usage) -> Billed:
    tokens = Tokens(usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return Billed(usage.cost_usd, tokens)
