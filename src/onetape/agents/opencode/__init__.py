"""OpenCode."""

from onetape.agents.agent import Agent, Login, Mode
from onetape.agents.opencode.history import Database, Export
from onetape.agents.opencode.launch import launch
from onetape.agents.opencode.models import Providers
from onetape.agents.opencode.reader import Reader
from onetape.agents.opencode.run import Run
from onetape.agents.opencode.serve import Serve

AGENT = Agent(
    name="opencode",
    title="OpenCode",
    translators=(Serve, Run, Database, Export),
    versions=("1.18.33",),
    package="opencode-ai",
    binary="opencode",
    # The ordinary one ends at once on a processor without AVX2; the other is for those.
    natives=("opencode-*[!e]/bin/opencode", "opencode-*-baseline/bin/opencode"),
    login=Login(
        variables=(
            "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY", "OPENCODE_AUTH_CONTENT",
        ),
        files=(
            "${XDG_DATA_HOME:-~/.local/share}/opencode/auth.json",
            "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json#provider",
            "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc#provider",
        ),
        advice="run `{program} auth login`; its free models work without",
    ),
    models=Providers,
    launch=launch,
    history=Reader(),
    modes={
        "build": Mode("Build", "Works on what it was asked for"),
        "plan": Mode("Plan", "Reads and plans; changes nothing but its plan"),
    },
    kinds={"task": "tool"},  # as the seed for this agent's digest has it
)  # fmt: skip
