"""`onetape replay`: a recorded session over HTTP, as if it were live."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetape.cli import options

if TYPE_CHECKING:
    from onetape.replay import Pace, Recording

PORT = 2469
"""Beside the daemon's."""
STEPS = "Enter plays the next event, a number so many, t to the end of the turn, q ends the replay."


def replay(
    name: Annotated[
        str, typer.Argument(metavar="SESSION|FILE", help="What to play: a tape or a history too.", autocompletion=options.complete_sessions)
    ],
    speed: Annotated[float, typer.Option(min=0, help="So many times as fast as it was; 0: at once.")] = 1.0,
    step: Annotated[bool, typer.Option("--step", help="Only when told: by Enter here, or by what a client says.")] = False,
    longest_pause: Annotated[float, typer.Option(min=0, help="No pause takes more seconds than this.")] = 10.0,
    agent: Annotated[str | None, typer.Option(help="Whose file it is, if not to be seen.", autocompletion=options.complete_agents)] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = PORT,
    token: Annotated[str | None, typer.Option(envvar="ONETAPE_TOKEN", help="What clients must show; else the daemon's own.")] = None,
    drop_connection_every: Annotated[int | None, typer.Option(min=1, metavar="EVENTS", help="Lose each connection after so many.")] = None,
    stall: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Let each stream fall silent for so long.")] = 0.0,
    stall_every: Annotated[int, typer.Option(min=1, metavar="EVENTS", help="With --stall: after so many events.")] = 25,
) -> None:
    """Play a recorded session over the HTTP API as if it were live, to build a front end without an agent.

    It begins when a client opens it. What was recorded is what happens: messages, answers and interrupts of clients are taken, and only
    end the waiting for those on the tape.
    """
    from onetape.replay import Pace, Replay
    from onetape.server import logs
    from onetape.server.faults import Faults
    from onetape.server.serving import Options, perform

    logs.begin("critical" if drop_connection_every else "warning")  # a lost connection is what was asked for
    with _recording(name, agent) as played:

        def made() -> Replay:
            pace = Pace(speed, longest_pause, stepwise=step)
            if step:
                _listen(pace)
            return Replay(played, pace)

        faults = Faults(drop_connection_every, stall_every, stall)
        perform(Options(host, port, token), made, faults, lambda *told: _announce(*told, step=step))


def _announce(url: str, token: str | None, session_id: str | None, *, step: bool) -> None:
    from onetape.cli.server import announce

    announce(url, token, session_id)
    if step:
        print(STEPS, flush=True)


@contextmanager
def _recording(name: str, agent: str | None) -> "Iterator[Recording]":
    from onetape.agents import registry
    from onetape.cli.shelf import opened, row_of
    from onetape.replay import recording

    if Path(name).exists():
        with _file(name, agent) as (whose, told):
            yield recording(told, whose)
        return
    with opened() as store:
        row = row_of(store, name)
        title = row.title or row.summary.title
        yield recording(store.tape(row.session_id), registry.find(row.agent), row.session_id, title)


@contextmanager
def _file(name: str, agent: str | None) -> Iterator[tuple[Any, Any]]:
    """Whose it is, and its records or bytes."""
    from onetape.agents import registry
    from onetape.archive.finding import Found, agents_named, whose
    from onetape.cli import inputs
    from onetape.errors import Refused
    from onetape.transcribe import recognise

    path = Path(name)
    if (found := whose(path, agents_named(agent))) is not None:
        yield found, Found(found, next(iter(found.history.sessions(path)))).read()  # type: ignore[union-attr]
        return
    with inputs.opened(name) as source:
        first, chunks = inputs.begun(inputs.chunks(source, name), name)
        found = registry.find(agent) if agent else recognise(first)
        if found is None:
            raise Refused(f"{name} does not show whose recording it is: say --agent")
        yield found, chunks


def _listen(pace: "Pace") -> None:
    """Steps from the keyboard, in a thread: a terminal is waited for by blocking."""
    import asyncio
    import os
    import signal
    from threading import Thread

    from onetape.schema import TurnEnded

    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            match line.strip():
                case "q":
                    os.kill(os.getpid(), signal.SIGINT)
                case "t":
                    loop.call_soon_threadsafe(pace.hurry, lambda event: isinstance(event, TurnEnded))
                case "":
                    loop.call_soon_threadsafe(pace.step)
                case number if number.isdecimal():
                    loop.call_soon_threadsafe(pace.step, int(number))
                case _:
                    print(STEPS, flush=True)

    Thread(target=read, name="keyboard", daemon=True).start()
