"""Files below a session's directory, or below the server's root."""

import asyncio
import os
import stat as modes
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from litestar import Request, delete, get, post, put
from litestar.params import FromQuery, JSONBody, QueryParameter
from litestar.response import Stream
from msgspec import Struct

from onetape.server.daemon import TheDaemon
from onetape.server.jail import Jail
from onetape.server.problems import Refusal
from onetape.server.unpack import unpack, write_all

MOST_BYTES = 2 << 30
"""Of one upload."""
MOST_PATHS = 1024
CHUNK = 1 << 20
ARCHIVES = ("application/x-tar", "application/octet-stream")

SessionId = Annotated[str | None, QueryParameter(name="sessionId", description="Whose directory; without it the server's root.")]
EntryType = Literal["file", "directory"]


class FsEntry(Struct, frozen=True, rename="camel"):
    name: str
    path: str
    entry_type: EntryType
    size: int
    modified: str | None


class FsStat(Struct, frozen=True, rename="camel"):
    path: str
    entry_type: EntryType
    size: int
    modified: str | None


class Written(Struct, frozen=True, rename="camel"):
    path: str
    bytes_written: int


class Done(Struct, frozen=True):
    path: str


class Move(Struct, frozen=True, rename={"source": "from", "target": "to"}):
    source: str
    target: str
    overwrite: bool | None = None


class Moved(Struct, frozen=True, rename={"source": "from", "target": "to"}):
    source: str
    target: str


class Unpacked(Struct, frozen=True):
    paths: list[str]
    truncated: bool


@get("/v1/fs/entries", tags=["fs"], summary="What is in a directory")
async def list_entries(daemon: TheDaemon, path: FromQuery[str] = ".", session_id: SessionId = None) -> list[FsEntry]:
    return await asyncio.to_thread(_entries, daemon.jail(session_id), path)


@get("/v1/fs/stat", tags=["fs"], summary="What a path is")
async def stat_entry(daemon: TheDaemon, path: FromQuery[str], session_id: SessionId = None) -> FsStat:
    jail = daemon.jail(session_id)
    told = await asyncio.to_thread(jail.stat, path)
    return FsStat(_readable(jail.shown(path)), _type(told), told.st_size, _modified(told))


@get("/v1/fs/file", tags=["fs"], summary="A file's bytes", media_type="application/octet-stream")
async def read_file(daemon: TheDaemon, path: FromQuery[str], session_id: SessionId = None) -> Stream:
    file = await asyncio.to_thread(daemon.jail(session_id).open, path)
    size = os.fstat(file).st_size
    return Stream(_bytes(file, size), media_type="application/octet-stream", headers={"Content-Length": str(size)})


@put("/v1/fs/file", tags=["fs"], summary="Write a file", request_max_body_size=MOST_BYTES)
async def write_file(daemon: TheDaemon, path: FromQuery[str], request: Request[Any, Any, Any], session_id: SessionId = None) -> Written:
    """Directories on the way are made; a file that is there is replaced once all of the new one is."""
    jail, size = daemon.jail(session_id), 0
    async with _creating(jail, path) as file:
        async for chunk in _in_large_chunks(request):
            await asyncio.to_thread(write_all, file, chunk)
            size += len(chunk)
    return Written(jail.shown(path), size)


@post("/v1/fs/mkdir", tags=["fs"], summary="Make a directory, and those above it", status_code=200)
async def make_directory(daemon: TheDaemon, path: FromQuery[str], session_id: SessionId = None) -> Done:
    jail = daemon.jail(session_id)
    await asyncio.to_thread(jail.mkdir, path)
    return Done(jail.shown(path))


@post("/v1/fs/move", tags=["fs"], summary="Move a file or directory", status_code=200)
async def move_entry(daemon: TheDaemon, data: JSONBody[Move], session_id: SessionId = None) -> Moved:
    jail = daemon.jail(session_id)
    await asyncio.to_thread(jail.move, data.source, data.target, overwrite=bool(data.overwrite))
    return Moved(jail.shown(data.source), jail.shown(data.target))


@post("/v1/fs/upload-batch", tags=["fs"], summary="Unpack a tar archive", status_code=200, request_max_body_size=MOST_BYTES)
async def upload_batch(
    daemon: TheDaemon, request: Request[Any, Any, Any], path: FromQuery[str] = ".", session_id: SessionId = None
) -> Unpacked:
    """Refused whole for one bad member: links, devices, and names that lead out of the directory."""
    jail = daemon.jail(session_id)
    _check_is_tar(request.headers.get("content-type", ""))
    with tempfile.TemporaryFile() as archive:
        async for chunk in _in_large_chunks(request):
            await asyncio.to_thread(archive.write, chunk)
        archive.seek(0)
        paths = await asyncio.to_thread(unpack, archive, jail, path)
    return Unpacked(paths[:MOST_PATHS], len(paths) > MOST_PATHS)


@delete("/v1/fs/entry", tags=["fs"], summary="Delete a file or directory", status_code=200)
async def delete_entry(daemon: TheDaemon, path: FromQuery[str], session_id: SessionId = None, recursive: FromQuery[bool] = False) -> Done:
    jail = daemon.jail(session_id)
    await asyncio.to_thread(jail.delete, path, recursive=recursive)
    return Done(jail.shown(path))


def _check_is_tar(told: str) -> None:
    """As far as the request says what it brings."""
    mime = told.partition(";")[0].strip().lower()
    if mime not in ("", *ARCHIVES):
        raise Refusal("invalid_request", f"an upload is {ARCHIVES[0]}, not {mime}")


def _entries(jail: Jail, path: str) -> list[FsEntry]:
    above = jail.shown(path)
    return [
        FsEntry(_readable(name), _readable(f"{above.rstrip('/')}/{name}"), _type(told), told.st_size, _modified(told))
        for name, told in jail.entries(path)
    ]


def _type(told: os.stat_result) -> EntryType:
    return "directory" if modes.S_ISDIR(told.st_mode) else "file"


def _modified(told: os.stat_result) -> str:
    return datetime.fromtimestamp(told.st_mtime, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _readable(name: str) -> str:
    """A name that is not UTF-8 can be shown, and no more."""
    return os.fsencode(name).decode("utf-8", "replace")


def _bytes(file: int, size: int) -> Iterator[bytes]:
    """As many as were announced, whatever is appended meanwhile."""
    with os.fdopen(file, "rb", buffering=0) as source:
        while size and (chunk := source.read(min(CHUNK, size))):
            size -= len(chunk)
            yield chunk


async def _in_large_chunks(request: Request[Any, Any, Any]) -> AsyncIterator[bytes]:
    """The body as it comes, in pieces worth a thread's while."""
    kept = bytearray()
    async for chunk in request.stream():
        kept += chunk
        if len(kept) >= CHUNK:
            yield bytes(kept)
            kept.clear()
    if kept:
        yield bytes(kept)


@asynccontextmanager
async def _creating(jail: Jail, path: str) -> AsyncIterator[int]:
    """`Jail.create` with its system calls off the event loop."""
    making = jail.create(path)
    file = await asyncio.to_thread(making.__enter__)
    try:
        yield file
    except BaseException as error:
        await asyncio.to_thread(making.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(making.__exit__, None, None, None)


ROUTES = (list_entries, stat_entry, read_file, write_file, make_directory, move_entry, upload_batch, delete_entry)
