"""Where Onetape keeps its things: one directory per user, which nobody else can look into."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

from onetape.errors import Refused

VARIABLE = "ONETAPE_DATA_DIR"


def data_dir(env: Mapping[str, str] = os.environ) -> Path:
    """The user's data directory, made where it is missing."""
    told = env.get(VARIABLE)
    return private(Path(told).expanduser().absolute() if told else user_data_path("onetape", appauthor=False))


def private(path: Path) -> Path:
    """A directory for its owner alone, made where it is missing.

    One that is there already keeps its mode: the user may have named a directory that is not ours alone,
    and everything that we make in it is private by itself.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"cannot make the directory {path}: {error.strerror or error}; set {VARIABLE} to another place") from None
    return path
