"""Permissions and questions, which Pi has only as dialogs of its extensions.

A dialog says neither what it is nor which call it is about. Ours (gate.ts) says both, in a title
that a machine can read: `PERMISSION {…}` or `QUESTION {…}`. Of any other, a confirmation, or a
choice between something like "allow" and something like "deny", is taken for a permission of the
call that started last; all else is a question. Pi never tells that a dialog is over: an answer of
ours, the result of its call, or the end of the turn tells it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onetape import drafts as d
from onetape.agents.agent import Mode
from onetape.agents.pi.content import tool_name
from onetape.agents.pi.results import Tool
from onetape.commands import ReplyPermission, ReplyQuestion
from onetape.errors import Refused, Unparsed
from onetape.schema import Option, PermissionStatus, Question, to_json

MODES = {
    "default": Mode("Default", "Asks before it runs commands and changes files"),
    "acceptEdits": Mode("Accept edits", "Changes files unasked; asks before it runs commands"),
    "plan": Mode("Plan", "Reads and plans; commands and changes are refused"),
    "bypass": Mode("Bypass", "Does everything unasked"),
}
MODE_COMMAND = "onetape-mode"
"""A command of our extension, and the key of the status by which it confirms it."""

_PERMISSION, _QUESTION = "PERMISSION ", "QUESTION "
_ALLOW = frozenset({"allow", "approve", "accept", "yes", "once"})
_DENY = frozenset({"deny", "reject", "no", "block", "decline", "never", "not", "don't"})
_VERDICTS: dict[str, PermissionStatus] = {"once": "accept", "always": "accept_for_session", "reject": "reject"}
_LASTING = frozenset({"session", "always"})
_WORDS = re.compile(r"[a-z']+")

Running = Mapping[str, Tool]
"""Calls that have started and have no result yet, oldest first."""


class Dialog(Struct, frozen=True):
    """A dialog that waits for an answer."""

    id: str
    method: str
    ask: d.Ask | d.Query
    options: list[str] = []
    packed: bool = False
    """Several questions of ours in one dialog: the value is all answers as JSON."""
    outlives_turn: bool = False
    """A command of an extension's asks it while no turn runs: turns come and go before it is answered."""
    expires: bool = False
    """Pi answers it itself when its time is over, and does not tell."""


class Dialogs:
    def __init__(self) -> None:
        self._open: dict[str, Dialog] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def turn_over(self) -> None:
        self._open = {id: dialog for id, dialog in self._open.items() if dialog.outlives_turn}

    def clear(self) -> None:
        self._open.clear()

    # --- Pi asks ---

    def asked(self, native: dict[str, Any], running: Running, *, in_turn: bool) -> d.Draft:
        dialog = replace(_dialog(native, running), outlives_turn=not in_turn, expires=bool(native.get("timeout")))
        self._open[dialog.id] = dialog
        return dialog.ask

    # --- somebody answered ---

    def answered(self, native: dict[str, Any]) -> Iterator[d.Draft]:
        dialog = self._open.pop(native["id"], None)
        match dialog:
            case Dialog(ask=d.Ask()):
                yield _verdict(dialog.id, native)
            case Dialog(ask=d.Query()):
                yield d.Reply(dialog.id, _answers(dialog, native))
            case _:
                pass  # answered before, or never asked

    def handled(self) -> Iterator[d.Draft]:
        """A command of an extension's is done: what it asked and did not wait for any longer has expired."""
        for dialog in [each for each in self._open.values() if each.outlives_turn and each.expires]:
            yield from self.answered(_response(dialog.id, cancelled=True))

    def outcome(self, call_id: str, details: Any) -> list[d.Draft]:
        """A call has its result: its dialogs are over. Where no answer crossed the wire, a result may tell it."""
        told: list[d.Draft] = []
        if not self._open:
            return told  # nearly always
        for dialog in [each for each in self._open.values() if each.ask.call_id == call_id]:
            del self._open[dialog.id]
            match dialog.ask, details:
                case d.Query(), {"answers": [*all_answers]} if dialog.packed:
                    told.append(d.Reply(dialog.id, msgspec.convert(all_answers, list[list[str]])))
                case d.Query(), {"answer": str(answer)}:
                    told.append(d.Reply(dialog.id, [[answer]]))
                case _:
                    pass  # refused or run: the recorder judges by that
        return told

    # --- we answer ---

    def permission(self, wish: ReplyPermission) -> dict[str, Any]:
        dialog = self._awaited(wish.permission_id, d.Ask, "permission")
        if dialog.method == "confirm":
            if wish.reply == "always":
                raise Refused("Pi asked for a yes or a no: this permission can be given once, not always")
            return _response(dialog.id, confirmed=wish.reply == "once")
        label = _option(dialog.options, _VERDICTS[wish.reply])
        if label is None and wish.reply == "reject":
            return _response(dialog.id, cancelled=True)
        if label is None:
            raise Refused(f"Pi does not offer {wish.reply!r} here; it offers: {', '.join(dialog.options)}")
        why = f": {wish.message}" if wish.message and wish.reply == "reject" and "title" not in dialog.ask.metadata else ""
        return _response(dialog.id, value=label + why)

    def question(self, wish: ReplyQuestion) -> dict[str, Any]:
        dialog = self._awaited(wish.question_id, d.Query, "question")
        if not any(wish.answers):
            raise Refused(f"question {dialog.id} needs an answer; to decline it, reject it")
        if len(wish.answers) > len(dialog.ask.questions):
            raise Refused(f"question {dialog.id} has {len(dialog.ask.questions)} questions, and {len(wish.answers)} answers were given")
        if dialog.packed:
            return _response(dialog.id, value=to_json(wish.answers).decode())
        answer = ", ".join(wish.answers[0])
        if dialog.options and answer not in dialog.options:
            raise Refused(f"Pi wants one of: {', '.join(dialog.options)}")
        return _response(dialog.id, value=answer)

    def rejection(self, id: str) -> dict[str, Any]:
        return _response(self._awaited(id, d.Query, "question").id, cancelled=True)

    def dismissals(self) -> Iterator[dict[str, Any]]:
        """Every open dialog closed: an abort waits for a dialog that does not listen to it (09e)."""
        return (_response(id, cancelled=True) for id in self._open)

    def _awaited(self, id: str, kind: type[d.Draft], name: str) -> Any:
        dialog = self._open.get(id)
        if dialog is None or not isinstance(dialog.ask, kind):
            raise Refused(f"Pi has no open {name} {id!r}")
        return dialog


