"""What counts as a secret: one table. A rule is a name for the stub and a pattern; its group `s`, or else all of it, is the secret.

Rules look for what vendors mark as secret or what people name so, never for mere randomness: ids and hashes are the
substance of a transcript. The first rule that finds something names it.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

SHORTEST = 6
"""Fewer characters are no secret: whatever is found is taken out everywhere, and `test` would take half the words with it."""

_Q = r"(?:\\*[\"'])"
"""A quotation mark, also within quoted JSON."""
_NAME = r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|auth[_-]?key)(?!s)"
_LOUD = r"(?:PASSW(?:OR)?D|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|AUTH_?KEY)(?!S)"
"""What people call a secret; many of them are a count (`max_tokens`)."""
_WORD = r"[^\s\"'\\;&|()`]"
"""What a shell takes as part of a word."""
_END = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"


class Rule(Struct, frozen=True):
    name: str
    pattern: re.Pattern[str]


def _rule(name: str, pattern: str, flags: int = 0) -> Rule:
    return Rule(name, re.compile(pattern, flags))


RULES = (
    _rule("private-key", rf"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:{_END}|\Z)", re.DOTALL),
    _rule("aws-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _rule("aws-secret", rf"aws_?(?:secret)?_?(?:access)?_?key{_Q}?\s*[:=]\s*{_Q}?(?P<s>[A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+])", re.I),
    _rule("anthropic-key", r"\bsk-ant-[\w-]{16,}"),
    _rule("openrouter-key", r"\bsk-or-[\w-]{16,}"),
    _rule("openai-key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    _rule("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,})"),
    _rule("gitlab-token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,}"),
    _rule("slack-token", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[\w/+-]{20,})"),
    _rule("google-key", r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}"),
    _rule("stripe-key", r"\b(?:[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,})"),
    _rule("npm-token", r"\bnpm_[A-Za-z0-9]{36}"),
    _rule("pypi-token", r"\bpypi-[\w-]{40,}"),
    _rule("huggingface-token", r"\bhf_[A-Za-z0-9]{30,}"),
    _rule("groq-key", r"\bgsk_[A-Za-z0-9]{40,}"),
    _rule("xai-key", r"\bxai-[A-Za-z0-9]{60,}"),
    _rule("replicate-token", r"\br8_[A-Za-z0-9]{30,}"),
    _rule("sourcegraph-token", r"\bsg(?:am)?p_[\w-]{30,}"),
    _rule("sendgrid-key", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    _rule("digitalocean-token", r"\bdo[opr]_v1_[0-9a-f]{64}"),
    _rule("telegram-token", r"\b\d{8,10}:AA[\w-]{33}"),
    _rule("azure-key", r"AccountKey=(?P<s>[A-Za-z0-9+/]{40,}={0,2})"),
    _rule("jwt", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
    _rule("bearer-token", r"\bbearer\s+(?P<s>[\w.~+/-]{12,}=*)", re.I),
    _rule("authorization", rf"\bauthorization{_Q}?\s*[:=]\s*{_Q}?(?:basic|token|apikey|digest)\s+(?P<s>[\w.~+/-]{{8,}}=*)", re.I),
    _rule("cookie", rf"\b(?:set-)?cookie{_Q}?\s*:\s*{_Q}?(?P<s>[^\s=;:]+=[^\r\n\"'\\]{{8,}})", re.I),
    _rule("url-password", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'\\]*:(?P<s>[^\s/@\"'\\]{6,})@", re.I),
    # NAME="value" in any quotes, NAME=value of a shell or a .env file, --name value, and name: value if it looks like one.
    _rule("password", rf"(?:passw(?:or)?d|passphrase)\w*{_Q}?\s*[:=]\s*{_Q}(?P<s>[^\s\"'\\]{{6,}}){_Q}", re.I),
    _rule("secret", rf"{_NAME}[\w-]{{0,20}}{_Q}?\s*(?:=>|[:=])\s*{_Q}(?P<s>[^\s\"'\\]{{8,}}){_Q}", re.I),
    _rule("secret", rf"{_LOUD}[A-Z0-9_]{{0,20}}=(?P<s>{_WORD}{{6,}})"),
    _rule("secret", rf"--?[a-z-]{{0,20}}{_NAME}(?:=|\s+){_Q}?(?P<s>(?!-){_WORD}{{6,}})"),
    _rule("secret", rf"\b(?:pwd|{_NAME})\s?[:=]\s?(?P<s>(?=\S*\d)(?=\S*[A-Za-z])(?:(?![,<>{{}}\[\].]){_WORD}){{8,}})", re.I),
)  # fmt: skip

_HINT = re.compile(
    r"-----BEGIN|AKIA|A[SB]IA|ACCA|sk-|gh[pousr]_|github_pat|gl[a-z]{2,4}-|xox|xapp|hooks\.slack|AIza|ya29|GOCSPX|k_(?:live|test)_|whsec"
    r"|npm_|pypi-|hf_|gsk_|xai-|r8_|sgp_|sgamp_|SG\.|do[opr]_v1|:AA|AccountKey|eyJ|bearer|authorization|cookie|://|passw|passphrase|pwd|secret"
    r"|token|(?:api|access|private|auth|aws)[_-]?\w{0,10}key|credential",
    re.I,
)
"""One look that tells nearly all text from what needs a closer one."""

_FIELDS = re.compile(
    r"(?:[a-z0-9_]+_)?(?:secret|passw(?:or)?d|passphrase|api_?key|private_?key|access_?key|secret_?key|auth_?key|authorization|cookie)"
    r"|(?:[a-z0-9_]+_)?(?:access|refresh|id|auth|bearer|session|oauth|api|secret)_?token|[a-z0-9_]*_token|token"
)
"""Fields whose value is a secret, by their name in lower case with underscores."""

_PLACEHOLDER = re.compile(
    r"[$<{%*\[]|your|example|dummy|placeholder|change_?me|redacted|process\.env|os\.environ|env\.|getenv"
    r"|(?:none|null|true|false|undefined|string|number|boolean|object|password|secret|postgres|token)$|(.)\1+$",
    re.I,
)
"""What stands where a secret would."""


def found(text: str) -> Iterator[tuple[str, str]]:
    """The secrets in a text, each with its rule."""
    if len(text) < SHORTEST or not _HINT.search(text):
        return
    for rule in RULES:
        for match in rule.pattern.finditer(text):
            secret = match["s"] if "s" in rule.pattern.groupindex else match[0]
            if is_secret(secret):
                yield rule.name, secret


def is_secret(text: str) -> bool:
    return len(text) >= SHORTEST and _PLACEHOLDER.match(text) is None


def is_secret_field(name: str) -> bool:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-.\s]", "_", name).lower()
    return _FIELDS.fullmatch(plain) is not None
