"""Inline images and documents: named by the hash of their bytes, so that a store keeps each once."""

import base64
import binascii
import hashlib

from onetape.drafts import Blob
from onetape.errors import Unparsed

_EXTENSIONS = {
    "image/png": "png", "image/jpeg": "jpg", "image/jpg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "application/pdf": "pdf", "application/json": "json", "text/plain": "txt", "text/markdown": "md", "text/html": "html",
    "audio/wav": "wav", "audio/mpeg": "mp3",
}  # fmt: skip
_MIMES = {"jpeg": "image/jpeg"} | {ext: mime for mime, ext in _EXTENSIONS.items() if mime != "image/jpg"}


def blob(content: bytes, mime: str | None) -> Blob:
    return Blob(f"{hashlib.sha256(content).hexdigest()}.{extension_of(mime)}", content)


def from_base64(data: str, mime: str | None) -> Blob:
    try:
        return blob(base64.b64decode(data, validate=False), mime)
    except (binascii.Error, ValueError) as error:
        raise Unparsed(f"inline data is not base64: {error}") from None


def path_of(kept: Blob) -> str:
    """Where a part says the bytes are, relative to the data directory."""
    return f"blobs/{kept.name}"


def extension_of(mime: str | None) -> str:
    plain = (mime or "").partition(";")[0].strip().lower()
    return _EXTENSIONS.get(plain, "bin")


def mime_of(path: str) -> str | None:
    """The type that a file's name suggests; None if it suggests none."""
    return _MIMES.get(path.rpartition(".")[2].lower()) if "." in path else None


def is_image(mime: str | None) -> bool:
    return (mime or "").startswith("image/")
