"""How a mock is started: this Python, this package. There is nothing to install and nothing to look up."""

import sys

from onetape.agents.agent import Launch, LaunchOptions


def launch(options: LaunchOptions) -> Launch:
    settings = {
        "session-id": None if options.resume else f"mock_{options.session_key}",
        "resume": options.resume,
        "model": options.model,
        "variant": options.variant,
        "mode": options.mode,
        "permission-mode": options.permission_mode,
    }
    return Launch(
        # -P: the working directory is the user's project, and a json.py in it must not become ours.
        argv=[
            sys.executable, "-P", "-m", "onetape.agents.mock",
            *(f"--{name}={value}" for name, value in settings.items() if value is not None),
            *(f"--mcp={server}" for server in options.mcp),
        ],
        cwd=options.cwd,
    )  # fmt: skip
