"""Who drives a session: this process, told apart from any other that ever had or will have its number."""

import os
import socket
import subprocess
from pathlib import Path

from msgspec import Struct
from msgspec.json import decode, encode


class Owner(Struct, frozen=True):
    host: str
    pid: int
    started: str
    """When the process began, as its system says it."""

    def __str__(self) -> str:
        return encode(self).decode()

    @property
    def is_alive(self) -> bool:
        """Of another machine's nobody can say: it is believed to live."""
        return self.host != socket.gethostname() or _started(self.pid) == self.started


def this_process() -> Owner:
    return Owner(socket.gethostname(), os.getpid(), _started(os.getpid()) or "")


def owner_of(told: str) -> Owner:
    return decode(told, type=Owner)


def is_alive(owner: str) -> bool:
    return owner_of(owner).is_alive


def _started(pid: int) -> str | None:
    try:
        # The 22nd field, counted after the name in brackets, which may hold anything. It counts from the machine's start.
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{ticks} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
    except OSError:
        return None if Path("/proc/self/stat").exists() else _asked(pid)


def _asked(pid: int) -> str | None:
    told = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip() or None
