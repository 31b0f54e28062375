from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

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
