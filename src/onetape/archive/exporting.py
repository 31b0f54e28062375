"""A session as a file: what is kept as it is, or as a document, or either without its secrets. Of any length in constant memory.

What has no secrets is transcribed anew from the tape without secrets, so an exported transcript is still a function of
the exported tape.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from onetape import tape
from onetape.agents import registry
from onetape.errors import Refused
from onetape.export import html, markdown
from onetape.redaction import Receipt, Redaction, redacted
from onetape.schema import Event, to_json
from onetape.stores.store import SessionRow, Store, events
from onetape.tape import Record
from onetape.transcribe import opened

CHUNK = 1 << 16
_event = msgspec.json.Decoder(Event)


class Format(Struct, frozen=True):
    suffix: str
    media_type: str


FORMATS = {
    "markdown": Format("md", "text/markdown"),
    "html": Format("html", "text/html"),
    "ndjson": Format("jsonl", "application/x-ndjson"),
    "tape": Format("tape.jsonl", "application/x-ndjson"),
}


class Export(Struct, frozen=True):
    format: Format
    chunks: Iterator[bytes]
    receipt: Callable[[], list[Receipt]]
    """What was taken out; the places are counted as the chunks are taken."""


def export(store: Store, row: SessionRow, format: str, *, redact: bool = False) -> Export:
    if format not in FORMATS:
        raise Refused(f"there is no format {format!r}; there are: {', '.join(FORMATS)}")
    redaction, records = _redacted(store, row) if redact else (Redaction(), store.tape(row.session_id))
    if format == "tape":
        return Export(FORMATS[format], _gathered(map(tape.encode, records)), redaction.receipt)
    told = _transcribed(row, records, redaction) if redact else map(_event.decode, events(store, row.session_id))
    return Export(FORMATS[format], _gathered(_written(store, row, format, told, redaction)), redaction.receipt)


def _written(store: Store, row: SessionRow, format: str, told: Iterable[Event], redaction: Redaction) -> Iterator[bytes]:
    match format:
        case "ndjson":
            return (to_json(event) + b"\n" for event in told)
        case "html":
            title = row.title or row.summary.title
            return map(str.encode, html(told, store.blob, redaction.text(title) if title else None))
        case _:
            return map(str.encode, markdown(told))


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Few large pieces instead of many small ones."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


# --- without secrets ---


def _redacted(store: Store, row: SessionRow) -> tuple[Redaction, Iterator[Record]]:
    def learn(redaction: Redaction) -> None:
        transcriber, records = opened(store.tape(row.session_id), registry.find(row.agent), session_id=row.session_id)
        for record in records:
            redaction.learn(record, transcriber.take(record))
        for event in transcriber.finish():
            redaction.learn_from(event)
        redaction.learn_text(row.title or "")

    return redacted(lambda: store.tape(row.session_id), learn)


def _transcribed(row: SessionRow, tape: Iterator[Record], redaction: Redaction) -> Iterator[Event]:
    transcriber, records = opened(tape, registry.find(row.agent), session_id=row.session_id)
    for record in records:
        yield from map(redaction.event, transcriber.take(record))
    if row.owner is None or row.summary.ended:  # else what closes a tape has not happened yet
        yield from map(redaction.event, transcriber.finish())
