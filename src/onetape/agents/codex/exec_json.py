"""`codex exec --json`: one prompt, one process, eight kinds of lines.

It streams no words and asks nothing; it does not echo the prompt, which is in the
arguments and on stdin, and numbers its items from 0 in each process. Usage is a
total of the thread, so a resumed one without an earlier total has none.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from onetape import blobs
from onetape import drafts as d
from onetape.agents.codex.content import told
from onetape.agents.codex.items import Items, Place
from onetape.agents.codex.notices import steps
from onetape.agents.codex.spelling import respelt
from onetape.agents.codex.usage import Meter
from onetape.argv import positionals, values_of
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image, Text
from onetape.tape import Head
from onetape.translator import Outputs, Translator

TYPES = frozenset({
    "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated", "item.completed", "error",
})  # fmt: skip
_ITEMS = frozenset({
    "agent_message", "reasoning", "plan", "command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search",
})  # fmt: skip
_IMAGES = ("--image", "-i")
# Options of `codex exec` that take the next word.
VALUED = frozenset({
    *_IMAGES, "--model", "-m", "--sandbox", "-s", "--profile", "-p", "--cd", "-C", "--add-dir", "--output-schema", "--color", "--config",
    "-c", "--output-last-message", "-o", "--enable", "--disable", "--local-provider", "--base", "--commit", "--title", "--thread-source",
    "--cyber-access-program",
})  # fmt: skip
# Subcommands, and how many words after each are no prompt: the thread that is gone on with.
_SUBCOMMANDS = {"resume": 1, "fork": 1, "review": 0}
_RETRYING = "Reconnecting..."


class Exec(Translator):
    title = "Codex"
    dialect = "exec"
    stderr_is_chatter = True  # it says there that it reads stdin, and logs refused tools

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._items = Items()
        self._meter = Meter()
        self._thread = ""
        self._model: str | None = head.model
        self._cwd: str | None = head.cwd
        self._process = 0
        self._prompt: list[ContentPart] = []
        self._is_continued = False
        """It goes on with the total of a thread that this tape does not know."""
        self._forked_from: str | None = None
        self._todos: Any = None

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"type": str(kind)}:
                return not sent and kind in TYPES - {"error"}  # which others say too
            case {"argv": [*argv]}:
                return sent and "exec" in argv and "--json" in argv
            case _:
                return False

    # --- the agent says -----------------------------------------------------

    def _read(self, native: dict[str, Any]) -> Outputs:
        match native:
            case {"type": "thread.started", "thread_id": str(thread)}:
                yield from self._started(thread)
            case {"type": "turn.started"}:
                yield d.BeginTurn()
                yield from self._take_up_prompt()
            case {"type": "item.started" | "item.updated" | "item.completed" as phase, "item": {"type": str(), "id": str()} as item}:
                yield from self._item(phase, item)
            case {"type": "turn.completed", "usage": {} as total}:
                self._meter.told(self._thread, total, total, in_turn=True)
                usage = self._meter.take(self._model)
                yield d.EndTurn("completed", None if self._is_continued else usage)
                self._is_continued = False
            case {"type": "turn.failed", "error": {"message": str(message)}}:
                yield d.EndTurn("failed", error=message)
            case {"type": "error", "message": str(message)} if message.startswith(_RETRYING):
                yield d.Note("retry", message)
            case {"type": "error", "message": str(message)}:
                yield d.Failure(message)  # turn.failed repeats it
            case {"type": str(kind)} if kind in TYPES:
                raise Unparsed(f"{kind} without the fields it must have")
            case _:
                yield d.Unknown(native)

    def _started(self, thread: str) -> Iterator[d.Draft]:
        if thread != self._thread and not self._is_continued:
            self._meter.born(thread)
        elif thread == self._thread:
            self._is_continued = False  # its total is known from the process before
        self._thread = thread
        yield d.NativeSession(thread)
        is_resumed = self._is_continued and not self._forked_from and not self.head.resumed_from
        resumed_from = thread if is_resumed else None
        yield d.Announce(told(model=self._model, cwd=self._cwd, forked_from=self._forked_from, resumed_from=resumed_from))

    def _item(self, phase: str, item: dict[str, Any]) -> Iterator[d.Draft]:
        place = Place(self._thread, str(self._process))
        match item:
            case {"type": "todo_list", "items": [*todos]}:
                if todos != self._todos:  # at the turn's end it is told once more
                    self._todos = todos
                    done = {True: "completed", False: "pending"}
                    yield d.Note("plan", json=steps([{"step": todo["text"], "status": done[bool(todo["completed"])]} for todo in todos]))
            case {"type": "error", "message": str(message)}:
                yield d.Note("notice", message, native_id=item["id"])  # a warning, e.g. an unknown model (exec-07)
            case {"type": str(kind)} if kind in _ITEMS and phase == "item.completed":
                yield from self._items.completed(_wire(item), place)
            case {"type": str(kind)} if kind in _ITEMS and phase == "item.started":
                yield from self._items.started(_wire(item), place)
            case {"type": str(kind)} if kind in _ITEMS:
                pass  # an update of what its end tells whole
            case {"type": "todo_list" | "error" as kind}:
                raise Unparsed(f"item {kind} without the fields it must have")
            case _:
                yield d.Unknown({"type": phase, "item": item})

    # --- we say -------------------------------------------------------------

    def _sent(self, native: Any) -> Iterable[d.Draft]:
        match native:
            case {"argv": [*argv]}:
                words = argv[argv.index("exec") + 1 :] if "exec" in argv else argv[1:]
                subcommand, *named = [*positionals(words, VALUED), ""]
                self._is_continued = subcommand in ("resume", "fork")
                self._forked_from = named[0] if subcommand == "fork" else None
                self._prompt = prompt(words, native.get("stdin"))
                self._model = next(iter(values_of(words, ("--model", "-m"))), None) or _configured(words, "model") or self._model
                self._cwd = next(iter(values_of(words, ("--cd", "-C"))), native.get("cwd") or self._cwd)
            case _:
                yield d.Unheard(native)

    def _take_up_prompt(self) -> Iterator[d.Draft]:
        if self._prompt:
            yield d.UserMessage(self._prompt, ours=True)
            self._prompt = []

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        yield from self._take_up_prompt()  # it died before it began: the prompt was sent all the same
        self._process += 1
        self._items.forget()


def prompt(words: Sequence[Any], stdin: Any) -> list[ContentPart]:
    """The user message of `codex exec [resume [ID] | fork ID | review] [OPTIONS] [PROMPT]`, and the images that go with it."""
    said = positionals(words, VALUED)
    if said and said[0] in _SUBCOMMANDS:
        said = said[1:] if "--last" in words else said[1 + _SUBCOMMANDS[said[0]] :]
    text = "\n".join(text for text in (" ".join(word for word in said if word != "-"), stdin) if isinstance(text, str) and text)
    images = [path for given in values_of(words, _IMAGES) for path in given.split(",") if path]
    parts: list[ContentPart] = [Text(text)] if text else []
    return parts + [_attached(path) for path in images]


def _configured(words: Sequence[Any], name: str) -> str | None:
    """A setting given as `-c name=value`, whose value is TOML or a bare word."""
    settings = dict(given.partition("=")[::2] for given in values_of(words, ("-c", "--config")))
    return settings[name].strip("\"'") if name in settings else None


def _attached(path: str) -> ContentPart:
    mime = blobs.mime_of(path)
    return Image(path, mime) if blobs.is_image(mime) else FileRef(path, "read")


def _wire(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] == "reasoning":
        return {"type": "reasoning", "id": item["id"], "summary": [item["text"]], "content": []}
    return respelt(item)
