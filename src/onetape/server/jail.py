"""Files below one directory, and no others: whatever a path says, and whatever somebody does to the tree meanwhile.

A path is never handed to the system whole. It is walked component by component on open directories, none of
which may be a link; a link is read and its target walked the same way, so one that stays inside works, one that
leads out is refused, and one that is put there between two looks is an error.
"""

import errno
import os
import shutil
import stat as modes
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex

from msgspec import Struct

from onetape.errors import Conflict, Forbidden, Missing, Refused

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not to wait for the other end of a named pipe.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40


class Place(Struct, frozen=True):
    """Where a path leads: an open directory, and a name in it, `.` for the directory itself."""

    directory: int
    name: str


class Jail:
    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self._given = PurePosixPath(os.path.abspath(root))

    def shown(self, path: str) -> str:
        """The whole path, as answers name it; it can be used in a request again."""
        return str(self.root.joinpath(*self._parts(path)))

    # --- reading ------------------------------------------------------------

    def stat(self, path: str) -> os.stat_result:
        with self._at(path) as place:
            return os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)

    def entries(self, path: str) -> list[tuple[str, os.stat_result]]:
        with self._at(path) as place:
            directory = os.open(place.name, _DIRECTORY, dir_fd=place.directory)
            try:
                with os.scandir(directory) as found:
                    names = sorted(entry.name for entry in found)
                there = [(name, self._look(directory, path, name)) for name in names]
                return [(name, told) for name, told in there if told is not None]
            finally:
                os.close(directory)

    def _look(self, directory: int, path: str, name: str) -> os.stat_result | None:
        """What an entry is: of a link what it leads to, unless that is not for us to see."""
        try:
            told = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if modes.S_ISLNK(told.st_mode):
                with suppress(Refused):
                    return self.stat(os.path.join(path, name))
            return told
        except FileNotFoundError:
            return None  # gone since the directory was read

    def open(self, path: str) -> int:
        """A regular file for reading: nothing that could hang or act, as pipes and devices can."""
        with self._at(path) as place:
            file = os.open(place.name, _FILE, dir_fd=place.directory)
            if not modes.S_ISREG(os.fstat(file).st_mode):
                os.close(file)
                raise Refused(f"{path} is not a file")
            return file

    # --- writing ------------------------------------------------------------

    @contextmanager
    def create(self, path: str, mode: int = 0o666) -> Iterator[int]:
        """A new file for writing, which takes its name, from another if need be, once all of it is there."""
        with self._at(path, make=True) as place:
            _check_replaceable(place, path)
            name = f".{token_hex(8)}.part"
            file = os.open(name, _NEW, _mode_of(place, mode), dir_fd=place.directory)
            try:
                yield file
                os.replace(name, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=place.directory)
                raise
            finally:
                os.close(file)

    def check(self, path: str, *, is_directory: bool = False) -> None:
        """That a file or a directory could be made here, as far as can be seen; nothing is made."""
        with suppress(Missing), self._at(path) as place:
            _check_directory(place, path) if is_directory else _check_replaceable(place, path)

    def mkdir(self, path: str) -> None:
        with self._at(path, make=True) as place:
            with suppress(FileExistsError):
                os.mkdir(place.name, dir_fd=place.directory)
            _check_directory(place, path)

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """The entry itself: a link is moved as a link."""
        with self._at(source, follow=False) as old:
            os.stat(old.name, dir_fd=old.directory, follow_symlinks=False)  # before directories are made for what is not there
            with self._at(target, follow=False, make=True) as new:
                if "." in (old.name, new.name):
                    raise Forbidden("the directory of the session itself cannot be moved")
                if not overwrite and _exists(new):
                    raise Conflict(f"{target} is there already")
                _rename(old, new)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """The entry itself: of a link the link, never what it leads to."""
        with self._at(path, follow=False) as place:
            if place.name == ".":
                raise Forbidden("the directory of the session itself cannot be deleted")
            told = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
            if recursive or not modes.S_ISDIR(told.st_mode):
                _remove(place)
            else:
                os.rmdir(place.name, dir_fd=place.directory)

    # --- the walk -----------------------------------------------------------

    def _parts(self, path: str) -> list[str]:
        if "\0" in path:
            raise Refused("a path holds no NUL")
        whole = PurePosixPath(path)
        if ".." in whole.parts:
            raise Forbidden(f"{path}: paths with `..` are refused")
        return list(self._inside(whole, path).parts)

    def _inside(self, path: PurePosixPath, told: str) -> PurePosixPath:
        """An absolute path as one below the root."""
        if not path.is_absolute():
            return path
        for root in (PurePosixPath(self.root), self._given):
            if path.is_relative_to(root):
                return path.relative_to(root)
        raise Forbidden(f"{told} is outside of {self.root}")

    @contextmanager
    def _at(self, path: str, *, follow: bool = True, make: bool = False) -> Iterator[Place]:
        """`follow`: where the last component is a link, what it leads to. `make`: directories on the way that are missing."""
        parts = self._parts(path)
        with _told(path):
            walk = _Walk(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            try:
                yield self._walked(walk, deque(parts), path, follow, make)
            finally:
                walk.close()

    def _walked(self, walk: "_Walk", todo: "deque[str]", path: str, follow: bool, make: bool) -> Place:
        links = 0
        while todo:
            part = todo.popleft()
            if part == "..":  # out of a link's target: requests have none
                walk.up(path)
            elif (todo or follow) and (target := walk.link(part)) is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                self._redirect(walk, todo, target, path)
            elif todo:
                walk.down(part, make=make)
            else:
                return Place(walk.directory, part)
        return Place(walk.directory, ".")

    def _redirect(self, walk: "_Walk", todo: "deque[str]", target: str, path: str) -> None:
        where = PurePosixPath(target)
        if where.is_absolute():
            where = self._inside(PurePosixPath(os.path.normpath(where)), path)
            walk.to_root()
        todo.extendleft(reversed(where.parts))


class _Walk:
    """The open directories from the root to where the walk is."""

    def __init__(self, root: int) -> None:
        self._open = [root]

    @property
    def directory(self) -> int:
        return self._open[-1]

    def link(self, name: str) -> str | None:
        """Where a link leads; None for what is none, or is not there."""
        try:
            return os.readlink(name, dir_fd=self.directory)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def down(self, name: str, *, make: bool) -> None:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.directory)
        self._open.append(os.open(name, _DIRECTORY, dir_fd=self.directory))

    def up(self, path: str) -> None:
        if len(self._open) == 1:
            raise Forbidden(f"{path} leads out of the directory")
        os.close(self._open.pop())

    def to_root(self) -> None:
        while len(self._open) > 1:
            os.close(self._open.pop())

    def close(self) -> None:
        for directory in self._open:
            os.close(directory)


