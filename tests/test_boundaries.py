"""Purity is tested, not promised: who imports whom, silent matches, agents' names."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onetape
from onetape.agents import registry

ROOT = Path(onetape.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

CORE = {"schema", "commands", "errors", "tape"}
IMPURE = {
    "asyncio", "subprocess", "socket", "os", "time", "random", "uuid", "logging", "threading", "sqlite3", "select", "signal", "pathlib",
}  # fmt: skip
# I/O on purpose: readers of files, and the mock's own process. launch files describe and start nothing.
WITH_IO = {"reader", "__main__", "helper"}
# Who may import what of ours, by first word of the module path; what is not named here is the pure middle.
OUTER = {
    "drivers", "stores", "machine", "paths", "owner", "tail", "session", "sessions", "scribe", "outbox", "following", "pages", "recovery",
    "server", "client", "cli", "export",
    "search", "archive", "tasks", "info", "replay", "sheet",
}  # fmt: skip


def module_of(file: Path) -> str:
    return ".".join(("onetape", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                pass


def part_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def is_pure(file: Path) -> bool:
    return part_of(file) not in OUTER and file.stem not in WITH_IO


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_imports(file: Path) -> None:
    part, imported = part_of(file), set(imports_of(file))
    ours = {name.split(".")[1] for name in imported if name.startswith("onetape.")}
    if part in CORE:
        assert ours <= CORE
    if is_pure(file):
        roots = {name.partition(".")[0] for name in imported}
        allowed = {"pathlib"} if file.stem in ("agent", "launch") else set()
        assert not roots & (IMPURE - allowed), "the pure core does no I/O"
        assert not ours & (OUTER - {"export"}), "the pure core knows nothing of what stands on it"
        assert roots <= {*sys.stdlib_module_names, "onetape", "msgspec"}, "the pure core imports msgspec alone"
    if part == "drivers":
        assert ours <= {"tape", "errors", "agents", "drivers", "tasks"}
        agents = {name for name in imported if name.startswith("onetape.agents")}
        assert all(name.startswith("onetape.agents.agent") for name in agents), "a driver knows what a launch is, and no agent"
    if part == "tasks":
        assert not ours
    if part in ("session", "sessions"):
        assert not ours & {"server", "cli", "client"}
    if part == "stores":
        assert ours <= {"schema", "tape", "errors", "summary", "projection", "ledger", "spacing", "stores", "tasks"}
    if part in ("server", "cli"):
        assert "drivers" not in ours


@pytest.mark.parametrize("agent", registry.names())
def test_agents_do_not_know_each_other(agent: str) -> None:
    for file in (ROOT / "agents" / agent).rglob("*.py"):
        others = {name.split(".")[2] for name in imports_of(file) if name.startswith("onetape.agents.")}
        assert others <= {agent, "agent"}, module_of(file)


@pytest.mark.parametrize("file", [file for file in FILES if "agents" in file.parts], ids=module_of)
def test_every_match_ends_with_a_default(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Match):
            last = node.cases[-1]
            assert isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None, f"line {node.lineno}"


def test_no_agent_is_named_outside_its_folder() -> None:
    """In code, that is: a comment may say which agent a rule was learnt from."""
    names = [name for name in registry.names() if name != "mock"]  # the built-in one may be started by name for demonstrations
    wanted = re.compile(rf"\b({'|'.join(names)})\b", re.IGNORECASE)
    for file in FILES:
        if file.is_relative_to(ROOT / "agents") and file.parent != ROOT / "agents":
            continue
        tree = ast.parse(file.read_text())
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
        for node in ast.walk(tree):
            match node:
                case ast.Constant(value=str(text)) if id(node) not in prose:
                    assert not wanted.search(text), f"{module_of(file)}:{node.lineno} says {text!r}"
                case ast.Name(id=text) | ast.Attribute(attr=text):
                    assert not wanted.fullmatch(text), f"{module_of(file)}:{node.lineno} names {text}"
                case _:
                    pass


def test_no_module_level_state_in_agents() -> None:
    for file in (ROOT / "agents").rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Set):
                pytest.fail(f"{module_of(file)}:{node.lineno} holds something that can change")


def test_one_place_starts_tasks() -> None:
    """Ruff bans `asyncio.create_task`; a loop's own method is the same thing by another name."""
    starters = {
        module_of(file)
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("create_task", "ensure_future")
    }
    assert starters == {"onetape.tasks"}


def test_drivers_import_no_http_client_until_one_is_needed() -> None:
    script = "import sys, onetape.drivers; print('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_core_imports_msgspec_alone() -> None:
    script = "import sys; before = set(sys.modules); import onetape; print(*{name.partition('.')[0] for name in {*sys.modules} - before})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # typing_extensions is msgspec's own.
    assert set(run.stdout.split()) - set(sys.stdlib_module_names) <= {"msgspec", "onetape", "typing_extensions"}
