"""Pi (pi.dev): its rpc and json wires, and its session files."""

from onetape.agents.agent import Agent, Login
from onetape.agents.pi.dialogs import MODES
from onetape.agents.pi.history import SessionFile
from onetape.agents.pi.launch import launch
from onetape.agents.pi.models import AvailableModels
from onetape.agents.pi.reader import SessionFiles
from onetape.agents.pi.translator import Json, Rpc

AGENT = Agent(
    name="pi",
    title="Pi",
    translators=(Rpc, Json, SessionFile),
    versions=("1.5.0", "0.87.1", "0.73.1"),
    package="@earendil-works/pi-coding-agent",
    install_version="0.87.1",  # packages that 1.x depends on are not in the registry
    binary="pi",
    node="22.19.0",
    login=Login(
        variables=(
            "ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY",
            "GROQ_API_KEY", "CEREBRAS_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "AI_GATEWAY_API_KEY", "ZAI_API_KEY", "OPENCODE_API_KEY",
        ),
        files=("${PI_CODING_AGENT_DIR:-~/.pi/agent}/auth.json", "${PI_CODING_AGENT_DIR:-~/.pi/agent}/models.json#providers"),
        advice="start `{program}` once and log in with /login, or set its provider's key, e.g. ANTHROPIC_API_KEY",
    ),
    models=AvailableModels,
    launch=launch,
    history=SessionFiles(),
    modes=MODES,
)  # fmt: skip
