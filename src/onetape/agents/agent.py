"""What the rest of onetape may know of an agent: its name, its dialects, how it is started, where its histories lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Raw, Struct, field

from onetape import tape
from onetape.errors import Refused
from onetape.tape import Record
from onetape.translator import Translator

if TYPE_CHECKING:
    from pathlib import Path  # a seventh of what `import onetape` takes, for the sake of annotations

PermissionMode = Literal["default", "plan", "acceptEdits", "bypass"]


class LaunchOptions(Struct, frozen=True):
    """What a session was created with."""

    executable: str
    cwd: str
    session_key: str
    model: str | None = None
    variant: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode = "default"
    mcp: Mapping[str, Any] = field(default_factory=dict)
    """MCP servers by name, as HTTP.md defines them."""
    resume: str | None = None
    """The native session id to go on with."""
    version: str | None = None
    help: str = ""
    """What `--help` printed, for agents whose options differ between builds."""


class Launch(Struct, frozen=True):
    """A description of the process to start. Nothing is started, written or looked up here.

    `{port}`, `{dir}`, `{socket}` and `{secret}` in arguments, environment and file contents stand for
    a free port, the session's private directory, the socket of its side channel (drivers/channel.py)
    and a password made for this session (never in arguments: every user of the machine can read those).
    """

    argv: list[str]
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    wire: Literal["stdio", "http"] = "stdio"
    files: dict[str, str] = field(default_factory=dict)
    """Private files by name, written into `{dir}` before the start, mode 0600 (0700 if they begin with `#!`)."""
    stop: Literal["close_stdin", "SIGINT", "SIGTERM"] = "close_stdin"
    """The agent's polite way to end."""
    login: str | None = None
    """`user:password` where an HTTP server wants them, e.g. `user:{secret}`."""
    listening: str | None = None
    """What an HTTP server prints once it listens, where it must not be connected to before."""


class Mode(Struct, frozen=True):
    """A way of working that the agent itself has, for a person to choose."""

    name: str
    description: str


class Login(Struct, frozen=True):
    """What shows that somebody has logged in, or has configured a provider of models; any one of them is enough.

    A file is named as `~/.config/x.json` or `${VARIABLE:-~/.config}/x.json`; with `#key`, only that key of it counts.
    """

    variables: tuple[str, ...]
    files: tuple[str, ...]
    advice: str
    """What to do where nothing shows it; `{program}` stands for the program as a shell finds it."""


class Model(Struct, frozen=True, rename="camel", omit_defaults=True):
    id: str
    name: str | None = None
    variants: list[str] | None = None
    default_variant: str | None = None


