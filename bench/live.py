"""Live: an agent prints as fast as it can; a daemon; readers in a process of their own, who all receive everything.

The floor is bare.py, which copies the same bytes into rows and to the same sockets and translates nothing.
"""

import sys
import tempfile
from contextlib import AbstractContextManager

import served
from measure import Figure, Section, quotients, rate, show
from native.claude import reply

DELTAS = 50_000
GOALS = {1: 0.35, 10: 0.35, 100: 0.6}
TIMES = {1: 5, 10: 3, 100: 2}


def run() -> Section:
    about = f"{DELTAS:,} deltas from an agent's pipe through the daemon into SQLite and to its readers, against bare.py."
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(reply(DELTAS))
        file.flush()
        return Section("Live", about, [_ratio(readers, f"cat {file.name}") for readers in GOALS])


def _ratio(readers: int, answer: str) -> Figure:
    floors, ours = [], []
    for _ in range(TIMES[readers]):
        floors.append(_seconds(served.bare(answer), readers))
        ours.append(_seconds(served.daemon(answer), readers))
    name = f"{readers} reader{'s' * (readers > 1)}"
    value = quotients(floors, ours)
    return Figure(name, f"{rate(DELTAS, ours)} events", f"{rate(DELTAS, floors)} events", value, GOALS[readers], at_least=True)


def _seconds(server: AbstractContextManager[served.Server], readers: int) -> float:
    with server as there:
        told = there.read(readers)
    assert len(set(told.frames)) == 1 and told.frames[0] >= DELTAS, "somebody missed something"
    return told.seconds


if __name__ == "__main__":
    GOALS = {int(count): GOALS[int(count)] for count in sys.argv[1:]} or GOALS
    show(run())
