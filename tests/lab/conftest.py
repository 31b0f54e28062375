"""Each test of test_lab.py is a scenario; here it gets a stage, once for every agent that can play it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.agents import SUBJECTS
from lab.agents.subject import Subject
from lab.amp_server import AmpServer
from lab.daemon import Daemon, environment
from lab.model import Model
from lab.stage import Stage


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "theatre" in metafunc.fixturenames:
        scenario = metafunc.function.__name__.removeprefix("test_")
        cast = [subject for subject in SUBJECTS if scenario not in subject.lacks]
        metafunc.parametrize("theatre", cast, ids=[subject.name for subject in cast], indirect=True, scope="session")


@pytest.fixture(scope="session")
def theatre(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, installed: Callable[[str], Path]
) -> Iterator[tuple[Subject, Daemon, Model]]:
    """An agent, a daemon with a home of its own, and the model that all its sessions ask."""
    subject: Subject = request.param
    bin = installed(subject.name).parent
    place = tmp_path_factory.mktemp(subject.name)
    home = place / "home"
    home.mkdir()
    with Model(AmpServer()) as model:
        daemon = Daemon(place, environment(home, bin) | subject.settle(home, model.url))
        yield subject, daemon, model
        daemon.stop()


@pytest.fixture
def stage(theatre: tuple[Subject, Daemon, Model], request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    scenario = request.function.__name__.removeprefix("test_")
    directory = tmp_path.resolve() / "project"
    directory.mkdir()
    return Stage(*theatre, scenario, directory)
