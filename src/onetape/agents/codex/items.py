"""Thread items into drafts: the part that app-server, `codex exec` and the rollout have in common.

Items come as app-server spells them (camelCase); the other dialects are brought
into that spelling first. Call and result are one native item and become two.
Ids come from the model's provider, which may use one twice: keys are (thread,
turn, id), and a call id that was used before gets a suffix.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from onetape import drafts as d
from onetape.agents.codex import plain
from onetape.agents.codex.content import user_parts
from onetape.agents.codex.tools import TOOLS, call_of, command_of, ended, result_of
from onetape.errors import Unparsed
from onetape.recent import Recent
from onetape.schema import StatusLabel, Text, Visibility

REMEMBERED = 4096
# Sections of a reasoning that may be left empty. An index far beyond that is no count, and would be as many blank lines.
_EMPTY_SECTIONS = 10
MESSAGES = frozenset({"userMessage", "agentMessage", "plan", "reasoning"})
NOTES = frozenset({"hookPrompt", "sleep", "enteredReviewMode", "exitedReviewMode", "contextCompaction"})
TYPES = TOOLS | NOTES | MESSAGES
_ACTED = ("interacted", "interrupted", "completed")
"""What befalls a subagent after its start: remarks, and no calls."""


class Place(Struct, frozen=True):
    """Where an item belongs: its thread, its turn, and the call whose subagent speaks."""

    thread: str
    turn: str
    under: str | None = None


Key: TypeAlias = tuple[str, str, str]


class Running(Struct):
    """A call without its result."""

    call_id: str
    item: dict[str, Any]
    can_outlive: bool
    """A command in a terminal of its own goes on when its turn ends (captures 04e, 15b)."""
    told: tuple[str, str] | None = None
    """The command and its directory, where its call has told them for certain: it need not be told again."""


class Items:
    def __init__(self) -> None:
        self._names: Recent[str, Key] = Recent(REMEMBERED)
        self._aliases: Recent[Key, str] = Recent(REMEMBERED)
        """The names of those whose id was another's name already."""
        self._echoed: Recent[Key, None] = Recent(REMEMBERED)
        self._speaking: dict[Key, None] = {}
        """Open messages, in order."""
        self._thinking: dict[Key, dict[Visibility, int]] = {}
        """Open reasoning: the section that each of its two texts is at."""
        self._running: dict[Key, Running] = {}
        self._lasting: set[Key] = set()

    # --- calls by name ------------------------------------------------------

    def call_id(self, place: Place, id: str) -> str:
        return self._named((place.thread, place.turn, id))

    def _named(self, key: Key) -> str:
        name = key[2]
        owner = self._names.get(name)
        if owner == key:
            return name
        if type(name) is not str or hash(key) is None:  # a turn may be unhashable, and nothing is remembered of it then
            raise Unparsed("an item's id that is no text")  # it must not come to name a subagent's call either
        if owner is not None:
            if (alias := self._aliases.get(key)) is not None:
                return alias
            uses = 2
            while (name := f"{key[2]}~{uses}") in self._names:
                uses += 1
            self._aliases[key] = name
        self._names[name] = key
        return name

    def shown(self, place: Place, id: str) -> dict[str, Any]:
        """What is known of an open call, for who must permit it."""
        running = self._running.get((place.thread, place.turn, id))
        return running.item if running else {}

    def find(self, place: Place, **fields: Any) -> str | None:
        """An open call with these fields, for requests that do not name their item."""
        for (thread, _, _), running in self._running.items():
            if thread == place.thread and all(running.item.get(name) == value for name, value in fields.items()):
                return running.call_id
        return None

    def permit(self, call_id: str | None) -> None:
        """The command runs from now on, and may outlive its turn."""
        for running in self._running.values():
            if running.call_id == call_id:
                running.can_outlive = running.item["type"] == "commandExecution"

    # --- items --------------------------------------------------------------

    def started(self, item: dict[str, Any], place: Place) -> Iterable[d.Draft]:
        key, kind = (place.thread, place.turn, item["id"]), item.get("type")
        match kind:
            case "agentMessage" | "plan":
                return self._open(key, place)
            case "userMessage":
                return self._user(key, item, place)
            case "reasoning":
                return ()  # public or private: only its text tells
            case "contextCompaction":
                return self._lasts(key, "compaction", None, place)
            case "sleep" if "durationMs" in item:
                return self._lasts(key, "progress", f"sleeps {item['durationMs']} ms", place)
            case "subAgentActivity" if item.get("kind") in _ACTED:
                return ()
            case str() if kind in TOOLS:
                return self._call(key, item, place)
            case str() if kind in NOTES:
                return ()  # told when it is completed, a moment later
            case _:
                return (d.Unknown(item),)

    def completed(self, item: dict[str, Any], place: Place) -> Iterable[d.Draft]:
        key, kind = (place.thread, place.turn, item["id"]), item.get("type")
        match kind:
            case "agentMessage" | "plan" if isinstance(text := item.get("text"), str):
                opened = self._open(key, place)
                del self._speaking[key]
                return [*opened, d.Close(key, text)]
            case "userMessage":
                return self._user(key, item, place)
            case "reasoning":
                return self._reasoned(key, item, place)
            case "contextCompaction":
                return [*self._lasts(key, "compaction", None, place), *self._lasted(key, item.get("summary"))]
            case "sleep" if "durationMs" in item:
                return [*self._lasts(key, "progress", f"sleeps {item['durationMs']} ms", place), *self._lasted(key)]
            case "hookPrompt" if isinstance(fragments := item.get("fragments"), list):
                return (d.System([Text("\n".join(fragment["text"] for fragment in fragments))], item["id"], place.under),)
            case "enteredReviewMode" if "review" in item:
                return (d.Note("mode", f"review: {item['review']}", under=place.under, native_id=item["id"]),)
            case "exitedReviewMode":
                # Its text follows as an ordinary message of the agent's (capture 31).
                return (d.Note("mode", "review is over", under=place.under, native_id=item["id"]),)
            case "subAgentActivity" if item.get("kind") in _ACTED and "agentPath" in item:
                acted = item["kind"]
                detail = f"{item['agentPath']}: {acted}"
                return (d.Note("subagent", detail, under=place.under, native_id=item["id"], failed=acted == "interrupted"),)
            case str() if kind in TOOLS:
                return self._result(key, item, place)
            case str() if kind in TYPES:
                raise Unparsed(f"item {kind} without the fields it must have")
            case _:
                return (d.Unknown(item),)

    def begun(self, item: plain.Message | plain.Command, place: Place) -> list[d.Draft]:
        """`started`, of what most items are."""
        key = place.thread, place.turn, item.id
        if isinstance(item, plain.Message):
            return self._open(key, place)
        call_id = self._named(key)
        can_outlive = item.source == "unifiedExecStartup"
        self._running[key] = Running(call_id, {"type": "commandExecution"}, can_outlive, (item.command, item.cwd))
        arguments, shell = command_of(item.command, item.cwd)
        return [d.Call(call_id, "shell", arguments, None, place.under, item.id, shell)]

    def done(self, item: plain.Message | plain.Command, place: Place) -> list[d.Draft]:
        """`completed`, of what most items are."""
        key = place.thread, place.turn, item.id
        if isinstance(item, plain.Message):
            opened = self._open(key, place)
            del self._speaking[key]
            return [*opened, d.Close(key, item.text)]
        call_id = self._named(key)
        began, result = self._running.pop(key, None), ended(item, call_id)
        if began is not None and began.told == (item.command, item.cwd):
            return [result]
        arguments, shell = command_of(item.command, item.cwd)
        return [d.Call(call_id, "shell", arguments, None, place.under, item.id, shell), result]

    # --- messages -----------------------------------------------------------

    def _user(self, key: Key, item: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        if key in self._echoed:
            return  # started and completed tell the same
        parts, kept = user_parts(item["content"])
        self._echoed[key] = None
        yield from kept
        yield d.UserMessage(parts, item["id"], place.under)

    def _open(self, key: Key, place: Place) -> list[d.Draft]:
        if key in self._speaking:
            return []
        self._speaking[key] = None
        return [d.Open(key, under=place.under, native_id=key[2])]

    def words(self, key: Key, text: str) -> d.Add | None:
        """More of an open message; None if it is none."""
        return d.Add(key, text) if key in self._speaking else None

    def said(self, id: str, text: str, place: Place) -> list[d.Draft]:
        key = (place.thread, place.turn, id)
        return [*self._open(key, place), d.Add(key, text)]

    def thought(self, id: str, text: str, section: int, seen: Visibility, place: Place) -> Iterator[d.Draft]:
        """More of a reasoning's summary (public) or raw text (private); they interleave (capture 13)."""
        key = (place.thread, place.turn, id)
        at = self._thinking.setdefault(key, {})
        if seen not in at:
            yield d.Open((*key, seen), seen, under=place.under, native_id=id)
        yield d.Add((*key, seen), "\n\n" * min(section - at.get(seen, 0), _EMPTY_SECTIONS) + text)
        at[seen] = section

    def _reasoned(self, key: Key, item: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        opened = self._thinking.pop(key, {})
        summary, raw = item.get("summary") or (), item.get("content") or ()
        texts: dict[Visibility, str] = {"public": "\n\n".join(summary), "private": "\n\n".join(raw)}
        # Neither summary nor text: it was thought in secret, and that is told as an empty private part.
        for seen in [seen for seen, text in texts.items() if text or seen in opened] or ["private"]:
            if seen not in opened:
                yield d.Open((*key, seen), seen, under=place.under, native_id=key[2])
            yield d.Close((*key, seen), texts[seen])

    def abandon(self, thread: str) -> Iterator[d.Draft]:
        """A stream broke off and is tried again, or a subagent stopped: what it was saying has failed."""
        for key in self.unsaid(thread):
            yield d.Close(key, status="failed")

    def unsaid(self, thread: str) -> list[d.Key]:
        """The messages of a thread that will not be finished any more, in order; they are forgotten."""
        spoken: list[Key] = [key for key in self._speaking if key[0] == thread]
        thought = [key for key in self._thinking if key[0] == thread]
        for key in spoken:
            del self._speaking[key]
        return [*spoken, *((*key, seen) for key in thought for seen in self._thinking.pop(key))]

    # --- calls --------------------------------------------------------------

    def _call(self, key: Key, item: dict[str, Any], place: Place) -> list[d.Draft]:
        call_id = self._named(key)
        name, arguments, shell = call_of(item)
        # With an approval to come it is announced by "agent" and has no process yet (captures 07, 15c).
        self._running[key] = Running(call_id, item, item.get("source") == "unifiedExecStartup")
        return [d.Call(call_id, name, arguments, under=place.under, native_id=item["id"], shell=shell)]

    def preview(self, id: str, place: Place) -> d.Draft:
        """A patch that is still being written: its call is named, its arguments are not final (capture 05b)."""
        return d.Call(self.call_id(place, id), "apply_patch", under=place.under, native_id=id)

    def output(self, id: str, text: str, place: Place) -> d.Draft:
        return d.Output(self.call_id(place, id), text)

    def _result(self, key: Key, item: dict[str, Any], place: Place) -> list[d.Draft]:
        call_id = self._named(key)
        name, arguments, shell = call_of(item, final=True)
        result, kept = result_of(item, call_id)
        self._running.pop(key, None)
        return [*kept, d.Call(call_id, name, arguments, under=place.under, native_id=item["id"], shell=shell), result]

    def outliving(self, thread: str) -> Iterator[d.Draft]:
        """Before a turn ends: its commands that run in terminals of their own go on without it."""
        for key, running in list(self._running.items()):
            if key[0] == thread and running.can_outlive:
                yield d.Running(running.call_id, background=True)
            elif key[0] == thread:
                del self._running[key]

    def is_outlived(self, thread: str) -> bool:
        return any(key[0] == thread and running.can_outlive for key, running in self._running.items())

    def forget(self) -> None:
        """The process is gone, and all that ran in it."""
        self._speaking.clear()
        self._thinking.clear()
        self._running.clear()
        self._lasting.clear()

    # --- what lasts ---------------------------------------------------------

    def _lasts(self, key: Key, label: StatusLabel, detail: str | None, place: Place) -> Iterator[d.Draft]:
        if key not in self._lasting:
            self._lasting.add(key)
            yield d.OpenNote(("lasting", *key), label, detail, place.under, key[2])

    def _lasted(self, key: Key, detail: str | None = None) -> Iterator[d.Draft]:
        self._lasting.discard(key)
        yield d.CloseNote(("lasting", *key), detail)