class Models(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The models that a user can choose, as HTTP.md has them; none where an agent lets nobody choose."""

    models: list[Model]
    default_model: str | None = None


class Inquiry(Protocol):
    """Asks a program that was started for this alone which models it has. Sans-I/O, as a translator is.

    The sends go out one by one; whatever crosses the wire then, each send with its answer included, is fed back.
    """

    def open(self) -> list[Any]:
        """The first messages to send."""
        ...

    def feed(self, native: Any) -> list[Any] | Models:
        """More messages to send, or the answer."""
        ...


class History(Protocol):
    """The reader of an agent's histories on disk: the part with I/O, which makes a tape of the original lines."""

    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        """Where this agent keeps its sessions by default: directories to look through, or files."""
        ...

    changes_in_place: bool
    """Whether the agent goes on changing what it wrote (rows of a database, a document that is written anew), and does not only add
    lines. What is kept of a row is then its last state that says everything that the earlier ones said."""

    def recognises(self, path: Path) -> bool:
        """Whether this file holds a session of this agent, by its content and not by its name. An OSError where it cannot be read."""
        ...

    def sessions(self, path: Path) -> Iterable[Path]:
        """The sessions in a file that it recognises: the file itself, or a path below it for each of a database's, which `read` takes."""
        ...

    def stamp(self, path: Path) -> str:
        """Another one whenever the session may have changed; cheap, without reading it."""
        ...

    def warnings(self, home: Path, env: Mapping[str, str]) -> Iterable[str]:
        """What the user should know about how long this agent keeps its histories."""
        ...

    def read(self, path: Path, *, growing: bool = False) -> Iterator[Record]:
        """The tape of one session: a head, then the original lines. Of a file that may be `growing`, only whole lines: half of the last
        one may be there, and the archive keeps no halves; it comes again when the file has grown."""
        ...


class Histories:
    """What most readers have in common: a file is a session, and has changed when its size or time has."""

    changes_in_place = False

    def sessions(self, path: Path) -> Iterable[Path]:
        return (path,)

    def stamp(self, path: Path) -> str:
        return stamp_of(path)

    def warnings(self, home: Path, env: Mapping[str, str]) -> Iterable[str]:
        return ()


def stamp_of(*paths: Path) -> str:
    """The sizes and times of files; of those that are not there, nothing."""
    told = []
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            continue
        told.append(f"{found.st_size}:{found.st_mtime_ns}")
    return " ".join(told)


CHUNK = 1 << 18


def lines_of(path: Path, end: int) -> Iterator[bytes]:
    """The lines of a file up to there, those that are not blank."""
    return (line for line in tape.lines(_chunks(path, end)) if line and not line.isspace())


def _chunks(path: Path, end: int) -> Iterator[bytes]:
    """Opened for each chunk: a session may have more subagents than a process may have open files."""
    offset = 0
    while offset < end:
        with path.open("rb") as file:
            file.seek(offset)
            chunk = file.read(min(CHUNK, end - offset))
        if not chunk:
            return  # cut off since
        offset += len(chunk)
        yield chunk


def end_of(path: Path, *, growing: bool) -> int:
    """How far a file of lines is to be read; of one that may be growing, to the end of its last whole line."""
    with path.open("rb") as file:
        end = start = file.seek(0, 2)
        if not growing:
            return end
        last: list[bytes] = []
        while start > 0 and b"\n" not in (last[-1] if last else b""):
            start = max(0, start - CHUNK)
            file.seek(start)
            last.append(file.read(min(CHUNK, end - start)))
    begun = b"".join(reversed(last)).rpartition(b"\n")[2]
    return end if not begun or _is_json(begun) else end - len(begun)


def is_document(path: Path, word: bytes) -> bool:
    """Whether a file may be one JSON document, not lines of them, and has this word near its beginning. A look at that, before somebody
    reads the whole."""
    with path.open("rb") as file:
        begun = file.read(CHUNK)
    first, _, more = begun.partition(b"\n")
    return begun.lstrip().startswith(b"{") and word in begun and not (more.strip() and _is_json(first))


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class Agent(Struct, frozen=True):
    name: str
    title: str
    translators: tuple[type[Translator], ...]
    """One per dialect; the first is the live wire."""
    versions: tuple[str, ...] = ()
    """The versions it was tested with, newest first."""
    package: str | None = None
    """Its npm package."""
    install_version: str | None = None
    """The newest tested version that installs from the registry, where that is not the newest tested one."""
    binary: str | None = None
    """The program's name on PATH and in its package; None: built in."""
    natives: tuple[str, ...] = ()
    """Where below `node_modules` the program itself lies, if `binary` is only a launcher of it; the first that runs is used."""
    node: str | None = None
    """The oldest Node.js that it runs on, if it needs one at all."""
    wants_help: bool = False
    """Whether its options differ so much between builds that `--help` has to be asked (LaunchOptions.help)."""
    login: Login | None = None
    """None: nothing to log in to."""
    models: Models | Callable[[], Inquiry] | None = None
    """Which there are, or how to ask; None: nobody can choose."""
    launch: Callable[[LaunchOptions], Launch] | None = None
    history: History | None = None
    modes: Mapping[str, Mode] = field(default_factory=dict)
    """By the agent's own words for them, the usual one first."""
    demonstration: str | None = None
    """A message that makes it show what a transcript can hold, for an agent that needs neither login nor model."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What its tools are in a digest, by lower-case name, where that differs from the general table."""

    def translator(self, dialect: str | None, said: Iterable[tuple[Any, bool]] = ()) -> type[Translator]:
        """The translator of a dialect; of the one that the first messages show where it is not named."""
        for translator in self.translators:
            if translator.dialect == dialect:
                return translator
        if dialect is not None:
            known = ", ".join(translator.dialect for translator in self.translators)
            raise Refused(f"{self.title} has no dialect {dialect!r}; it has: {known}")
        return self.recognise(said) or self.translators[0]

    def recognise(self, said: Iterable[tuple[Any, bool]]) -> type[Translator] | None:
        for native, sent in said:
            for translator in self.translators:
                if translator.recognises(native, sent=sent):
                    return translator
        return None
