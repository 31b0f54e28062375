"""A tar archive into a jail: all of it, or nothing for one bad member.

Looked through whole before the first file is written. Links, devices and pipes are no content, and holes
(sparse members) would let a small archive fill a disk.
"""

import os
import tarfile
from pathlib import PurePosixPath
from typing import BinaryIO

from onetape.errors import Refused
from onetape.server.jail import Jail

BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20
LONGEST_NAME = 255
"""In bytes, on every file system that is to be expected here."""


def unpack(archive: BinaryIO, jail: Jail, under: str) -> list[str]:
    """The paths of the files written."""
    try:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            members = tar.getmembers()
            _check_whole(archive, members)
            for member in members:
                _check(member)
                jail.check(_place(under, member), is_directory=member.isdir())
            _check_together(members)
            return [_write(tar, member, jail, _place(under, member)) for member in members if _make(member, jail, under)]
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise Refused(f"this is no tar archive: {error}") from None


def _check_whole(archive: BinaryIO, members: list[tarfile.TarInfo]) -> None:
    """The library takes damage after the first member for the end."""
    end = max((member.offset_data + -(-member.size // BLOCK) * BLOCK for member in members), default=0)
    archive.seek(0, os.SEEK_END)
    if any(member.offset_data + member.size > archive.tell() for member in members):
        raise Refused("the archive is cut off")
    archive.seek(end)
    if archive.read(BLOCK).strip(b"\0"):
        raise Refused(f"the archive is damaged at byte {end}")


def _check_together(members: list[tarfile.TarInfo]) -> None:
    """What is a file in one member cannot be a directory in another."""
    files = {PurePosixPath(member.name) for member in members if member.isfile()}
    directories = {PurePosixPath(member.name) for member in members if member.isdir()}
    directories.update(above for file in files | directories for above in file.parents)
    for name in files & directories:
        raise Refused(f"the archive is refused: '{name}' is a file and a directory in it")


def _check(member: tarfile.TarInfo) -> None:
    path = PurePosixPath(member.name)
    if not (member.isfile() or member.isdir()) or member.issparse():
        raise Refused(f"the archive is refused: {member.name!r} is neither a file nor a directory")
    if path.is_absolute() or ".." in path.parts or "\0" in member.name:
        raise Refused(f"the archive is refused: {member.name!r} leads out of the directory")
    if any("\ud800" <= character <= "\udfff" for character in member.name):
        raise Refused("the archive is refused: a name in it is not UTF-8")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise Refused(f"the archive is refused: {member.name[:40]!r}… is longer than a name may be")


def _place(under: str, member: tarfile.TarInfo) -> str:
    return str(PurePosixPath(under, member.name))


def _make(member: tarfile.TarInfo, jail: Jail, under: str) -> bool:
    """Makes a directory; whether it is a file, which is still to be written."""
    if member.isdir():
        jail.mkdir(_place(under, member))
    return member.isfile()


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, jail: Jail, path: str) -> str:
    content = tar.extractfile(member)
    assert content is not None  # it is a file
    with jail.create(path, member.mode & 0o777 | 0o600) as file:
        while chunk := content.read(CHUNK):
            write_all(file, chunk)
    return jail.shown(path)


def write_all(file: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(file, view) :]
