"""Background tasks are held until they end, and do not fail in silence."""

import asyncio
import gc
import logging

import pytest

from onetape import tasks


def test_a_task_that_nobody_holds_runs_to_its_end() -> None:
    done: list[int] = []

    async def work(begun: asyncio.Event) -> None:
        begun.set()
        await asyncio.sleep(0)
        done.append(1)

    async def main() -> None:
        begun = asyncio.Event()
        tasks.start(work(begun), "work")
        await begun.wait()
        gc.collect()
        while not done:
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_failure_is_logged_with_the_name_of_the_task(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("why")

    async def main() -> None:
        await asyncio.wait([tasks.start(fail(), "the work")])
        stopped = tasks.start(asyncio.sleep(600), "the sleep")
        stopped.cancel()
        await asyncio.wait([stopped])

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == ["the work failed: why"]
