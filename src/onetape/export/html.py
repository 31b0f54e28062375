"""A transcript as one HTML file: no scripts, no requests, safe for hostile content.

All text is escaped; Markdown is rendered without raw HTML; and the page's own policy forbids scripts, frames, styles
other than its own and anything from outside, should something slip through.

A call is shown with its result and with what its subagent did in it, so it waits for them; everything else is written
as it comes, and what waits is bounded.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from html import escape
from importlib.resources import files

from msgspec import Struct, field

from onetape import schema
from onetape.clock import milliseconds
from onetape.export import elements, words
from onetape.export.elements import Blob
from onetape.export.prose import renderer
from onetape.recent import Recent
from onetape.schema import Event, Item
from onetape.summary import Totals

WAITING_MOST = 4000
"""Pieces that wait for a result. If there are more, calls are written without theirs, which follow by themselves."""
REMEMBERED = 20_000

_CONTROLS = (code for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n\r")
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: chr(0x2421 if code == 0x7F else 0x2400 + code) for code in _CONTROLS} | {code: f"[U+{code:04X}]" for code in _DIRECTIONS}
"""Characters that are not seen and change what is: a name or a command would read as another than it is."""


def html(events: Iterable[Event], blob: Blob = lambda name: None, title: str | None = None) -> Iterator[str]:
    style = (files("onetape.export") / "page.css").read_text()
    page = _Page(blob, title)
    yield _head(style, title).translate(_SHOWN)
    for event in events:
        yield from (piece.translate(_SHOWN) for piece in page.see(event))
    yield from (piece.translate(_SHOWN) for piece in page.end())
    yield "</main></body></html>\n"


def _head(style: str, title: str | None) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'none'; base-uri 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f'<title>{escape(title or "Onetape session")}</title><style>{style}</style></head>\n<body><main>\n'
    )


class _Node(Struct):
    """A piece of the page; a call until its result is there."""

    body: str = ""
    item: Item | None = None
    sequence: int = 0
    inside: "list[_Node]" = field(default_factory=list)
    result: Item | None = None
    waits: bool = False
    is_ask: bool = False

    @property
    def is_whole(self) -> bool:
        return not self.waits and all(node.is_whole for node in self.inside)


class _Page:
    def __init__(self, blob: Blob, title: str | None) -> None:
        self._blob = blob
        self._title = title
        self._render: Callable[[str], str] = renderer()
        self._waiting: list[_Node] = []
        self._count = 0
        self._calls: dict[str, _Node] = {}
        """Calls that are not written yet, by item id."""
        self._by_call_id: Recent[str, str] = Recent(REMEMBERED)
        self._caller: Recent[str, str | None] = Recent(REMEMBERED)
        """The call in which an item happened."""
        self._is_call: Recent[str, bool] = Recent(REMEMBERED)
        self._turn_began = 0
        self._in_turn = False
        self._totals = Totals()
        self._turns = 0

    def see(self, event: Event) -> Iterator[str]:
        match event:
            case schema.ItemStarted(data=schema.ItemData(item)):
                self._place(item)
            case schema.ItemCompleted(data=schema.ItemData(item)):
                self._place(item)
                self._item(event.sequence, item)
            case schema.ItemDelta():
                return
            case schema.SessionStarted(data=data):
                yield self._header(event, data)
            case schema.TurnStarted():
                yield from self._flush()
                yield self._begin_turn(event)
            case schema.TurnEnded(data=data):
                yield from self._flush()
                yield self._end_turn(event, data)
            case schema.SessionEnded(data=data):
                yield from self._flush()
                self._add(elements.note(words.ending(data)), event.sequence)
            case _:
                self._add(_told(event), event.sequence, self._asker(event)).is_ask = True
        yield from self._written()

    def end(self) -> Iterator[str]:
        yield from self._flush()
        if self._in_turn:
            yield "</section>\n"
        yield f'<footer class="end">{_spans([_plural(self._turns, "turn"), *_counted(self._totals)])}</footer>\n'

    # --- where a piece belongs ---

    def _place(self, item: Item) -> None:
        if item.item_id in self._caller:
            return
        parent = item.parent_id
        self._caller[item.item_id] = parent if parent is not None and self._is_call.get(parent) else self._caller.get(parent or "")
        self._is_call[item.item_id] = item.kind == "tool_call"

    def _asker(self, event: Event) -> str | None:
        match event:
            case schema.PermissionRequested(data=data) | schema.PermissionResolved(data=data):
                return self._by_call_id.get(str(data.metadata.get("call_id")))
            case _:
                return None

    def _add(self, body: str, sequence: int, caller: str | None = None) -> _Node:
        node = _Node(body, sequence=sequence)
        inside = self._calls.get(caller or "")
        (self._waiting if inside is None else inside.inside).append(node)
        self._count += 1
        return node

    def _item(self, sequence: int, item: Item) -> None:
        caller = self._caller.get(item.item_id)
        match item.content:
            case [schema.ToolCall(call_id=call), *_]:
                node = self._add("", sequence, caller)
                node.item, node.waits = item, True
                self._calls[item.item_id] = node
                self._by_call_id[call] = item.item_id
            case [schema.ToolResult(call_id=call), *_] if (call_node := self._calls.get(self._by_call_id.get(call, ""))) is not None:
                call_node.result, call_node.waits = item, False
            case _:
                self._add(self._body(item), sequence, caller)

    def _body(self, item: Item) -> str:
        match item.kind, item.role:
            case "message", "user":
                return elements.user(item, self._blob)
            case "message", _ if item.content and isinstance(item.content[0], schema.Reasoning):
                return elements.thought(item)
            case "message", _:
                return elements.said(item, self._render, self._blob)
            case "tool_result", _:
                return elements.result(item, self._blob)
            case "status", _:
                return elements.status(item)
            case _:
                return elements.folded(item.kind, words.prose(item) or words.brief(item.content, 2000))

    # --- writing ---

    def _written(self) -> Iterator[str]:
        """What nothing is missing of, in order."""
        while self._waiting and self._waiting[0].is_whole:
            yield self._node(self._waiting.pop(0))
        if not self._waiting:
            self._count = 0
            self._calls.clear()
        elif self._count > WAITING_MOST:
            yield from self._flush()

    def _flush(self) -> Iterator[str]:
        yield from map(self._node, self._waiting)
        self._waiting, self._count = [], 0
        self._calls.clear()

    def _node(self, node: _Node) -> str:
        body = node.body if node.item is None else self._call(node, node.item)
        return f'<div id="e{node.sequence}">{body}</div>\n' if body else ""

    def _call(self, node: _Node, item: Item) -> str:
        call = next(part for part in item.content if isinstance(part, schema.ToolCall))
        inside = "".join(map(self._node, node.inside))
        if not all(each.is_ask for each in node.inside):  # else no subagent was at work
            inside = f'<div class="nested">{inside}</div>'
        result, mark, opened = "", "", ""
        if node.result is not None:
            result, mark = elements.result(node.result, self._blob), elements.mark(node.result)
            opened = " open" if elements.is_change(node.result) else ""
        failed = " failed" if (node.result or item).status == "failed" else ""
        # A diff says what the arguments of an edit say, and better.
        arguments = "" if opened else elements.arguments_of(call.arguments)
        return (
            f'<details class="tool{failed}"{opened}><summary><b>{escape(call.name)}</b><code>{escape(elements.gist(call.arguments))}</code>'
            f'<span class="mark">{mark}</span></summary><div>{arguments}{inside}{result}</div></details>'
        )

    # --- the session and its turns ---

    def _header(self, event: Event, data: schema.StartedData) -> str:
        told = data.metadata
        who = " ".join(str(told[name]) for name in ("agent", "agent_version") if told.get(name))
        chips = [str(told[name]) for name in ("model", "cwd") if told.get(name)] + [event.time[:16].replace("T", " ") + " UTC"]
        listed = f'<li class="who">{escape(who)}</li>' + "".join(f"<li>{escape(chip)}</li>" for chip in chips)
        return f'<header><h1>{escape(self._title or event.session_id)}</h1><ul class="chips">{listed}</ul></header>\n'

    def _begin_turn(self, event: schema.TurnStarted) -> str:
        before, self._in_turn, self._turn_began = self._in_turn, True, milliseconds(event.time)
        return ("</section>\n" if before else "") + '<section class="turn">\n'

    def _end_turn(self, event: schema.TurnEnded, data: schema.TurnEndedData) -> str:
        outcome, self._in_turn, self._turns = data.metadata, False, self._turns + 1
        seconds = (milliseconds(event.time) - self._turn_began) / 1000
        told = [f"{seconds:,.1f} s"] if seconds > 0 else []
        if isinstance(outcome.usage, schema.Usage):
            self._totals.add(outcome.usage)
            told = [*_counted(outcome.usage), *told, *filter(None, [outcome.usage.model])]
        return f'<footer><span class="{outcome.status}">{outcome.status}</span>{_spans(told)}</footer></section>\n'


def _told(event: Event) -> str:
    match event:
        case schema.PermissionRequested(data=data):
            return elements.permission(data)
        case schema.PermissionResolved(data=data):
            return elements.answer(data.status, data.status.replace("_", " "))
        case schema.QuestionRequested(data=data):
            return elements.question(data)
        case schema.QuestionResolved(data=data):
            return elements.answer(data.status, words.answered(data))
        case schema.Error(data=data):
            return elements.error(data.message)
        case schema.AgentUnparsed(data=data):
            return elements.error(f"unparsed: {data.error} ({data.raw_hash})")
        case _:
            return ""


def _counted(usage: schema.Usage | Totals) -> list[str]:
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    told = [f"{usage.input_tokens:,} in"] if usage.input_tokens is not None else []
    told += [f"{usage.output_tokens:,} out"] if usage.output_tokens is not None else []
    told += [f"{cached:,} cached"] if cached else []
    return told + ([f"${usage.cost_usd:,.4f}"] if usage.cost_usd is not None else [])


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _spans(texts: Iterable[str]) -> str:
    return "".join(f"<span>{escape(text)}</span>" for text in texts)
