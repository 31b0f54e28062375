"""Tape records and their file form: what crossed the wire, byte for byte.

A tape file is one JSON object a line, `{"t": 1.234, "dir": "recv", "payload": …}`.
The payload is the native line's own bytes; it is spliced, never decoded and
encoded again, so a hash or a `raw` taken from it is the agent's own. This module
knows nothing of what a payload means.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain
from json.decoder import scanstring  # type: ignore[attr-defined]
from operator import methodcaller
from typing import Any, TypeAlias, overload

import msgspec
from msgspec import Raw, Struct

from onetape.errors import Unparsed

DIRECTIONS = frozenset({"head", "recv", "send", "stderr", "exit", "cmd", "end", "note"})
BOM = b"\xef\xbb\xbf"
Line: TypeAlias = bytes | Raw
TOGETHER = 512
"""Records in a batch at most: a file may be one chunk."""
PIECE = 1 << 17
"""So many bytes are cut into lines together where all are here: few enough that they stay in the processor's caches until then."""


class Head(Struct, frozen=True, omit_defaults=True):
    """The first record of a tape: whose session this is. Everything in it may be unknown."""

    agent: str | None = None
    version: str | None = None
    dialect: str | None = None
    cwd: str | None = None
    started: str | None = None
    session_id: str | None = None
    key: str | None = None
    model: str | None = None
    variant: str | None = None
    mode: str | None = None
    permission_mode: str | None = None
    resumed_from: str | None = None
    resume: str | None = None
    """The native session id that a live session goes on with."""


