"""How every program here measures: ours and a floor in turns, several times, the median and the spread of their ratio.

A floor does only the unavoidable part of the same work. Two that run in turns see the same machine, so that
their ratio holds where neither of their times would.
"""

import gc
import statistics
import time
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

Program: TypeAlias = Callable[[], object]
Clock: TypeAlias = Callable[[], float]


class Spread(Struct, frozen=True):
    """Several measurements of one thing."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


class Figure(Struct, frozen=True):
    """One line of the results."""

    name: str
    ours: str
    floor: str
    value: Spread
    goal: float
    at_least: bool = False
    """Else: at most."""
    unit: str = "×"
    limit: str = ""
    """Why the goal cannot be reached, where it cannot."""

    @property
    def holds(self) -> bool:
        return self.value.median >= self.goal if self.at_least else self.value.median <= self.goal

    @property
    def mark(self) -> str:
        return "✓" if self.holds else "limit" if self.limit else "✗"


class Section(Struct, frozen=True):
    title: str
    about: str
    """What is compared with what."""
    figures: list[Figure]


def spread(values: list[float]) -> Spread:
    """The middle, and between what most of them lie: the outer tenths are other programs' doing."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    inner = ordered[cut : len(ordered) - cut]
    return Spread(statistics.median(ordered), inner[0], inner[-1])


def timed(program: Program, clock: Clock = time.perf_counter) -> float:
    begin = clock()
    program()
    return clock() - begin


def in_turns(floor: Program, ours: Program, times: int, clock: Clock = time.perf_counter) -> tuple[list[float], list[float]]:
    """Seconds of each; `time.process_time` where neither waits for anything, else by the clock on the wall."""
    floors, mine = [], []
    for at in range(times):
        gc.collect()
        for program, seconds in ((floor, floors), (ours, mine)) if at % 2 else ((ours, mine), (floor, floors)):
            seconds.append(timed(program, clock))
    return floors, mine


def quotients(upper: list[float], lower: list[float]) -> Spread:
    return spread([above / below for above, below in zip(upper, lower, strict=True)])


def rate(count: int, seconds: list[float]) -> str:
    return f"{count / statistics.median(seconds):,.0f}/s"


def milliseconds(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:,.1f} ms"


def show(section: Section) -> None:
    """For the terminal."""
    for figure in section.figures:
        print(f"{figure.mark:5} {figure.name:45} {figure.value}{figure.unit}  {figure.ours}, floor {figure.floor}")
