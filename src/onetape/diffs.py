"""Unified diffs that `git apply` takes, from whatever pieces an agent tells of a file change."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

NOWHERE = "/dev/null"
_ODD = re.compile(r'[\x00-\x1f\x7f"\\]')
_ESCAPES = {code: f"\\{code:03o}" for code in [*range(32), 127, *map(ord, '"\\')]}
_NO_NEWLINE = "\\ No newline at end of file"


class Hunk(NamedTuple):
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: Sequence[str]
    """Each with its mark (" ", "+", "-" or "\\") and without its newline."""


def created(path: str, content: str) -> str:
    return _headed(NOWHERE, path, [_whole("+", content)]) if content else _hunkless(path, path, "new file mode 100644")


def deleted(path: str, content: str) -> str:
    return _headed(path, NOWHERE, [_whole("-", content)]) if content else _hunkless(path, path, "deleted file mode 100644")


def moved(old: str, new: str) -> str:
    """A file that got another name and no other content."""
    return _hunkless(old, new, "similarity index 100%", f"rename from {_relative(old)}", f"rename to {_relative(new)}")


def changed(path: str, hunks: Iterable[Hunk], *, old_path: str | None = None) -> str:
    return _headed(old_path or path, path, [_hunk(hunk) for hunk in hunks])


def between(path: str, old: str, new: str) -> str:
    """The change from one whole text to another."""
    told = list(difflib.unified_diff(_lines(old), _lines(new)))[2:]
    return _headed(path, path, [line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in told])


def headed(path: str, hunks: str, *, old_path: str | None = None) -> str:
    """Hunks that an agent tells as text, without headers."""
    return _headed(old_path or path, path, [hunks if hunks.endswith("\n") else hunks + "\n"])


def _lines(text: str) -> list[str]:
    # Split at "\n" alone, which stays: only the last line may lack it, and the patch must say so.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _headed(old: str, new: str, hunks: list[str]) -> str:
    return f"--- {_quoted(old)}\n+++ {_quoted(new)}\n" + "".join(hunks)


def _hunkless(old: str, new: str, *lines: str) -> str:
    """A change without hunks has no ---/+++ form that git takes: its own extended header says it."""
    names = [_quoted(f"{side}/{path.lstrip('/')}") for side, path in (("a", old), ("b", new))]
    return "".join(f"{line}\n" for line in (f"diff --git {' '.join(names)}", *lines))


def _relative(path: str) -> str:
    return _quoted(path.lstrip("/"))


def _quoted(path: str) -> str:
    """As git writes a name that would not be read whole: a tab ends it, a newline the line."""
    return f'"{path.translate(_ESCAPES)}"' if _ODD.search(path) else path


def _hunk(hunk: Hunk) -> str:
    head = f"@@ -{_range(hunk.old_start, hunk.old_lines)} +{_range(hunk.new_start, hunk.new_lines)} @@\n"
    return head + "".join(f"{line}\n" for line in hunk.lines)


def _whole(mark: str, content: str) -> str:
    lines = content.split("\n")
    ends = lines.pop() if content.endswith("\n") else None
    count = _range(1, len(lines))
    head = f"@@ -0,0 +{count} @@\n" if mark == "+" else f"@@ -{count} +0,0 @@\n"
    return head + "".join(f"{mark}{line}\n" for line in lines) + ("" if ends is not None else f"{_NO_NEWLINE}\n")


def _range(start: int, count: int) -> str:
    # An empty side is written as the line before it.
    return f"{start}" if count == 1 else f"{start},{count}"
