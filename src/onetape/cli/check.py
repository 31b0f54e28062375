"""`onetape check`: does a transcript keep its promises?"""

import sys
from typing import Annotated

import typer

from onetape.cli import inputs


def check(
    file: Annotated[str, typer.Argument(help="A transcript: one JSON event a line; `-` is stdin.")] = "-",
    bare: Annotated[bool, typer.Option("--bare", help="It was made from native lines, without what was sent.")] = False,
) -> None:
    """Check the promises over a transcript: each violation with its sequence and rule.

    Exit code 0: all kept (warnings do not count). 1: some are broken. 2: there is nothing to check.
    """
    from onetape import promises, tape

    with inputs.opened(file) as source:
        first, chunks = inputs.begun(inputs.chunks(source, file), file)
        faults = warnings = 0
        for fault in promises.check(promises.decode(tape.lines(chunks)), bare=bare):
            if fault.is_warning:
                warnings += 1
            else:
                faults += 1
            print(f"{fault.sequence}\t{'warning ' if fault.is_warning else ''}{fault.rule}\t{fault.message}")
    if faults and b'"dir"' in first.partition(b"\n")[0]:
        print("onetape: this looks like a tape, not a transcript: `onetape convert` makes one of it", file=sys.stderr)
    if not faults:
        print(f"all promises kept{f' ({warnings} warnings)' if warnings else ''}", file=sys.stderr)
    raise typer.Exit(1 if faults else 0)
