"""All sessions of this machine: created, found, commanded, followed, resumed, ended, and recovered after a crash.

Those that this process drives are `Session` objects; all others, ended, imported or
driven by another process, are rows of the store, and can be read and followed too.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from onetape import __version__, machine, owner, tasks
from onetape.agents import registry
from onetape.agents.agent import Agent, LaunchOptions, PermissionMode
from onetape.answers import is_settled
from onetape.commands import Attachment, RejectQuestion, ReplyPermission, ReplyQuestion, SendMessage, SetMode, SetModel
from onetape.drivers import Driver, driver_for, end_leftovers, kill_marked
from onetape.errors import AgentFailed, Conflict, Missing, ModeNotSupported, NotInstalled, OnetapeError, Refused, StoreFailed
from onetape.following import Following
from onetape.outbox import Sent
from onetape.recovery import recover
from onetape.session import Session
from onetape.stores.store import SessionRow, Store, Stored
from onetape.summary import Summary
from onetape.tail import Outlet, Tail
from onetape.tape import Head
from onetape.transcribe import Transcriber

_log = logging.getLogger(__name__)

VERDICTS = {"once": "accept", "always": "accept_for_session", "reject": "reject"}
ATTACHED_MOST = 20 << 20
SHUTDOWN_SECONDS = 1.0
"""For an agent to end politely when all are ended, and as long again after a SIGTERM."""
CLOSE_SECONDS, LAST_SECONDS = 3.0, 0.5
"""For all of them together, and for the rest once they were killed."""
BURY_SECONDS, BURY_SECONDS_MOST = 0.5, 30.0
"""Between two attempts to write into a log that could not be written."""
STOPPED = "the daemon stopped"
PRIVATE_TO_US = frozenset({"ONETAPE_TOKEN", "ONETAPE_DATA_DIR"})


class CreateOptions(Struct, frozen=True):
    """What a session is to be, as a client asks for it."""

    agent: str
    agent_mode: str | None = None
    permission_mode: PermissionMode = "default"
    model: str | None = None
    variant: str | None = None
    agent_version: str | None = None
    directory: str | None = None
    title: str | None = None
    mcp: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    resume: str | None = None
    """The native session id to go on with."""


class Created(Struct, frozen=True):
    session_id: str
    healthy: bool
    error: str | None = None
    native_session_id: str | None = None


class Sessions:
    def __init__(self, store: Store, *, root: Path | None = None, env: Mapping[str, str] = os.environ) -> None:
        self.store = store
        self.root = (root or Path.cwd()).resolve()
        self._env = env
        self._owner = str(owner.this_process())
        self._live: dict[str, Session] = {}
        self._lost: dict[str, OnetapeError] = {}
        """Sessions that were stopped because nothing more of them could be kept, until the log says so."""
        self._resuming: set[tuple[str, str]] = set()
        self._following = Following(store, self._live)
        self._is_closing = False

    # --- the life of all ----------------------------------------------------

    async def start(self) -> None:
        """Ends what a dead process left open. Others may be served meanwhile."""
        rows = await asyncio.to_thread(self.store.owned)
        await asyncio.gather(*(self._recover(row) for row in rows if not owner.is_alive(str(row.owner))))

    async def _recover(self, row: SessionRow) -> None:
        try:
            await end_leftovers(row.key)
            await asyncio.to_thread(shutil.rmtree, _private(row.key), ignore_errors=True)
            await asyncio.to_thread(recover, self.store, row)
        except Exception as error:  # one that cannot be read must not keep the others from being put in order
            _log.error("session not recovered", extra={"session": row.session_id, "reason": str(error)}, exc_info=error)

    async def close(self) -> None:
        """Stops every agent and commits every event."""
        self._is_closing = True
        live = list(self._live.values())
        ending = [tasks.start(session.terminate(STOPPED, SHUTDOWN_SECONDS), f"end {session.session_id}") for session in live]
        if ending and (await asyncio.wait(ending, timeout=CLOSE_SECONDS))[1]:
            # Whatever could not be persuaded by now; what it leads to is still written down.
            await asyncio.to_thread(kill_marked, {session.row.key for session in live})
            await asyncio.wait(ending, timeout=LAST_SECONDS)
        await self._following.close()

    # --- making one ---------------------------------------------------------

    async def create(self, options: CreateOptions, session_id: str | None = None, *, resumed_from: str | None = None) -> Created:
        agent = registry.find(options.agent)
        directory = self._directory(options.directory)
        _check_modes(agent, options)
        with self._going_on(agent.name, options.resume):
            await self._check_unused(agent.name, options.resume)
            return await self._create(agent, options, directory, session_id, resumed_from)

    async def _create(
        self, agent: Agent, options: CreateOptions, directory: Path, session_id: str | None, resumed_from: str | None,
    ) -> Created:  # fmt: skip
        found = await self._program(agent, options)
        session_id = session_id or f"sess_{secrets.token_hex(8)}"
        row = SessionRow(
            session_id, agent.name, created_at=time.time_ns() // 1_000_000, resumed_from=resumed_from, key=secrets.token_hex(6),
            version=found.version, translator=f"{agent.translators[0].dialect} {__version__}", title=options.title, owner=self._owner,
            mcp=options.mcp, summary=_first_summary(options, directory),
        )  # fmt: skip
        head = _head(agent, row, options, directory, found.version)
        session = self._session(agent, row, head, options, found, directory)
        await asyncio.to_thread(self.store.create, row)
        self._live[session_id] = session
        return await self._opened(session)

    @contextlib.contextmanager
    def _going_on(self, agent: str, native_session_id: str | None) -> Iterator[None]:
        """One at a time goes on with what is one session to the agent: two processes would write over each other."""
        if native_session_id is None:
            yield
            return
        name = agent, native_session_id
        if name in self._resuming:
            raise Conflict(f"{native_session_id} is being resumed already")
        self._resuming.add(name)
        try:
            yield
        finally:
            self._resuming.remove(name)

    async def _check_unused(self, agent: str, native_session_id: str | None) -> None:
        if native_session_id is None:
            return
        for row in await asyncio.to_thread(self.store.by_native_id, agent, native_session_id):
            if row.session_id in self._live or self._is_driven_elsewhere(row):
                raise Conflict(f"session {row.session_id} is still running: there is nothing to resume")

    async def _opened(self, session: Session) -> Created:
        self._settle(session)
        try:
            if self._is_closing:
                raise AgentFailed(STOPPED)
            error = await session.open()
        except AgentFailed as failure:
            await session.abandon(str(failure))
            raise
        return Created(session.session_id, error is None, error, session.row.summary.native_session_id)

    def _session(
        self, agent: Agent, row: SessionRow, head: Head, options: CreateOptions, found: machine.Found, directory: Path,
    ) -> Session:  # fmt: skip
        began = _now()

        def clock() -> float:
            return round(_now() - began, 6)

        async def start(resume: str | None) -> Driver:
            launch = agent.launch(  # type: ignore[misc]
                LaunchOptions(
                    executable=found.path or "", cwd=str(directory), session_key=row.key, model=options.model, variant=options.variant,
                    mode=options.agent_mode, permission_mode=options.permission_mode, mcp=options.mcp,
                    resume=resume or options.resume, version=found.version, help=found.help,
                )
            )  # fmt: skip
            env = {name: value for name, value in self._env.items() if name not in PRIVATE_TO_US} | options.env
            driver = driver_for(launch, clock=clock, key=row.key, env=env, private=_private(row.key))
            await driver.start()
            return driver

        return Session(row, head, Transcriber(agent, head), self.store, clock, start, Tail(self._following.whole))

    def _directory(self, told: str | None) -> Path:
        try:
            directory = Path(self.root, Path(told).expanduser() if told else "")
            if directory.is_dir():
                return directory.resolve()
        except (OSError, RuntimeError):  # a name that is too long, the home of a user whom nobody knows
            raise Refused(f"there is no directory {told}") from None
        raise Refused(f"there is no directory {directory}")

    async def _program(self, agent: Agent, options: CreateOptions) -> machine.Found:
        if agent.launch is None:
            raise Refused(f"{agent.title} can only be read, not run")
        found = await machine.find(agent, self._env)
        if found.path is None:
            raise NotInstalled(found.problem or f"{agent.title} is not on this machine: `onetape install {agent.name}` gets it")
        if options.agent_version not in (None, found.version):
            raise NotInstalled(
                f"{agent.title} {options.agent_version} is wanted and {found.version} is here:"
                f" `onetape install {agent.name} --version {options.agent_version}` gets it"
            )
        return found

    async def resume(self, session_id: str, options: Mapping[str, Any] | None = None) -> Created:
        """Goes on with a session that is over (or imported) as a new one, which names it."""
        row = self.row(session_id)
        if session_id in self._live or self._is_driven_elsewhere(row):
            raise Conflict(f"session {session_id} is still running: there is nothing to resume")
        if row.summary.native_session_id is None:
            raise Refused(f"session {session_id} ended before {row.agent} gave it a name: it cannot be resumed")
        summary = row.summary
        known = CreateOptions(
            row.agent, directory=summary.directory, title=row.title or summary.title, mcp=row.mcp,
            permission_mode=summary.permission_mode if summary.permission_mode in PERMISSION_MODES else "default",  # type: ignore[arg-type]
            resume=summary.native_session_id,
        )  # fmt: skip
        return await self.create(replace(known, **dict(options or {})), resumed_from=session_id)

    # --- finding ------------------------------------------------------------

    def row(self, session_id: str) -> SessionRow:
        """A session as it is committed."""
        row = self.store.session(session_id)
        if row is None:
            raise Missing(f"there is no session {session_id}")
        return self._with_its_loss(row)

    def rows(self, agent: str | None = None, q: str | None = None, limit: int | None = None, before: str | None = None) -> list[SessionRow]:
        """The newest first."""
        return [self._with_its_loss(row) for row in self.store.sessions(agent=agent, q=q, limit=limit, before=before)]

    def _with_its_loss(self, row: SessionRow) -> SessionRow:
        if (lost := self._why_lost(row.session_id)) is not None:
            row.summary.error = str(lost)
        return row

    def _why_lost(self, session_id: str) -> OnetapeError | None:
        session = self._live.get(session_id)
        return self._lost.get(session_id) if session is None else session.failure

    def live(self, session_id: str) -> Session:
        """A session that this process drives."""
        if (session := self._live.get(session_id)) is not None and not session.is_over:
            return session
        if (lost := self._why_lost(session_id)) is not None:
            raise lost
        row = self.row(session_id)
        if self._is_driven_elsewhere(row):
            raise Conflict(f"session {session_id} is driven by another process: use that one")
        raise Conflict(f"session {session_id} is over: resume it to go on")

    def _is_driven_elsewhere(self, row: SessionRow) -> bool:
        return row.owner not in (None, self._owner) and owner.is_alive(str(row.owner))

    def _settle(self, session: Session) -> None:
        """Forgets a session once it is over."""
        tasks.start(self._forget(session), f"forget {session.session_id}")

    async def _forget(self, session: Session) -> None:
        await session.over()
        if session.failure is not None:
            self._lost[session.session_id] = session.failure
        if self._live.get(session.session_id) is session:
            del self._live[session.session_id]
        if session.failure is not None:
            await self._bury(session, session.failure)

    async def _bury(self, session: Session, failure: OnetapeError) -> None:
        """Says how a session ended of which nothing more could be kept, as soon as the log takes it."""
        pause = BURY_SECONDS
        while not self._is_closing:
            try:
                await asyncio.to_thread(self._end_in_log, session.session_id, str(failure))
                break
            except StoreFailed:
                await asyncio.sleep(pause)
                pause = min(2 * pause, BURY_SECONDS_MOST)
        del self._lost[session.session_id]
        session.tail.stale()

    def _end_in_log(self, session_id: str, why: str) -> None:
        row = self.store.session(session_id)
        if row is not None and not row.summary.ended:
            recover(self.store, row, why)

    # --- commands -----------------------------------------------------------

    async def send(self, session_id: str, text: str, attachments: list[Attachment] | None = None) -> Sent:
        session = self.live(session_id)
        directory = session.row.summary.directory or str(self.root)
        files = [await asyncio.to_thread(_read, file, directory) for file in attachments or ()]
        return await session.send(SendMessage(text, files))

    async def take_back(self, session_id: str, number: int) -> None:
        await self.live(session_id).take_back(number)

    async def reply_permission(self, session_id: str, ask: str, reply: str, message: str | None = None) -> None:
        if reply not in VERDICTS:
            raise Refused(f"a permission is answered once, always or reject, not {reply!r}")
        await self._answer(session_id, ask, ReplyPermission(ask, reply, message), VERDICTS[reply])  # type: ignore[arg-type]

    async def reply_question(self, session_id: str, ask: str, answers: list[list[str]]) -> None:
        if any(answers):
            await self._answer(session_id, ask, ReplyQuestion(ask, answers), answers)
        else:  # an answer without answers is a reject, to every agent
            await self.reject_question(session_id, ask)

    async def reject_question(self, session_id: str, ask: str) -> None:
        await self._answer(session_id, ask, RejectQuestion(ask), "rejected")

    async def _answer(self, session_id: str, ask: str, command: Any, verdict: Any) -> None:
        session = self._live.get(session_id)
        if session is not None:
            await session.answer(ask, command, verdict)
            return
        self.row(session_id)
        if not is_settled(await asyncio.to_thread(self.store.ask, session_id, ask), ask, command, verdict):
            self.live(session_id)  # says why it cannot be answered

    async def interrupt(self, session_id: str) -> None:
        await self.live(session_id).interrupt()

    async def terminate(self, session_id: str) -> None:
        session = self._live.get(session_id)
        if session is not None:
            await session.terminate()
        elif not self.row(session_id).summary.ended:
            self.live(session_id)

    async def change(
        self, session_id: str, *, title: str | None = None, model: str | None = None, variant: str | None = None,
        agent_mode: str | None = None, permission_mode: str | None = None,
    ) -> None:  # fmt: skip
        if title is not None:
            await self._rename(session_id, title)
        if model is not None or variant is not None:
            await self.live(session_id).command(SetModel(model, variant))
        if agent_mode is not None:
            session = self.live(session_id)
            _check_mode(registry.find(session.row.agent), agent_mode)
            await session.command(SetMode(agent_mode))
        if permission_mode is not None:
            await self._set_permission_mode(self.live(session_id), permission_mode)

    async def _set_permission_mode(self, session: Session, mode: str) -> None:
        def note(row: SessionRow) -> None:
            row.summary.permission_mode = mode

        await session.command(SetMode(mode))
        await session.edit(note)

    async def _rename(self, session_id: str, title: str) -> None:
        def rename(row: SessionRow) -> None:
            row.title = title

        if (session := self._live.get(session_id)) is not None:
            await session.edit(rename)
        elif self._is_driven_elsewhere(self.row(session_id)):  # which would write over it
            raise Conflict(f"session {session_id} is driven by another process: rename it there")
        else:
            await asyncio.to_thread(self.store.change, session_id, rename)

    async def delete(self, session_id: str) -> None:
        session = self._live.get(session_id)
        if session is not None:
            await session.terminate()
        elif self._is_driven_elsewhere(self.row(session_id)):
            raise Conflict(f"session {session_id} is driven by another process: end it there first")
        await asyncio.to_thread(self.store.delete, session_id)
        self._following.deleted(session_id)
        if session is not None:
            session.tail.end()

    # --- following ----------------------------------------------------------

    def follow(self, session_id: str, after: int = 0, *, raw: bool = False) -> AsyncGenerator[list[Stored], None]:
        """Committed events in batches: what there is, then what comes, until the session is deleted."""
        return self._following.events(session_id, after, raw=raw)

    def follow_frames(
        self, session_id: str, after: int = 0, *, raw: bool = False, outlet: Outlet | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The same as server-sent events; readers share the bytes. At the end they go to the outlet, where there is one."""
        return self._following.frames(session_id, after, raw=raw, outlet=outlet)

    def follow_all(self, after: int = 0) -> AsyncGenerator[bytes, None]:
        """Every session's events as server-sent events; the ids are places in the whole log."""
        return self._following.all_frames(after)


