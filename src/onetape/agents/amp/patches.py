"""The diffs that Amp tells of file changes, made fit for `git apply`, or None where they cannot be.

What the builds do to a diff, all seen in recordings of the real programs:
- edit_file and undo_edit wrap it into a Markdown fence; January adds an `Index:` header;
- "\\ No newline at end of file" is taken out. January takes the line break before it out too, which glues two lines
  ("-x = 2+x = 1"), or the last line and the fence, the one case that can be undone;
- apply_patch heads a new and a deleted file with its path on both sides; a moved one is told under its new name.
"""

import re
from typing import Any
from urllib.parse import unquote

from onetape import diffs
from onetape.schema import FileRef

_FENCE = re.compile(r"\A(`{3,})diff\n(.*?)\1\s*\Z", re.DOTALL)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file\n"


def unfenced(told: str) -> str:
    fence = _FENCE.match(told)
    return fence[2] if fence else told


def edited(path: str, told: str) -> FileRef:
    hunks = hunks_of(unfenced(told))
    return FileRef(path, "patch", diffs.headed(path, hunks) if hunks else None)


def patched(file: dict[str, Any]) -> FileRef:
    """One file of an apply_patch result."""
    path, kind = path_of(file["uri"]), file["type"]
    old, new = diffs.NOWHERE if kind == "add" else path, diffs.NOWHERE if kind == "delete" else path
    hunks = hunks_of(unfenced(file.get("diff") or ""))
    return FileRef(path, "write" if kind == "add" else "patch", diffs.headed(new, hunks, old_path=old) if hunks else None)


def path_of(uri: str) -> str:
    return unquote(uri.removeprefix("file://"))


def hunks_of(told: str) -> str | None:
    """The hunks of a diff without its headers; None if they are not what their own heads say."""
    lines = told.split("\n")
    is_glued = lines[-1] != ""
    lines = lines if is_glued else lines[:-1]
    start = next((at for at, line in enumerate(lines) if _HUNK.match(line)), None)
    if start is None or not _counts_hold(lines[start:]):
        return None
    return "\n".join(lines[start:]) + "\n" + (_NO_NEWLINE if is_glued else "")


def _counts_hold(lines: list[str]) -> bool:
    old = new = 0
    for line in lines:
        if head := _HUNK.match(line):
            if old or new:
                return False
            old, new = int(head[1] or 1), int(head[2] or 1)
            continue
        mark = line[:1]
        if mark not in (" ", "-", "+", "\\"):
            return False
        old -= mark in (" ", "-")
        new -= mark in (" ", "+")
    return old == new == 0
