"""The mock's wire into the transcript and back. The shapes are in wire.py, their meaning is here.

The simplest complete translator there is: an agent that announces itself, tells
each turn's start and end, echoes user messages and names everything it does.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from onetape import blobs, commands, schema
from onetape import drafts as d
from onetape.agents.mock import wire
from onetape.commands import Command
from onetape.errors import Refused, Unparsed
from onetape.schema import ContentPart, PermissionStatus
from onetape.tape import Head
from onetape.translator import Native, Outputs, Send, Translator, hot

VERDICTS: dict[str, PermissionStatus] = {"once": "accept", "always": "accept_for_session", "reject": "reject"}


class MockTranslator(Translator):
    title = "Mock"
    dialect = "stdio"
    hot = hot(b'"block_delta"', wire.BlockDelta, place="block", words="text")

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._asked: dict[str, Literal["permission", "question"]] = {}
        """Asks that may still be answered."""
        self._has_greeted = False

    @property
    def is_ready(self) -> bool:
        return self._has_greeted

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"type": "ready", "session": _, "version": _} | {"type": "turn_start", "turn": _}:
                return not sent
            case _:
                return False

    # --- the agent said -----------------------------------------------------

    def _read(self, native: Native) -> Outputs:
        match wire.from_agent(native):
            case wire.BlockDelta() as delta:
                yield self.glance(delta)
            case wire.BlockStart() as block:
                visibility = block.visibility if block.kind == "reasoning" else None
                yield d.Open(block.block, visibility, block.message, block.parent, native_id=block.block)
            case wire.BlockEnd() as block:
                yield from self._block_done(block)
            case wire.ToolCall() | wire.ToolRunning() | wire.ToolOutput() | wire.ToolResult() as told:
                yield from self._tool(told)
            case wire.AskPermission() | wire.AskQuestion() | wire.Withdrawn() as told:
                yield from self._ask(told)
            case wire.Ready() as ready:
                self._has_greeted = True
                # Said again by a resumed process, perhaps with another model: then a status.
                yield d.NativeSession(ready.session)
                yield d.Announce(_metadata(ready))
            case wire.TurnStart(turn):
                yield d.BeginTurn(turn)
            case wire.Echo(id, words, files):
                yield d.UserMessage(_message(words, files), native_id=id)
            case wire.Prompt(parent, words):
                yield d.UserMessage([schema.Text(words)], under=parent)
            case wire.TurnEnd() as turn:
                self._asked.clear()
                yield d.EndTurn(turn.status, _usage(turn.usage))
            case wire.Failed(message, code, details):
                yield d.Failure(message, code, details)  # the turn_end that follows repeats no words
            case wire.Goodbye():
                pass  # the exit says it: a process may also leave without a word
            case (
                wire.Status() | wire.Plan() | wire.Queued() | wire.ModelNow() | wire.ModeNow()
                | wire.CompactionStart() | wire.CompactionEnd() | wire.Retry() | wire.RateLimit()
            ) as told:  # fmt: skip
                yield from self._status(told)
            case _:
                yield d.Unknown(native)

    def glance(self, message: wire.BlockDelta) -> d.Add:
        return d.Add(message.block, message.text)

    def _block_done(self, block: wire.BlockEnd) -> Iterator[d.Draft]:
        status: schema.ItemStatus = "completed" if block.ok else "failed"
        if not block.images:
            yield d.Close(block.block, block.text, status)
            return
        if block.text is None:
            raise Unparsed("images without the text that they stand by")
        kept, images = _images(block.images)
        yield from kept
        yield d.Close(block.block, status=status, parts=[schema.Text(block.text), *images])

    def _tool(self, told: wire.ToolCall | wire.ToolRunning | wire.ToolOutput | wire.ToolResult) -> Iterator[d.Draft]:
        match told:
            case wire.ToolOutput(call, words):
                yield d.Output(call, words)
            case wire.ToolRunning(call):
                yield d.Running(call)
            case wire.ToolCall() as call:
                arguments = None if call.input is None else schema.to_json(call.input).decode()
                yield d.Call(call.call, call.name, arguments, call.message, call.parent, shell=_shell(call.run))
            case wire.ToolResult() as result:
                kept, images = _images(result.images)
                yield from kept
                files = [schema.FileRef(file.path, file.action, file.diff) for file in result.files]
                yield d.Result(result.call, result.output, not result.ok, result.refused, (*files, *images), _shell(result.run))
            case _:
                pass  # the four above are all

    def _ask(self, told: wire.AskPermission | wire.AskQuestion | wire.Withdrawn) -> Iterator[d.Draft]:
        match told:
            case wire.AskPermission(ask):
                self._asked[ask] = "permission"
                metadata = {"input": told.input, "reason": told.reason, "diff": told.diff}
                yield d.Ask(ask, told.tool, told.call, {name: value for name, value in metadata.items() if value is not None})
            case wire.AskQuestion(ask, questions):
                self._asked[ask] = "question"
                yield d.Query(ask, [_question(question) for question in questions])
            case wire.Withdrawn(ask):
                self._asked.pop(ask, None)
                yield d.Answer(ask, "reject")  # for a question too: the recorder knows what was asked
            case _:
                pass  # the three above are all

    def _status(self, told: wire.FromAgent) -> Iterator[d.Draft]:
        match told:
            case wire.Status(label, detail):
                yield d.Note(label, detail)
            case wire.Plan(steps):
                yield d.Note("plan", json=[{"text": step.text, "status": step.status} for step in steps])
            case wire.Queued(id, waiting):
                yield d.Note("notice", f"message queued, {waiting} waiting", native_id=id)
            case wire.ModelNow(model, variant):
                yield d.Note("model", f"{model} ({variant})" if variant else model, {"model": model, "variant": variant})
            case wire.ModeNow(mode):
                yield d.Note("mode", mode)
            case wire.CompactionStart(id):
                yield d.OpenNote(id, "compaction", native_id=id)
            case wire.CompactionEnd(id, summary):
                yield d.CloseNote(id, summary)
            case wire.Retry(attempt, reason):
                yield d.Note("retry", f"attempt {attempt} failed: {reason}")
            case wire.RateLimit(reason):
                yield d.Note("rate_limit", reason)
            case _:
                pass  # the nine above are all

    # --- it was told --------------------------------------------------------

    def _sent(self, native: Native) -> Iterable[d.Draft]:
        match wire.to_agent(native):
            case wire.AnswerPermission(ask, reply, message):
                self._asked.pop(ask, None)
                yield d.Answer(ask, VERDICTS[reply], message)
            case wire.AnswerQuestion(ask, answers):
                self._asked.pop(ask, None)
                yield d.Reply(ask, answers)
            case wire.User() | wire.Interrupt() | wire.SetModel() | wire.SetMode():
                pass  # the agent tells what comes of it
            case _:
                yield d.Unheard(native)

    def _write(self, command: Command) -> Iterator[Send]:
        match command:
            case commands.SendMessage(words, attachments):
                yield _send(wire.User(self.next_id(), words, [wire.File(file.path, file.mime) for file in attachments]))
            case commands.ReplyPermission(ask, reply, message):
                yield _send(wire.AnswerPermission(self._awaited(ask, "permission"), reply, message))
            case commands.ReplyQuestion(ask, answers):
                yield _send(wire.AnswerQuestion(self._awaited(ask, "question"), answers))
            case commands.RejectQuestion(ask):
                yield _send(wire.AnswerQuestion(self._awaited(ask, "question"), None))
            case commands.Interrupt():
                yield _send(wire.Interrupt())
            case commands.SetModel(model, variant):
                yield _send(wire.SetModel(model, variant))
            case commands.SetMode(mode):
                yield _send(wire.SetMode(mode))
            case _:
                raise self.cannot(command)

    def _end(self, code: int | None) -> Iterable[d.Draft]:
        self._asked.clear()  # a dead process takes no answers
        return ()

    def _awaited(self, ask: str, kind: str) -> str:
        if self._asked.get(ask) != kind:
            raise Refused(f"{self.title} has no open {kind} {ask!r}")
        return ask


# --- pieces -----------------------------------------------------------------


def _send(message: wire.Message) -> Send:
    return Send(msgspec.to_builtins(message))


def _metadata(ready: wire.Ready) -> dict[str, object]:
    told = {
        "agent_version": ready.version, "model": ready.model, "variant": ready.variant, "cwd": ready.cwd,
        "tools": ready.tools, "mode": ready.mode, "permission_mode": ready.permission_mode,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _message(words: str, files: list[wire.File]) -> list[ContentPart]:
    return [schema.Text(words), *map(_attachment, files)]


def _attachment(file: wire.File) -> ContentPart:
    mime = file.mime or blobs.mime_of(file.path)
    return schema.Image(file.path, mime) if blobs.is_image(mime) else schema.FileRef(file.path, "read")


def _images(pictures: list[wire.Picture]) -> tuple[list[d.Blob], list[schema.Image]]:
    """The bytes for the store, and the parts that name them."""
    kept = [blobs.from_base64(picture.data, picture.mime) for picture in pictures]
    return kept, [schema.Image(blobs.path_of(blob), picture.mime) for blob, picture in zip(kept, pictures, strict=True)]


def _shell(run: wire.Run | None) -> d.Shell | None:
    return None if run is None else d.Shell(run.command, run.cwd, run.exit_code, run.stdout, run.stderr, run.duration_ms)


def _question(asked: wire.Question) -> schema.Question:
    options = [schema.Option(choice.label, choice.description) for choice in asked.options]
    return schema.Question(asked.id, asked.header, asked.prompt, options, asked.multi_select)


def _usage(told: wire.Usage | None) -> schema.Usage | None:
    if told is None:
        return None
    return schema.Usage(told.input, told.output, told.reasoning, told.cache_read, told.cache_write, told.cost_usd, told.model)
