"""The agents on this machine, with a toy agent, a toy npm and no network. The lab has the real ones."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onetape import machine, paths, tape
from onetape.agents import registry
from onetape.agents.agent import Agent, Launch, LaunchOptions, Login, Model, Models
from onetape.agents.mock.translator import MockTranslator
from onetape.errors import AgentFailed, InstallFailed, NotInstalled, Refused
from onetape.machine import asking, health, versions
from onetape.machine.capabilities import CAPABILITIES

TOY = Agent(
    name="toy",
    title="Toy",
    translators=(MockTranslator,),
    versions=("3.0.0", "2.0.0", "1.0.0"),
    package="@toys/toy",
    binary="toy",
    natives=("@toys/toy-*/toy",),
    login=Login(("TOY_KEY",), ("${TOY_HOME:-~/.toy}/auth.json", "~/.toy.toml#providers", "~/.toy.jsonc#provider"), "run `{program} login`"),
)

# Puts what it is asked for into --prefix, as npm would. What it cannot do is written beside it.
NPM = """\
import os, pathlib, sys, time
here, words = pathlib.Path(sys.argv[0]).parent, sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("11.0.0"))
with (here / "calls").open("a") as calls:
    calls.write(" ".join(word for word in words if "@" in word) + "\\n")
assert "--ignore-scripts" in words and "--include=optional" in words
package, _, version = words[-1 if "node-" not in words[-1] else -2].rpartition("@")
trouble = here / f"trouble-{version}"
print("npm http fetch GET 200 somewhere", file=sys.stderr)
if trouble.exists():
    print(trouble.read_text(), file=sys.stderr)
    sys.exit(1)
modules = pathlib.Path(words[words.index("--prefix") + 1]) / "node_modules"
def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
program(modules / ".bin" / "toy", "#!/bin/sh\\necho launcher of toy $0 9.9.9\\n")
if (here / "native").exists():
    program(modules / "@toys" / "toy-any" / "toy", f"#!/bin/sh\\necho toy-cli {version}\\n")
if "node-" in words[-1]:
    program(modules / words[-1].partition("@")[0] / "bin" / "node", f"#!/bin/sh\\necho {version} run by its own node\\n")
