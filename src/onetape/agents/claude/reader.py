"""Claude Code's histories on disk, as tapes of their original lines.

The part with I/O. A session is one file; its subagents have files of their own,
merged in by time, each after the small file that names the call it belongs to.
Lines that were rewound, and agents that no call of the session started (2.1 has
some that only warm up or summarise), are on the tape and marked, so that they make
no event. Two passes, of which the first decodes, and nothing kept of a line but a
few numbers: a file of any length can be read.
"""

import heapq
from array import array
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from onetape import tape
from onetape.agents.agent import Histories, end_of, lines_of, stamp_of
from onetape.agents.claude.branches import Branches, Live
from onetape.agents.claude.history import History
from onetape.clock import moment as moment_of
from onetape.errors import Unparsed
from onetape.tape import BOM, Head, Record

LOOKED_AT = 50
"""How many lines are read to recognise a session: some begin with titles and snapshots."""

KEPT_DAYS = 30
REWOUND = "rewound"
UNCALLED = "no call of this session started this agent"


class Reader(Histories):
    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        if chosen := env.get("CLAUDE_CONFIG_DIR"):
            return [Path(chosen) / "projects"]
        config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
        return [home / ".claude" / "projects", config / "claude" / "projects"]

    def recognises(self, path: Path) -> bool:
        told = [_decoded(line) for line in islice(_lines(path, path.stat().st_size), LOOKED_AT)]
        ours = [native for native in told if History.recognises(native, sent=False)]
        # A subagent's lines belong to the session that called it.
        return not all("agentId" in native for native in ours)

    def stamp(self, path: Path) -> str:
        return stamp_of(path, *sorted(_below(path)))

    def warnings(self, home: Path, env: Mapping[str, str]) -> Iterable[str]:
        settings = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "settings.json"
        days = _cleanup_days(settings)
        yield f"Claude Code deletes sessions after {days} days (cleanupPeriodDays in {settings}): what is imported stays"

    def read(self, path: Path, *, growing: bool = False) -> Iterator[Record]:
        session = _survey(path, growing)
        yield tape.record(0.0, "head", session.head)
        streams = [_main(path, session), *(_agent(agent, session) for agent in _agents(path, session))]
        for record, call in heapq.merge(*streams, key=lambda told: told[0].t):
            yield msgspec.structs.replace(record, note=REWOUND) if call in session.left_behind else record


# --- the first pass ---------------------------------------------------------


class Session(Struct):
    """What must be known of a file before its first line can be taped."""

    head: Head
    started: int | None
    moments: "Moments"
    live: Live
    early: dict[int, int]
    """Lines that are written before the one that they follow, by where that one is."""
    agents: set[str]
    """The subagents that it names."""
    end: int
    """How far it was read. What is written meanwhile is the next reading's."""
    growing: bool
    left_behind: set[str] = msgspec.field(default_factory=set)
    """Calls on rewound lines: their agents were rewound with them."""


def _survey(path: Path, growing: bool) -> Session:
    """Once more where it turns out that lines stand before those that they follow."""
    end = end_of(path, growing=growing)
    session = _surveyed(path, {}, end, growing)
    return _surveyed(path, session.early, end, growing) if session.early else session


def _surveyed(path: Path, early: dict[int, int], end: int, growing: bool) -> Session:
    branches, agents, moments = Branches(), set[str](), Moments()
    told: dict[str, Any] = {}
    for _, native in _in_order(path, early, end):
        branches.see(native)
        moments.see(native)
        if type(native) is not dict:
            continue
        if "toolUseResult" in native or native.get("type") == "progress":
            agents |= set(_named(native))
        if not native.get("isSidechain"):
            _learn(told, native)
    head = tape.head(
        agent="claude", version=told.get("version"), dialect=History.dialect, cwd=told.get("cwd"), started=told.get("timestamp"),
        model=told.get("model"), permission_mode=told.get("permissionMode"), session_id=_session_id(told.get("sessionId") or path.stem),
    )  # fmt: skip
    return Session(head, _moment(told), moments, branches.live(), early or branches.early, agents, end, growing)


def _named(native: dict[str, Any]) -> Iterator[str]:
    """The subagent that a line names."""
    match native:
        case {"toolUseResult": {"agentId": str() as agent}} | {"type": "progress", "data": {"agentId": str() as agent}}:
            yield agent
        case _:
            pass


_NAMES = ("version", "cwd", "timestamp", "sessionId", "permissionMode")


def _learn(told: dict[str, Any], native: dict[str, Any]) -> None:
    """What a file says first of each thing is how the session began."""
    for name in _NAMES:
        if name not in told and isinstance(words := native.get(name), str):
            told[name] = words
    if "model" not in told:
        match native:
            case {"type": "assistant", "message": {"model": str() as model}} if model != "<synthetic>":
                told["model"] = model
            case _:
                pass
    time = native.get("timestamp")
    if "uuid" in native and isinstance(time, str) and time < told["timestamp"] and _moment(native) is not None:
        told["timestamp"] = time  # a fork's file begins with the queue of its own prompt


def _session_id(native: str) -> str:
    """The same for the same session, wherever its file lies."""
    return "sess_" + tape.hash_of(native.encode())[:16]


# --- the second pass --------------------------------------------------------

Told: TypeAlias = tuple[Record, str | None]
"""A line, and of a subagent's line the call that started it."""


