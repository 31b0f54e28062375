"""File changes of apply_patch as patches that `git apply` takes.

Codex tells the raw content of an added or deleted file and headerless hunks of an
updated one; a move's hunks end in a line of prose ("Moved to: …", capture 05).
`codex exec` tells paths alone.
"""

from collections.abc import Iterable
from typing import Any

from onetape import diffs
from onetape.errors import Unparsed
from onetape.schema import ContentPart, FileRef

_MOVED = "\n\nMoved to: {}"


def file_refs(changes: Iterable[Any]) -> list[ContentPart]:
    return [_file_ref(change) for change in changes]


def patch(changes: Iterable[Any]) -> str | None:
    """All changes in one text, for who must permit them."""
    return "".join(ref.diff for ref in file_refs(changes) if isinstance(ref, FileRef) and ref.diff) or None


def listed(changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Changes as the rollout and the first protocol write them, a map by path, in the words and the order of an item."""
    return [_listed(path, change) for path, change in sorted(changes.items())]


def _listed(path: str, change: dict[str, Any]) -> dict[str, Any]:
    match change:
        case {"type": "update", "unified_diff": str(diff)}:
            new = change.get("move_path")
            return {"path": path, "kind": {"type": "update", "move_path": new}, "diff": diff + _MOVED.format(new) if new else diff}
        case {"type": "add" | "delete" as kind, **rest}:
            return {"path": path, "kind": {"type": kind}, "diff": rest.get("content")}
        case _:
            raise Unparsed(f"a change of {path} that is neither add, delete nor update")


def _file_ref(change: dict[str, Any]) -> FileRef:
    path, diff = change["path"], change.get("diff")
    match change["kind"]:
        case {"type": "add"} | "add":
            return FileRef(path, "write", None if diff is None else diffs.created(path, diff))
        case {"type": "delete"} | "delete":
            return FileRef(path, "patch", None if diff is None else diffs.deleted(path, diff))
        case {"type": "update", "move_path": str(new)} if new != path:
            return FileRef(new, "patch", None if diff is None else _moved(path, new, diff))
        case _:
            return FileRef(path, "patch", diffs.headed(path, diff) if diff else None)


def _moved(old: str, new: str, diff: str) -> str:
    hunks = diff.removesuffix(_MOVED.format(new))
    return diffs.headed(new, hunks) if hunks.startswith("@@") else diffs.moved(old, new)
