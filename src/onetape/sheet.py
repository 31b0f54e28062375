"""What is committed together: records, their events, and which of those are looked at. For sessions that run and for imports."""

from collections.abc import Callable

from msgspec import Struct, field

from onetape.schema import Event, to_json
from onetape.stores.store import Batch, Stored
from onetape.tape import Record
from onetape.transcribe import Transcriber
from onetape.translator import Send

KeepBlob = Callable[[str, bytes], None]


class Sheet(Struct):
    batch: Batch
    events: list[Event] = field(default_factory=list)
    """Of an answer's words, which nobody looks at, only the last: it tells how far the session is."""

    @property
    def next_number(self) -> int:
        return self.batch.number + len(self.batch.tape)

    def take(self, transcriber: Transcriber, records: list[Record], at: int, keep_blob: KeepBlob) -> tuple[int, list[Send]]:
        """Takes down the record at this place, and as many from there as can be together: how many, and what the agent demands."""
        number = self.next_number
        if words := transcriber.run(records, at):
            self.batch.tape += records[at : at + len(words)]
            self.batch.events += [Stored(event.sequence, to_json(event), cause) for cause, event in enumerate(words, number)]
            self.events.append(words[-1])
            return len(words), []
        kept, events, ends, demanded = transcriber.together(records, at)
        self.batch.tape += kept
        begin = 0
        for cause, end in enumerate(ends, number):
            if end > begin:
                self.write(events[begin:end], cause)
                begin = end
        for blob in transcriber.take_blobs():
            keep_blob(blob.name, blob.content)
        return len(kept), demanded

    def write(self, events: list[Event], cause: int | None) -> None:
        self.batch.events += [Stored(event.sequence, to_json(event), cause) for event in events]
        self.events += events
