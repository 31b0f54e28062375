"""`onetape send`, `answer`, `interrupt` and `terminate`: words to a session that a daemon drives."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from onetape.cli import options
from onetape.errors import Conflict, Refused

if TYPE_CHECKING:
    from onetape.cli.shelf import Shelf
    from onetape.client import Session
    from onetape.info import SessionInfo


def send(
    session: options.SessionName,
    message: Annotated[str, typer.Argument(help="What to say; `-`: what stdin says.")],
    file: options.Files = None,
    json: options.Json = False,
) -> None:
    """Say something to a running session. During a turn it waits its turn, or joins it where the agent can be steered."""
    said = sys.stdin.read().rstrip("\n") if message == "-" else message
    if not said.strip():
        raise Refused("there is nothing to say: the message is empty")
    files = options.attached(file)
    with reached(session) as line:
        line.post(said, [*files])
        waiting = len(line.info()["queued"])
        report(line, f"sent to {line.id}{f'; {waiting} waiting' if waiting else ''}", json)


def interrupt(session: options.SessionName, json: options.Json = False) -> None:
    """End the turn of a session; the session goes on."""
    with reached(session) as line:
        line.interrupt()
        report(line, f"interrupted {line.id}", json)


def terminate(session: options.SessionName, json: options.Json = False) -> None:
    """End a session and all its processes."""
    with reached(session) as line:
        line.terminate()
        report(line, f"ended {line.id}", json)


@contextmanager
def reached(name: str | None) -> "Iterator[Session]":
    """The session in the daemon that drives it; where none does, why nothing can be said to it."""
    from onetape.cli.shelf import find, shelf
    from onetape.client import Client, Unreachable

    with shelf() as kept:
        info = find(kept, name)
        try:
            client = Client()
        except Unreachable:
            raise _out_of_reach(info, kept) or Unreachable(
                f"session {info.session_id} has no daemon: `onetape server` starts one"
            ) from None
    with client:
        yield client.attach(info.session_id)


def _out_of_reach(info: "SessionInfo", kept: "Shelf") -> Conflict | None:
    owner = kept.owner(info.session_id)
    if not info.ended and owner is not None and owner.is_alive:
        return Conflict(f"session {info.session_id} belongs to process {owner.pid}, which runs without a daemon: use its terminal")
    if info.ended or owner is not None:
        return Conflict(f"session {info.session_id} is over: `onetape resume {info.session_id}` goes on with it")
    return None


def report(line: "Session", words: str, json: bool) -> None:
    """What was done: for a program, the session as it is now."""
    if not json:
        print(words, file=sys.stderr)
        return
    from onetape.schema import to_json

    print(to_json(line.info()).decode(), flush=True)
