"""`onetape import`: the histories that agents left on disk, into the archive."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from onetape import paths
from onetape.errors import OnetapeError

WORDS = {
    "new": "new",
    "grown": "grown",
    "rewritten": "rewritten",
    "beside": "rewritten, and the old reading kept",
    "unchanged": "unchanged",
    "known": "known already in another form",
    "shrunk": "shorter than what was kept, which stays",
    "ran here": "ran here, and known already",
    "runs here": "running here now",
}
WATCH_SECONDS = 1.0


def import_(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="AGENT|PATH", help="An agent, and files or directories to look through.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on following sessions that run elsewhere.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per session.")] = False,
) -> None:
    """Import sessions from every agent's history, or from the given places: what is new of them.

    Exit code 0: done. 1: some files could not be read (they are named; the rest is done).
    """
    from onetape.archive.finding import Search, agents_named
    from onetape.cli.shelf import opened

    agent, places = _understood(names or [])
    search = Search(agents_named(agent))
    with opened() as store:
        failed = _once(store, search, places, json)
        if watch:
            _watch(store, search, places, json)
    raise typer.Exit(1 if failed else 0)


def _understood(names: list[str]) -> tuple[str | None, list[Path]]:
    """The first word is an agent where there is one of this name."""
    from onetape.agents import registry

    agent = names[0] if names and names[0] in registry.names() else None
    return agent, [Path(name).expanduser() for name in names[1 if agent else 0 :]]


def _once(store: Any, search: Any, places: list[Path], json: bool) -> int:
    from onetape.archive.importing import Importer

    importer = Importer(store)
    with _progress(not json) as waiting:
        sessions = list(waiting("looking", search.named(places) if places else search.usual(Path.home())))
        counts, failed = Counter[str](), [(one.path, one.why) for one in search.unread]
        for one, next in zip(waiting("importing", sessions, len(sessions)), [*sessions[1:], None], strict=True):
            source = _brought(importer, one, failed, next)
            if source is None:
                continue
            counts[source.outcome] += 1
            if json:
                _tell(one.agent.name, source)
    for path, why in failed:
        _complain(path, why)
    if not json:
        _sum_up(search.agents, counts, search.skipped if places else 0, len(failed))
    return len(failed)


def _brought(importer: Any, found: Any, failed: list[tuple[Path, str]], next: Any = None) -> Any:
    """What came of a session; None, and why, where it could not be read."""
    from onetape.archive.finding import DAMAGED, damaged

    try:
        with _its_turn():
            return importer.bring_in(found, next)
    except (OnetapeError, OSError) as error:
        failed.append((found.path, str(error)))
    except DAMAGED as error:
        failed.append((found.path, damaged(error)))
    return None


@contextmanager
def _its_turn() -> Iterator[None]:
    """Another import, one that watches, may be at the same session: they take turns, and the second finds it done."""
    import fcntl
    import os

    lock = os.open(paths.data_dir() / "import.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _complain(path: Path, why: str) -> None:
    print(f"onetape: {path}: {why}", file=sys.stderr)


def _tell(agent: str, source: Any) -> None:
    from onetape.schema import to_json

    told = {"agent": agent, "sessionId": source.session_id, "path": source.path, "outcome": source.outcome}
    print(to_json(told).decode(), flush=True)


def _sum_up(agents: list[Any], counts: Counter[str], skipped: int, failed: int) -> None:
    import os

    if not counts and not failed:
        print("no histories were found")
    for outcome, count in counts.most_common():
        print(f"{count:6,} {WORDS[outcome]}")
    if skipped:
        print(f"{skipped:6,} other files skipped")
    if failed:
        print(f"{failed:6,} could not be read")
    for agent in agents:
        for warning in agent.history.warnings(Path.home(), os.environ):
            print(f"note: {warning}", file=sys.stderr)


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[..., Iterator[Any]]]:
    """A bar on stderr where somebody watches."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _, items, total=None: iter(items)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def track(words: str, items: Any, total: int | None = None) -> Iterator[Any]:
            return iter(progress.track(items, total=total, description=words))

        yield track


def _watch(store: Any, search: Any, places: list[Path], json: bool) -> None:
    """Looks again and again; only what changed is read."""
    import time

    from onetape.archive.importing import Importer

    importer = Importer(store)
    print("following; end with Ctrl-C", file=sys.stderr)
    known = set[tuple[Path, str]]()
    while True:
        began = time.monotonic()
        failed: list[tuple[Path, str]] = []
        for one in search.named(places, may_be_gone=True) if places else search.usual(Path.home()):
            source = _brought(importer, one, failed)
            if source is not None and source.outcome in ("new", "grown", "rewritten", "beside"):
                _tell(one.agent.name, source) if json else print(f"{source.outcome:9} {one.agent.name:8} {source.session_id}", flush=True)
        failed += [(one.path, one.why) for one in search.unread]
        for path, why in failed:
            if (path, why) not in known:  # not in every round again
                _complain(path, why)
        known = set(failed)
        # A large place is not looked through without a pause for breath.
        time.sleep(max(WATCH_SECONDS, time.monotonic() - began))
