"""OpenCode's histories: sessions, messages and parts as they were left, read like a wire that tells them in order.

Three forms with the same content: rows of `opencode.db` (dialect `database`), the
objects of `opencode export`, and the JSON files of versions before the database,
which hold the objects of an export one by one (dialect `export`). A message's
record tells its end before its parts follow, and a `task` its result before the
subagent's records do; both are held back until what belongs before them is told.
There is no `session.idle`: a turn is over when the next begins, or when its last
message is one after which OpenCode does not go on. Permissions, questions and
streamed words are not kept by OpenCode, and so are missing here.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.opencode import content, wire
from onetape.agents.opencode.conversation import Conversation, Waiting, later
from onetape.errors import Unparsed
from onetape.tape import Head
from onetape.translator import Native, Outputs, Translator

# After these another call of the model follows, unless somebody refused a tool.
GOES_ON = frozenset({"tool-calls", "unknown"})
_REFUSALS = ("The user rejected permission", "The user dismissed this question")


class Told(Struct):
    """One record in the words of the wire."""

    kind: str
    object: dict[str, Any]


class Archive(Translator):
    title = "OpenCode"
    is_history = True
    dialect: ClassVar[str]

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._talk = Conversation()
        self._unfinished: dict[str, dict[str, Any]] = {}
        """By session: the assistant's message whose parts are being told, with its end."""
        self._tasks: list[dict[str, Any]] = []
        """Parts of subagents that are being told, with their results."""
        self._was_refused = False
        self._calling: str | None = None
        """The message that called a tool last: OpenCode goes on after it, whatever the model gave as its reason to stop."""

    def _told(self, native: Native) -> Told | None:
        raise NotImplementedError

    # --- records ------------------------------------------------------------

    def _read(self, native: Native) -> Outputs:
        return self._record(native)

    def _record(self, native: Native) -> Iterator[d.Draft]:
        told = self._told(native)
        if told is None:
            yield d.Unknown(native)
            return
        match told.kind:
            case "session":
                yield from self._session(told.object)
            case "message":
                wire.check_message(told.object)
                yield from self._message(told.object)
            case "part":
                wire.check_part(told.object)
                yield from self._part(told.object)
            case _:
                raise Unparsed(f"a record of {told.kind}")

    def _session(self, info: dict[str, Any]) -> Iterator[d.Draft]:
        yield from self._talk.created(info | {"time": None})  # what a fork copied is a part of its history
        if info["id"] == self._talk.root:
            model = info.get("model") or {}
            told = {
                "agent_version": info.get("version"), "cwd": info.get("directory"), "title": info.get("title"),
                "model": content.model_name(model),
            }  # fmt: skip
            yield d.Announce({name: value for name, value in told.items() if value is not None})

    def _message(self, info: dict[str, Any]) -> Iterator[d.Draft]:
        session, created = info["sessionID"], _created(info)
        yield from self._talk.adopt(session)
        if not self._talk.owns(session):
            return
        yield from self._release(created)
        yield from self._flush(session)
        if info["role"] == "assistant":
            yield from self._complete(session)
            self._unfinished[session] = info
            time = {"created": created}
            info = {name: value for name, value in info.items() if name != "error"} | {"time": time}
        yield from self._all_or_unreadable(later(self._talk.message, info))

    def _part(self, part: dict[str, Any]) -> Iterator[d.Draft]:
        session = part["sessionID"]
        if not self._talk.owns(session):
            return
        yield from self._release(_started(part))
        waiting = self._talk.waiting.get(session)
        if waiting is not None and waiting.info["id"] != part["messageID"]:
            yield from self._flush(session)
        state = part.get("state") or {}
        self._was_refused = self._was_refused or str(state.get("error", "")).startswith(_REFUSALS)
        if state and not (state.get("metadata") or {}).get("interrupted"):
            self._calling = part["messageID"]
        if part.get("tool") == "task" and state.get("status") in ("completed", "error"):
            self._tasks.append(part)
            part = part | {"state": {name: state[name] for name in ("input", "metadata", "time") if name in state} | {"status": "running"}}
        yield from self._all_or_unreadable(later(self._talk.part, part))

    # --- what was held back -------------------------------------------------

    def _release(self, now: float | None) -> Iterator[d.Draft]:
        """The results of subagents that were done by then."""
        for part in list(self._tasks):
            if now is None or (part["state"].get("time") or {}).get("end", 0) <= now:
                self._tasks.remove(part)
                yield from self._talk.part(part)

    def _complete(self, session: str) -> Iterator[d.Draft]:
        info = self._unfinished.pop(session, None)
        if info is not None:
            yield from self._talk.message(info)

    def _flush(self, session: str) -> Iterator[d.Draft]:
        """A user message is whole. Where it asks anew, the turn before it is over."""
        waiting = self._talk.waiting.get(session)
        if waiting is None:
            return
        if session == self._talk.root and not self._was_busy(_created(waiting.info)) and self._begins_turn(waiting):
            yield from self._end_turn()
        yield from self._talk.flush(session)

    def _begins_turn(self, waiting: Waiting) -> bool:
        root = str(self._talk.root)
        if any(map(_asks_anew, waiting.parts)):
            return not self._talk.compactions.repeats(root, waiting.parts)
        # OpenCode's own words, when it had rested: a command of the user's was run, or work in the background is done.
        last = self._unfinished.get(root) or {}
        return all(part["type"] == "text" for part in waiting.parts) and not last.get("summary") and self._is_over(last)

    def _was_busy(self, at: float) -> bool:
        """Whether the agent was at work when this was sent: then it took it up in the same turn."""
        last = self._unfinished.get(str(self._talk.root)) or {}
        return ((last.get("time") or {}).get("completed") or 0) > at

    def _end_turn(self) -> Iterator[d.Draft]:
        root = str(self._talk.root)
        yield from self._complete(root)
        turn = self._talk.turn
        if turn is not None and (turn.running is not None or turn.last is None):
            # It never ended: the process died in it (capture 22), or the prompt was refused (24). Nothing says how.
            turn.running = None
            turn.was_aborted = True
        self._was_refused = False
        yield from self._talk.idle()

    def _finish(self) -> Iterable[d.Draft]:
        for session in list(self._talk.waiting):
            yield from self._flush(session)
        yield from self._release(None)
        root = str(self._talk.root)
        for session in [session for session in self._unfinished if session != root]:
            yield from self._complete(session)
        if (last := self._unfinished.get(root)) is not None and self._is_over(last):
            yield from self._end_turn()

    def _is_over(self, last: dict[str, Any]) -> bool:
        if not (last.get("time") or {}).get("completed"):
            return False
        finish = last.get("finish")
        if finish is None or last.get("error") is not None or last.get("structured") is not None or self._was_refused:
            return True
        return finish not in GOES_ON and self._calling != last["id"]


