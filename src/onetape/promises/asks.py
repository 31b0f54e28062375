"""Promises of asks: each permission and question is requested once and resolved once, in time."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from onetape import schema
from onetape.promises.calls import Calls
from onetape.promises.group import Fault
from onetape.promises.turns import Turns
from onetape.schema import Event

Ask: TypeAlias = tuple[str, str]
"""What is asked for, permission or question, and its id."""


class Asks:
    def __init__(self, turns: Turns, calls: Calls) -> None:
        self._turns = turns
        self._calls = calls
        self._seen: set[Ask] = set()
        self._told: set[Ask] = set()
        self._pending: dict[Ask, bool] = {}
        """Whether it is of background work, which may outlive the turn."""

    def see(self, event: Event) -> Iterator[Fault]:
        match event:
            case schema.PermissionRequested(data=data):
                yield from self._request(("permission", data.permission_id), data.status, data.metadata)
                yield from self._action(data)
            case schema.QuestionRequested(data=data):
                yield from self._request(("question", data.question_id), data.status, data.metadata or {})
                yield from _mirror(data)
            case schema.PermissionResolved(data=data):
                yield from self._resolve(("permission", data.permission_id), data.status)
            case schema.QuestionResolved(data=data):
                yield from self._resolve(("question", data.question_id), data.status)
                yield from _mirror(data)
            case schema.TurnEnded():
                for kind, id in self._overdue(ask for ask, is_background in self._pending.items() if not is_background):
                    yield "ask_after_turn", f"the turn ended and the {kind} {id} is not resolved"
            case schema.SessionEnded():
                for kind, id in self._overdue(self._pending):
                    yield "ask_unresolved", f"the session ended and the {kind} {id} is not resolved"
            case _:
                pass

    def _request(self, ask: Ask, status: str, metadata: dict[str, Any]) -> Iterator[Fault]:
        kind, id = ask
        is_background = metadata.get("background") is True
        if status != "requested":
            yield "ask_status", f"the {kind} {id} is requested with the status {status}"
        if ask in self._seen:  # also when the first was resolved: a late answer could be to either
            yield "ask_twice", f"the {kind} {id} is requested a second time"
        if self._turns.current is None and not is_background:
            yield "ask_outside_turn", f"the {kind} {id} is requested while no turn is open, and not marked as background"
        self._seen.add(ask)
        self._pending[ask] = is_background

    def _resolve(self, ask: Ask, status: str) -> Iterator[Fault]:
        kind, id = ask
        if status == "requested":
            yield "ask_status", f"the {kind} {id} is resolved with the status requested"
        if ask not in self._seen:
            yield "ask_unknown", f"the {kind} {id} is resolved and was never requested"
        elif ask not in self._pending:
            yield "ask_resolved_twice", f"the {kind} {id} is resolved a second time"
        self._pending.pop(ask, None)

    def _overdue(self, asks: Iterable[Ask]) -> list[Ask]:
        """Those not told before: neither the session's end nor a late answer is a further fault."""
        overdue = [ask for ask in asks if ask not in self._told]
        self._told.update(overdue)
        return overdue

    def _action(self, data: schema.PermissionData) -> Iterator[Fault]:
        name = self._calls.name_of(data.metadata.get("call_id"))  # None: the call may follow
        if name is not None and name != data.action:
            yield "ask_action", f"permission {data.permission_id} is for {data.action}, but its call is of {name}"


def _mirror(data: schema.QuestionData) -> Iterator[Fault]:
    """Readers who know one question only find the first of several in the old fields."""
    if not data.questions:
        return
    first = data.questions[0]
    response = ", ".join(first.answers) if isinstance(first.answers, list) else None
    shown = (first.prompt, [option.label for option in first.options], response)
    if (data.prompt, data.options, data.response) != shown:
        yield "question_mirror", f"prompt, options and response of question {data.question_id} are not those of its first question"
