"""A session without a process: tape, translator and recorder, with a test as the agent and as the client.

Time is counted, not measured: each record is an eighth of a second after the one before.
"""

import copy
from typing import Any

import onetape
from onetape import tape
from onetape.agents.agent import Agent
from onetape.commands import Command
from onetape.drafts import Unheard
from onetape.schema import Event
from onetape.tape import Head, Record
from onetape.transcribe import Transcriber, transcribe
from onetape.translator import Send

SESSION = "sess_case"


class Rehearsal:
    def __init__(self, agent: Agent, head: Head | None = None, dialect: str | None = None) -> None:
        self.agent = agent
        self.tape: list[Record] = []
        self.events: list[Event] = []
        self.unheard: list[Any] = []
        """Sends of ours that our own translator does not know."""
        self.transcriber = Transcriber(agent, head or Head(session_id=SESSION), dialect=dialect)
        if head is not None:
            self.take("head", head)

    def add(self, record: Record) -> tuple[list[Event], list[Any]]:
        """The events of this record and of what the agent thereby made us say; and that."""
        record, events, demanded = self.transcriber.step(record)
        self.tape.append(record)
        self.events += events
        more, said = self._say(demanded)
        return events + more, said

    def take(self, dir: str, payload: Any) -> list[Event]:
        return self.add(tape.record(len(self.tape) / 8, dir, payload))[0]

    def heard(self, line: bytes) -> list[Event]:
        return self.add(tape.recv(len(self.tape) / 8, line))[0]

    def open(self) -> tuple[list[Event], list[Any]]:
        return self._say(self.transcriber.translator.open())

    def command(self, command: Command) -> tuple[list[Event], list[Any]]:
        self.take("cmd", command)
        return self._say(self.transcriber.translator.encode(command))

    def _say(self, sends: list[Send]) -> tuple[list[Event], list[Any]]:
        events: list[Event] = []
        for send in sends:
            record = tape.record(len(self.tape) / 8, "send", send.message)
            self.tape.append(record)
            self.unheard += self._not_known(send)
            events += self.transcriber.take(record)
        self.events += events
        return events, [send.message for send in sends]

    def _not_known(self, send: Send) -> list[Any]:
        translator = copy.deepcopy(self.transcriber.translator)  # to hear a send twice would be two sends
        return [send.message for draft in translator.sent(send.message) if isinstance(draft, Unheard)]

    def finish(self) -> list[Event]:
        """The tape is over."""
        events = self.transcriber.finish()
        self.events += events
        return events

    def verify(self) -> None:
        """What was recorded live is what its tape tells again, and keeps the promises."""
        translator = self.transcriber.translator
        file = b"".join(map(tape.encode, self.tape))
        again = transcribe(file, self.agent, dialect=translator.dialect, session_id=translator.head.session_id)
        assert list(map(onetape.to_json, again)) == list(map(onetape.to_json, self.events))
        assert broken(self.events) == []


def broken(events: list[Event], *, bare: bool = False) -> list[str]:
    """The promises that a transcript breaks, warnings apart."""
    return [f"{fault.sequence} {fault.rule}: {fault.message}" for fault in onetape.check(events, bare=bare) if not fault.is_warning]
