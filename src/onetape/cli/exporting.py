"""`onetape export`: a stored session as a file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from onetape.cli import options


def export(
    session: options.AnySession = None,
    format: Annotated[str, typer.Option(help="markdown, html, ndjson (the events) or tape (the original bytes).")] = "markdown",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write. Default: stdout.", dir_okay=False)] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Without secrets: keys, tokens, passwords become counted stubs.")] = False,
) -> None:
    """Write a session to a file: for people (markdown, html), or for programs (ndjson, tape).

    With --redact, what was taken out is counted on stderr. Pictures are not looked into.
    """
    from onetape.archive.exporting import export as exported
    from onetape.cli.shelf import opened, row_of

    with opened() as store:
        made = exported(store, row_of(store, session), format, redact=redact)
        _write(made.chunks, output)
    if redact:
        _print_receipt(made.receipt())


def _write(chunks: Any, output: Path | None) -> None:
    from onetape.errors import Refused

    if output is None:
        sys.stdout.buffer.writelines(chunks)
        sys.stdout.buffer.flush()
        return
    try:
        with output.open("wb") as file:
            file.writelines(chunks)
    except OSError as error:
        raise Refused(f"cannot write {output}: {error.strerror or error}") from None


def _print_receipt(receipt: list[Any]) -> None:
    for told in receipt:
        print(f"redacted: {told.secrets} × {told.rule} in {told.places} place{'' if told.places == 1 else 's'}", file=sys.stderr)
    if not receipt:
        print("redacted: nothing, no secrets were found", file=sys.stderr)