class Record(Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that happened on the wire; `t` is in seconds since the tape began."""

    t: float
    dir: str
    payload: Raw
    encoding: str | None = None
    stream: str | None = None
    note: str | None = None
    signal: str | None = None

    @property
    def silent(self) -> bool:
        """A server's log line or a remark of the recorder's: on the tape, but not said by the agent."""
        return self.stream is not None or self.note is not None

    @property
    def line(self) -> bytes:
        """The original line without its newline, however the tape had to store it."""
        payload = bytes(self.payload)
        if not payload.startswith(b'"'):
            return payload
        try:
            text: str = decode(payload)
            return base64.b64decode(text) if self.encoding == "base64" else text.encode()
        except (Unparsed, ValueError):
            return payload  # of a tape that somebody else wrote: it stands for nothing but itself

    def native(self) -> Any:
        """The payload as Python data, or `Unparsed`."""
        try:
            native = quick(self.payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            native = decode(self.payload)
        if isinstance(native, str):
            raise Unparsed(_why_not(self.line))
        return native


class Heard(Sequence[Record]):
    """Bare lines, all of which the agent said, at one time that is not known. A record is made of one when somebody asks for it: nearly
    always its line is enough."""

    __slots__ = ("lines",)

    def __init__(self, lines: list[bytes]) -> None:
        """`lines`: with their ends, which are nothing to a decoder."""
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, at: int) -> Record: ...

    @overload
    def __getitem__(self, at: slice) -> "Heard": ...

    def __getitem__(self, at: int | slice) -> "Record | Heard":
        return Heard(self.lines[at]) if isinstance(at, slice) else _heard(self.lines[at])

    def __iter__(self) -> Iterator[Record]:
        return map(_heard, self.lines)


def is_heard(record: Record) -> bool:
    """Whether the agent said this: no log line of its server, and no remark of the recorder's."""
    return record.dir == "recv" and record.stream is None and record.note is None


def said(records: Sequence[Record], at: int, until: int) -> Sequence[Line]:
    """The lines between these places, up to one that the agent did not say."""
    if isinstance(records, Heard):
        return records.lines[at:until]
    lines: list[Raw] = []
    for record in records[at:until]:
        if record.dir != "recv" or record.stream is not None or record.note is not None:  # as is_heard says
            break
        lines.append(record.payload)
    return lines


def record(t: float, dir: str, payload: Any) -> Record:
    """A record of something we made ourselves (a head, a send, an exit)."""
    return Record(t, dir, Raw(msgspec.json.encode(payload)))


def head(**told: Any) -> Head:
    """Of a file that may hold anything: what is no text is not known."""
    return Head(**{name: fact for name, fact in told.items() if isinstance(fact, str)})


def heard(t: float, line: bytes) -> Record:
    """A record of what the agent said, without a look at whether it is JSON; whoever decodes it finds out."""
    said = Record(t, "recv", Raw(line))
    # A payload that is a string stands for a line that is not JSON, so a line that is a string is quoted once more.
    return said if _is_text(line) and not line.startswith(b'"') else quoted(said)


def recv(t: float, line: bytes) -> Record:
    """A record of what the agent said, also where that is not JSON or not even text."""
    said = Record(t, "recv", Raw(line))
    try:
        said.native()
    except Unparsed:
        return quoted(said)
    return said


def is_quoted(record: Record) -> bool:
    """Whether the payload is a string, and so stands for a line that is no JSON. A line that is one behind blanks is itself."""
    payload = bytes(record.payload)
    try:
        return payload.startswith(b'"') and isinstance(decode(payload), str)
    except Unparsed:
        return False


def quoted(heard: Record) -> Record:
    """The same record with a payload that is valid JSON whatever the line was."""
    line = bytes(heard.payload)
    try:
        return msgspec.structs.replace(heard, payload=Raw(msgspec.json.encode(line.decode())))
    except UnicodeDecodeError:
        return msgspec.structs.replace(heard, payload=Raw(msgspec.json.encode(base64.b64encode(line).decode())), encoding="base64")


def encode(record: Record) -> bytes:
    """The record as a line of a tape file."""
    return msgspec.json.encode(record) + b"\n"


def hash_of(line: bytes) -> str:
    """What `agent.unparsed` cites as `raw_hash`."""
    return hashlib.sha256(line).hexdigest()


# --- reading ----------------------------------------------------------------


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a byte stream cut anywhere, without their ends.

    Split at "\\n" alone: U+2028 and friends occur inside JSON strings. The last
    line may lack its newline. A long line is joined once, not once per chunk.
    """
    return map(_WITHOUT_RETURN, map(_WITHOUT_NEWLINE, chain.from_iterable(_cut(chunks))))


def without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


# For many lines at once: no step of it is Python's.
_WITHOUT_NEWLINE, _WITHOUT_RETURN = methodcaller("removesuffix", b"\n"), methodcaller("removesuffix", b"\r")


def _cut(source: bytes | Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines with their ends: those that each chunk completes; of bytes that are all here, some at a time."""
    if isinstance(source, bytes):
        file = BytesIO(source)
        while whole := file.readlines(PIECE):
            yield whole
        return
    pending: list[bytes] = []
    for chunk in source:
        if b"\n" not in chunk:
            pending.append(chunk)
            continue
        whole, last = _whole(chunk)
        whole[0] = b"".join([*pending, whole[0]])
        pending = [last]
        yield whole
    if last := b"".join(pending):
        yield [last]


def cut(chunk: bytes) -> tuple[list[bytes], bytes]:
    """The lines that end in a chunk, without their newlines, and what is left of it."""
    whole, last = _whole(chunk)
    return [*map(_WITHOUT_NEWLINE, whole)], last


def _whole(chunk: bytes) -> tuple[list[bytes], bytes]:
    """Read as a file is: `split` compares byte after byte, which takes longer than to decode what it cuts."""
    whole = [*BytesIO(chunk)]
    return whole, whole.pop() if whole and not chunk.endswith(b"\n") else b""


def read(source: Iterable[bytes]) -> Iterator[Record]:
    """Records of a tape, or of an agent's bare native lines; the first line that is JSON tells which."""
    return chain.from_iterable(batches(source))


def batches(source: bytes | Iterable[bytes]) -> Iterator[Sequence[Record]]:
    """The same, together what comes together."""
    said = (some if _are_plain(some) else [line for line in some if line and not line.isspace()] for some in _cut(source))
    leading: list[bytes] = []
    as_record = None
    for some in said:
        leading += some if leading else [line.removeprefix(BOM) for line in some[:1]] + some[1:]
        if (as_record := _reader(leading)) is not None:
            break
    as_records = _taped_ones if as_record is _taped else _bare_ones
    for some in chain([leading], said):
        for at in range(0, len(some), TOGETHER):
            together = some[at : at + TOGETHER]
            records = as_records(together)
            is_text = all(map(bytes.isascii, together)) or all(map(_is_text, together))
            yield records if is_text else [*map(_as_text, records, together)]


def _reader(leading: list[bytes]) -> Callable[[bytes], Record] | None:
    """How these lines are to be read; None where more of them are needed to tell."""
    for line in leading[:100]:
        if _looks_taped(line):
            return _taped
        if line.lstrip().startswith(b"{"):
            return _bare
    return None if len(leading) < 100 else _bare


def _taped_ones(lines: list[bytes]) -> list[Record]:
    return [*map(_taped, lines)]


def _bare_ones(lines: list[bytes]) -> Sequence[Record]:
    return Heard(lines) if _are_plain(lines) else [*map(_bare, lines)]


def _heard(line: bytes) -> Record:
    return Record(0.0, "recv", Raw(without_end(line)))


def _as_text(record: Record, line: bytes) -> Record:
    """Whoever decodes only a part of a line would not find out that another part is no text."""
    return record if _is_text(line) or _is_text(bytes(record.payload)) else quoted(record)


def _are_plain(lines: list[bytes]) -> bool:
    """Whether none is blank or begins with a quote, by a look at the first in order: both come before whatever an object begins with."""
    return not lines or min(lines) > b'"\xff'


def _bare(line: bytes) -> Record:
    said = _heard(line)
    return quoted(said) if line.startswith(b'"') else said


def _taped(line: bytes) -> Record:
    try:
        return _decode_record(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _repaired(line)


def _looks_taped(line: bytes) -> bool:
    return bytes(_taped(line).payload) != without_end(line)


def _repaired(line: bytes) -> Record:
    """A tape line that the fast decoder refuses: for its payload alone (then the payload
    is cut out and judged by itself), or because the line is broken (then it is heard whole,
    so that it becomes `agent.unparsed` and is not lost)."""
    try:
        fields = {name: (value, raw) for name, value, raw in _members(line.decode())}
        (t, _), (dir, _), (_, payload) = fields["t"], fields["dir"], fields["payload"]
        if dir in DIRECTIONS:
            return Record(float(t), dir, Raw(payload.encode()))
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError, StopIteration):
        pass
    return _bare(line)


def _members(text: str) -> Iterator[tuple[str, Any, str]]:
    """Name, value and original text of each member of a JSON object."""
    scan, at = json.JSONDecoder().raw_decode, text.index("{") + 1
    while (at := _skip(text, at)) < len(text) and text[at] == '"':
        name, at = scanstring(text, at + 1, True)
        begin = _skip(text, text.index(":", at) + 1)
        value, end = scan(text, begin)
        yield name, value, text[begin:end]
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            return
        at += 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


# --- decoding ---------------------------------------------------------------

quick = msgspec.json.Decoder().decode
"""JSON as nearly all of it is; the rest is told from what is none by `decode`."""
_decode_record = msgspec.json.Decoder(Record).decode


def decode(data: bytes | Raw) -> Any:
    """JSON that the fast decoder refuses though it is JSON: lone surrogates (a JavaScript
    program cut a string in the middle of an emoji) and numbers beyond a double."""
    try:
        return _mended(json.loads(bytes(data).decode(), parse_constant=_no_such_number))
    except RecursionError:
        raise Unparsed("nested too deeply") from None
    except ValueError as error:
        raise Unparsed(f"not JSON: {error}") from None


def _why_not(line: bytes) -> str:
    """What is wrong with a line that a tape holds as a string: the same words as when it was heard."""
    try:
        decode(line)
    except Unparsed as error:
        return str(error)
    return "not a JSON object"


def _is_text(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _no_such_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_mended(key): _mended(inner) for key, inner in value.items()}
        case list():
            return [_mended(inner) for inner in value]
        case _:
            return value
