"""What the rest of onetape may know of an agent: its name, its dialects, how it is started, where its histories lie."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from onetape.errors import Refused
from onetape.tape import Record
from onetape.translator import Translator

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

    `{port}`, `{dir}` and `{socket}` in arguments, environment and file contents stand for a
    free port, the session's private directory and the socket of its side channel.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    wire: Literal["stdio", "http"] = "stdio"
    files: dict[str, str] = field(default_factory=dict)
    """Private files by name, written into `{dir}` before the start, mode 0600."""
    stop: Literal["close_stdin", "SIGINT", "SIGTERM"] = "close_stdin"
    """The agent's polite way to end."""


class History(Protocol):
    """The reader of an agent's histories on disk: the part with I/O, which makes a tape of the original lines."""

    def places(self, home: Path, env: Mapping[str, str]) -> Iterable[Path]:
        """Where this agent keeps its sessions by default."""
        ...

    def recognises(self, path: Path) -> bool:
        """Whether this file holds a session of this agent, by its content."""
        ...

    def read(self, path: Path) -> Iterator[Record]:
        """The tape of one session: a head, then the original lines."""
        ...


class Agent(Struct, frozen=True):
    name: str
    title: str
    translators: tuple[type[Translator], ...]
    """One per dialect; the first is the live wire."""
    versions: tuple[str, ...] = ()
    """The versions it was tested with, newest first."""
    package: str | None = None
    """Its npm package."""
    launch: Callable[[LaunchOptions], Launch] | None = None
    history: History | None = None
    modes: tuple[str, ...] = ()

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
