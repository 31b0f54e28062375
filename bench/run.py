"""All measurements, one after the other, and RESULTS.md made of them.

    python bench/run.py            everything
    python bench/run.py live start     only these, to the terminal
"""

import importlib.metadata
import os
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from measure import Figure, Section, show

PROGRAMS = ("convert", "ingest", "live", "latency", "growth", "many", "start", "archive")
RESULTS = Path(__file__).with_name("RESULTS.md")
NOTES = Path(__file__).with_name("NOTES.md")
README = Path(__file__).parents[1] / "README.md"
HEAD = ("| what | ours | floor | measured | goal | |", "|---|---:|---:|---:|---:|:-:|")
BEGIN, END = "<!-- speed: generated -->\n", "\n<!-- /speed -->"
HEADLINES = {
    "Convert": ("claude, a long reply", "claude, many tools"),
    "Ingest": ("a long reply",),
    "Live": ("1 reader", "100 readers"),
    "Latency": ("p50", "p99"),
    "Many sessions": ("memory for each",),
    "Start": ("onetape server until healthy",),
    "Import and search": ("import", "search, a word"),
}
"""What the README shows of each section: the figures whose names begin like these."""
PACKAGES = ("msgspec", "uvicorn", "uvloop", "httptools", "litestar")


def main() -> None:
    begin = time.monotonic()
    wanted = sys.argv[1:] or PROGRAMS
    sections = []
    for name in wanted:
        print(f"— {name}", flush=True)
        sections.append(_section(name))
        show(sections[-1])
    if wanted == PROGRAMS:
        RESULTS.write_text("\n".join(_document(sections, time.monotonic() - begin)) + "\n")
        README.write_text(_with_headlines(README.read_text(), sections))
        print(f"written: {RESULTS.name} and the headlines of {README.name}, after {time.monotonic() - begin:.0f} s")


def _section(name: str) -> Section:
    """In a process of its own: what one leaves behind in memory is not the next one's."""
    script = f"import sys, msgspec, {name}; sys.stdout.buffer.write(msgspec.json.encode({name}.run()))"
    made = subprocess.run([sys.executable, "-c", script], cwd=RESULTS.parent, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(made.stdout, type=Section)


def _document(sections: list[Section], seconds: float) -> Iterator[str]:
    yield "# What was measured"
    yield ""
    yield "Written by `make bench`. Every figure is a ratio to a floor: a program that does only the unavoidable part of the same work,"
    yield "measured in the same run, in turns with ours. The middle of several measurements, and between what most of them lay."
    yield "✓ the goal holds · ✗ it does not · `limit` it cannot, and a note below says why."
    yield ""
    yield from _machine(seconds)
    for section in sections:
        yield ""
        yield f"## {section.title}"
        yield ""
        yield section.about
        yield ""
        yield from _table(section)
        yield from _limits(section)
    yield ""
    yield NOTES.read_text().rstrip()


def _machine(seconds: float) -> Iterator[str]:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    yield f"- {platform.system()} {platform.machine()}, {_processors()}"
    yield f"- Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions}"
    yield f"- onetape {importlib.metadata.version('onetape')}; {time.strftime('%Y-%m-%d')}, {seconds:.0f} s for all"


def _processors() -> str:
    told = Path("/proc/cpuinfo")
    models = [line.partition(": ")[2] for line in told.read_text().splitlines() if line.startswith("model name")] if told.exists() else []
    return f"{os.cpu_count()} × {models[0] if models else platform.processor()}"


def _table(section: Section) -> Iterator[str]:
    yield from HEAD
    yield from map(_row, section.figures)


def _limits(section: Section) -> Iterator[str]:
    told = [f"- `limit`, {figure.name}: {figure.limit}" for figure in section.figures if figure.mark == "limit"]
    yield from ["", *told] if told else []


def _with_headlines(readme: str, sections: list[Section]) -> str:
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = [
        _row(figure).replace(f"| {figure.name}", f"| {section.title.lower()}: {figure.name}", 1)
        for section in sections
        for figure in section.figures
        if section.title in HEADLINES and figure.name.startswith(HEADLINES[section.title])
    ]
    return before + BEGIN + "\n".join([*HEAD, *rows]) + END + after


def _row(figure: Figure) -> str:
    goal = f"{'≥' if figure.at_least else '≤'} {figure.goal:g}{figure.unit}"
    value = figure.value
    measured = f"**{value.median:.2f}{figure.unit}**" + (f" ({value.low:.2f} – {value.high:.2f})" if value.low != value.high else "")
    return f"| {figure.name} | {figure.ours} | {figure.floor} | {measured} | {goal} | {figure.mark} |"


if __name__ == "__main__":
    main()