"""


class Machine:
    """A home, a data directory and a PATH of its own."""

    def __init__(self, root: Path) -> None:
        self.home, self.bin, self.data = root / "home", root / "bin", root / "data"
        self.home.mkdir()
        self.bin.mkdir()
        self.env = {"PATH": str(self.bin), "HOME": str(self.home), paths.VARIABLE: str(self.data)}
        self.lines: list[str] = []

    def program(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def with_npm(self, *, native: bool = True) -> "Machine":
        self.program("npm", f"#!{sys.executable}\n{NPM}")
        if native:
            (self.bin / "native").touch()
        return self

    def trouble(self, version: str, text: str) -> None:
        (self.bin / f"trouble-{version}").write_text(text)

    def calls(self) -> list[str]:
        return (self.bin / "calls").read_text().splitlines()

    def find(self, agent: Agent = TOY) -> machine.Found:
        return asyncio.run(machine.find(agent, self.env))

    def install(self, agent: Agent = TOY, **more: Any) -> machine.Found:
        return asyncio.run(machine.install(agent, progress=self.lines.append, env=self.env, **more))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Machine]:
    yield Machine(tmp_path)
    versions._asked.clear()


def changed(agent: Agent, **fields: Any) -> Agent:
    return msgspec.structs.replace(agent, **fields)


# --- the data directory -----------------------------------------------------


def test_the_data_directory_is_private(tmp_path: Path) -> None:
    place = paths.data_dir({paths.VARIABLE: str(tmp_path / "a" / "b")})
    assert place == tmp_path / "a" / "b"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_directory_of_the_users_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    paths.data_dir({paths.VARIABLE: str(tmp_path)})
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"cannot make the directory .*: Not a directory"):
        paths.data_dir({paths.VARIABLE: str(tmp_path / "file" / "data")})


# --- finding ----------------------------------------------------------------


def test_what_is_built_in_is_found() -> None:
    found = asyncio.run(machine.find(registry.find("mock")))
    assert (found.path, found.origin) == (sys.executable, "builtin")


def test_nothing_is_found_where_nothing_is(here: Machine) -> None:
    assert here.find() == machine.Found()


def test_found_on_path(here: Machine) -> None:
    path = here.program("toy", "#!/bin/sh\necho 'warning: 0.0 disk' >&2\necho 'toy-cli 2.1.0-g7f (released 3.4.5)'\n")
    assert here.find() == machine.Found(str(path), "2.1.0-g7f", "path")


def test_help_is_asked_only_of_those_that_want_it(here: Machine) -> None:
    here.program("toy", '#!/bin/sh\ntest "$1" = --version && echo 1.0.0 || echo options\n')
    assert here.find().help == ""
    versions._asked.clear()
    assert here.find(changed(TOY, wants_help=True)).help == "options\n"


def test_the_native_program_is_wanted_and_not_its_launcher(here: Machine) -> None:
    modules = here.bin / "lib" / "node_modules"
    launcher = here.program("lib/node_modules/@toys/toy/cli.js", "#!/bin/sh\necho 9.9.9\n")
    native = here.program("lib/node_modules/@toys/toy/node_modules/@toys/toy-any/toy", "#!/bin/sh\necho 1.0.0\n")
    (here.bin / "toy").symlink_to(launcher)
    assert here.find().path == str(native)
    beside = here.program("lib/node_modules/@toys/toy-any/toy", "#!/bin/sh\necho 1.1.0\n")
    assert (here.find().path, here.find().version) == (str(beside), "1.1.0")
    assert modules in beside.parents


def test_of_several_the_first_that_runs(here: Machine) -> None:
    here.program("lib/node_modules/@toys/toy-a/toy", "#!/bin/sh\nkill -ILL $$\n")
    works = here.program("lib/node_modules/@toys/toy-b/toy", "#!/bin/sh\necho 1.0.0\n")
    (here.bin / "toy").symlink_to(here.program("lib/node_modules/@toys/toy/cli.js", "#!/bin/sh\necho 9.9.9\n"))
    assert here.find().path == str(works)


def test_what_does_not_run_is_not_found_and_says_why(here: Machine) -> None:
    path = here.program("toy", "#!/bin/sh\necho 'SyntaxError: old node' >&2\necho at x >&2\nexit 1\n")
    assert here.find() == machine.Found(problem=f"{path} does not run: SyntaxError: old node (exit code 1)")
    path.write_text("#!/no/such/interpreter\n")
    assert "No such file or directory (exit code 127)" in str(here.find().problem)


def test_a_program_that_hangs_is_not_waited_for(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "SECONDS", 0.01)
    here.program("toy", "#!/bin/sh\nPATH=/usr/bin:/bin exec sleep 20\n")
    assert "does not answer to --version" in str(here.find().problem)


def test_a_program_is_ended_with_what_it_started(here: Machine) -> None:
    """The pipe ends when both are gone; the second would say something late."""
    pipe = here.home / "pipe"
    os.mkfifo(pipe)
    here.program("toy", f"#!/bin/sh\nexec 3> {pipe}\n(PATH=/usr/bin:/bin sleep 20; echo late >&3) &\necho begun >&3\nwait\n")

    async def interrupted() -> str:
        asking = asyncio.ensure_future(machine.find(TOY, here.env))
        with await asyncio.to_thread(pipe.open) as numbers:
            said = await asyncio.to_thread(numbers.readline)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            return said + await asyncio.to_thread(numbers.read)

    assert asyncio.run(interrupted()) == "begun\n"


def test_versions_are_asked_once_until_the_program_changes(here: Machine) -> None:
    text = f"#!/bin/sh\necho x >> {here.home}/asked\necho %s\n"
    path = here.program("toy", text % "1.0.0")
    assert {here.find().version for _ in range(3)} == {"1.0.0"}
    assert (here.home / "asked").read_text() == "x\n"
    path.write_text(text % "1.0.10")
    assert here.find().version == "1.0.10"


def test_a_script_of_others_is_remembered_by_this_process_alone(here: Machine) -> None:
    """It may be a shim, which stays the same when the version behind it changes; our own are known to change with it."""
    path = here.program("toy", "#!/bin/sh\necho 1.0.0\n")
    here.find()
    assert not (here.data / "agents" / "versions.json").exists()
    ours = here.data / "agents" / "toy" / "node_modules" / ".bin" / "toy"
    ours.parent.mkdir(parents=True)
    path.rename(ours)
    here.find()
    [(key, told)] = json.loads((here.data / "agents" / "versions.json").read_bytes()).items()
    assert key.startswith(str(ours)) and told == {"version": "1.0.0"}
    (here.data / "agents" / "versions.json").write_text("{")  # whatever happened to it
    versions._asked.clear()
    assert here.find().version == "1.0.0"


# --- installing -------------------------------------------------------------


def test_install(here: Machine) -> None:
    here.program("toy", "#!/bin/sh\necho 1.0.0\n")
    found = here.with_npm().install()
    assert (found.version, found.origin) == ("3.0.0", "installed")
    assert found.path == str(here.data / "agents" / "toy" / "node_modules" / "@toys" / "toy-any" / "toy")
    assert here.find() == found, "ours comes before what is on PATH"
    assert here.lines == ["npm install @toys/toy@3.0.0"]
    here.install()
    assert here.lines[1:] == ["Toy 3.0.0 is installed already"] and len(here.calls()) == 1
    here.install(reinstall=True)
    assert len(here.calls()) == 2 and _left_over(here) == []


def _left_over(here: Machine) -> list[str]:
    return [path.name for path in (here.data / "agents").iterdir() if path.name not in ("toy", "toy.lock", "versions.json")]


def test_the_newest_that_installs(here: Machine) -> None:
    assert here.with_npm().install(changed(TOY, install_version="2.0.0")).version == "2.0.0"
    here.trouble("3.0.0", "npm error code ETARGET\nnpm error notarget No matching version")
    assert here.install().version == "2.0.0"
    assert here.lines[-2:] == [
        "npm could not install @toys/toy@3.0.0 (exit code 1): code ETARGET · notarget No matching version; trying an older one",
        "npm install @toys/toy@2.0.0",
    ]


def test_another_version(here: Machine) -> None:
    assert here.with_npm().install(version="2.5.0").version == "2.5.0"
    assert here.install().version == "3.0.0", "not the one that was tested"


@pytest.mark.parametrize("version", ["../toy", "--global", "git+ssh://host/x", "", "latest\n"])
def test_what_is_no_version_is_refused(here: Machine, version: str) -> None:
    with pytest.raises(Refused, match="is not a version"):
        here.with_npm().install(version=version)


def test_no_npm(here: Machine) -> None:
    with pytest.raises(Refused, match="npm is not on PATH"):
        here.install()


def test_what_npm_does_not_have_is_refused(here: Machine) -> None:
    with pytest.raises(Refused, match="Mock is built in, and there is no other version of it"):
        here.with_npm().install(registry.find("mock"), version="9.9")
    with pytest.raises(Refused, match="Toy has no npm package: install it yourself"):
        here.install(changed(TOY, package=None))


def test_what_is_built_in_is_installed_already(here: Machine) -> None:
    mock = registry.find("mock")
    for reinstall in (False, True):  # and without npm
        assert here.install(mock, reinstall=reinstall).version == mock.versions[0]


def test_a_failed_installation_leaves_the_old_one(here: Machine) -> None:
    before = here.with_npm().install(version="1.0.0")
    here.trouble("3.0.0", "npm warn old\nnpm error code ENETWORK\nnpm error no way out\nnpm error A complete log of this run is at x")
    with pytest.raises(InstallFailed) as failed:
        here.install()
    assert str(failed.value) == "npm could not install @toys/toy@3.0.0 (exit code 1): code ENETWORK · no way out"
    assert here.find() == before and _left_over(here) == []


def test_a_program_that_does_not_run_is_no_installation(here: Machine) -> None:
    with pytest.raises(InstallFailed, match=r"Toy 1.0.0 was installed, but its program is not there"):
        here.with_npm(native=False).install(changed(TOY, binary="joy"))
    assert here.find().path is None and _left_over(here) == []


def test_what_a_killed_installation_left_is_cleared(here: Machine) -> None:
    left = here.data / "agents" / ".toy-x1y2"
    left.mkdir(parents=True)
    here.with_npm().install()
    assert not left.exists()


def test_installations_wait_for_each_other(here: Machine) -> None:
    async def both() -> list[machine.Found]:
        return await asyncio.gather(*(machine.install(TOY, progress=here.lines.append, env=here.env) for _ in range(2)))

    first, second = asyncio.run(here.with_npm() and both())
    assert first == second and len(here.calls()) == 1
    assert {"waiting for another installation of it", "Toy 3.0.0 is installed already"} <= set(here.lines)


@pytest.mark.parametrize(("node", "bundled"), [("v22.18.0", True), ("v22.19.1", False), ("v100.0.0", False), (None, True)])
def test_a_node_beside_it_where_the_machines_is_too_old(here: Machine, node: str | None, bundled: bool) -> None:
    if node is not None:
        here.program("node", f"#!/bin/sh\necho {node}\n")
    found = here.with_npm(native=False).install(changed(TOY, node="22.19.0"), version="9.9.9")
    assert ("node-" in here.calls()[0] and here.calls()[0].endswith("@22")) == bundled
    place = here.data / "agents" / "toy"
    assert found.path == str(place / "bin" / "toy" if bundled else place / "node_modules" / ".bin" / "toy")


# --- logins -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        (".toy/auth.json", '{"token": "x"}', True),
        (".toy/auth.json", "{}", False),
        (".toy/auth.json", "not json", False),
        (".toy.toml", "[providers.mine]\nkey = 1\n", True),
        (".toy.toml", "theme = 'dark'\n", False),
        (".toy.jsonc", '{\n  // mine\n  "provider": {"x": {}}\n}', True),
        (".toy.jsonc", '{\n  // mine\n  "theme": 1\n}', False),
        (".toy.jsonc", '["provider"]', True),
        ("elsewhere", '{"token": "x"}', False),
    ],
)
def test_files_show_a_login(here: Machine, file: str, text: str, wanted: bool) -> None:
    (here.home / file).parent.mkdir(exist_ok=True)
    (here.home / file).write_text(text)
    assert machine.credentials(TOY, here.home, {}) is wanted


def test_variables_show_a_login(here: Machine) -> None:
    assert not machine.credentials(TOY, here.home, {"TOY_KEY": ""})
    assert machine.credentials(TOY, here.home, {"TOY_KEY": "secret"})
    (here.home / "auth.json").write_text('{"token": "x"}')
    assert machine.credentials(TOY, here.home, {"TOY_HOME": str(here.home)})
    assert machine.credentials(changed(TOY, login=None), here.home, {})


# --- models -----------------------------------------------------------------


class Quiz:
    """Asks twice: the second question comes out of the first answer."""

    def open(self) -> list[Any]:
        return [{"ask": "hello"}]

    def feed(self, native: Any) -> list[Any] | Models:
        match native:
            case {"hello": str(name)}:
                return [{"ask": name}]
            case {"models": [*names]}:
                return Models([Model(name) for name in names], names[0])
            case _:
                return []


ANSWERS = """\
import json, os, sys
print("noise, not JSON", flush=True)
for line in sys.stdin:
    ask = json.loads(line)["ask"]
    print(json.dumps({"hello": "list"} if ask == "hello" else {"models": ["big", "small"], "at": os.getcwd()}), flush=True)
