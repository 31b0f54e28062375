"""Pieces that Pi's wires and its session files share: tool names, content blocks, user messages.

A user message is shown as it was typed. Pi sends the model more than that: files named on the
command line and skills are put in front of the words, a prompt template replaces them, and what was
done to an image is said after them. What can be told apart is: the words are the user's, the rest is
text that the agent itself put there.
"""

import re
from typing import Any, NamedTuple

from onetape import blobs
from onetape.drafts import Blob
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef, Image, Text, to_json

SHELLS = frozenset({"bash", "powershell"})

# As Pi itself writes them (1.5.0, cli/file-processor.js and core/agent-session.js).
_FILE = re.compile(r'<file name="([^"]+)">(.*?)</file>\n', re.DOTALL)
_SKILL = re.compile(r'<skill name="([^"]+)" location="[^"]+">\n.*?\n</skill>(?:\n\n(.+))?', re.DOTALL)
# What became of an image: made smaller, converted, or left out (0.87.1, utils/image-process.js).
_REMARKS = re.compile(r"\n\n(\[Image(?: omitted:| converted from|: original )[^\]\n]*\](?:\n\[Image[^\]\n]*\])*)\Z")


# --- what an event is about: fields are looked at one by one, for a pattern takes three times as long and these come all the time -----


def message_of(native: dict[str, Any]) -> dict[str, Any]:
    """The message that begins or ends; it has a role."""
    message = native.get("message")
    if isinstance(message, dict) and isinstance(message.get("role"), str):
        return message
    raise malformed(native)


def called(native: dict[str, Any]) -> tuple[str, str]:
    """The id and the tool of the call that goes on."""
    id, name = native.get("toolCallId"), native.get("toolName")
    if isinstance(id, str) and isinstance(name, str):
        return id, name
    raise malformed(native)


def told_result(message: dict[str, Any]) -> str | None:
    """The id of the call whose result a `toolResult` message is; None if it lacks what one has."""
    id = message.get("toolCallId")
    return id if isinstance(id, str) and isinstance(message.get("isError"), bool) and "content" in message else None


def malformed(native: dict[str, Any]) -> Unparsed:
    return Unparsed(f"{native['type']} without the fields it must have")


# --- names, arguments, contents ---


def tool_name(native: str) -> str:
    """`mcp__server__tool` is `server.tool` for everybody."""
    if native.startswith("mcp__"):
        server, _, tool = native.removeprefix("mcp__").partition("__")
        return f"{server}.{tool}" if tool else native
    return native


def arguments(args: Any) -> str:
    return to_json(args).decode()


def text_of(content: Any) -> str:
    """The words of a content, which is a string or a list of blocks."""
    return content if isinstance(content, str) else "\n".join([block["text"] for block in content if block["type"] == "text"])


def content_of(result: Any) -> str | list[Any]:
    """The content of a tool's result. An extension's may be anything: one that has none is empty for Pi too (1.5.0, 0.87.1)."""
    content = result.get("content") if isinstance(result, dict) else None
    return content if isinstance(content, (str, list)) else []


def images_of(content: Any) -> tuple[list[Image], list[Blob]]:
    """The image parts of a content, and the bytes that they name."""
    kept: list[Blob] = []
    shown: list[Image] = []
    for block in () if isinstance(content, str) else content:
        match block:
            case dict() if block.get("type") == "text" and isinstance(block.get("text"), str):
                pass  # nearly all are
            case {"type": "image", "data": str() as data, "mimeType": str() as mime}:
                kept.append(blobs.from_base64(data, mime))
                shown.append(Image(blobs.path_of(kept[-1]), mime))
            case _:
                raise Unparsed("a content block that is neither text nor an image")
    return shown, kept


class UserMessage(NamedTuple):
    """What the user said, the bytes of its images, and what the agent put beside it."""

    text: str
    files: list[FileRef]
    images: list[Image]
    kept: list[Blob]
    added: str

    @property
    def parts(self) -> list[ContentPart]:
        words: list[ContentPart] = [Text(self.text)] if self.text or not (self.images or self.files) else []
        return [*words, *self.files, *self.images]


def user_message(content: Any) -> UserMessage:
    text = text_of(content)
    images, kept = images_of(content)
    if skill := _SKILL.fullmatch(text):
        typed = f"/skill:{skill[1]} {skill[2] or ''}".rstrip()
        return UserMessage(typed, [], images, kept, text.removesuffix(skill[2] or "").rstrip())
    words, files = _without_files(text)
    prefix = text[: len(text) - len(words)].rstrip()
    remarks = _REMARKS.search(words)
    words = words[: remarks.start()] if remarks else words
    # A picture named on the command line is told by an empty element and by its bytes: it is shown once.
    files = [file for file in files if not (images and blobs.is_image(blobs.mime_of(file.path)))]
    return UserMessage(words, files, images, kept, "\n".join(filter(None, (prefix, remarks and remarks[1]))))


def _without_files(text: str) -> tuple[str, list[FileRef]]:
    files: list[FileRef] = []
    at = 0
    while element := _FILE.match(text, at):
        files.append(FileRef(element[1], "read"))
        at = element.end()
    return text[at:], files


def inlined(path: str, content: str) -> str:
    """A text file in front of a prompt, as Pi's own command line puts it there."""
    return f'<file name="{path}">\n{content}\n</file>\n'
