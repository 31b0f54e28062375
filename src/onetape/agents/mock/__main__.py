"""The mock's body: pipes, time and signals around its brain.

    python -m onetape.agents.mock [--session-id ID | --resume ID] [--model M] [--variant V] [--mode M] [--permission-mode P] [--mcp NAME]…

One thread. Lines are gathered and written together: whenever there is nothing
else to do, and at the latest after a batch, when stdin is looked at too, so that
an interrupt is heard in the middle of any flood.
"""

import argparse
import os
import select
import signal
import sys
import time

import msgspec

from onetape.agents.mock.brain import Brain
from onetape.agents.mock.stage import Complain, Exit, Pause, Print, Say, Settings
from onetape.agents.mock.wire import VERSION

STDIN, STDOUT, STDERR = 0, 1, 2
BATCH = 1 << 16


class Body:
    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self._encode_into = msgspec.json.Encoder().encode_into
        self._unsaid = bytearray()
        self._unheard = b""
        self._is_stdin_open = True
        self._wake: float | None = None

    def run(self) -> int:
        """Lives until the brain wants to leave; its exit code."""
        while True:
            match self._brain.step():
                case Say(message):
                    self._encode_into(message, self._unsaid, -1)
                    self._end_line()
                case Print(line):
                    self._unsaid += line.encode()
                    self._end_line()
                case Complain(text):
                    self._flush()  # so that the two streams are in order for whoever watches both
                    _write(STDERR, f"{text}\n".encode())
                case Pause(seconds):
                    self._wake = None if seconds is None else time.monotonic() + seconds
                case Exit(code):
                    self._flush()
                    return code
                case _:
                    self._flush()
                    self._wait()

    def _end_line(self) -> None:
        self._unsaid += b"\n"
        if len(self._unsaid) >= BATCH:
            self._flush()
            if self._is_stdin_open:
                self._listen(0.0)

    def _flush(self) -> None:
        if self._unsaid:
            _write(STDOUT, self._unsaid)
            self._unsaid.clear()

    def _wait(self) -> None:
        """For words, or for the end of the pause."""
        left = None if self._wake is None else max(0.0, self._wake - time.monotonic())
        if not self._is_stdin_open and left is None:
            signal.pause()  # it hangs, and only a signal can end that
        elif not self._is_stdin_open:
            time.sleep(left or 0.0)
            self._rested()
        elif not self._listen(left):
            self._rested()

    def _rested(self) -> None:
        self._wake = None
        self._brain.rested()

    def _listen(self, seconds: float | None) -> bool:
        """Hears what has come by then; whether anything has."""
        # Not epoll: that refuses a stdin that is a file.
        if not select.select([STDIN], [], [], seconds)[0]:
            return False
        chunk = os.read(STDIN, BATCH)
        *lines, self._unheard = (self._unheard + (chunk or b"\n")).split(b"\n")
        for line in lines:
            if line.strip():
                self._brain.hear(line)
        if not chunk:
            self._is_stdin_open = False
            self._brain.hang_up()
        return True


def _write(to: int, content: bytes | bytearray) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(to, view) :]


def _settings(arguments: list[str]) -> Settings:
    parser = argparse.ArgumentParser(prog="mock", description="An agent without a model. Say `help` to it.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"mock {VERSION}")
    parser.add_argument("--session-id")
    parser.add_argument("--resume", metavar="SESSION_ID")
    parser.add_argument("--model", default="mock-1")
    parser.add_argument("--variant")
    parser.add_argument("--mode", default="build")
    parser.add_argument("--permission-mode", default="default")
    parser.add_argument("--mcp", action="append", default=[], metavar="NAME")
    told = parser.parse_args(arguments)
    return Settings(
        session=told.resume or told.session_id or f"mock_{os.urandom(8).hex()}",
        cwd=os.getcwd(),
        model=told.model,
        variant=told.variant,
        mode=told.mode,
        permission_mode=told.permission_mode,
        mcp=tuple(told.mcp),
        resumed=told.resume is not None,
        # A call named c1 in both processes of one session would be one call told twice.
        nonce=os.urandom(4).hex() if told.resume else "",
    )


def main() -> int:
    settings = _settings(sys.argv[1:])
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(stop, signal.SIG_DFL)  # at once, and without a traceback
    return Body(Brain(settings)).run()


if __name__ == "__main__":
    sys.exit(main())
