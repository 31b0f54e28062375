"""Secrets out of a tape, and so out of everything that is made of it: the same secret, the same stub, everywhere.

Three passes, none of which holds the tape: learn what is secret (`rules.py`), from the messages and from the transcript,
which has whole what streamed in pieces; locate what lies across records (`streams.py`); write every record with stubs
in place of secrets. A record without any keeps its bytes; the others stay valid JSON, so the tape stays convertible.
Pictures are not looked into.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from onetape import schema, tape
from onetape.errors import Unparsed
from onetape.kinds import kind_of
from onetape.redaction import spelling
from onetape.redaction.rules import found, is_secret, is_secret_field
from onetape.redaction.streams import Path, Streams, ids_of, mended
from onetape.schema import Event, to_json
from onetape.tape import Record

LINES = "\n"
"""What stands between two records of stderr."""
REMEMBERED = 1 << 14
"""Characters of stderr in which a secret of several lines is looked for."""
_NOTHING = re.compile(r"(?!)")


class Receipt(Struct, frozen=True):
    rule: str
    secrets: int
    """Different ones."""
    places: int


class Redaction:
    def __init__(self) -> None:
        self._rules: dict[str, str] = {}
        """By secret, in the order in which they were found."""
        self._stubs: dict[str, str] = {}
        self._pattern = _NOTHING
        self._streams = Streams(_NOTHING, {})
        self._stderr = ""
        self._places: Counter[str] = Counter()

    # --- first pass: what is secret ---

    def learn(self, record: Record, events: Iterable[Event] = ()) -> None:
        native = native_of(record)
        self._learn(native)
        if record.dir == "stderr" and isinstance(native, str):
            self._stderr = f"{self._stderr}{LINES}{native}"[-REMEMBERED:]
            self.learn_text(self._stderr)
        for event in events:
            self.learn_from(event)

    def learn_from(self, event: Event) -> None:
        if not isinstance(event, schema.ItemStarted | schema.ItemDelta):  # their item comes whole when it is complete
            self._learn(spelling.builtins(event.data))

    def _learn(self, value: Any, name: str | None = None) -> None:
        match value:
            case str():
                self.learn_text(value, name)
            case dict():
                for key, inner in value.items():
                    self.learn_text(key)
                    self._learn(inner, key)
            case list():
                for inner in value:
                    self._learn(inner, name)
            case _:
                pass

    def learn_text(self, text: str, name: str | None = None) -> None:
        """`name`: of the field that it is the value of."""
        for rule, secret in found(text):
            self._rules.setdefault(secret, rule)
        if name is not None and is_secret_field(name) and is_secret(text) and not any(map(str.isspace, text)):
            self._rules.setdefault(text, "secret")
        if (hidden := spelling.from_base64(text)) is not None:
            self.learn_text(hidden)

    def seal(self) -> None:
        """All is known. Secrets get their stubs, and whatever is a beginning of one (a text that streamed) has the same."""
        numbers: Counter[str] = Counter()
        beginnings = _beginnings(self._rules)
        for secret, rule in self._rules.items():
            if secret not in beginnings:
                numbers[rule] += 1
                self._stubs[secret] = f"[redacted:{rule}:{numbers[rule]}]"
        self._stubs |= {secret: self._stubs[whole] for secret, whole in beginnings.items()}
        self._stubs = {form: stub for secret, stub in self._stubs.items() for form in spelling.forms(secret)} | self._stubs
        if self._stubs:
            self._pattern = re.compile("|".join(map(re.escape, sorted(self._stubs, key=len, reverse=True))))
        self._streams = Streams(self._pattern, self._stubs)

    # --- second pass: what lies across records ---

    @property
    def is_needed(self) -> bool:
        return bool(self._stubs)

    def locate(self, number: int, record: Record) -> None:
        native = native_of(record)
        key: tuple[Any, ...] = (record.dir,)
        if isinstance(native, dict):
            key = (record.dir, kind_of(native), *ids_of(native))
        for path, text in spelling.texts(native):
            self._streams.see(number, (key, path), path, text, LINES if record.dir == "stderr" else "")

    # --- third pass ---

    def redact(self, number: int, record: Record) -> Record:
        native = native_of(record)

        def clean(text: str, path: Path) -> str:
            cuts = self._streams.cuts.get((number, path))
            return self.text(mended(text, cuts) if cuts else text)

        cleaned = spelling.mapped(native, clean)
        if cleaned == native:
            return record
        if isinstance(cleaned, str) and record.dir == "recv":
            return tape.quoted(replace(record, payload=Raw(cleaned.encode()), encoding=None))
        return replace(record, payload=Raw(to_json(cleaned)), encoding=None)

    def text(self, text: str) -> str:
        if (hidden := spelling.from_base64(text)) is not None and self._pattern.search(hidden):
            return spelling.to_base64(self._pattern.sub(self._stub, hidden))
        return self._pattern.sub(self._stub, text)

    def event(self, event: Event) -> Event:
        """For what a translator put together out of pieces that are no secret by themselves."""
        body = spelling.builtins(event)
        data = spelling.mapped(body["data"], lambda text, _: self.text(text))
        return event if data == body["data"] else spelling.event_of({**body, "data": data})

    def _stub(self, match: re.Match[str]) -> str:
        stub = self._stubs[match[0]]
        self._places[stub] += 1
        return stub

    def receipt(self) -> list[Receipt]:
        rules: dict[str, Receipt] = {}
        for stub in dict.fromkeys(self._stubs.values()):
            rule = stub.split(":")[1]
            told = rules.get(rule, Receipt(rule, 0, 0))
            rules[rule] = Receipt(rule, told.secrets + 1, told.places + self._places[stub])
        return list(rules.values())


def redacted(read: Callable[[], Iterator[Record]], learn: Callable[[Redaction], None]) -> tuple[Redaction, Iterator[Record]]:
    """A tape without its secrets. `read` begins the tape anew; `learn` makes the first pass over it."""
    redaction = Redaction()
    learn(redaction)
    redaction.seal()
    if not redaction.is_needed:
        return redaction, read()
    for number, record in enumerate(read(), 1):
        redaction.locate(number, record)
    return redaction, (redaction.redact(number, record) for number, record in enumerate(read(), 1))


def native_of(record: Record) -> Any:
    """The payload as data; a line that is not JSON as its text."""
    try:
        return record.native()
    except Unparsed:
        return record.line.decode(errors="replace")


def _beginnings(secrets: Iterable[str]) -> dict[str, str]:
    """Secrets that others begin with, and the longest of those."""
    ordered = sorted(secrets)
    found: dict[str, str] = {}
    for secret, following in reversed(list(pairwise(ordered))):
        if following.startswith(secret):
            found[secret] = found.get(following, following)
    return found
