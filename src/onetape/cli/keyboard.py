"""Lines that a person types, one at a time, for whoever asks; waiting can be given up at any moment.

`input()` cannot: it would hold a thread, and the line after, when an ask is answered from elsewhere.
"""

import asyncio
import os
import select
import sys
import termios

MOST = 1 << 16


class Keyboard:
    def __init__(self) -> None:
        self._file = sys.stdin.fileno()

    def forget(self) -> None:
        """What was typed so far does not count: nobody allows a command that he has not seen."""
        termios.tcflush(self._file, termios.TCIFLUSH)

    async def line(self) -> str | None:
        """What is typed up to Enter; None for Ctrl-D."""
        loop = asyncio.get_running_loop()
        typed = asyncio.Event()
        loop.add_reader(self._file, typed.set)
        try:
            await typed.wait()
        finally:
            loop.remove_reader(self._file)
        return self._read()

    async def text(self) -> str | None:
        """The same for words of any length: lines that are pasted together belong together."""
        said = await self.line()
        while said is not None and select.select([self._file], [], [], 0)[0]:
            said = f"{said}\n{self._read() or ''}"
        return said

    def _read(self) -> str | None:
        typed = os.read(self._file, MOST)
        return typed.decode(errors="replace").rstrip("\r\n") if typed else None
