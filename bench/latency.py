"""Latency: 200 events a second to 100 readers, from the agent's write to the reader's receipt. The floor is bare.py."""

import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import served
from measure import Figure, Section, quotients, show
from native import claude, lines
from pacer import PER_SECOND

READERS = 100
SECONDS = 5
TIMES = 3
GOAL = 5.0


def run() -> Section:
    about = f"{PER_SECOND} events a second, {READERS} readers: from the agent's write to the reader's receipt, against bare.py."
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(lines(claude.conversation(["@now@ "] * (PER_SECOND * SECONDS))))
        file.flush()
        return Section("Latency", about, _figures(f"{sys.executable} -S {Path(served.HERE, 'pacer.py')} {file.name}"))


def _figures(answer: str) -> list[Figure]:
    floors, ours = [], []
    for _ in range(TIMES):
        floors.append(_delays(served.bare(answer)))
        ours.append(_delays(served.daemon(answer)))
    return [_figure(name, at, ours, floors) for at, name in ((0, "p50"), (2, "p99"))]


def _figure(name: str, at: int, ours: list[list[float]], floors: list[list[float]]) -> Figure:
    upper, lower = [delays[at] for delays in ours], [delays[at] for delays in floors]
    return Figure(name, f"{sorted(upper)[TIMES // 2]:.2f} ms", f"{sorted(lower)[TIMES // 2]:.2f} ms", quotients(upper, lower), GOAL)


def _delays(server: AbstractContextManager[served.Server]) -> list[float]:
    with server as there:
        return there.read(READERS).delays


if __name__ == "__main__":
    show(run())
