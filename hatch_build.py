"""Puts the inspector's page into a wheel that is built from a checkout."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        builder = Path(self.root) / "inspector" / "build.py"
        # An editable install serves the working copy: `make page` builds it there.
        if version != "editable" and builder.exists():
            subprocess.run([sys.executable, builder], check=True)
