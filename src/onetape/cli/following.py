"""`onetape tail` and `onetape attach`: a session while it goes on, from another terminal."""

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from onetape.cli import options
from onetape.errors import Conflict

if TYPE_CHECKING:
    from onetape.info import SessionInfo


def tail(
    session: options.AnySession = None,
    lines: Annotated[int | None, typer.Option("--lines", "-n", min=0, help="Of what there is only the last so many events.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Only events after this sequence.")] = 0,
    json: options.Json = False,
) -> None:
    """Follow a session: what there is, then what comes, until it ends."""
    info, is_driven = _found(session)
    begin = after if lines is None else max(after, info.event_count - lines)
    asyncio.run(_follow(info.session_id, begin, None if is_driven else info.event_count, json))


async def _follow(session_id: str, after: int, last: int | None, json: bool) -> None:
    """`last`: where nobody drives it, the last event there will be."""
    from onetape.cli.lines import readable
    from onetape.cli.screens import Ndjson, Readable

    screen = Ndjson() if json else Readable()
    screen.live()
    if last is not None and after >= last:
        return
    async with readable(session_id) as line, aclosing(line.heard(after)) as events:
        async for heard in events:
            screen.show(heard)
            if heard.event.sequence == last:
                return


def attach(session: options.AnySession = None, json: options.Json = False) -> None:
    """Follow a session of the daemon, answer what it asks, say what comes next. Ctrl-C leaves it running."""
    from onetape.cli.commanding import reached

    with reached(session) as line:
        if line.info()["ended"]:
            raise Conflict(f"session {line.id} is over: `onetape show {line.id}` reads it, `onetape resume {line.id}` goes on with it")
    is_somebody = sys.stdin.isatty() and sys.stderr.isatty()
    asyncio.run(_attach(line.id, json) if is_somebody else _follow(line.id, 0, None, json))


async def _attach(session_id: str, json: bool) -> None:
    from onetape.cli.asking import id_of, whoever_is_here
    from onetape.cli.screens import Ndjson, Readable
    from onetape.cli.talk import Talk
    from onetape.client import AsyncClient

    screen = Ndjson() if json else Readable()
    async with AsyncClient() as client:
        session = client.attach(session_id)
        talk = Talk(session, screen, whoever_is_here(allows=False), converses=True, owns=False)
        await talk.hold(pending=[id_of(told) for told in await session.pending()])
        if not (await session.info())["ended"]:
            screen.say(f"left {session_id}, which goes on")


def _found(name: str | None) -> "tuple[SessionInfo, bool]":
    """The session, and whether anything more may come."""
    from onetape.cli.shelf import find, shelf

    with shelf() as kept:
        info = find(kept, name)
        owner = kept.owner(info.session_id)
    return info, not info.ended and info.origin == "live" and (owner is None or owner.is_alive)
