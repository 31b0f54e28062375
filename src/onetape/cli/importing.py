"""`onetape import`: the histories that agents left on disk, into the archive."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

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
    from onetape.cli.shelf import opened

    agent, places = _understood(names or [])
    with opened() as store:
        failed = _once(store, agent, places, json)
        if watch:
            _watch(store, agent, places, json)
    raise typer.Exit(1 if failed else 0)


def _understood(names: list[str]) -> tuple[str | None, list[Path]]:
    """The first word is an agent where there is one of this name."""
    from onetape.agents import registry

    agent = names[0] if names and names[0] in registry.names() else None
    return agent, [Path(name).expanduser() for name in names[1 if agent else 0 :]]


def _found(agent: str | None, places: list[Path]) -> tuple[Any, Iterator[Any]]:
    from onetape.archive.finding import Search, agents_named

    search = Search(agents_named(agent))
    return search, search.named(places) if places else search.usual(Path.home())


def _once(store: Any, agent: str | None, places: list[Path], json: bool) -> int:
    from onetape.archive.importing import bring_in

    search, found = _found(agent, places)
    with _progress(not json) as waiting:
        sessions = list(waiting("looking", found))
        counts, failed = Counter[str](), 0
        for one in waiting("importing", sessions, len(sessions)):
            try:
                source = bring_in(store, one)
            except (OnetapeError, OSError) as error:
                failed += 1
                print(f"onetape: {one.path}: {error}", file=sys.stderr)
                continue
            counts[source.outcome] += 1
            if json:
                _tell(one.agent.name, source)
    if not json:
        _sum_up(agent, counts, search.skipped if places else 0, failed)
    return failed


def _tell(agent: str, source: Any) -> None:
    from onetape.schema import to_json

    told = {"agent": agent, "sessionId": source.session_id, "path": source.path, "outcome": source.outcome}
    print(to_json(told).decode(), flush=True)


def _sum_up(agent: str | None, counts: Counter[str], skipped: int, failed: int) -> None:
    import os

    from onetape.archive.finding import agents_named

    if not counts and not failed:
        print("no histories were found")
    for outcome, count in counts.most_common():
        print(f"{count:6,} {WORDS[outcome]}")
    if skipped:
        print(f"{skipped:6,} other files skipped")
    if failed:
        print(f"{failed:6,} could not be read")
    for each in agents_named(agent):
        if each.history is not None:
            for warning in each.history.warnings(Path.home(), os.environ):
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


def _watch(store: Any, agent: str | None, places: list[Path], json: bool) -> None:
    """Looks again and again; only what changed is read."""
    import time

    from onetape.archive.importing import bring_in

    print("following; end with Ctrl-C", file=sys.stderr)
    while True:
        _, found = _found(agent, places)
        began = time.monotonic()
        for one in found:
            try:
                source = bring_in(store, one)
            except (OnetapeError, OSError) as error:
                print(f"onetape: {one.path}: {error}", file=sys.stderr)
                continue
            if source.outcome in ("new", "grown", "rewritten", "beside"):
                _tell(one.agent.name, source) if json else print(f"{source.outcome:9} {one.agent.name:8} {source.session_id}", flush=True)
        # A large place is not looked through without a pause for breath.
        time.sleep(max(WATCH_SECONDS, time.monotonic() - began))
