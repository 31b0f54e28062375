"""OpenAI Codex."""

from onetape.agents.agent import Agent, Login, Mode
from onetape.agents.codex.exec_json import Exec
from onetape.agents.codex.launch import launch
from onetape.agents.codex.models import ModelList
from onetape.agents.codex.reader import Rollouts
from onetape.agents.codex.rollout import Rollout
from onetape.agents.codex.translator import AppServer

AGENT = Agent(
    name="codex",
    title="Codex",
    translators=(AppServer, Exec, Rollout),
    versions=("0.169.0",),
    package="@openai/codex",
    binary="codex",
    natives=("@openai/codex-*/vendor/*/bin/codex",),
    login=Login(
        variables=("OPENAI_API_KEY", "CODEX_API_KEY"),
        files=("${CODEX_HOME:-~/.codex}/auth.json", "${CODEX_HOME:-~/.codex}/config.toml#model_providers"),
        advice="run `{program} login`, or set OPENAI_API_KEY",
    ),
    models=ModelList,
    launch=launch,
    history=Rollouts(),
    modes={
        "default": Mode("Default", "Works on what it was asked for"),
        "plan": Mode("Plan", "Reads, asks back and proposes a plan; changes nothing"),
    },
)