"""


def _launch(options: LaunchOptions) -> Launch:
    return Launch([options.executable], options.cwd)


def _models(here: Machine, agent: Agent) -> Models:
    async def ask() -> Models:
        return await machine.models(agent, await machine.find(agent, here.env), str(here.home), here.env)

    return asyncio.run(ask())


def _asking(here: Machine, answers: str) -> Agent:
    here.program("toy", f"#!{sys.executable}\nimport sys\nif sys.argv[1:]: sys.exit(print('1.0.0'))\n{answers}")
    return changed(TOY, models=Quiz, launch=_launch)


def test_a_live_program_is_asked_for_its_models(here: Machine) -> None:
    assert _models(here, _asking(here, ANSWERS)) == Models([Model("big"), Model("small")], "big")
    assert list((here.data / "run").iterdir()) == []


def test_a_program_that_ends_without_an_answer(here: Machine) -> None:
    with pytest.raises(AgentFailed, match="Toy ended before it told its models: no licence"):
        _models(here, _asking(here, "input(); sys.exit('no licence')"))


def test_models_of_what_is_not_there(here: Machine) -> None:
    with pytest.raises(NotInstalled, match="`onetape install toy`"):
        _models(here, changed(TOY, models=Quiz, launch=_launch))


def test_models_that_nobody_has_to_be_asked_for(here: Machine) -> None:
    assert _models(here, TOY) == Models([])
    fixed = Models([Model("one")])
    assert _models(here, changed(TOY, models=fixed)) is fixed


def test_the_answer_may_come_with_the_send() -> None:
    """As it does from a server: an exchange is one record, and nothing else need ever be heard."""

    class Server:
        async def start(self) -> None: ...

        async def send(self, message: Any) -> tape.Record:
            answer = {"hello": "list"} if message["ask"] == "hello" else {"models": ["big"]}
            return tape.record(0.0, "send", message | answer)

        async def stop(self) -> None: ...

        async def heard(self) -> AsyncIterator[list[tape.Record]]:
            yield [tape.record(0.0, "exit", 0)]

    assert asyncio.run(asking._talk(Quiz(), Server(), "Toy")) == Models([Model("big")], "big")  # type: ignore[arg-type]


def _inquired(agent: str, *natives: Any) -> Models:
    """What an agent's inquiry makes of these messages."""
    inquiry = registry.find(agent).models
    assert callable(inquiry)
    inquirer = inquiry()
    assert inquirer.open()
    for native in natives:
        if isinstance(told := inquirer.feed(native), Models):
            return told
    raise AssertionError("no answer")


