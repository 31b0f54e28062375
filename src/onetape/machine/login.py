"""Whether somebody has logged in to an agent, as far as files and variables show it. No secret is kept or told."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onetape.agents.agent import Agent

_DEFAULTED = re.compile(r"\$\{(\w+):-([^}]*)\}")


def credentials(agent: Agent, home: Path, env: Mapping[str, str]) -> bool:
    """True also where an agent needs none."""
    if agent.login is None:
        return True
    return any(env.get(name) for name in agent.login.variables) or any(_is_told(file, home, env) for file in agent.login.files)


def _is_told(file: str, home: Path, env: Mapping[str, str]) -> bool:
    name, _, key = file.partition("#")
    try:
        text = _path(name, home, env).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    try:
        told: Any = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except ValueError:
        # Not what its name says, or JSON with comments in it, which configuration files may have.
        return f'"{key}"' in text if key else False
    return bool(told.get(key) if key and isinstance(told, dict) else told)


def _path(name: str, home: Path, env: Mapping[str, str]) -> Path:
    name = _DEFAULTED.sub(lambda found: env.get(found[1]) or found[2], name)
    return home / name.removeprefix("~").removeprefix("/") if name.startswith("~") else Path(name)
