"""`onetape drift`: what agents say that was never recorded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from onetape.errors import Refused


def drift(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Tapes or histories. Default: all that is stored.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per type of message, drifted or not.")] = False,
) -> None:
    """Report messages and fields that differ from everything that was recorded, with an example's place on the tape.

    Exit code 0: no drift. 1: drift. 2: something could not be read.
    """
    from onetape.drift import Watch

    watch = Watch()
    for agent, name, records in _named(files) if files else _stored():
        watch.take(records, agent, name)
    verdicts = list(watch.verdicts())
    drifted = [verdict for verdict in verdicts if verdict.is_drift]
    if json:
        _print_json(verdicts)
    else:
        _print(drifted, len(verdicts), watch.tapes)
    raise typer.Exit(1 if drifted else 0)


def _named(files: list[str]) -> Iterator[tuple[Any, str, Any]]:
    from onetape.agents import registry
    from onetape.archive.finding import Search
    from onetape.cli import inputs
    from onetape.transcribe import recognise

    for name in files:
        if name != "-" and (found := list(Search(registry.every()).named([Path(name)]))):
            yield from ((one.agent, str(one.path), one.read()) for one in found)
            continue
        with inputs.opened(name) as source:
            first, chunks = inputs.begun(inputs.chunks(source, name), name)
            if (agent := recognise(first)) is None:
                raise Refused(f"{name} is no tape and no history of an agent that is known here")
            yield agent, name, chunks


def _stored() -> Iterator[tuple[Any, str, Any]]:
    from onetape.agents import registry
    from onetape.cli.shelf import opened

    with opened() as store:
        for row in store.sessions():
            yield registry.find(row.agent), row.session_id, store.tape(row.session_id)


def _print_json(verdicts: list[Any]) -> None:
    from onetape.schema import to_json

    for one in verdicts:
        told = {
            "agent": one.agent, "dialect": one.dialect, "version": one.version, "type": one.type, "drift": one.is_drift,
            "known": one.known, "unknown": one.unknown, "unparsed": one.unparsed, "neverSeen": one.never_seen, **_place(one.place),
            "fields": [{"path": f.path, "change": f.change, "types": f.types, "was": f.was, **_place(f.place)} for f in one.fields],
        }  # fmt: skip
        print(to_json(told).decode())


def _place(place: tuple[str, int]) -> dict[str, Any]:
    return {"session": place[0], "record": place[1]}


def _print(drifted: list[Any], types: int, tapes: int) -> None:
    before = None
    for one in drifted:
        if (whose := (one.agent, one.version, one.dialect)) != before:
            print(f"{one.agent} {one.version or '(version not told)'} · {one.dialect}")
            before = whose
        print(f"  {one.type}: {_words(one)}")
        for field in one.fields:
            was = f", was {'|'.join(field.was)}" if field.was else ""
            types_now = f" ({'|'.join(field.types)}{was})" if field.types else f" (was {'|'.join(field.was)})"
            print(f"    {field.change} {field.path}{types_now}{_at(field.place)}")
    print(f"{len(drifted):,} of {types:,} types of messages drifted, in {tapes:,} {'tape' if tapes == 1 else 'tapes'}")


def _words(verdict: Any) -> str:
    counts = [f"{count:,} {word}" for word in ("known", "unknown", "unparsed") if (count := getattr(verdict, word))]
    marks = ["never seen before"] if verdict.never_seen else []
    return ", ".join(counts + marks) + ("" if verdict.fields and verdict.known else _at(verdict.place))


def _at(place: tuple[str, int]) -> str:
    return f"  [{place[0]} record {place[1]}]"
