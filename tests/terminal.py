"""A terminal with a program in it, and somebody who reads and types."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from patience import PATIENCE

CTRL_C, CTRL_D = "\x03", "\x04"
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Terminal:
    def __init__(self, *words: str, env: Mapping[str, str], width: int = 100) -> None:
        self._near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onetape", *words], stdin=far, stdout=far, stderr=far, env={**env, "TERM": "xterm-256color"},
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(far)
        self.raw = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._near)

    @property
    def screen(self) -> str:
        """All that was ever printed, without colours."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def read(self, wanted: str) -> str:
        """Waits until this is printed, after what was read before; what stood between."""
        until = time.monotonic() + PATIENCE
        while (at := self.screen.find(wanted, self._read_to)) < 0:
            assert self._more(until), f"{wanted!r} never came:\n{self.screen}"
        between = self.screen[self._read_to : at]
        self._read_to = at + len(wanted)
        return between

    def type(self, words: str) -> None:
        os.write(self._near, words.encode())

    def end(self) -> int:
        """Waits for the program's end; its exit code."""
        until = time.monotonic() + PATIENCE
        while self._more(until):
            pass
        return self.process.wait(PATIENCE)

    def _more(self, until: float) -> bool:
        if not select.select([self._near], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        try:
            self.raw += os.read(self._near, 65536).decode(errors="replace")
        except OSError:  # how Linux says that nobody is at the other end any more
            return False
        return True