def _exists(place: Place) -> bool:
    try:
        os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _rename(old: Place, new: Place) -> None:
    """Over whatever is there, a directory that is not empty too."""
    try:
        os.rename(old.name, new.name, src_dir_fd=old.directory, dst_dir_fd=new.directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR):
            raise
        _replace(old, new)


def _replace(old: Place, new: Place) -> None:
    """What is in the way is put aside first and deleted last: where the move fails, it is there as before."""
    aside = f".{token_hex(8)}.old"
    os.rename(new.name, aside, src_dir_fd=new.directory, dst_dir_fd=new.directory)
    try:
        os.rename(old.name, new.name, src_dir_fd=old.directory, dst_dir_fd=new.directory)
    except BaseException:
        os.rename(aside, new.name, src_dir_fd=new.directory, dst_dir_fd=new.directory)
        raise
    _remove(Place(new.directory, aside))


def _remove(place: Place) -> None:
    if modes.S_ISDIR(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode):
        shutil.rmtree(place.name, dir_fd=place.directory)
    else:
        os.unlink(place.name, dir_fd=place.directory)


def _check_directory(place: Place, path: str) -> None:
    with suppress(FileNotFoundError):
        if not modes.S_ISDIR(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode):
            raise Conflict(f"{path} is there already, and is not a directory")


def _check_replaceable(place: Place, path: str) -> None:
    with suppress(FileNotFoundError):
        if modes.S_ISDIR(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode):
            raise Conflict(f"{path} is a directory")


def _mode_of(place: Place, default: int) -> int:
    """A file that is replaced keeps its mode."""
    try:
        return modes.S_IMODE(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode) & 0o777
    except FileNotFoundError:
        return default


@contextmanager
def _told(path: str) -> Iterator[None]:
    """What the system says of a path, as an error of the caller's."""
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"there is no {path}") from None
    except PermissionError as error:
        raise Forbidden(f"{path}: {error.strerror}") from None
    except UnicodeEncodeError:
        raise Refused("a path that is not Unicode") from None
    except OSError as error:
        match error.errno:
            case errno.ENOTEMPTY | errno.EEXIST | errno.EISDIR | errno.EBUSY:
                raise Conflict(f"{path}: {error.strerror}") from None
            case errno.ELOOP:
                raise Forbidden(f"{path}: {error.strerror}") from None
            case errno.ENOTDIR | errno.ENAMETOOLONG | errno.EINVAL | errno.EXDEV:
                raise Refused(f"{path}: {error.strerror}") from None
            case _:
                raise
