"""One scenario's stage: a session of a real agent, driven through the daemon's HTTP API, and proven when it is over.

    with stage.session(Text("Hello.")) as session:
        session.turn("Greet me")
        assert session.words() == ["Hello."]

Whatever the scenario, the session must in the end keep every promise, be the same on the live stream and in the log,
and be what its tape tells again, byte for byte; the script must have been played to its end and no further.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onetape
from lab.agents.subject import Subject
from lab.daemon import Daemon
from lab.model import Model, Talk
from lab.script import Answer
from onetape import promises
from onetape.stores import sqlite
from onetape.stores.store import events as stored_events

Event = dict[str, Any]


class Session:
    def __init__(self, daemon: Daemon, talk: Talk, id: str) -> None:
        self.talk = talk
        self.id = id
        self.events: list[Event] = []
        self._daemon = daemon
        self._stream = daemon.follow(id)

    # --- what a client does -------------------------------------------------

    def send(self, words: str, **fields: Any) -> None:
        self._post("messages", {"message": self.talk.prompt(words), **fields})

    def turn(self, words: str, **fields: Any) -> Event:
        """Sends a message and waits until its turn is over; how it ended."""
        self.send(words, **fields)
        return self.turn_over()

    def permit(self, ask: Event, reply: str) -> None:
        self._post(f"permissions/{ask['permission_id']}/reply", {"reply": reply})

    def answer(self, ask: Event, *answers: list[str]) -> None:
        self._post(f"questions/{ask['question_id']}/reply", {"answers": answers})

    def decline(self, ask: Event) -> None:
        self._post(f"questions/{ask['question_id']}/reject")

    def interrupt(self) -> None:
        self._post("interrupt")

    def terminate(self) -> None:
        self._post("terminate")

    def change(self, **fields: str | None) -> None:
        self._daemon.patch(f"/v1/sessions/{self.id}", fields)

    @property
    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = self._daemon.get(f"/v1/sessions/{self.id}")
        return info

    def pending(self) -> list[dict[str, Any]]:
        """Its asks that wait for an answer."""
        return [ask for ask in self._daemon.get("/v1/pending")["pending"] if ask["sessionId"] == self.id]

    def _post(self, what: str, body: Any = None) -> None:
        self._daemon.post(f"/v1/sessions/{self.id}/{what}", body)

    # --- what it sees -------------------------------------------------------

    def until(self, type: str, found: Callable[[Any], bool] = lambda data: True) -> Any:
        """The data of the next such event."""
        for event in self._stream:
            self.events.append(event)
            if event["type"] == type and found(event["data"]):
                return event["data"]
        raise AssertionError(f"the session ended without {type}; last of all {self.events[-3:]}")

    def turn_over(self) -> Event:
        metadata: Event = self.until("turn.ended")["metadata"]
        return metadata

    def data(self, type: str) -> list[Any]:
        return [event["data"] for event in self.events if event["type"] == type]

    def items(self, kind: str, role: str | None = None) -> list[Event]:
        """Items that are complete."""
        items = [data["item"] for data in self.data("item.completed")]
        return [item for item in items if item["kind"] == kind and role in (None, item["role"])]

    def words(self, part: str = "text") -> list[str]:
        """What the assistant said, message by message; or what it thought."""
        messages = self.items("message", "assistant")
        return [content["text"] for item in messages for content in item["content"] if content["type"] == part]

    def results(self) -> list["Result"]:
        return [Result(item) for item in self.items("tool_result")]

    def close(self) -> None:
        """Ends it and reads what there is still to read."""
        self.terminate()
        if not self.data("session.ended"):
            self.until("session.ended")
        self._stream.close()


class Result:
    """A tool's result, part by part."""

    def __init__(self, item: Event) -> None:
        self.status: str = item["status"]
        self.output: str = item["content"][0]["output"]
        self.command: Event = next((part["json"] for part in item["content"] if part["type"] == "json"), {})
        self.files: list[Event] = [part for part in item["content"] if part["type"] == "file_ref"]


class Stage:
    def __init__(self, subject: Subject, daemon: Daemon, model: Model, scenario: str, directory: Path) -> None:
        self.subject = subject
        self.directory = directory
        self._daemon, self._model, self._scenario = daemon, model, scenario

    @contextmanager
    def session(self, *script: Answer, **options: Any) -> Iterator[Session]:
        """A new session, ended and proven when the block is left."""
        talk = self._model.talk(f"{self.subject.name}.{self._scenario}", *script)
        made = self._daemon.post("/v1/sessions", {"agent": self.subject.name, "directory": str(self.directory), **options})
        with self._proven(Session(self._daemon, talk, made["sessionId"])) as session:
            yield session
        assert talk.is_over, f"{len(talk.asked)} requests were made for this script"
        assert self._model.strays == []

    @contextmanager
    def resumed(self, session: Session, **changes: Any) -> Iterator[Session]:
        made = self._daemon.post(f"/v1/sessions/{session.id}/resume", changes)
        with self._proven(Session(self._daemon, session.talk, made["sessionId"])) as again:
            yield again

    @contextmanager
    def _proven(self, session: Session) -> Iterator[Session]:
        yield session
        session.close()
        self._prove(session)
        assert self.running() == [], "nothing may outlive its session"

    def _prove(self, session: Session) -> None:
        told = self._daemon.get(f"/v1/sessions/{session.id}/events")["events"]
        assert told == session.events, "the live stream and the log are one"
        with _opened(self._daemon.data) as store:
            stored = list(stored_events(store, session.id))
            again = [onetape.to_json(event) for event in onetape.transcribe(store.tape(session.id))]
        assert again == stored, "the transcript is a function of the tape"
        broken = [fault for fault in onetape.check(promises.decode([line + b"\n" for line in stored])) if not fault.is_warning]
        assert broken == []
        assert session.data("agent.unparsed") == [] and session.items("unknown") == []

    def after_a_rejection(self, answer: Answer) -> list[Answer]:
        """What the model says next, where it is asked at all."""
        return [] if self.subject.stops_when_rejected else [answer]

    def running(self) -> list[int]:
        """The processes at work in this scenario's directory."""
        return [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _directory_of(pid) == self.directory]


    def is_agent(self, pid: int) -> bool:
        """Whether this is the agent itself, and not what it started: the daemon's own child."""
        return parent_of(pid) == self._daemon.pid


def parent_of(pid: int) -> int:
    # The program's name stands in brackets before it, and may hold anything.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _directory_of(pid: int) -> Path | None:
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return None


@contextmanager
def _opened(data: Path) -> Iterator[sqlite.Sqlite]:
    store = sqlite.Sqlite(data)
    try:
        yield store
    finally:
        store.close()