def test_the_inquiries() -> None:
    model = {"value": "default", "displayName": "Default", "supportedEffortLevels": ["low", "max"]}
    answer = {"type": "control_response", "response": {"subtype": "success", "response": {"models": [model, {"value": "old"}]}}}
    assert _inquired("claude", {"type": "system"}, answer) == Models([Model("default", "Default", ["low", "max"]), Model("old")], "default")

    listed = {"model": "m", "displayName": "M", "isDefault": True, "supportedReasoningEfforts": [{"reasoningEffort": "low"}]}
    answer = {"id": 2, "result": {"data": [listed, {"model": "h", "hidden": True}]}}
    codex = _inquired("codex", {"id": 1, "result": {}}, {"method": "x"}, answer)
    assert codex == Models([Model("m", "M", ["low"])], "m")

    models = {"a/b": {"name": "B", "variants": {"high": {}}}, "c": {}}
    providers = {"path": "/config/providers", "response": {"providers": [{"id": "p", "models": models}], "default": {"p": "c"}}}
    known = [Model("p/a/b", "B", ["high"]), Model("p/c")]
    assert _inquired("opencode", providers, {"path": "/config", "response": {}}) == Models(known, "p/c")
    assert _inquired("opencode", providers, {"path": "/config", "response": {"model": "p/a/b"}}) == Models(known, "p/a/b")

    thinker = {"provider": "p", "id": "t", "name": "T", "reasoning": True, "thinkingLevelMap": {"off": None, "max": "max"}}
    answers = {"type": "response", "id": "models", "data": {"models": [thinker, {"provider": "p", "id": "s"}]}}
    state = {"type": "response", "id": "state", "data": {"model": thinker, "thinkingLevel": "low"}}
    pi = _inquired("pi", {"type": "extension_ui_request"}, state, answers)
    assert pi == Models([Model("p/t", "T", ["minimal", "low", "medium", "high", "max"], "low"), Model("p/s")], "p/t")


