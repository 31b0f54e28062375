"""The private directory of a session, and what stands for the placeholders of a `Launch`."""

import contextlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from functools import cached_property
from pathlib import Path

import msgspec

from onetape.agents.agent import Launch

_PLACEHOLDER = re.compile(r"\{(port|dir|socket|secret)\}")
# A socket's path must fit into 104 bytes on macOS, 108 on Linux.
_LONGEST_ADDRESS = 100


class Private:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._elsewhere: Path | None = None

    @cached_property
    def secret(self) -> str:
        return secrets.token_urlsafe(32)

    @cached_property
    def port(self) -> int:
        """A port that was free a moment ago."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    @cached_property
    def socket(self) -> Path:
        address = self.path / "channel"
        if len(os.fsencode(address)) <= _LONGEST_ADDRESS:
            return address
        self._elsewhere = Path(tempfile.mkdtemp(prefix="onetape-"))  # 0700, as mkdtemp makes them
        return self._elsewhere / "channel"

    def prepare(self, launch: Launch) -> Launch:
        """Writes its files and fills in its placeholders."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        for name, content in launch.files.items():
            self._write(name, self.fill(content))
        return msgspec.structs.replace(
            launch,
            # A secret in an argument could be read by everybody on the machine.
            argv=[word if "{secret}" in word else self.fill(word) for word in launch.argv],
            env={name: self.fill(value) for name, value in launch.env.items()},
            login=launch.login and self.fill(launch.login),
        )

    def fill(self, text: str) -> str:
        """In one pass: what is put in is not looked through again."""
        return _PLACEHOLDER.sub(lambda found: str(self.path if found[1] == "dir" else getattr(self, found[1])), text)

    def remove(self) -> None:
        for path in (self.path, self._elsewhere):
            if path is not None:
                shutil.rmtree(path, ignore_errors=True)

    def _write(self, name: str, content: str) -> None:
        path = self.path / name
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        mode = 0o700 if content.startswith("#!") else 0o600
        # Exclusively, and private from its first moment.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(content)


def wants_channel(launch: Launch) -> bool:
    return any("{socket}" in text for text in (*launch.argv, *launch.env.values(), *launch.files.values()))
