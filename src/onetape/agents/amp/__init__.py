"""Amp."""

from onetape.agents.agent import Agent, Login, Mode
from onetape.agents.amp.history import Thread
from onetape.agents.amp.launch import launch
from onetape.agents.amp.reader import Threads
from onetape.agents.amp.translator import StreamJson

AGENT = Agent(
    name="amp",
    title="Amp",
    translators=(StreamJson, Thread),
    versions=("0.0.1790142911-g7618fb", "0.0.1777897475-g2324e1", "0.0.1769425000-g1e5104"),
    package="@ampcode/cli",
    binary="amp",
    natives=("@ampcode/cli-*/amp",),
    wants_help=True,
    login=Login(
        variables=("AMP_API_KEY",),
        files=("${XDG_DATA_HOME:-~/.local/share}/amp/secrets.json",),
        advice="run `{program} login`, or set AMP_API_KEY",
    ),
    launch=launch,
    history=Threads(),
    # January's stream-json takes "smart" alone.
    modes={
        "medium": Mode("Medium", "September 2026 and later: between cost and strength"),
        "low": Mode("Low", "September 2026 and later: quick and cheap"),
        "high": Mode("High", "September 2026 and later: stronger and slower"),
        "ultra": Mode("Ultra", "September 2026 and later: the strongest"),
        "smart": Mode("Smart", "Until May 2026: the usual one"),
        "rush": Mode("Rush", "Until May 2026: quick and cheap, for small tasks"),
        "deep": Mode("Deep", "Until May 2026: thinks long before it acts"),
        "large": Mode("Large", "Until May 2026: with a large context"),
    },
)
