"""Unified diffs that `git apply` takes, out of those that OpenCode shows.

OpenCode's diffs are for the eye: with an `Index:` line, the same path on both
sides also for a new file, and (1.18.33, `trimDiff`) without the white space that
all lines of the diff begin with. The last makes them wrong wherever a change
lies inside an indented block, so the indentation is put back from lines that
are known whole: the tool's arguments, and what was read or written before.
Where nothing tells how much was cut away, there is no diff: a wrong one is worse.
"""

import re
from collections import Counter
from collections.abc import Iterable

from onetape import diffs

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def restored(patch: str, path: str, known: Iterable[str], *, is_deleted: bool = False) -> str | None:
    """The diff with its headers and its indentation. `known`: whole lines of the file, before or after.

    `path`: of a file that was moved, the new one on both sides.
    """
    hunks = _hunks(patch)
    if not hunks:
        return None
    first = _HUNK.match(hunks[0])
    if first is None:
        return None
    indent = _cut_away(hunks, known)
    if indent is None:
        # A file's first line is not indented, whatever the file.
        indent = "" if int(first[1]) <= 1 and int(first[3]) <= 1 else None
    if indent is None:
        return None
    is_new = first[1] == "0" and first[2] == "0"
    text = "".join(f"{_indented(line, indent)}\n" for line in hunks)
    return diffs.headed(diffs.NOWHERE if is_deleted else path, text, old_path=diffs.NOWHERE if is_new else path)


def creates(patch: str) -> bool:
    """Whether the diff makes a file: nothing was there before."""
    return any(line.startswith("@@ -0,0 ") for line in _hunks(patch)[:1])


def has_hunks(patch: str) -> bool:
    return bool(_hunks(patch))


def stripped(patch: str, path: str) -> str | None:
    """The diff as shown, with proper headers: for a person who is asked, not for `git apply`."""
    hunks = _hunks(patch)
    if not hunks:
        return None
    return diffs.headed(path, "\n".join(hunks), old_path=diffs.NOWHERE if creates(patch) else None)


def _hunks(patch: str) -> list[str]:
    """The lines from the first hunk on: what is before are headers, in several spellings."""
    lines = patch.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    hunks = lines[start:]
    while hunks and not hunks[-1]:
        hunks.pop()  # the newline at the end; an empty line of the file has its mark
    return hunks


def _cut_away(hunks: list[str], known: Iterable[str]) -> str | None:
    """The white space that the most lines of the diff lack compared to whole ones; None without a line to compare."""
    whole: dict[str, set[str]] = {}
    for line in known:
        whole.setdefault(line.strip(), set()).add(line)
    votes: Counter[str] = Counter()
    for line in hunks:
        words = line[1:]
        if line[:1] in ("+", "-", " ") and words.strip():
            candidates = {full.removesuffix(words) for full in whole.get(words.strip(), ()) if full.endswith(words)}
            votes.update(indent for indent in candidates if not indent.strip())
    if not votes:
        return None
    most = max(votes.values())
    return min((indent for indent, count in votes.items() if count == most), key=len)


def _indented(line: str, indent: str) -> str:
    # `trimDiff` spares lines that look like headers, and from an empty line it could take nothing.
    if not indent or line[:1] not in ("+", "-", " ") or line.startswith(("---", "+++")) or len(line) == 1:
        return line
    return line[0] + indent + line[1:]
