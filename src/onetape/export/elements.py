"""The pieces of the HTML page: one function per thing that a transcript may hold. All text is escaped here and nowhere else."""

import base64
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import msgspec

from onetape import blobs, schema
from onetape.export import words
from onetape.schema import ContentPart, Item

Blob = Callable[[str], bytes | None]
"""The bytes of `<sha256>.<ext>`, if they are known."""

PICTURE_MOST = 8 << 20
TELLING = ("command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description", "prompt")
"""Arguments that say in a line what a call does, the most telling first."""


def text_of(item: Item) -> str:
    return "".join(part.text for part in item.content if isinstance(part, schema.Text | schema.Reasoning))


def user(item: Item, blob: Blob) -> str:
    files = "".join(f'\n<code>{escape(part.path)}</code>' for part in item.content if isinstance(part, schema.FileRef))
    return f'<div class="user">{escape(text_of(item))}{files}{pictures(item.content, blob)}</div>'


def said(item: Item, render: Callable[[str], str], blob: Blob) -> str:
    return f'<div class="said {item.status}">{render(text_of(item))}{pictures(item.content, blob)}</div>'


def thought(item: Item) -> str:
    text = text_of(item)
    return folded(f"Thought · {words.brief(text, 90)}", text) if text else note("thought, not shown")


def folded(title: str, text: str) -> str:
    return f'<details class="fold"><summary>{escape(title)}</summary><div>{escape(text)}</div></details>'


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def error(text: str) -> str:
    return f'<p class="error">{escape(text)}</p>'


def status(item: Item) -> str:
    match item.content:
        case [schema.Status(label="plan"), schema.Json(json=[*steps])]:
            return plan(steps)
        case [schema.Status(label="compaction", detail=str(summary)), *_] if summary:
            return folded("The conversation was summed up to go on", summary)
        case [schema.Status(label=label, detail=detail), *_]:
            return note(f"{label.replace('_', ' ')}{': ' + words.brief(detail) if detail else ''}")
        case _:
            return ""


def plan(steps: list[Any]) -> str:
    told = [step for step in steps if isinstance(step, dict)]
    marked = zip(told, words.steps(told), strict=True)
    lines = "".join(f'<li class="{escape(str(step.get("status")))}">{escape(line)}</li>' for step, line in marked)
    return f'<ul class="plan">{lines}</ul>'


# --- tools ------------------------------------------------------------------


def gist(arguments: str) -> str:
    """A call in a line."""
    try:
        told = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return words.brief(arguments, 140)
    if isinstance(told, dict):
        telling = (told[name] for name in TELLING if isinstance(told.get(name), str) and told[name])
        return words.brief(next(telling, told if told else ""), 140)
    return words.brief(told, 140)


def arguments_of(arguments: str) -> str:
    """The arguments in full, unless the line above says it all."""
    try:
        told = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return f"<pre>{escape(arguments)}</pre>" if arguments else ""
    if isinstance(told, dict) and all(isinstance(value, str) for value in told.values()):
        return "".join(f'<p class="label">{escape(name)}</p><pre>{escape(value)}</pre>' for name, value in told.items())
    return f"<pre>{escape(msgspec.json.format(arguments, indent=2))}</pre>" if told else ""


def result(item: Item, blob: Blob) -> str:
    """What a tool gave back; a change is its diff."""
    changes = "".join(map(diff, item.content))
    output = "".join(part.output for part in item.content if isinstance(part, schema.ToolResult))
    shown = f'<p class="label">{"failed" if item.status == "failed" else "result"}</p><pre>{escape(output)}</pre>' if output.strip() else ""
    return changes + (shown if not changes or item.status == "failed" else "") + pictures(item.content, blob)


def mark(item: Item) -> str:
    """How it went, at the end of the line."""
    counts = [_counts(part.diff) for part in item.content if isinstance(part, schema.FileRef) and part.diff]
    if counts:
        added, deleted = (sum(column) for column in zip(*counts, strict=True))
        return f'<span class="add">+{added}</span> <span class="del">−{deleted}</span>'
    for part in item.content:
        match part:
            case schema.Json(json={"exit_code": int(code)}) if code:
                return f"exit {code}"
            case _:
                pass
    return "failed" if item.status == "failed" else ""


def is_change(item: Item) -> bool:
    return any(isinstance(part, schema.FileRef) and part.diff for part in item.content)


def diff(part: ContentPart) -> str:
    match part:
        case schema.FileRef(path=path, diff=str(text)) if text:
            lines = (line for line in text.splitlines() if not line.startswith(("--- ", "+++ ")))
            return f'<p class="path">{escape(path)}</p><pre class="diff">{"".join(map(_line, lines))}</pre>'
        case _:
            return ""


def _line(line: str) -> str:
    kind = {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "same")
    return f'<span class="{kind}">{escape(line) or " "}</span>'


def _counts(text: str) -> tuple[int, int]:
    lines = [line[:1] for line in text.splitlines() if not line.startswith(("--- ", "+++ "))]
    return lines.count("+"), lines.count("-")


# --- pictures ---------------------------------------------------------------


def pictures(parts: Iterable[ContentPart], blob: Blob) -> str:
    return "".join(_picture(part, blob) for part in parts if isinstance(part, schema.Image))


def _picture(part: schema.Image, blob: Blob) -> str:
    """Within the page: it must not ask anybody for anything. As an image even SVG runs no script."""
    name = part.path.removeprefix("blobs/")
    mime = blobs.mime_of(name)
    content = blob(name) if part.path != name and blobs.is_image(mime) else None
    if content is None or len(content) > PICTURE_MOST:
        return note(f"image {part.path}")
    return f'<img alt="" src="data:{mime};base64,{base64.b64encode(content).decode()}">'


# --- asks -------------------------------------------------------------------


def permission(data: schema.PermissionData) -> str:
    about = words.brief(data.metadata.get("reason") or data.metadata.get("input") or "", 200)
    return f'<div class="ask"><p><b>May it use {escape(data.action)}?</b></p><p><code>{escape(about)}</code></p></div>'


def question(data: schema.QuestionData) -> str:
    told = [
        f"<p><b>{escape(each.prompt)}</b></p>"
        + (f'<p class="options">{escape(" · ".join(option.label for option in each.options))}</p>' if each.options else "")
        for each in data.questions or ()
    ]
    return f'<div class="ask">{"".join(told) or f"<p><b>{escape(data.prompt)}</b></p>"}</div>'


def answer(status: str, text: str) -> str:
    return f'<p class="answer {status}">{escape(text)}</p>'
