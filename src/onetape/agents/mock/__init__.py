"""The built-in agent without a model: it shows everything that a transcript can hold, the same every time."""

from onetape.agents.agent import Agent, Mode, Model, Models
from onetape.agents.mock.launch import launch
from onetape.agents.mock.translator import MockTranslator
from onetape.agents.mock.wire import VERSION

AGENT = Agent(
    name="mock",
    title="Mock",
    translators=(MockTranslator,),
    demonstration="demo",
    versions=(VERSION,),
    models=Models([Model("mock-1", "Mock", ["low", "high"])], "mock-1"),
    launch=launch,
    modes={"build": Mode("Build", "Shows what it was asked for"), "plan": Mode("Plan", "The same, in another mode")},
)
