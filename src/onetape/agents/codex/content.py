"""Pieces of content that Codex's dialects share: user input, tool output, images, and how it writes a command.

The wire says camelCase, the rollout and `codex exec` say snake_case; the words are
the same otherwise. Nothing here has state.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from onetape import blobs
from onetape.drafts import Blob
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image, Text, to_json

Pieces = tuple[list[ContentPart], list[Blob]]


def arguments(value: Any) -> str:
    return to_json(value).decode()


def told(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


# --- what the user sends ----------------------------------------------------


def user_parts(content: Iterable[Any]) -> Pieces:
    """The parts of a user message, and the bytes that they name."""
    parts: list[ContentPart] = []
    kept: list[Blob] = []
    for piece in content:
        part, blob = _user_part(piece)
        parts.append(part)
        kept += [blob] if blob else []
    return parts, kept


def _user_part(piece: Any) -> tuple[ContentPart, Blob | None]:
    match piece:
        case {"type": "text" | "Text" | "input_text" | "output_text", "text": str() as text}:
            return Text(text), None
        case {"type": "image" | "input_image", **source}:
            return image(_first(source, "url", "image_url", "fileId", "file_id"))
        case {"type": "localImage" | "local_image", "path": str() as path}:
            return Image(path, blobs.mime_of(path)), None
        case {"type": "audio" | "input_audio", **source}:
            return _audio(_first(source, "url", "audio_url", "fileId", "file_id"))
        case {"type": "localAudio" | "local_audio" | "mention" | "skill", "path": str() as path}:
            return FileRef(path, "read"), None
        case {"type": str() as kind}:
            raise Unparsed(f"user input {kind} without the fields it must have")
        case _:
            raise Unparsed("user input without a type")


def _first(source: dict[Any, Any], *names: str) -> Any:
    """Where an image or a sound is, by whichever of the names it is told."""
    return next((source[name] for name in names if source.get(name) is not None), None)


def image(reference: Any) -> tuple[Image, Blob | None]:
    """An image by data URL, URL or file id."""
    path, mime, blob = _referred(reference)
    return Image(path, mime), blob


def _audio(reference: Any) -> tuple[FileRef, Blob | None]:
    path, _, blob = _referred(reference)
    return FileRef(path, "read"), blob


def _referred(reference: Any) -> tuple[str, str | None, Blob | None]:
    if not isinstance(reference, str):
        raise Unparsed("an image or a sound without its source")
    head, comma, data = reference.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return reference, None, None
    mime = head.removeprefix("data:").removesuffix(";base64").partition(";")[0]
    blob = inline(data, mime)
    return blobs.path_of(blob) if blob else reference, mime, blob


def inline(data: str, mime: str) -> Blob | None:
    """Inline bytes. What says that it is base64 and is not is no reason to lose the message around it."""
    try:
        return blobs.from_base64(data, mime)
    except Unparsed:
        return None


# --- what a tool answers ----------------------------------------------------


def output_of(body: Any) -> tuple[str, list[ContentPart], list[Blob]]:
    """The text of a tool's answer, and what else is in it: MCP content, the client's own tools, Responses items."""
    if body is None or isinstance(body, str):
        return body or "", [], []
    words: list[str] = []
    parts: list[ContentPart] = []
    kept: list[Blob] = []
    for piece in body:
        part, blob = _answered(piece)
        if isinstance(part, Text):
            words.append(part.text)
        else:
            parts.append(part)
        kept += [blob] if blob else []
    return "\n".join(words), parts, kept


def _answered(piece: Any) -> tuple[ContentPart, Blob | None]:
    match piece:
        case {"type": "text" | "inputText" | "input_text", "text": str() as text}:
            return Text(text), None
        case {"type": "image", "data": str() as data, "mimeType": str() as mime} if blob := inline(data, mime):
            return Image(blobs.path_of(blob), mime), blob
        case {"type": "audio", "data": str() as data, "mimeType": str() as mime} if blob := inline(data, mime):
            return FileRef(blobs.path_of(blob), "read"), blob
        case {"type": "inputImage" | "input_image", **source}:
            return image(_first(source, "imageUrl", "image_url", "file_id"))
        case {"type": "inputAudio" | "input_audio", **source}:
            return _audio(_first(source, "audioUrl", "audio_url", "file_id"))
        case {"type": "resource", "resource": {"text": str() as text}}:
            return Text(text), None
        case {"type": "resource_link", "uri": str() as uri}:
            return FileRef(uri, "read"), None
        case _:
            return Text(arguments(piece)), None  # an MCP server may answer with what it likes


# --- commands ---------------------------------------------------------------

_PLAIN = frozenset("+-./:@]_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def command_line(argv: Sequence[Any]) -> str:
    """An argument list as app-server shows it: the rollout has the list, the wire has this line.

    Codex quotes with the shlex crate: bare words, else single quotes, else double quotes,
    and where neither can hold a whole word (`'` and `$` in one) piece by piece.
    """
    return " ".join(map(_quoted, map(str, argv)))


def _quoted(word: str) -> str:
    if not word:
        return "''"
    if all(char in _PLAIN for char in word):
        return word
    pieces, rest = [], word
    while rest:
        length, quote = _piece(rest)
        chunk, rest = rest[:length], rest[length:]
        pieces.append(quote + (chunk.replace("\\", "\\\\").replace('"', '\\"') if quote == '"' else chunk) + quote)
    return "".join(pieces)


def _piece(text: str) -> tuple[int, str]:
    """How much from the start fits into one kind of quotes, and which."""
    bare, single, double = (_prefix(text, fits) for fits in (_PLAIN.__contains__, _fits_single, _fits_double))
    longest = max(bare, single, double)
    return longest, "" if bare == longest else "'" if single == longest else '"'


def _prefix(text: str, fits: Any) -> int:
    return next((at for at, char in enumerate(text) if not fits(char)), len(text))


def _fits_single(char: str) -> bool:
    return char not in "'\\"


def _fits_double(char: str) -> bool:
    return char not in "`$!^"
