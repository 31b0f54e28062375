"""The one thread that writes: what waits is committed together.

A commit costs the same for one batch as for a hundred, so while one is under
way the next ones gather. A job that fails is tried alone, so that it takes nobody
with it; when the disk is full every job says so and nothing of it is committed.

What is committed lies in the WAL, and must be copied into the file proper from time
to time. SQLite would do that within a commit, which then waits for the disk; a second
thread does it meanwhile.
"""

import contextlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, TypeAlias

from onetape.errors import OnetapeError, StoreFailed

Work: TypeAlias = Callable[[sqlite3.Connection], Any]
Job: TypeAlias = tuple[Work, "Future[Any]"]

TOGETHER = 256
"""How many jobs one commit takes at most: nobody waits long for his own."""
CHECKPOINT_ROWS = 20_000
"""After so many rows the WAL is copied: some megabytes of an answer's words."""


class Writer:
    def __init__(self, connection: sqlite3.Connection, copier: sqlite3.Connection) -> None:
        """`copier`: another connection to the same file, for what the WAL holds."""
        self._connection = connection
        self._checkpoints = Checkpoints(copier)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="onetape-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> "Future[Any]":
        done: Future[Any] = Future()
        if self._is_closed:
            done.set_exception(StoreFailed("the log is closed"))
            return done
        done.set_running_or_notify_cancel()  # from here on nobody can take it back: who waits may leave, the commit stays
        self._jobs.put((work, done))
        return done

    def close(self) -> None:
        """Everything that was handed in before is committed."""
        if not self._is_closed:
            self._is_closed = True
            self._jobs.put(None)
            self._thread.join()
            self._checkpoints.close()
            self._connection.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            jobs, is_last = self._gather(job)
            if not self._commit(jobs):
                for each in jobs:
                    self._commit([each], alone=True)
            if is_last:
                return

    def _gather(self, first: Job) -> tuple[list[Job], bool]:
        jobs = [first]
        while len(jobs) < TOGETHER and not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _commit(self, jobs: list[Job], *, alone: bool = False) -> bool:
        """Whether it was done. A group that fails is not told so: each of it is tried again alone."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            results = [work(self._connection) for work, _ in jobs]
            self._connection.execute("COMMIT")
        except Exception as error:
            self._roll_back()
            if alone or len(jobs) == 1:
                jobs[0][1].set_exception(_told(error))
                return True
            return False
        for (_, done), result in zip(jobs, results, strict=True):
            done.set_result(result)
        self._checkpoints.written(self._connection.total_changes)
        return True

    def _roll_back(self) -> None:
        # Where even that fails, the next BEGIN says so to the next job: the thread goes on.
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


class Checkpoints:
    """Copies the WAL into the file while others read and write. Nobody waits for anybody: what cannot be copied now is copied the next
    time. Where that never comes, a commit does it in the end (`wal_autocheckpoint`)."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = 0
        self._is_due = Event()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="onetape-checkpoints", daemon=True)
        self._thread.start()

    def written(self, rows: int) -> None:
        """So many so far."""
        if rows - self._rows >= CHECKPOINT_ROWS:
            self._rows = rows
            self._is_due.set()

    def close(self) -> None:
        self._is_closed = True
        self._is_due.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while self._is_due.wait() and not self._is_closed:
            self._is_due.clear()
            with contextlib.suppress(sqlite3.Error):  # a full disk is told to whoever writes
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _told(error: Exception) -> Exception:
    if isinstance(error, OnetapeError):
        return error
    if isinstance(error, sqlite3.Error | OSError):
        return StoreFailed(f"the log cannot be written: {error}")
    return error
