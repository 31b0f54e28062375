"""`opencode run --format json`: one process per prompt, a line per finished part, and nothing of the user's.

The prompt is in the arguments that we started it with (or on its stdin); the end
of the turn is the end of the process. Six types of line exist in 1.18.33; pending
and running tools, subagents, asks and the roles of texts are not told.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from onetape import blobs
from onetape import drafts as d
from onetape.agents.opencode import content, plain
from onetape.agents.opencode.calls import Calls
from onetape.agents.opencode.content import Meter
from onetape.agents.opencode.streams import Streams
from onetape.agents.opencode.wire import check_texts
from onetape.argv import values_of, words_of
from onetape.ending import STOPPED
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image, Text, Usage
from onetape.tape import Head
from onetape.translator import Native, Outputs, Translator

TYPES = frozenset({"step_start", "text", "reasoning", "tool_use", "step_finish", "error"})
FILES = ("-f", "--file")
VALUED = frozenset({
    "--command", "-s", "--session", "-m", "--model", "--agent", "--format", *FILES, "--title", "--attach", "-p", "--password",
    "-u", "--username", "--dir", "--port", "--variant", "--log-level",
})  # fmt: skip

# The model wants its tools' results, and another call of it follows; after any other reason none does.
GOES_ON = frozenset({"tool-calls", "unknown"})


class Run(Translator):
    title = "OpenCode"
    dialect = "run"
    stderr_is_chatter = True

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._calls = Calls()
        self._streams = Streams()
        self._meter = Meter()
        self._session: str | None = None
        self._cwd = head.cwd
        self._step: str | None = None
        """The message whose step is open."""
        self._reason: str | None = None
        self._last_text = ""
        self._error: Any = None
        self._had_error = False
        self._is_summary = False
        self._has_called = False
        self._has_spoken = False

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"type": str(kind), "part": {}} | {"type": str(kind), "error": _, "sessionID": str()} if kind in TYPES:
                return not sent
            case {"argv": [_, "run", *_]}:
                return sent
            case _:
                return False

    # --- the agent says -----------------------------------------------------

    def _read(self, native: Native) -> Outputs:
        if native.get("type") not in TYPES:
            yield d.Unknown(native)
            return
        check_texts(native, ("sessionID",))
        self._has_spoken = True
        if (session := native["sessionID"]) != self._session:
            self._session = session  # another one after --fork
            yield d.NativeSession(session)
        yield d.BeginTurn()  # of bare lines: the prompt was sent by others
        yield from self._all_or_unreadable(self._line(native))

    def _line(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        match native:
            case {"type": "step_start", "part": {"messageID": str(message)}}:
                yield from self._step_began(message)
            case {"type": "text" | "reasoning", "part": {"text": str(), "id": str()} as part}:
                yield from self._text(part)
            case {"type": "tool_use", "part": {"state": {} as state} as part}:
                self._has_called = self._has_called or not (state.get("metadata") or {}).get("interrupted")
                yield from self._calls.part(plain.tool(part), None, self._cwd)
            case {"type": "step_finish", "part": {"tokens": {}} as part}:
                self._meter.add(plain.tokens(part["tokens"]), part.get("cost"))
                # After a tool it goes on, whatever the model gave as its reason to stop; after a summary comes an answer.
                goes_on = self._has_called or self._is_summary
                self._step, self._reason, self._is_summary = None, None if goes_on else part.get("reason"), False
            case {"type": "error", "error": error}:
                self._error, self._had_error = error, True
            case {"type": kind}:
                raise Unparsed(f"{kind} without the fields it must have")
            case _:
                yield d.Unknown(native)

    def _step_began(self, message: str) -> Iterator[d.Draft]:
        if self._step == message:  # the same message anew: the attempt before it broke off (capture 14e)
            yield d.Note("retry", "the model's answer broke off")
        # Nobody asks anew within a process: what follows an end, or a context that is too long, is a compaction.
        overflow = content.name_of(self._error) == "ContextOverflowError"
        self._is_summary = self._step is None and (overflow or (self._reason is not None and self._reason not in GOES_ON))
        if self._error is not None:
            yield d.Note("retry", content.words_of(self._error))
            self._error = None
        self._has_called = self._has_called and self._step == message
        self._step, self._reason = message, None

    def _text(self, part: dict[str, Any]) -> Iterator[d.Draft]:
        if part.get("synthetic"):  # the agent's own words in a user message, printed like any other (capture 14f)
            self._reason = None
            if (part.get("metadata") or {}).get("compaction_continue") and self._last_text:
                # A context that is full after a tool is compacted as if it went on: only this tells what its answer was.
                yield d.Note("compaction", self._last_text)
            yield d.System([Text(part["text"])], part["messageID"])
        elif self._is_summary:
            if part["type"] == "text":
                self._last_text = ""
                yield d.Note("compaction", part["text"], native_id=part["messageID"])
        else:
            self._last_text = part["text"] if part["type"] == "text" else self._last_text
            yield from self._streams.part(plain.text(part), part["messageID"], None)

    # --- we say -------------------------------------------------------------

    def _sent(self, native: Native) -> Iterable[d.Draft]:
        match native:
            case {"argv": [*argv]}:
                yield from self._started([str(word) for word in argv], native)
            case str():
                pass  # a remark of who recorded it
            case _:
                yield d.Unheard(native)

    def _started(self, argv: list[str], native: dict[str, Any]) -> Iterator[d.Draft]:
        model = _last(values_of(argv, ("-m", "--model")))
        self._meter.model = model or self._meter.model or self.head.model
        self._cwd = _last(values_of(argv, ("--dir",))) or native.get("cwd") or self._cwd
        told = {
            "model": model, "cwd": self._cwd, "mode": _last(values_of(argv, ("--agent",))),
            "variant": _last(values_of(argv, ("--variant",))),
        }  # fmt: skip
        yield d.Announce({name: value for name, value in told.items() if value is not None})
        words = words_of(argv, VALUED, native.get("stdin"), skip=2)
        if (command := _last(values_of(argv, ("--command",)))) is not None:
            words = f"/{command} {words}".rstrip()
        parts: list[ContentPart] = [Text(words)] if words else []
        parts += [_attached(path) for path in values_of(argv, FILES)]
        if parts:
            yield d.UserMessage(parts)

    # --- the end ------------------------------------------------------------

    def spent(self) -> Usage | None:
        return self._meter.take()

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        """Everything else, a death say, is for who knows of processes."""
        if self._error is not None:
            told = content.words_of(self._error), content.name_of(self._error), content.details_of(self._error)
            yield d.EndTurn("failed", self._meter.take(), *told)
        elif code in STOPPED:
            yield d.EndTurn("interrupted", self._meter.take())
        elif self._has_spoken and self._step is None and (code in (0, None) or self._had_error):
            yield d.EndTurn("completed", self._meter.take())
        self._error, self._had_error, self._has_spoken = None, False, False
        self._step, self._reason, self._is_summary, self._has_called, self._last_text = None, None, False, False, ""

    def _finish(self) -> Iterable[d.Draft]:
        return self._end(None) if self._has_spoken else ()


def _last(values: list[str]) -> str | None:
    return values[-1] if values else None


def _attached(path: str) -> ContentPart:
    mime = blobs.mime_of(path)
    return Image(path, mime) if blobs.is_image(mime) else FileRef(path, "read")