# --- what they can do -------------------------------------------------------


@pytest.mark.parametrize("agent", registry.every(), ids=lambda agent: agent.name)
def test_every_agent_can_be_described(agent: Agent) -> None:
    shown = machine.capabilities(agent)
    assert list(shown) == list(CAPABILITIES)
    assert shown["textMessages"] and shown["toolCalls"] and not shown["sharedProcess"]
    assert all(mode["id"] and mode["name"] and mode["description"] for mode in machine.modes(agent))
    assert agent.install_version is None or agent.install_version in agent.versions


def test_capabilities_differ_as_the_recordings_do() -> None:
    quiet = machine.capabilities(registry.find("amp"))
    assert [name for name, can in quiet.items() if not can] == ["planMode", "questions", "streamingDeltas", "itemStarted", "sharedProcess"]


# --- the doctor -------------------------------------------------------------


def _health(here: Machine, env: Mapping[str, str] = {}) -> health.AgentHealth:
    [told] = asyncio.run(health.examine([TOY], here.env | env, here.home))
    return told


def test_the_doctor_says_what_to_do(here: Machine) -> None:
    assert _health(here).advice == "`onetape install toy`; run `toy login`"
    path = here.program("toy", "#!/bin/sh\necho 7.0.0\n")
    told = _health(here, {"TOY_KEY": "x"})
    assert (told.path, told.version, told.tested, told.logged_in) == (str(path), "7.0.0", False, True)
    assert told.advice == "tested with 3.0.0, 2.0.0, 1.0.0: `onetape install toy` brings one of them"
    here.with_npm().install()
    told = _health(here)
    assert told.tested and told.advice == f"run `{told.path} login`"
    assert _health(here, {"TOY_KEY": "x"}).is_ready


