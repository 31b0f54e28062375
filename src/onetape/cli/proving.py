"""`onetape verify` and `onetape reconvert`: transcripts proved against their tapes, and derived from them again."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

Session = Annotated[str | None, typer.Argument(help="A session's id, or the beginning of one.")]
All = Annotated[bool, typer.Option("--all", help="Every session.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def verify(session: Session = None, all: All = False, json: Json = False) -> None:
    """Prove that transcripts are, byte for byte, what their tapes say, and that they keep the promises.

    Exit code 0: proved. 1: some are not (each is named with the first event that differs).
    """
    from onetape.archive.proving import verify as prove

    with _chosen(session, all) as (store, rows):
        proofs = 0
        broken = 0
        for row in rows:
            proof = prove(store, row)
            proofs += 1
            broken += not proof.holds
            if json:
                _print(proof, row.agent)
            elif not proof.holds:
                print(f"{proof.session_id}\t{proof.sequence}\t{proof.problem}")
    if not json:
        print(f"{proofs - broken:,} of {proofs:,} sessions proved")
    raise typer.Exit(1 if broken else 0)


def reconvert(session: Session = None, all: All = False, json: Json = False) -> None:
    """Derive transcripts from their tapes again, after a translator was improved. Running sessions are left alone."""
    from onetape.archive.proving import reconvert as derive
    from onetape.errors import Conflict

    with _chosen(session, all) as (store, rows):
        done = changed = 0
        for row in rows:
            try:
                is_changed = derive(store, row)
            except Conflict:
                if session is not None:
                    raise
                continue
            done, changed = done + 1, changed + is_changed
            if json:
                _print({"sessionId": row.session_id, "changed": is_changed}, row.agent)
    if not json:
        print(f"{changed:,} of {done:,} transcripts changed")


def _print(told: Any, agent: str) -> None:
    from msgspec import to_builtins

    from onetape.schema import to_json

    print(to_json({"agent": agent, **to_builtins(told)}).decode(), flush=True)


def _chosen(session: str | None, all: bool) -> Any:
    """The store, and the sessions in it that were named."""
    from contextlib import contextmanager

    from onetape.cli.shelf import opened, row_of
    from onetape.errors import Refused

    @contextmanager
    def chosen() -> Iterator[tuple[Any, list[Any]]]:
        if (session is None) != all:
            raise Refused("name a session, or say --all")
        with opened() as store:
            yield store, store.sessions() if session is None else [row_of(store, session)]

    return chosen()
