"""The one place where a background task is started.

The event loop holds tasks weakly: one that nobody else holds can be collected in
mid-flight, and its exception is told to nobody. Here each is held until it ends,
and an exception that nobody asked for is logged.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)
_running: set[asyncio.Task[Any]] = set()


def start(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Runs this in the background, under a name for logs and debuggers."""
    task = asyncio.create_task(work, name=name)  # noqa: TID251 - this is the one helper
    _running.add(task)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("%s failed: %s", task.get_name(), error, exc_info=error)
