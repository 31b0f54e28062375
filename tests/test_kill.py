"""A few kills of the daemon in every run of the tests; `python tests/kill.py` does fifty."""

import asyncio
from pathlib import Path

from kill import Trial


def test_a_killed_daemon_loses_nothing(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "data", seed=7)
    asyncio.run(trial.run(rounds=4))
    assert trial.events > 0
