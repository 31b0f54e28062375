"""Promises of turns: they alternate, end under the id they began with, and a failed one has one error."""

from collections.abc import Iterator

from msgspec import UNSET

from onetape import schema
from onetape.promises.group import Fault
from onetape.schema import Event


class Turns:
    def __init__(self) -> None:
        self.current: schema.TurnStarted | None = None
        self._ids: set[str] = set()
        self._errors: list[schema.Error] = []

    def see(self, event: Event) -> Iterator[Fault]:
        match event:
            case schema.TurnStarted():
                yield from self._start(event)
            case schema.TurnEnded():
                yield from self._end(event)
            case schema.Error() if self.current is not None:
                self._errors.append(event)
            case schema.Error(data=schema.ErrorData(code="process_exit")):
                yield "process_exit", "the process is said to have died in a turn, but no turn is open"
            case schema.SessionEnded() if self.current is not None:
                yield "turn_not_ended", f"the session ended within turn {self.current.data.turn_id}"
            case _:
                pass

    def _start(self, event: schema.TurnStarted) -> Iterator[Fault]:
        turn_id = event.data.turn_id
        if self.current is not None:
            yield "turn_alternation", f"turn {turn_id} starts while turn {self.current.data.turn_id} is open"
        if not turn_id:
            yield "turn_id", "the turn has no id"
        if turn_id in self._ids:
            yield "turn_id_reused", f"an earlier turn was already called {turn_id}"
        self._ids.add(turn_id)
        self.current, self._errors = event, []

    def _end(self, event: schema.TurnEnded) -> Iterator[Fault]:
        if self.current is None:
            yield "turn_alternation", f"turn {event.data.turn_id} ends, but no turn is open"
            return
        if event.data.turn_id != self.current.data.turn_id:
            yield "turn_id", f"turn {self.current.data.turn_id} was open, and {event.data.turn_id} ends"
        self.current = None
        yield from self._outcome(event.data.metadata)

    def _outcome(self, outcome: schema.TurnOutcome) -> Iterator[Fault]:
        if outcome.status == "failed":
            if not outcome.error:
                yield "failed_turn_without_reason", "the turn failed, but its metadata has no error"
            if not self._errors:
                yield "failed_turn_without_error", "the turn failed without an error event"
            if len(self._errors) > 1:
                yield "error_twice", f"a failed turn has one error, this one has {_numbers(self._errors)}"
            return
        # Other turns may hold errors, and several: a message sent in mid-turn and refused is an error of its own.
        if outcome.error is not UNSET:
            yield "unfailed_turn_with_reason", f"the turn is {outcome.status}, but its metadata has an error"
        if any(error.data.code == "process_exit" for error in self._errors):
            yield "process_exit", f"the process died in this turn, which nevertheless is {outcome.status}"


def _numbers(events: list[schema.Error]) -> str:
    return " and ".join(str(event.sequence) for event in events)
