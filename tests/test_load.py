"""A small load in every run of the tests; `python tests/load.py` is two hundred sessions and five hundred readers for ten minutes."""

import asyncio
from pathlib import Path

from load import Load


def test_many_readers_of_many_sessions_miss_nothing(tmp_path: Path) -> None:
    load = Load(tmp_path / "data", sessions=6, readers=15)
    asyncio.run(load.run("big 500"))
    assert load.events > 6 * 500
