"""Pi's session files on disk: the part with I/O, which makes a tape of the original lines.

A file is a tree; Pi goes on from its last entry, so the branch that ends there is the session. The
lines of other branches are on the tape too, marked as silent. To read another branch, name its
last entry: `SESSION.jsonl#ENTRY` (`branches` lists them).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from onetape import tape
from onetape.agents.agent import Histories, end_of, lines_of
from onetape.clock import moment
from onetape.errors import Refused, Unparsed
from onetape.tape import Record

OTHER_BRANCH = "another branch"


class SessionFiles(Histories):
    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        """All session files, wherever Pi was told to keep them."""
        config = Path(env.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
        root = Path(env.get("PI_CODING_AGENT_SESSION_DIR") or config / "sessions")
        return sorted(root.glob("**/*.jsonl"))

    def recognises(self, path: Path) -> bool:
        file, _ = _split(path)
        with file.open("rb") as lines:
            return _is_header(_native(lines.readline(1 << 16)))

    def branches(self, path: Path) -> list[str]:
        """The last entries of all branches, in the order of the file: the last is the active one."""
        entries = [(id, _id(entry, "parentId")) for _, entry in _lines(path) if (id := _id(entry)) is not None]
        parents = {parent for _, parent in entries}
        active = entries[-1][0] if entries else None
        return [id for id, _ in entries if id not in parents and id != active] + ([active] if active else [])

    def read(self, path: Path, *, growing: bool = False) -> Iterator[Record]:
        file, leaf = _split(path)
        lines = list(_lines(file, growing))
        header = lines[0][1] if lines else {}
        if not _is_header(header):
            raise Refused(f"{file} is no session of Pi's: it does not begin with a session header")
        parents = {id: _id(entry, "parentId") for _, entry in lines if (id := _id(entry)) is not None}
        alive = _ancestors(parents, leaf or next(reversed(parents), None))
        if leaf is not None and leaf not in alive:
            raise Refused(f"{file} has no entry {leaf}; its branches end at: {', '.join(self.branches(file))}")
        started = _seconds(header.get("timestamp"))
        session_id = "sess_" + tape.hash_of(header["id"].encode())[:16]
        head = tape.head(agent="pi", dialect="session", cwd=header.get("cwd"), started=header.get("timestamp"), session_id=session_id)
        yield tape.record(0.0, "head", head)
        t = 0.0
        for line, entry in lines:
            t = max(t, _seconds(entry.get("timestamp"), started) - started)
            record = tape.recv(round(t, 3), line)
            is_dead = (id := _id(entry)) is not None and id not in alive
            yield msgspec.structs.replace(record, note=OTHER_BRANCH) if is_dead else record


def _split(path: Path) -> tuple[Path, str | None]:
    """The file, and the entry at which the wanted branch ends."""
    if path.exists():
        return path, None
    name, hash, leaf = path.name.rpartition("#")
    return (path.with_name(name), leaf) if hash and name else (path, None)


def _lines(path: Path, growing: bool = False) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for line in lines_of(path, end_of(path, growing=growing)):
        yield line, _native(line)


def _native(line: bytes) -> dict[str, Any]:
    """The entry on this line; empty for one that was cut off or is damaged, which the transcript tells as unparsed."""
    try:
        native = Record(0.0, "recv", Raw(line)).native()
    except Unparsed:
        return {}
    return native if isinstance(native, dict) else {}


def _is_header(native: dict[str, Any]) -> bool:
    return native.get("type") == "session" and isinstance(native.get("cwd"), str) and isinstance(native.get("id"), str)


def _id(entry: dict[str, Any], name: str = "id") -> str | None:
    """The id of an entry, by which it has a place in the tree; the header has none, nor has version 1."""
    id = entry.get(name)
    return id if isinstance(id, str) and entry.get("type") != "session" else None


def _ancestors(parents: dict[str, str | None], leaf: str | None) -> set[str]:
    """The entries from the root to this one; a parent that is not in the file ends the way."""
    alive: set[str] = set()
    while leaf is not None and leaf in parents and leaf not in alive:
        alive.add(leaf)
        leaf = parents[leaf]
    return alive


def _seconds(timestamp: Any, default: float = 0.0) -> float:
    told = moment(timestamp)
    return told.timestamp() if told else default
