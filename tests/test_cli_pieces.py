"""What the commands are made of, by itself: what is typed, what is shown."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from onetape.cli import asking, options
from onetape.cli.flow import Flow
from onetape.errors import Refused
from onetape.schema import Option, Question

SIZES = Question("sizes", None, "Which sizes?", [Option("small"), Option("very large"), Option("4")], multi_select=True)
COLOUR = Question("colour", None, "Which colour?", [Option("red"), Option("blue")])


@pytest.mark.parametrize(
    ("typed", "question", "meant"),
    [
        ("2", COLOUR, ["blue"]), ("RED", COLOUR, ["red"]), (" green, or so ", COLOUR, ["green, or so"]), ("3", COLOUR, []),
        ("", COLOUR, []),
        ("1 2", SIZES, ["small", "very large"]), ("1,2", SIZES, ["small", "very large"]),
        ("small, Very Large", SIZES, ["small", "very large"]),
        ("very large", SIZES, ["very large"]), ("1, a tiny one", SIZES, ["small", "a tiny one"]), ("4", SIZES, ["4"]), ("1, 9", SIZES, []),
        ("42", Question("n", None, "How many?", []), ["42"]),
    ],
)  # fmt: skip
def test_what_is_typed_is_understood(typed: str, question: Question, meant: list[str]) -> None:
    assert asking.understood(typed, question) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("o", ("once", None)), ("Yes", ("once", None)), ("a", ("always", None)), ("n", ("reject", None)),
        ("reject: it is late", ("reject", "it is late")), ("", None), ("once more with feeling", None), ("maybe", None),
    ],
)  # fmt: skip
def test_a_verdict(typed: str, meant: tuple[str, str | None] | None) -> None:
    found = asking.verdict(typed)
    assert (None if found is None else (found.reply, found.message)) == meant


def test_mcp_servers_in_any_spelling(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "run-a", "args": ["-x"]}, "b": {"type": "sse", "url": "http://b"}}}')
    assert options.mcp_servers(str(file)) == {
        "a": {"type": "local", "command": "run-a", "args": ["-x"]},
        "b": {"type": "remote", "url": "http://b", "transport": "sse"},
    }
    assert options.mcp_servers('{"c": {"url": "http://c"}}') == {"c": {"type": "remote", "url": "http://c"}}
    for wrong in ("missing.json", "{}}", '{"d": {}}', '{"e": 1}', '{"f": {"type": "local"}}'):
        with pytest.raises(Refused):
            options.mcp_servers(wrong)


def _flowed(*parts: str, width: int = 30, is_terminal: bool = True) -> str:
    out = io.StringIO()
    flow = Flow(Console(file=out, width=width, force_terminal=is_terminal, color_system=None, highlight=False))
    flow.begin("a", "")
    flow.begin("b", "")
    for part in parts:
        flow.add("a", part, show=True)
        flow.add("b", "not yet ", show=True)
    assert flow.end("a", "".join(parts)) and not flow.end("b", "not yet " * len(parts))
    return out.getvalue()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_words_flow_and_are_folded_between(size: int) -> None:
    words = "The tape is the truth, and the transcript\nfollows from it: incontrovertibly so."
    parts = [words[at : at + size] for at in range(0, len(words), size)]
    shown = _flowed(*parts)
    assert " ".join(shown.split()) == " ".join(words.split())
    assert max(map(len, shown.splitlines())) <= 30 and shown.endswith("so.\n") and "\n\n" not in shown
    assert _flowed(*parts, is_terminal=False) == words + "\n"
