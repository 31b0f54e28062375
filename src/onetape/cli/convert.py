"""`onetape convert`: a tape, native lines or a history file into the transcript."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from onetape.cli import inputs


def convert(
    agent: Annotated[str, typer.Argument(help="Whose recording it is (`onetape agents` lists them).")],
    file: Annotated[str, typer.Argument(help="A tape, the agent's bare native lines, or a history file; `-` is stdin.")] = "-",
    include_raw: Annotated[bool, typer.Option("--include-raw", help="With each event, the tape payload that caused it.")] = False,
    pretty: Annotated[bool, typer.Option("--pretty", help="A readable rendering instead of NDJSON.")] = False,
    digest: Annotated[bool, typer.Option("--digest", help="The run-level view: started, actions, completed.")] = False,
    export: Annotated[str | None, typer.Option("--format", help="A document instead: markdown or html.")] = None,
    dialect: Annotated[str | None, typer.Option(help="The wire it was recorded on, where the input does not show it.")] = None,
    session_id: Annotated[str | None, typer.Option(help="The session's id, where the tape has no head.")] = None,
) -> None:
    """Convert a recording to the transcript, as one JSON event a line.

    Exit code 0: converted. 1: converted, but some records are unparsed or unknown. 2: nothing could be converted.
    """
    from onetape.agents import registry
    from onetape.archive.finding import Found
    from onetape.archive.finding import whose as is_history
    from onetape.digest import digest as condense
    from onetape.transcribe import transcribe

    whose = registry.find(agent)
    with inputs.opened(file) as source:
        first, chunks = inputs.begun(inputs.chunks(source, file), file)
        told: Any = chunks
        if dialect is None and file != "-" and is_history(Path(file), [whose]):
            told = Found(whose, Path(file)).read()
        count = _Count()
        events = count(transcribe(told, whose, dialect=dialect, session_id=session_id, include_raw=include_raw))
        if export is not None:
            sys.stdout.writelines(_document(export)(events))
        elif pretty:
            _print_pretty(events)
        else:
            _print_json(condense(events, whose.kinds) if digest else events)
    if count.strange:
        _explain(count, agent, first, file)
    if not count.events:
        print(f"onetape: nothing in {file} could be converted", file=sys.stderr)
    raise typer.Exit(2 if not count.events else 1 if count.strange else 0)


class _Count:
    """Events as they pass, and how many records nobody could make sense of."""

    def __init__(self) -> None:
        self.events = self.unknown = self.unparsed = 0

    @property
    def strange(self) -> int:
        return self.unknown + self.unparsed

    def __call__(self, events: Iterable[Any]) -> Iterator[Any]:
        from onetape import schema

        for event in events:
            self.events += 1
            if isinstance(event, schema.AgentUnparsed):
                self.unparsed += 1
            elif isinstance(event, schema.ItemCompleted) and event.data.item.kind == "unknown":
                self.unknown += 1
            yield event


def _document(name: str) -> Any:
    from onetape.errors import Refused
    from onetape.export import DOCUMENTS

    if name not in DOCUMENTS:
        raise Refused(f"there is no format {name!r}; there are: {', '.join(DOCUMENTS)}")
    return DOCUMENTS[name]


def _print_json(events: Iterable[Any]) -> None:
    from onetape.schema import to_json

    write = sys.stdout.buffer.write
    for event in events:
        write(to_json(event) + b"\n")
    sys.stdout.buffer.flush()


def _print_pretty(events: Iterable[Any]) -> None:
    from onetape.cli.pretty import Pretty

    pretty = Pretty()
    for event in events:
        pretty.show(event)


def _explain(count: _Count, agent: str, first: bytes, file: str) -> None:
    from onetape.agents import registry
    from onetape.transcribe import recognise

    print(f"onetape: {count.unparsed} records could not be parsed, {count.unknown} are of unknown types", file=sys.stderr)
    other = recognise(first)
    if other is not None and other.name != agent:
        print(f"onetape: this looks like {other.title}: try `onetape convert {other.name} {file}`", file=sys.stderr)
    elif other is None:
        print(f"onetape: is this really a recording of {registry.find(agent).title}?", file=sys.stderr)
