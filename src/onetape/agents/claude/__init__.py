"""Claude Code."""

from onetape.agents.agent import Agent, Login
from onetape.agents.claude.history import History
from onetape.agents.claude.launch import MODES, launch
from onetape.agents.claude.models import Initialize
from onetape.agents.claude.reader import Reader
from onetape.agents.claude.translator import StreamJson

AGENT = Agent(
    name="claude",
    title="Claude Code",
    translators=(StreamJson, History),
    versions=("2.1.326", "2.1.197"),
    package="@anthropic-ai/claude-code",
    binary="claude",
    natives=("@anthropic-ai/claude-code-*/claude",),
    login=Login(
        variables=(
            "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
        ),
        files=(
            "${CLAUDE_CONFIG_DIR:-~/.claude}/.credentials.json#claudeAiOauth",
            # macOS keeps the secret in its keychain; who logged in stands here.
            "${CLAUDE_CONFIG_DIR:-~}/.claude.json#oauthAccount", "${CLAUDE_CONFIG_DIR:-~}/.claude.json#primaryApiKey",
            "${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json#apiKeyHelper",
        ),
        advice="start `{program}` once and log in with /login, or set ANTHROPIC_API_KEY",
    ),
    models=Initialize,
    launch=launch,
    history=Reader(),
    modes=MODES,
)  # fmt: skip
