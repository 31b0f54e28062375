"""Files and pipes as chunks of bytes, with progress for people who wait."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from onetape.errors import Refused

CHUNK = 1 << 18
# Shorter inputs are over before a bar could be read.
WORTH_A_BAR = 16 << 20


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """A file, or stdin for `-`; what cannot be read is refused in one line."""
    if name == "-":
        if sys.stdin.isatty():
            print("onetape: reading from the terminal; end with Ctrl-D", file=sys.stderr)
        yield sys.stdin.buffer
        return
    try:
        file = open(name, "rb")  # noqa: SIM115 - closed below; `with` would also turn errors of the reader into refusals
    except OSError as error:
        raise Refused(f"cannot read {name}: {error.strerror or error}") from None
    with file:
        yield file


def chunks(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The bytes as they come, shown as a bar on stderr where somebody watches and the output goes elsewhere."""
    source = iter(lambda: _read(file, name), b"")
    size = Path(name).stat().st_size if name != "-" and Path(name).is_file() else 0
    if size < WORTH_A_BAR or not sys.stderr.isatty() or sys.stdout.isatty():
        yield from source
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=size)
        for chunk in source:
            yield chunk
            progress.advance(task, len(chunk))


def _read(file: BinaryIO, name: str) -> bytes:
    try:
        return file.read1(CHUNK) if hasattr(file, "read1") else file.read(CHUNK)
    except OSError as error:
        raise Refused(f"cannot read {name}: {error.strerror or error}") from None


def begun(source: Iterator[bytes], name: str) -> tuple[bytes, Iterator[bytes]]:
    """The first chunk that says something, and all of it again; an empty input is refused."""
    first = b""
    for chunk in source:
        first += chunk
        if first.strip():
            break
    if not first.strip():
        raise Refused(f"{'stdin' if name == '-' else name} is empty")

    def again() -> Iterator[bytes]:
        yield first
        yield from source

    return first, again()