def _response(id: str, **answer: Any) -> dict[str, Any]:
    return {"type": "extension_ui_response", "id": id, **answer}


# --- what a dialog asks -----------------------------------------------------


def _dialog(native: dict[str, Any], running: Running) -> Dialog:
    match native:
        case {"method": str(method), "title": str(title), "id": str(id)} if title.startswith((_PERMISSION, _QUESTION)) and (
            ours := _ours(id, method, title, list(native.get("options") or ()))
        ):
            return ours
        case {"method": "confirm" as method, "id": str(id), "title": str(title), "message": str(message)}:
            return Dialog(id, method, _permission(id, title, running, {"reason": message, "title": title}))
        case {"method": "select" as method, "id": str(id), "title": str(title), "options": [*options]}:
            if _option(options, "accept") and _option(options, "reject"):
                return Dialog(id, method, _permission(id, title, running, {"reason": title, "title": title, "options": options}), options)
            return Dialog(id, method, _question(id, title, running, options), options)
        case {"method": "input" | "editor" as method, "id": str(id), "title": str(title)}:
            return Dialog(id, method, _question(id, title, running, []))
        case _:
            raise Unparsed("a dialog without the fields it must have")


def _ours(id: str, method: str, title: str, options: list[str]) -> Dialog | None:
    """None for the words of another extension that begin like ours."""
    kind, _, told = title.partition(" ")
    try:
        asked = msgspec.json.decode(told)
    except msgspec.DecodeError:
        return None
    match asked:
        case {"toolCallId": str(call), "toolName": str(tool), "input": given} if kind == _PERMISSION.strip():
            metadata = {"input": given} | ({"options": options} if options else {})
            return Dialog(id, method, d.Ask(id, tool_name(tool), call, metadata), options)
        case {"toolCallId": str(call), "questions": [*several]} if kind == _QUESTION.strip():
            questions = [_asked(str(at), each) for at, each in enumerate(several, 1)]
            return Dialog(id, method, d.Query(id, questions, call), packed=True)
        case {"toolCallId": str(call), "question": str(question)} if kind == _QUESTION.strip():
            one = Question(id, None, question, [Option(label) for label in options])
            return Dialog(id, method, d.Query(id, [one], call), options)
        case _:
            return None


def _asked(id: str, told: dict[str, Any]) -> Question:
    options = [Option(option["label"], option.get("description")) for option in told.get("options") or ()]
    return Question(id, told.get("header"), told["question"], options, bool(told.get("multiSelect")))


def _permission(id: str, title: str, running: Running, metadata: dict[str, Any]) -> d.Ask:
    if not running:
        return d.Ask(id, title, None, metadata)
    # Hooks run one after the other, each before its call does anything (09f): it is about the latest, unless a running tool asks by itself.
    given = _given({title, metadata["reason"]} - {""}, running)
    call_id = given[0] if len(given) == 1 else list(running)[-1]
    tool = running[call_id]
    return d.Ask(id, tool_name(tool.name), call_id, {"input": tool.args} | metadata)


def _question(id: str, title: str, running: Running, options: list[str]) -> d.Query:
    question = Question(id, None, title, [Option(label) for label in options])
    calls = _given({title}, running) or list(running)
    return d.Query(id, [question], calls[0] if len(calls) == 1 else None)


def _given(words: set[str], running: Running) -> list[str]:
    """The calls that were given these words: dialogs of two calls may be open (11c)."""
    return [call for call, tool in running.items() if isinstance(tool.args, dict) and not words.isdisjoint(_strings(tool.args))]


def _strings(args: dict[str, Any]) -> Iterator[str]:
    return (value for value in args.values() if isinstance(value, str))


# --- labels -----------------------------------------------------------------


def _meaning(label: str) -> PermissionStatus | None:
    words = set(_WORDS.findall(label.lower().replace("’", "'")))
    if words & _DENY:
        return "reject"
    if words & _LASTING:
        return "accept_for_session"
    return "accept" if words & _ALLOW else None


def _option(options: list[str], wanted: PermissionStatus) -> str | None:
    return next((label for label in options if _meaning(label) == wanted), None)


def _verdict(id: str, told: dict[str, Any]) -> d.Answer:
    match told:
        case {"confirmed": True}:
            return d.Answer(id, "accept")
        case {"value": str(label)}:
            verdict, _, why = label.partition(": ")
            status = _meaning(verdict) or "reject"
            return d.Answer(id, status, why or None) if status == "reject" else d.Answer(id, status)
        case _:
            return d.Answer(id, "reject")


def _answers(dialog: Dialog, told: dict[str, Any]) -> list[list[str]] | None:
    match told:
        case {"value": str(value)} if dialog.packed:
            return msgspec.json.decode(value, type=list[list[str]])
        case {"value": str(value)}:
            return [[value]]
        case _:
            return None
