"""The three model APIs that agents speak: what a request says, and an answer as the frames of its stream.

An API's module knows its spelling and nothing else: not which agent asks, not how the bytes travel. Each has

    PATH              the end of the path it is asked at
    read(body)        the request as `Asked`
    refuse(error)     the body of an error
    stream(...)       the frames of an answer, with a `Hold` where the model falls silent
    whole(...)        the answer as one document, for requests that want no stream (Anthropic alone: Claude Code's probe of a model)
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from lab.script import Hold

Frames: TypeAlias = Iterator[bytes | Hold]


class Asked(Struct, frozen=True):
    """What reached the model with one request."""

    model: str
    effort: str | None = None
    tools: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """What was said, by whomever, in order."""
    results: list[str] = field(default_factory=list)
    """What tools gave back, in order."""
    images: list[bytes] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)


def frame(data: Any, event: str | None = None) -> bytes:
    text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def texts_in(content: Any) -> list[str]:
    """The texts of a message's content, which is a string or a list of parts in every API."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if isinstance(part, dict) and isinstance(part.get("text"), str)]
