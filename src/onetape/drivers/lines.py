"""Bytes in, lines or events out, records out: the hot path of everything an agent says. No I/O."""

from msgspec import Raw

from onetape.tape import Record, cut, quoted

_QUOTE = ord('"')


class Lines:
    """Lines of a byte stream that is cut anywhere, of any length unless a longest is given.

    Split at "\\n" alone: U+2028 and friends occur inside JSON strings. A long line is joined
    once, when it is whole, and not once per chunk.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._size = 0

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes."""
        whole, last = cut(chunk)
        if whole:
            whole[0] = self._join(whole[0])
        self._hold(last)
        return whole

    def rest(self) -> list[bytes]:
        """The last line, where it lacks its newline."""
        return [line] if (line := self._join(b"")) else []

    def _hold(self, piece: bytes) -> None:
        if self._longest is not None:
            piece = piece[: self._longest - self._size]
        if piece:
            self._begun.append(piece)
            self._size += len(piece)

    def _join(self, end: bytes) -> bytes:
        self._hold(end)
        line = b"".join(self._begun)
        self._begun.clear()
        self._size = 0
        return line


class Data:
    """The data of a stream of server-sent events; their names and ids are not looked at."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._begun: list[bytes] = []

    def cut(self, chunk: bytes) -> list[bytes]:
        """The data of the events that this chunk completes."""
        return spoken([data for line in self._lines.cut(chunk) if (data := self._read(line.removesuffix(b"\r"))) is not None])

    def _read(self, line: bytes) -> bytes | None:
        if line.startswith(b"data:"):
            self._begun.append(line[5:].removeprefix(b" "))
        if line or not self._begun:
            return None
        # By the book they are joined by newlines, which a tape's line cannot hold; in JSON both are mere space.
        data = b" ".join(self._begun)
        self._begun.clear()
        return data


def spoken(lines: list[bytes]) -> list[bytes]:
    """Without blank lines, and without the carriage returns of some."""
    return [line.removesuffix(b"\r") for line in lines if line and not line.isspace()]


def said(t: float, line: bytes) -> Record:
    """What the agent said. The line's own bytes, undecoded, where a tape can hold them: a string
    stands for what is not JSON there, so a line that is one is quoted once more."""
    record = Record(t, "recv", Raw(line))
    return quoted(record) if line[0] == _QUOTE or not _is_text(line) else record


def _is_text(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
