"""`onetape answer`: what sessions ask, and what is said to it, without following them."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onetape.cli import options
from onetape.errors import Refused

if TYPE_CHECKING:
    from onetape.client import Session
    from onetape.schema import QuestionData

HOW = "`onetape answer SESSION` asks you here; or say it behind: once, always, reject and why, or one answer to each question"


def answer(
    session: Annotated[
        str | None,
        typer.Argument(help="The session that asks; without: what is asked anywhere.", autocompletion=options.complete_sessions),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="once, always, or reject and why; or one answer to each question: a label, its number, words of your own."),
    ] = None,
    ask: Annotated[str | None, typer.Option(help="Which ask, where there are several. Default: the oldest.")] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Give a question no answer.")] = False,
    json: options.Json = False,
) -> None:
    """Answer a permission or a question. Without words: be asked here, or list what is asked."""
    from onetape.cli.asking import id_of
    from onetape.cli.commanding import reached, report

    if session is None:
        _list(None, json)
        return
    with reached(session) as line:
        pending = [told for told in line.pending() if ask in (None, id_of(told))]
        if not pending:
            raise Refused(f"session {line.id} asks nothing{f' under {ask}' if ask else ''}")
        if words or reject:
            _reply(line, pending[0], words or [], reject)
        elif sys.stdin.isatty() and sys.stderr.isatty() and not json:
            asyncio.run(_ask_here(line, pending))
        else:
            _list(pending, json)
            return
        report(line, f"answered {line.id}", json)


def _reply(line: "Session", told: dict[str, Any], words: list[str], reject: bool) -> None:
    from onetape.cli.asking import id_of, verdict

    if told["type"] == "question" and reject:
        line.reject_question(id_of(told))
        return
    if told["type"] == "question":
        line.reply_question(id_of(told), _answers(told, words))
        return
    meant = verdict(" ".join(["reject", *words] if reject else words))
    if meant is None:
        raise Refused(f"this asks for a permission: say once, always, or reject and why, not {' '.join(words)!r}")
    line.reply_permission(id_of(told), meant.reply, meant.message)


def _answers(told: dict[str, Any], words: list[str]) -> list[list[str]]:
    from onetape.cli.asking import questions_of, understood

    questions = questions_of(_question(told))
    if len(words) != len(questions):
        asked = "; ".join(question.prompt for question in questions)
        raise Refused(f"this wants {_counted(len(questions), 'answer')} and was given {len(words)}: {asked}")
    answers = [understood(said, question) for said, question in zip(words, questions, strict=True)]
    for said, question, meant in zip(words, questions, answers, strict=True):
        if not meant:
            raise Refused(f"{said!r} is none of {len(question.options)} options: {', '.join(option.label for option in question.options)}")
    return answers


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


async def _ask_here(line: "Session", pending: list[dict[str, Any]]) -> None:
    import msgspec

    from onetape.cli.asking import id_of, whoever_is_here
    from onetape.schema import PermissionData

    person = whoever_is_here(allows=False)
    for told in pending:
        if told["type"] == "permission":
            verdict = await person.permission(msgspec.convert(told["data"], PermissionData))
            line.reply_permission(id_of(told), verdict.reply, verdict.message)
        elif (answers := await person.question(_question(told))) is None:
            line.reject_question(id_of(told))
        else:
            line.reply_question(id_of(told), answers)


def _list(pending: list[dict[str, Any]] | None, json: bool) -> None:
    """None: of all sessions."""
    from onetape.client import Client
    from onetape.schema import to_json

    if pending is None:
        with Client() as client:
            pending = client.pending()
    if json:
        for told in pending:
            print(to_json(told).decode())
        return
    from onetape.cli.asking import id_of
    from onetape.cli.pretty import screen, visible

    for told in pending:
        screen().print(visible(f"{told['sessionId']}  {told['agent']}  {told['type']} {id_of(told)}: {_what(told)}"), markup=False)
    print(HOW if pending else "nothing is asked", file=sys.stderr)


def _what(told: dict[str, Any]) -> str:
    """What is asked, with all that it may be answered."""
    from onetape.cli.asking import questions_of
    from onetape.export.words import brief

    if told["type"] == "permission":
        return f"{told['data']['action']} {brief(told['data']['metadata'].get('input'))}"
    asked = []
    for question in questions_of(_question(told)):
        options = " / ".join(option.label for option in question.options)
        asked.append(f"{brief(question.prompt)}{f'  [{options}]' if options else ''}")
    return "; ".join(asked)


def _question(told: dict[str, Any]) -> "QuestionData":
    import msgspec

    from onetape.schema import QuestionData

    return msgspec.convert(told["data"], QuestionData)

