"""The forms in which a text may stand in a message, and the walk over all texts of one."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from onetape.redaction.streams import Path
from onetape.schema import Event, to_json

_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_ENCODED_MOST = 1 << 20

_event = msgspec.json.Decoder(Event)


def texts(native: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    match native:
        case str():
            yield path, native
        case dict():
            for name, inner in native.items():
                yield from texts(inner, (*path, name))
        case list():
            for at, inner in enumerate(native):
                yield from texts(inner, (*path, at))
        case _:
            pass


def mapped(native: Any, change: Callable[[str, Path], str], path: Path = ()) -> Any:
    """The same with every text changed, names of fields included."""
    match native:
        case str():
            return change(native, path)
        case dict():
            return {change(name, (*path, name, "")): mapped(inner, change, (*path, name)) for name, inner in native.items()}
        case list():
            return [mapped(inner, change, (*path, at)) for at, inner in enumerate(native)]
        case _:
            return native


def forms(secret: str) -> Iterator[str]:
    """As it is, within JSON once and twice, and in an address."""
    once = _quoted(secret)
    yield from dict.fromkeys((secret, once, _quoted(once), quote(secret, safe="")))


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]


def from_base64(text: str) -> str | None:
    """The text that is hidden in one, if there is any."""
    if len(text) % 4 or len(text) > _ENCODED_MOST or not _BASE64.fullmatch(text):
        return None
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def to_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def builtins(told: Any) -> Any:
    return msgspec.json.decode(to_json(told))


def event_of(told: Any) -> Event:
    event: Event = _event.decode(to_json(told))
    return event