def test_the_doctor_on_npm_and_the_data_directory(here: Machine) -> None:
    assert asyncio.run(health.npm(here.env)).path is None
    told = asyncio.run(health.npm(here.with_npm().env))
    assert (told.path, told.version, told.advice) == (str(here.bin / "npm"), "11.0.0", "ready")
    assert health.data_directory(here.env) == health.DataHealth(str(here.data), True, "ready")
    (here.home / "file").touch()
    assert not health.data_directory({paths.VARIABLE: str(here.home / "file" / "data")}).writable


# --- the commands -----------------------------------------------------------


def _onetape(here: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "onetape", *words], env=here.env, capture_output=True, text=True, timeout=60)


def test_doctor_as_a_command(here: Machine) -> None:
    run = _onetape(here, "doctor", "--json")
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0 and [line["subject"] for line in told] == ["agent"] * len(registry.names()) + ["npm", "dataDirectory"]
    assert [line["agent"] for line in told[:-2] if line["path"]] == ["mock"]
    shown = _onetape(here, "doctor").stdout
    assert all(f"`onetape install {name}`" in shown for name in registry.names() if name != "mock") and str(here.data) in shown


def test_doctor_without_a_data_directory(here: Machine) -> None:
    here.home.joinpath("file").touch()
    here.env[paths.VARIABLE] = str(here.home / "file" / "data")
    run = _onetape(here, "doctor")
    assert "logged in" not in run.stdout  # no table of nothing
    assert run.returncode == 1 and "cannot make the directory" in run.stdout and "Traceback" not in run.stderr


def test_install_as_a_command(here: Machine) -> None:
    """The toy npm can install anything, and nothing of it is an agent's program."""
    run = _onetape(here, "install", "codex")
    assert run.returncode == 2 and run.stderr.startswith("onetape: npm is not on PATH") and run.stderr.count("\n") == 1
    here.with_npm()
    run = _onetape(here, "install", "codex", "--version", "1.2.3")
    assert (run.returncode, run.stdout) == (2, "")
    said = ["npm install @openai/codex@1.2.3", "onetape: Codex 1.2.3 was installed, but its program is not there"]
    assert run.stderr.splitlines() == said
