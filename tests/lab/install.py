"""The real programs, from npm, at pinned versions, once: into `.cache/lab` of the project, or `ONETAPE_LAB_CACHE`.

Each program has a directory of its own, named with its version, and a file `ready` in it when it is complete, so that
an install which was cut off is done again, and a new pin never meets an old program. A lock keeps parallel runs apart.
`bin` holds the five under their own names, for a PATH.
"""

import fcntl
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]


class NotInstalled(Exception):
    """A program could not be had; the words say why."""


class Program(Struct, frozen=True):
    name: str
    version: str
    package: str
    binary: str
    """Where it lies below its directory: a pattern, since native binaries lie in a package of the platform."""
    beside: tuple[str, ...] = ()
    """Packages that it needs and does not bring."""
    runner: str | None = None
    """What runs it, where that is not told by the file itself."""


PROGRAMS = (
    # The native binaries: the launchers of both are other processes, which a SIGKILL would not reach through.
    Program("claude", "2.1.326", "@anthropic-ai/claude-code", "@anthropic-ai/claude-code-*/claude"),
    Program("codex", "0.169.0", "@openai/codex", "@openai/codex-*/vendor/*/bin/codex"),
    Program("opencode", "1.18.33", "opencode-ai", ".bin/opencode"),
    Program("amp", "0.0.1777897475-g2324e1", "@sourcegraph/amp", ".bin/amp"),
    # It wants Node 22.19, and the machine may have an older one.
    Program("pi", "0.87.1", "@earendil-works/pi-coding-agent", ".bin/pi", beside=("node@22.23.3",), runner="node/bin/node"),
)


def cache() -> Path:
    return Path(os.environ.get("ONETAPE_LAB_CACHE") or ROOT / ".cache" / "lab")


def install(program: Program, say: Callable[[str], None]) -> Path:
    """The directory of `bin`, with this program in it."""
    home = cache()
    (home / "bin").mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        place = home / f"{program.name}-{program.version}"
        if not (place / "ready").exists():
            say(f"lab: installing {program.package} {program.version} from npm into {home} (once)")
            _npm(program, place)
            (place / "ready").touch()
        _link(program, place / "node_modules", home / "bin" / program.name)
    return home / "bin"


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _npm(program: Program, place: Path) -> None:
    if shutil.which("npm") is None:
        raise NotInstalled(f"{program.name} was not installed: there is no npm on PATH")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    quiet = ("--no-fund", "--no-audit", "--no-update-notifier", "--loglevel=error")
    run = subprocess.run(
        ["npm", "install", "--prefix", place, *quiet, f"{program.package}@{program.version}", *program.beside],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if run.returncode != 0:
        words = [line for line in run.stderr.splitlines() if "npm error" in line] or run.stderr.splitlines() or ["npm said nothing"]
        raise NotInstalled(f"{program.name} was not installed: {words[0]}")


def _link(program: Program, modules: Path, link: Path) -> None:
    binaries = sorted(modules.glob(program.binary))
    if not binaries:
        raise NotInstalled(f"{program.package} {program.version} has no {program.binary} for this machine")
    words = [*([modules / program.runner] if program.runner else []), binaries[0]]
    made = link.with_name(f".{link.name}.{os.getpid()}")
    made.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
    made.chmod(0o755)
    made.rename(link)  # at once: somebody may be about to start it
