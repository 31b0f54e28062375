"""Every agents/*/cases/*.case is a conversation: replay it, compare it whole.

    # intent
    > the agent says (native)              < we record (event; a star: synthetic)
    ! a client commands                    ^ we say to the agent (native), or ^ refused: why
    = head | open | send | stderr | exit | end   what else happens to a tape; `open` is the start of a live session

The file's end is the end of the tape. `= head {"dialect": …}` first chooses a dialect other than the main one.
After an intended change run `pytest --rewrite` and review the diff.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import onetape
from onetape import agents, tape
from onetape.agents import registry
from onetape.commands import Command
from onetape.errors import Refused
from onetape.schema import Event, type_of
from onetape.tape import Head
from rehearsal import Rehearsal

CASES = sorted(Path(agents.__path__[0]).glob("*/cases/*.case"))


class Conversation:
    """A case played again: its lines with today's answers under each, and the rehearsal that gave them."""

    def __init__(self, case: Path) -> None:
        self._case = case
        self.agent = registry.find(case.parent.parent.name)
        self.session = Rehearsal(self.agent)
        self.commands: list[Command] = []
        self._native: str | None = None
        self.answer = "".join(f"{line}\n" for line in self._replay())

    def _replay(self) -> Iterator[str]:
        for line in self._case.read_text().split("\n"):
            mark, _, body = line.partition(" ")
            if mark in ("<", "^", "<*") or not line:
                continue  # yesterday's answers
            yield line
            yield from self._play(mark, body)
        yield from self._shown(self.session.finish())

    def _play(self, mark: str, body: str) -> Iterator[str]:
        match mark:
            case "#":
                pass
            case ">":
                yield from self._happened(*self.session.add(tape.recv(len(self.session.tape) / 8, body.encode())))
            case "!":
                yield from self._commanded(body)
            case "=":
                yield from self._else(*body.partition(" ")[::2])
            case _:
                pytest.fail(f"{self._case.name}: a line begins with {mark!r}")

    def _commanded(self, body: str) -> Iterator[str]:
        name, _, fields = body.partition(" ")
        command = msgspec.convert({"type": name, **json.loads(fields or "{}")}, Command)
        self.commands.append(command)
        try:
            yield from self._happened(*self.session.command(command))
        except Refused as refusal:
            yield f"^ refused: {refusal}"

    def _else(self, what: str, body: str) -> Iterator[str]:
        match what:
            case "head":
                head = msgspec.json.decode(body, type=Head)
                if self.session.tape:
                    pytest.fail(f"{self._case.name}: the head comes first")
                self.session = Rehearsal(self.agent, head, head.dialect)
                yield from self._shown(self.session.events)
            case "open":
                yield from self._happened(*self.session.open())
            case "stderr":
                yield from self._shown(self.session.take("stderr", body))
            case "send" | "exit" | "end" | "note":
                yield from self._shown(self.session.take(what, json.loads(body)))
            case _:
                pytest.fail(f"{self._case.name}: nothing is called {what!r}")

    def _happened(self, events: list[Event], said: list[Any]) -> Iterator[str]:
        for native in said:
            yield f"^ {json.dumps(native, ensure_ascii=False)}"
        yield from self._shown(events)

    def _shown(self, events: list[Event]) -> Iterator[str]:
        for event in events:
            data = onetape.to_json(event.data).decode().replace("itm_" + self._key(event) + "_", "itm_")
            native = "" if event.native_session_id == self._native else f" native={event.native_session_id}"
            self._native = event.native_session_id
            yield f"<{'*' if event.synthetic else ''} {type_of(event)} {data}{native}"

    def _key(self, event: Event) -> str:
        return event.event_id.removeprefix("evt_").removesuffix(f"_{event.sequence}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.parent.name}/{case.stem}")
def test_case(case: Path, golden: Callable[[Path, str], None]) -> None:
    conversation = Conversation(case)
    golden(case, conversation.answer)
    conversation.session.verify()
    assert conversation.session.unheard == []
    types = {type_of(event) for event in conversation.session.events}
    assert ("agent.unparsed" in types) == case.stem.startswith("unparsed_")
    assert conversation.answer.startswith("# "), "a case says first what it shows"