PERMISSION_MODES = ("default", "plan", "acceptEdits", "bypass")


def _check_modes(agent: Agent, options: CreateOptions) -> None:
    if options.permission_mode not in PERMISSION_MODES:
        raise ModeNotSupported(f"there is no permission mode {options.permission_mode!r}; there are: {', '.join(PERMISSION_MODES)}")
    _check_mode(agent, options.agent_mode)


def _check_mode(agent: Agent, mode: str | None) -> None:
    if mode is not None and mode not in agent.modes:
        raise ModeNotSupported(f"{agent.title} has no mode {mode!r}; it has: {', '.join(agent.modes) or 'none'}")


def _first_summary(options: CreateOptions, directory: Path) -> Summary:
    return Summary(
        agent_mode=options.agent_mode, permission_mode=options.permission_mode, model=options.model, variant=options.variant,
        native_session_id=options.resume, directory=str(directory), updated_at=time.time_ns() // 1_000_000,
    )  # fmt: skip


def _head(agent: Agent, row: SessionRow, options: CreateOptions, directory: Path, version: str | None) -> Head:
    return Head(
        agent=agent.name, version=version, dialect=agent.translators[0].dialect, cwd=str(directory), key=row.key,
        started=datetime.now(UTC).isoformat(timespec="microseconds"), session_id=row.session_id, model=options.model,
        variant=options.variant, mode=options.agent_mode, permission_mode=options.permission_mode, resume=options.resume,
        resumed_from=row.resumed_from or options.resume,
    )  # fmt: skip


def _now() -> float:
    """Seconds on a clock that nobody sets and that goes on while the machine sleeps: an answer after a night is a night later."""
    # Python's own monotonic clock stands still meanwhile, on Linux as on macOS, where CLOCK_MONOTONIC itself does not.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _private(key: str) -> Path:
    """Short, since the address of a socket may have a hundred bytes and no more."""
    return Path(tempfile.gettempdir()) / f"onetape-{key}"


def _read(file: Attachment, directory: str) -> Attachment:
    path = Path(directory, file.path)
    try:
        told = path.stat()
        if not S_ISREG(told.st_mode):  # a pipe or a device has no end
            raise Refused(f"cannot attach {file.path}: it is not a file")
        if told.st_size > ATTACHED_MOST:
            raise Refused(f"{file.path} is too large to be attached: at most {ATTACHED_MOST >> 20} MB")
        return replace(file, content=path.read_bytes())
    except (OSError, ValueError) as error:  # ValueError: a NUL in it
        raise Refused(f"cannot attach {file.path}: {getattr(error, 'strerror', None) or error}") from None
