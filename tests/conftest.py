import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from lab.install import PROGRAMS, NotInstalled, install

# The same examples in every run: what passed once passes again. `pytest --hypothesis-profile search` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write today's answers into golden cases and generated files; review the diff")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a committed file with what it should hold today; `--rewrite` makes it so."""

    def compare(file: Path, wanted: str) -> None:
        if request.config.getoption("--rewrite"):
            file.write_text(wanted)
        found = file.read_text() if file.exists() else ""
        assert found == wanted, f"{file.name} is stale: run `pytest --rewrite` and review the diff"

    return compare


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """A real agent by its name, from npm when it is first wanted. Where it cannot be had the test says why and is skipped; CI fails."""

    def say(words: str) -> None:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{words}", flush=True)

    def program(name: str) -> Path:
        try:
            return install(next(program for program in PROGRAMS if program.name == name), say) / name
        except NotInstalled as problem:
            if os.environ.get("CI") == "true":
                pytest.fail(str(problem))
            pytest.skip(str(problem))

    return program
