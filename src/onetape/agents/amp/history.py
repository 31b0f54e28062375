"""A thread file of Amp as the dialect `thread`: the thread's own facts, then its messages, one at a time.

The January build writes `~/.local/share/amp/threads/T-….json`; later ones keep threads on their server, and
`amp threads export` prints the same document. Messages hold the blocks of the wire with other envelopes, and more:
the model, times, file mentions, and what the user did without the agent (role `info`).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.amp.blocks import Conversation, user_parts
from onetape.agents.amp.patches import path_of
from onetape.agents.amp.results import documented, text_of
from onetape.agents.amp.usage import Meter
from onetape.errors import Unparsed
from onetape.schema import FileRef, Text
from onetape.tape import Head
from onetape.translator import Outputs, Translator

# Why a tool was cancelled when its whole turn was: its process ended (told at the next start), or the user pressed Esc.
# "user:interrupted" is none of them: a newer message took over, and the turn goes on with it.
STOPPED = frozenset({"system:safety", "system:disposed", "user:cancelled"})


class Thread(Translator):
    title = "Amp"
    dialect = "thread"
    is_history = True

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._conversation = Conversation()
        self._meter = Meter()

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"id": str(id), "v": int(), "created": _}:
                return id.startswith("T-")
            case {"role": "user" | "assistant" | "info", "messageId": _, "content": [*_]}:
                return True
            case _:
                return False

    def _read(self, native: Any) -> Outputs:
        match native:
            case {"id": str(id), "created": _}:
                yield d.NativeSession(id)
                yield d.Announce(identity(native))
                for message in native.get("messages") or ():  # a document that was not taken apart
                    yield from self._message(message)
            case {"role": _}:
                yield from self._message(native)
            case _:
                yield d.Unknown(native)

    def _message(self, native: Any) -> Iterable[d.Draft]:
        match native:
            case {"role": "assistant", "content": [*blocks]}:
                yield from self._assistant(blocks, native)
            case {"role": "user", "content": [*blocks]}:
                yield from self._user(blocks, native)
            case {"role": "info", "content": [*blocks]}:
                for block in blocks:
                    yield from _aside(block, _id(native))
            case {"role": "assistant" | "user" | "info" as role}:
                raise Unparsed(f"a message of role {role} without content")
            case _:
                yield d.Unknown(native)

    def _assistant(self, blocks: list[Any], native: dict[str, Any]) -> Iterator[d.Draft]:
        state = native.get("state") or {}
        self._meter.add(native.get("usage"))
        is_whole = state.get("type") == "complete"
        yield from self._conversation.assistant(blocks, cut_off=not is_whole, native_id=_id(native))
        match state:
            case {"type": "complete", "stopReason": str(reason)} if reason != "tool_use":
                yield d.EndTurn("completed", self._meter.take())
            case {"type": "error"}:
                yield d.EndTurn("failed", self._meter.take(), _words(state.get("error")) or "the answer failed")
            case {"type": "cancelled"}:
                yield d.EndTurn("interrupted", self._meter.take())
            case _:
                pass  # tools run, or it still streams

    def _user(self, blocks: list[Any], native: dict[str, Any]) -> Iterator[d.Draft]:
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        for block in results:
            yield from self._result(block)
        if any(block["run"].get("reason") in STOPPED for block in results):
            yield d.EndTurn("interrupted", self._meter.take())
        if len(results) == len(blocks):
            return
        parts, kept = user_parts(block for block in blocks if block not in results)
        yield from kept
        for file in (native.get("fileMentions") or {}).get("files") or ():
            parts.append(FileRef(path_of(str(file["uri"])), "read"))
        if (native.get("source") or {}).get("type") == "course-correction":
            yield d.System(parts, _id(native))  # Amp's own words to its model
        else:
            yield d.UserMessage(parts, _id(native))

    def _result(self, block: dict[str, Any]) -> Iterator[d.Draft]:
        match block:
            case {"toolUseID": str(id), "run": {"status": "done"} as run}:
                value = documented(self._conversation.tool_of(id), run.get("result"))
                yield from self._conversation.result(id, value, failed=False)
            case {"toolUseID": str(id), "run": {"status": "error" | "cancelled" | "rejected-by-user"} as run}:
                yield from self._conversation.result(id, _failure(run), failed=True)
            case {"toolUseID": str(), "run": {"status": str()}}:
                pass  # queued, running, or waiting for the user: it stays open until it is told
            case _:
                raise Unparsed("a tool_result block without the fields it must have")


def identity(thread: dict[str, Any]) -> dict[str, Any]:
    """What a thread tells of its session, for `session.started`."""
    initial = (thread.get("env") or {}).get("initial") or {}
    trees = initial.get("trees") or [{}]
    tags = [tag.removeprefix("model:") for tag in initial.get("tags") or () if tag.startswith("model:")]
    told = {
        "agent_version": (initial.get("platform") or {}).get("clientVersion"),
        "cwd": path_of(trees[0]["uri"]) if trees[0].get("uri") else None,
        "mode": thread.get("agentMode"),
        "model": tags[0] if tags else None,
        "title": thread.get("title"),
    }
    return {name: value for name, value in told.items() if value is not None}


def _aside(block: Any, native_id: str | None) -> Iterator[d.Draft]:
    """What stands in a thread beside the conversation."""
    match block:
        case {"type": "manual_bash_invocation", "args": {"cmd": str(command)}}:
            output = text_of((block.get("toolRun") or {}).get("result"))
            yield d.System([Text(f"$ {command}\n{output}")], native_id)
        case {"type": "summary", "summary": {"type": "message", "summary": str(words)}}:
            yield d.Note("compaction", words, native_id=native_id)
        case {"type": "summary", "summary": {"thread": str(thread)}}:
            yield d.Note("notice", f"summarised in {thread}", native_id=native_id)
        case {"type": "text", "text": str(words)}:
            yield d.System([Text(words)], native_id)
        case _:
            yield d.Unknown(block)


def _failure(run: dict[str, Any]) -> str:
    """The text of a result that is none, in the words that the wire has for it."""
    match run["status"]:
        case "error":
            return _words(run.get("error")) or "Tool execution error"
        case "cancelled":
            return f"Tool execution cancelled: {run.get('reason') or 'Unknown reason'}"
        case _:
            return f"Tool execution rejected by user: {run.get('reason') or 'User declined permission'}"


def _words(error: Any) -> str | None:
    words = error.get("message") if isinstance(error, dict) else error
    return words if isinstance(words, str) and words else None


def _id(native: dict[str, Any]) -> str | None:
    id = native.get("messageId")
    return None if id is None else str(id)