class Database(Archive):
    """Rows of `opencode.db`: `{table, …the row's columns, data}`."""

    dialect = "database"

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"table": "session" | "message" | "part", "id": str()}:
                return not sent
            case _:
                return False

    def _told(self, native: Native) -> Told | None:
        match native:
            case {"table": "session", "id": str(id)}:
                return Told("session", _session_of(id, native))
            case {"table": "message", "id": str(id), "session_id": str(session), "data": {} as data}:
                return Told("message", data | {"id": id, "sessionID": session})
            case {"table": "part", "id": str(id), "message_id": str(message), "session_id": str(session), "data": {} as data}:
                time = data if "time" in data or "state" in data else data | {"created": native.get("time_created")}
                return Told("part", time | {"id": id, "messageID": message, "sessionID": session})
            case {"table": "message" | "part"}:
                raise Unparsed("a row without the columns it must have")
            case _:
                return None


class Export(Archive):
    """Objects of `opencode export`, and of the JSON files before it: session, message or part, told apart by their keys."""

    dialect = "export"

    @classmethod
    def recognises(cls, native: Native, *, sent: bool) -> bool:
        match native:
            case {"info": {"id": str()}, "messages": [*_]}:
                return not sent
            case {"id": str(), "projectID": str(), "time": {}} | {"id": str(), "sessionID": str(), "role": str(), "time": {}}:
                return not sent
            case _:
                return False

    def _read(self, native: Native) -> Outputs:
        match native:
            case {"info": {} as info, "messages": [*messages]}:  # the whole export in one line
                records = [info, *(record for message in messages for record in (message["info"], *message["parts"]))]
                for record in records:
                    yield from self._all_or_unreadable(self._record(record))
            case _:
                yield from self._record(native)

    def _told(self, native: Native) -> Told | None:
        match native:
            case {"id": str(), "messageID": str(), "sessionID": str(), "type": str()}:
                return Told("part", native)
            case {"id": str(), "sessionID": str(), "role": "user" | "assistant"}:
                return Told("message", native)
            case {"id": str(), "directory": str()} | {"id": str(), "projectID": str()}:
                return Told("session", native)
            case _:
                return None


def _session_of(id: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id, "parentID": row.get("parent_id"), "version": row.get("version"), "directory": row.get("directory"),
        "title": row.get("title"), "model": row.get("model"), "time": {"created": row.get("time_created")},
    }  # fmt: skip


def _created(info: dict[str, Any]) -> float:
    return float((info.get("time") or {}).get("created") or 0)


def _started(part: dict[str, Any]) -> float:
    """When a part began, as far as it says; 0 tells nothing."""
    time = part.get("time") or (part.get("state") or {}).get("time") or {}
    return float(time.get("start") or part.get("created") or 0)


def _asks_anew(part: dict[str, Any]) -> bool:
    if part["type"] == "compaction":
        return not part.get("auto")
    return part["type"] in ("text", "file", "subtask") and not part.get("synthetic") and not part.get("ignored")
