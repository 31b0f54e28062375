"""A rehearsal with the real program: what a launch describes is started, and the test is its client.

A driver in small: lines of the program and of its helpers in the order of their arrival, no clock but one generous limit.
"""

import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from onetape import schema
from onetape.agents.agent import Agent, Launch, LaunchOptions
from onetape.commands import Command
from onetape.schema import Event, type_of
from onetape.tape import Head
from onetape.translator import Send
from patience import PATIENCE
from rehearsal import SESSION, Rehearsal
from scripted import Model

# --- what tests of every agent say ------------------------------------------


def a(kind: str) -> Callable[[Event], bool]:
    return lambda event: type_of(event) == kind


def items(events: list[Event], kind: str) -> list[schema.Item]:
    return [event.data.item for event in events if isinstance(event, schema.ItemCompleted) and event.data.item.kind == kind]


def texts(events: list[Event]) -> list[str]:
    return [item.content[0].text for item in items(events, "message")]  # type: ignore[union-attr]


def verdicts(events: list[Event]) -> list[str]:
    return [event.data.status for event in events if isinstance(event, schema.PermissionResolved)]


def outputs(events: list[Event]) -> list[tuple[str, str]]:
    return [(item.status, item.content[0].output) for item in items(events, "tool_result")]  # type: ignore[union-attr]


@contextmanager
def staging(agent: Agent, play: Callable[[Model], tuple[LaunchOptions, dict[str, str]]]) -> Iterator[Callable[..., tuple["Stage", Model]]]:
    """Starts the agent on a model with the script that is given; all that was started ends with it.

    `play`: how the agent is launched for that model, and in which environment."""
    with ExitStack() as stack:

        def start(*replies: list[Any], **options: Any) -> tuple[Stage, Model]:
            model = stack.enter_context(Model(*replies))
            launched, env = play(model)
            stage = Stage(agent, msgspec.structs.replace(launched, **options), env)
            stack.callback(stage.drop)
            return stage, model

        yield start


# --- the program ------------------------------------------------------------


class Stage(Rehearsal):
    """One process, from its launch to its exit; `verify` is called at the end."""

    def __init__(self, agent: Agent, options: LaunchOptions, env: dict[str, str]) -> None:
        head = Head(
            agent=agent.name, version=options.version, dialect=agent.translators[0].dialect, cwd=options.cwd, session_id=SESSION,
            model=options.model, variant=options.variant, mode=options.mode, permission_mode=options.permission_mode, resume=options.resume,
        )  # fmt: skip
        super().__init__(agent, head)
        assert agent.launch is not None
        self._seen = 0
        self._said: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self._helpers: dict[str, socket.socket] = {}
        self.place = Path(tempfile.mkdtemp(prefix="ot-"))  # short: a socket's address must be
        self._process = self._start(agent.launch(options), env)
        self.open()

    def _start(self, launch: Launch, env: dict[str, str]) -> subprocess.Popen[bytes]:
        def filled(text: str) -> str:
            return text.replace("{dir}", str(self.place)).replace("{socket}", str(self.place / "s"))

        for name, content in launch.files.items():
            (self.place / name).write_text(filled(content))
            (self.place / name).chmod(0o700 if content.startswith("#!") else 0o600)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.place / "s"))
        self._listener.listen()
        threading.Thread(target=self._welcome, daemon=True).start()
        process = subprocess.Popen(
            list(map(filled, launch.argv)), cwd=launch.cwd, env=env | {name: filled(value) for name, value in launch.env.items()},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        pipes = (("recv", process.stdout), ("stderr", process.stderr))
        self._readers = [threading.Thread(target=self._listen, args=pipe, daemon=True) for pipe in pipes]
        for reader in self._readers:
            reader.start()
        return process

    # --- what arrives, each in a thread of its own --------------------------

    def _listen(self, dir: str, pipe: Any) -> None:
        for line in pipe:
            self._said.put((dir, line.rstrip(b"\n")))
        self._said.put(("over", dir.encode()))

    def _welcome(self) -> None:
        while True:
            try:
                helper, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._attend, args=(helper,), daemon=True).start()

    def _attend(self, helper: socket.socket) -> None:
        with helper, helper.makefile("rb") as lines:
            asked = lines.readline()
            id = json.loads(asked)["id"]
            self._helpers[id] = helper
            self._said.put(("recv", asked.rstrip(b"\n")))
            lines.read()  # until it hangs up
            if self._helpers.pop(id, None) is not None:
                self._said.put(("recv", json.dumps({"channel": "delegate", "id": id, "closed": True}).encode()))

    # --- what a test does ---------------------------------------------------

    def do(self, command: Command) -> None:
        self.command(command)

    def until(self, wanted: Callable[[Event], Any]) -> Any:
        """The next event that is wanted."""
        while True:
            for event in self.events[self._seen :]:
                self._seen += 1
                if wanted(event):
                    return event
            assert self._hear(), f"the program ended; it said {[record.line for record in self.tape[-5:]]}"

    def _hear(self) -> bool:
        """One more line; False at the end."""
        dir, line = self._said.get(timeout=PATIENCE)
        if dir == "recv":
            self.heard(line)
        elif dir == "stderr":
            self.take("stderr", line.decode(errors="replace"))
        return (dir, line) != ("over", b"recv")

    def _say(self, sends: list[Send]) -> tuple[list[Event], list[Any]]:
        told = super()._say(sends)
        for send in sends:
            self._write(send.message)
        return told

    def _write(self, message: Any) -> None:
        assert self._process.stdin is not None
        match message:
            case {"signal": name}:
                self._process.send_signal(signal.Signals[name])
            case {"channel": "delegate", "id": id}:
                self._helpers.pop(id).sendall(json.dumps(message).encode() + b"\n")
            case _:
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()

    def deaf(self) -> None:
        """The session is gone as far as helpers can tell: whoever waits is left, and nobody else is heard."""
        self._listener.close()
        (self.place / "s").unlink()
        for id in list(self._helpers):
            self._helpers.pop(id).shutdown(socket.SHUT_RDWR)

    def end(self, *, stop: signal.Signals | None = None) -> list[Event]:
        """Lets the process end, by closing its stdin or by a signal, and finishes the transcript."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if stop is not None:
            self._process.send_signal(stop)
        while self._hear():
            pass
        self.take("exit", self._process.wait(PATIENCE))
        self.finish()
        self.verify()
        assert self.unheard == []
        return self.events

    def drop(self) -> None:
        """Whatever happened: no process and no file of ours stays."""
        self._listener.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        for reader in self._readers:
            reader.join(PATIENCE)
        with self._process:  # closes its pipes
            pass
        shutil.rmtree(self.place, ignore_errors=True)
