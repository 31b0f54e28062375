"""Codex's rollout files as tapes: the part with I/O. What the lines mean is rollout.py's to say."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from onetape import tape
from onetape.agents.agent import Histories, end_of, lines_of
from onetape.agents.codex.rollout import Rollout
from onetape.agents.codex.settings import policy_of
from onetape.agents.codex.spelling import path_of
from onetape.clock import moment
from onetape.errors import Unparsed
from onetape.tape import Head, Record

# The first turn's settings, which name the model, stand within the first lines.
_LOOKED_AT = 40


class Rollouts(Histories):
    """Implements `History`."""

    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        root = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home / ".codex"
        return root / "sessions", root / "archived_sessions"

    def recognises(self, path: Path) -> bool:
        match next(_natives(path), None):
            case {"type": "session_meta", "payload": {"id": str(), "cwd": str()}}:
                return True
            case {"id": str(), "timestamp": str(), "instructions": _, **rest}:
                return "type" not in rest
            case _:
                return False

    def read(self, path: Path, *, growing: bool = False) -> Iterator[Record]:
        head = _head(path)
        began = moment(head.started)
        yield tape.record(0.0, "head", head)
        t = 0.0
        for line in lines_of(path, end_of(path, growing=growing)):
            record = tape.recv(t, line)
            t = max(t, _since(began, _native(record)))
            yield tape.recv(t, line)


def _head(path: Path) -> Head:
    """Whose session this is, from the first lines."""
    started = version = cwd = model = policy = None
    for native in islice(_natives(path), _LOOKED_AT):
        match native:
            case {"type": "session_meta", "payload": {"timestamp": str(stamp)} as meta} if started is None:
                started, version = stamp, meta.get("cli_version")
                cwd = path_of(meta["cwd"]) if isinstance(meta.get("cwd"), str) else None
            case {"type": "turn_context", "payload": {"model": str(name)} as context}:
                model, policy = name, policy_of(context.get("approval_policy"))
                break
            case {"id": str(), "timestamp": str(stamp)} if started is None:
                started = stamp
            case _:
                pass
    return tape.head(agent="codex", version=version, dialect=Rollout.dialect, cwd=cwd, started=started, model=model, permission_mode=policy)


def _natives(path: Path) -> Iterator[Any]:
    return (_native(tape.recv(0.0, line)) for line in lines_of(path, path.stat().st_size))


def _native(record: Record) -> Any:
    try:
        return record.native()
    except Unparsed:
        return None


def _since(began: datetime | None, native: Any) -> float:
    written = moment(native.get("timestamp")) if isinstance(native, dict) else None
    return (written - began).total_seconds() if began and written else 0.0