def _main(path: Path, session: Session) -> Iterator[Told]:
    clock = Clock(session.started)
    lines = (line for line, _ in _in_order(path, session.early, session.end)) if session.early else _lines(path, session.end)
    for at, (line, moment) in enumerate(zip(lines, session.moments.told, strict=False)):
        note = None
        if moment != NO_JSON and session.moments.spoken[at] and at not in session.live:
            note = REWOUND
            session.left_behind |= set(_calls(_decoded(line)))
        yield clock.stamped(line, moment, session.moments.spoken[at] == 1, note), None


def _agent(path: Path, session: Session) -> Iterator[Told]:
    """The lines of a subagent, with the call that started it."""
    clock, meta = Clock(session.started), _beside(path)
    named = _decoded(meta)
    call = named.get("toolUseId") if isinstance(named, dict) else None
    is_called = call is not None or path.stem.removeprefix("agent-") in session.agents
    for at, line in enumerate(_lines(path, end_of(path, growing=session.growing))):
        native = _decoded(line)
        record = clock.stamped(line, _read_moment(native), _is_spoken(native), None if is_called else UNCALLED)
        if at == 0 and isinstance(named, dict):
            yield msgspec.structs.replace(record, payload=Raw(meta)), call
        yield record, call


def _beside(agent: Path) -> bytes:
    try:
        return agent.with_suffix(".meta.json").read_bytes().strip()
    except OSError:
        return b""


def _calls(native: Any) -> Iterator[str]:
    match native:
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            yield from (block["id"] for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use" and "id" in block)
        case _:
            pass


class Clock:
    """Times of lines since the session began. They never go back; a line without one happened with the one before.

    Those before the conversation do not count: in a fork's file its first prompt is queued before the copy of what was
    said earlier.
    """

    def __init__(self, started: int | None) -> None:
        self._started = started
        self._now = 0.0
        self._is_begun = False

    def stamped(self, line: bytes, moment: int, is_spoken: bool, note: str | None) -> Record:
        self._is_begun = self._is_begun or is_spoken
        if moment > 0 and self._is_begun and self._started is not None:
            self._now = max(self._now, round((moment - self._started) / 1_000_000, 3))
        if moment == NO_JSON:
            return msgspec.structs.replace(tape.recv(self._now, line), note=note)
        return Record(self._now, "recv", Raw(line), note=note)


NO_TIME, NO_JSON = 0, -1
"""What stands for the moment of a line that tells none, and of one that is no JSON."""
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class Moments:
    """When each line was written, and whether it is one of the conversation: what the second pass need not decode it for."""

    def __init__(self) -> None:
        self.told = array("q")
        self.spoken = array("b")

    def see(self, native: Any) -> None:
        self.told.append(_read_moment(native))
        self.spoken.append(_is_spoken(native))


def _read_moment(native: Any) -> int:
    if native is None:
        return NO_JSON
    return (_moment(native) if isinstance(native, dict) else None) or NO_TIME


def _is_spoken(native: Any) -> bool:
    return isinstance(native, dict) and "uuid" in native


def _moment(native: dict[str, Any]) -> int | None:
    """In microseconds since 1970."""
    time = moment_of(native.get("timestamp"))
    return (time - _EPOCH) // _MICROSECOND if time else None


# --- files ------------------------------------------------------------------


def _agents(path: Path, session: Session) -> list[Path]:
    """2.1 keeps them below the session, 2.0 beside it, all sessions' together."""
    beside = (path.with_name(f"agent-{agent}.jsonl") for agent in sorted(session.agents))
    return [*sorted(_below(path)), *(agent for agent in beside if agent.is_file())]


def _below(path: Path) -> Iterator[Path]:
    return (path.with_suffix("") / "subagents").rglob("agent-*.jsonl")


def _cleanup_days(settings: Path) -> int:
    """Its own default where the user has set nothing (2.1.326)."""
    try:
        days = msgspec.json.decode(settings.read_bytes()).get("cleanupPeriodDays")
    except (OSError, msgspec.DecodeError, AttributeError):
        return KEPT_DAYS
    return days if isinstance(days, int) else KEPT_DAYS


def _lines(path: Path, end: int) -> Iterator[bytes]:
    for at, line in enumerate(lines_of(path, end)):
        if told := line.removeprefix(BOM) if at == 0 else line:
            yield told


def _in_order(path: Path, early: dict[int, int], end: int) -> Iterator[tuple[bytes, Any]]:
    """The lines, each after the one that it follows: 2.1.197 may write the first answer before its prompt."""
    held: dict[int, list[tuple[int, bytes, Any]]] = {}
    waits: dict[str, int] = {}
    """What a held line waits for, by its id: lines that follow it wait too."""

    def released(at: int, line: bytes, native: Any) -> Iterator[tuple[bytes, Any]]:
        yield line, native
        for each in held.pop(at, ()):
            yield from released(*each)

    for at, line in enumerate(_lines(path, end)):
        native = _decoded(line)
        after = early.get(at) or waits.get(str(native.get("parentUuid"))) if early and isinstance(native, dict) else None
        if after is not None and after > at:
            waits[str(native.get("uuid"))] = after
            held.setdefault(after, []).append((at, line, native))
        elif at in held:
            yield from released(at, line, native)
        else:
            yield line, native
    for lines in held.values():  # lines that follow each other in a circle
        yield from ((line, native) for _, line, native in lines)


def _decoded(line: bytes) -> Any:
    """None for what is not JSON; the translator will say so."""
    try:
        return Record(0.0, "recv", Raw(line)).native() if line else None
    except Unparsed:
        return None
