"""What a tool did to a file, as a unified diff where Pi tells enough.

`edit` tells a patch (`details.patch`; 0.73.1 only `details.diff`, lines with numbers, which hold
the same hunks). It is of the text that Pi worked on, which may not be that of the file (CRLF); there our
extension adds both texts (gate.ts: `details.before`, `details.after`). `write` tells nothing: whether the
file was there before is known only where our extension looked (`details.before`, null for a new file);
else the diff is null.
"""

import re
from collections.abc import Iterator
from typing import Any

from onetape import diffs
from onetape.diffs import Hunk
from onetape.schema import FileRef

_NUMBERED = re.compile(r"([ +-]) *(\d+) (.*)", re.DOTALL)


def file_of(tool: str, args: Any, details: Any) -> FileRef | None:
    """The file that a successful call read, wrote or changed."""
    told = details if isinstance(details, dict) else {}
    match tool, args:
        case "read", {"path": str(path)}:
            return FileRef(_named(path), "read")
        case "write", {"path": str(path), "content": str(content)}:
            return FileRef(_named(path), "write", _written(_named(path), told, content))
        case "edit", {"path": str(path)}:
            return FileRef(_named(path), "patch", _patched(_named(path), told))
        case _:
            return None


def _named(path: str) -> str:
    """The file's own name: models write it as a mention, too, and Pi's tools leave the @ out (core/tools/path-utils.js)."""
    return path.removeprefix("@")


def _written(path: str, told: dict[str, Any], content: str) -> str | None:
    match told:
        case {"before": None}:
            return diffs.created(path, content)
        case {"before": str(before)} if before != content:
            return diffs.between(path, before, content)
        case _:
            return None


def _patched(path: str, told: dict[str, Any]) -> str | None:
    match told:
        case {"before": str(before), "after": str(after)}:
            return diffs.between(path, before, after)
        case {"patch": str(patch)} if "\n@@ " in patch:
            return diffs.headed(path, patch[patch.index("\n@@ ") + 1 :])
        case {"diff": str(numbered)}:
            hunks = list(_hunks(numbered))
            return diffs.changed(path, hunks) if hunks else None
        case _:
            return None


def _hunks(numbered: str) -> Iterator[Hunk]:
    """Runs of numbered lines; a line without a number stands for what is left out between them.

    Kept and removed lines have their number in the old file, added ones in the new file.
    """
    shift, run = 0, list[re.Match[str]]()
    for line in [*numbered.split("\n"), ""]:
        if match := _NUMBERED.fullmatch(line):
            run.append(match)
        elif run:
            hunk = _hunk(run, shift)
            shift += hunk.new_lines - hunk.old_lines
            run = []
            yield hunk


def _hunk(run: list[re.Match[str]], shift: int) -> Hunk:
    marks = [line[1] for line in run]
    old, new = len(run) - marks.count("+"), len(run) - marks.count("-")
    first = int(run[0][2]) - (shift if marks[0] == "+" else 0)
    # A side without lines is numbered by the line before it.
    return Hunk(first if old else first - 1, old, first + shift if new else first + shift - 1, new, [line[1] + line[3] for line in run])
