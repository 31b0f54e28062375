"""Events for a person at a terminal: who said what, what was done, how it ended.

Text of agents and tools is hostile: control characters are shown, not obeyed.
"""

import re
import sys

from rich.console import Console
from rich.text import Text

from onetape import schema
from onetape.cli.flow import Flow
from onetape.export import words
from onetape.export.depths import Depths
from onetape.schema import Event, Item

MOST_LINES = 12
_CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Pretty:
    """`live`: words are shown as they come; else each message when it is whole."""

    def __init__(self, console: Console | None = None, *, live: bool = False) -> None:
        self._console = console or screen()
        self._depths = Depths()
        self._flow = Flow(self._console)
        self.is_live = live
        self._typed: list[str] = []

    def typed(self, message: str) -> None:
        """The person typed this on the same screen: it need not be shown again."""
        self._typed.append(message)

    def rest(self) -> None:
        """Somebody else wants to print: at the start of a line."""
        self._flow.rest()

    def show(self, event: Event) -> None:
        match event:
            case schema.SessionStarted(data=data):
                self._line(words.identity(data.metadata), "dim")
            case schema.SessionEnded(data=data):
                self._line(words.ending(data), "red" if data.reason == "error" else "dim")
            case schema.TurnEnded(data=data):
                self._line(words.outcome(data.metadata), "dim")
            case schema.ItemStarted(data=schema.ItemData(item)):
                self._begin(item)
            case schema.ItemDelta(data=data):
                self._flow.add(data.item_id, visible(data.delta), show=self.is_live)
            case schema.ItemCompleted(data=schema.ItemData(item)):
                self._item(item)
            case schema.PermissionRequested(data=data):
                self._line(f"? permission for {data.action}: {words.brief(data.metadata.get('input'))}", "yellow")
            case schema.PermissionResolved(data=data):
                self._line(f"  {data.status.replace('_', ' ')}", "yellow")
            case schema.QuestionRequested(data=data):
                for line in words.asked(data):
                    self._line(f"? {line}", "yellow")
            case schema.QuestionResolved(data=data):
                self._line(f"  {words.answered(data)}", "yellow")
            case schema.Error(data=data):
                self._line(f"✗ {data.message}", "bold red")
            case schema.AgentUnparsed(data=data):
                self._line(f"✗ unparsed: {data.error} (sha256 {data.raw_hash[:12]}…)", "red")
            case _:
                pass  # a turn's start says nothing to a person

    # --- items --------------------------------------------------------------

    def _begin(self, item: Item) -> None:
        if self._depths.of(item) == 0 and item.kind == "message" and item.role != "user":
            self._flow.begin(item.item_id, _style(item))

    def _item(self, item: Item) -> None:
        depth = self._depths.of(item)
        match item.kind, item.role:
            case "message", "user":
                self._user(item, depth)
            case "message", _:
                if not self._flow.end(item.item_id, visible(words.prose(item))) and words.prose(item):
                    self._line(words.prose(item), _style(item), depth)
            case "tool_call", _:
                self._call(item, depth)
            case "tool_result", _:
                self._result(item, depth)
            case "status", _:
                self._status(item, depth)
            case _:
                self._line(f"{item.kind}: {words.prose(item) or words.brief(item.content)}", "dim", depth)

    def _user(self, item: Item, depth: int) -> None:
        said = words.prose(item)
        if said in self._typed:
            self._typed.remove(said)
        else:
            self._line(f"› {said}", "bold cyan", depth)

    def _call(self, item: Item, depth: int) -> None:
        match item.content:
            case [schema.ToolCall(name=name, arguments=arguments)]:
                self._line(f"● {name}  {words.gist(arguments)}", "bold", depth)
            case _:
                pass

    def _result(self, item: Item, depth: int) -> None:
        failed = item.status == "failed"
        for part in item.content:
            match part:
                case schema.ToolResult(output=output):
                    self._line(_cut(output) or ("failed" if failed else "done"), "red" if failed else "dim", depth + 1)
                case schema.FileRef(diff=str(diff)):
                    self._diff(diff, depth + 1)
                case schema.FileRef(path=path, action=action) if action != "read":
                    self._line(f"{action} {path}", "dim", depth + 1)
                case schema.Image(path=path):
                    self._line(f"image {path}", "dim", depth + 1)
                case _:
                    pass

    def _status(self, item: Item, depth: int) -> None:
        match item.content:
            case [schema.Status(label="plan"), schema.Json(json=[*plan])]:
                self._line("\n".join(words.steps(plan)), "dim", depth)
            case [schema.Status(label=label, detail=detail), *_]:
                self._line(f"· {label}{f': {_cut(detail, 3)}' if detail else ''}", "dim", depth)
            case _:
                pass

    def _diff(self, diff: str, depth: int) -> None:
        for line in _cut(diff, 40).split("\n"):
            self._line(line, _DIFF_STYLES.get(line[:1], "dim"), depth)

    def _line(self, text: str, style: str, depth: int = 0) -> None:
        self._flow.rest()
        # Not rich's own padding: it fills every line with blanks, which whoever copies or pipes it gets too.
        indent = "  " * depth
        for line in Text(visible(text), style).wrap(self._console, max(20, self._console.width - len(indent))):
            self._console.print(Text(indent) + line, soft_wrap=True)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Whoever read us has seen enough, which is no failure: `main` ends quietly."""
        raise BrokenPipeError


def screen(*, stderr: bool = False) -> Console:
    """Lines are folded for a terminal, and left alone for a pipe."""
    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return _Screen(highlight=False, stderr=stderr, width=None if is_terminal else 1 << 16)


def _style(item: Item) -> str:
    return "dim italic" if item.content and isinstance(item.content[0], schema.Reasoning) else ""


def visible(text: str) -> str:
    """Without anything that a terminal would obey."""
    return _CONTROLS.sub("", text)


def _cut(text: str | None, most: int = MOST_LINES) -> str:
    lines = (text or "").rstrip("\n").split("\n")
    return "\n".join(lines if len(lines) <= most else [*lines[:most], f"… {len(lines) - most} more lines"])
