"""`onetape`: the commands and what they have in common.

Errors of the caller's are one line on stderr and exit code 2, never a traceback.
A command's own imports stand inside it, so that `--help` answers at once.
"""

import os
import sqlite3
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from onetape.cli import (
    agents,
    answering,
    archive,
    check,
    commanding,
    convert,
    drift,
    exporting,
    following,
    importing,
    listing,
    machine,
    proving,
    replay,
    run,
    schema,
    server,
)
from onetape.errors import OnetapeError


class _Commands(TyperGroup):
    """Typer ends with 1 when whoever reads us has seen enough (`| head`), and asks nobody."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Nothing is left to flush into the closed pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None


app = typer.Typer(
    cls=_Commands,
    help="Run any coding agent, or read the histories already on disk, and get one transcript.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: drawing boxes would triple the time to show it
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from onetape import __version__

        print(f"onetape {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version and exit.")] = False,
) -> None:
    pass


app.command("run", short_help="Run an agent, here and now.")(run.run)
app.command("resume")(run.resume)
app.command("sessions")(listing.sessions)
app.command("show")(listing.show)
app.command("tail", short_help="Follow a session until it ends.")(following.tail)
app.command("attach", short_help="Follow a session of the daemon, and take part.")(following.attach)
app.command("send")(commanding.send)
app.command("answer")(answering.answer)
app.command("interrupt")(commanding.interrupt)
app.command("terminate")(commanding.terminate)
app.command("convert", short_help="Convert a recording to the transcript.")(convert.convert)
app.command("check", short_help="Check the promises over a transcript.")(check.check)
app.command("agents")(agents.agents)
app.command("install")(machine.install)
app.command("doctor", short_help="Say what is right and wrong with the agents on this machine.")(machine.doctor)
app.command("schema")(schema.schema)
app.command("server", short_help="Serve sessions over HTTP: the daemon.")(server.server)
app.command("import", short_help="Import sessions from the agents' histories.")(importing.import_)
app.command("search", short_help="Find words in all transcripts.")(archive.search)
app.command("usage")(archive.usage)
app.command("verify", short_help="Prove that transcripts are what their tapes say.")(proving.verify)
app.command("reconvert", short_help="Derive transcripts from their tapes again.")(proving.reconvert)
app.command("drift", short_help="Report what agents say that no recording has.")(drift.drift)
app.command("export", short_help="Write a session to a file.")(exporting.export)
app.command("replay", short_help="Play a recorded session over HTTP as if it were live.")(replay.replay)


def main() -> None:
    try:
        app()
    except OnetapeError as error:
        sys.exit(_complain(str(error)))
    except OSError as error:
        sys.exit(_complain(f"{error.filename or 'a file'} cannot be read or written: {error.strerror or error}"))
    except sqlite3.Error as error:
        sys.exit(_complain(f"the log cannot be read: {error}"))
    except KeyboardInterrupt:
        sys.exit(130)


def _complain(message: str) -> int:
    print(f"onetape: {message}", file=sys.stderr)
    return 2
