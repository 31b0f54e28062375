"""Builds the page into the package where npm is there, and says so in one line where it is not.

The only place that knows how: `make page` runs it, and so does building a wheel (hatch_build.py). Nothing is
done when what is built is newer than its source.
"""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "src" / "onetape" / "server" / "static" / "index.html"
SOURCES = ("src", "public", "index.html", "package-lock.json", "vite.config.ts", "svelte.config.js", "tsconfig.json")
MISSING = "the inspector's page is left out: npm is not here (Node 20.19 or newer builds it)"


def main() -> int:
    if is_fresh():
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print(MISSING)
        return 0
    print("building the inspector's page (npm; half a minute the first time)")
    return install(npm) or run(npm, "run", "--silent", "build", "--", "--logLevel", "warn")


def is_fresh() -> bool:
    return BUILT.exists() and BUILT.stat().st_mtime >= max(path.stat().st_mtime for path in sources())


def sources() -> list[Path]:
    tops = [HERE / name for name in SOURCES]
    return [path for top in tops for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file()]


def install(npm: str) -> int:
    """Packages as the lock file names them, unless they are there already."""
    there = HERE / "node_modules" / ".package-lock.json"
    if there.exists() and there.stat().st_mtime >= (HERE / "package-lock.json").stat().st_mtime:
        return 0
    return run(npm, "ci", "--silent", "--no-progress")


def run(*command: str) -> int:
    return subprocess.run(command, cwd=HERE).returncode


if __name__ == "__main__":
    sys.exit(main())
