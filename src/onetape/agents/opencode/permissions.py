"""Our permission modes in OpenCode's rules: the last rule that matches holds, and its own default is to allow next to everything.

They are said twice. A session's rules stand after all others, but 1.18.33 gives them to no
subagent, and a session that is resumed was made with rules of its own or none; so the
process gets them too, as settings above the user's own. Other directories, `.env` files
and loops are asked for by default, which these leave as it is.
"""

import re
from collections.abc import Iterable
from typing import Any

from onetape.errors import Refused
from onetape.tape import Head

_EDIT = "edit"
_ASKED = ("bash", "webfetch", "websearch")
# What the agent `plan` is allowed to write; after these, edits of others are not its own to allow. Plans lie in `.opencode` of
# the repository, and where there is none in OpenCode's own data, told from the root of the file system (1.18.33).
_PLANS = {"*": "deny", "*opencode/plans/*.md": "allow"}


def rules(permission_mode: str | None) -> list[dict[str, str]]:
    """Of a session. When a plan is approved the same session goes on to build: that edits are denied is a rule of the agent `plan`."""
    match permission_mode:
        case "bypass":
            return [_rule("*", "allow")]
        case "acceptEdits":
            return [_rule(_EDIT, "allow"), *(_rule(name, "ask") for name in _ASKED)]
        case "plan":
            return [_rule(name, "ask") for name in _ASKED]
        case _:
            return [_rule(name, "ask") for name in (_EDIT, *_ASKED)]


def settings(permission_mode: str | None, servers: Iterable[str]) -> dict[str, Any]:
    """Of a process; the tools of the session's own MCP servers are asked for as well."""
    if permission_mode == "bypass":
        return {"permission": {"*": "allow"}}
    asked = dict.fromkeys((*_ASKED, *(f"{spelled(server)}_*" for server in servers)), "ask")
    edit = "allow" if permission_mode == "acceptEdits" else "ask"
    told: dict[str, Any] = {"permission": {_EDIT: edit, **asked}}
    if permission_mode == "plan":
        told["agent"] = {"plan": {"permission": {_EDIT: _PLANS}}}
    return told


def agent_of(mode: str, head: Head) -> str | None:
    """The agent that a mode means, of those that there are; None: the usual one.

    Of our permission modes only the one that the process was started with: its settings cannot be changed while it runs,
    and OpenCode would look for an agent of that name."""
    if mode not in ("default", "acceptEdits", "bypass"):
        return mode
    if mode != ("default" if head.permission_mode in (None, "plan") else head.permission_mode):
        raise Refused(f"OpenCode's permissions are settled when it starts: end the session, and resume it in permission mode {mode}")
    return None if head.mode == "plan" else head.mode


def _rule(permission: str, action: str) -> dict[str, str]:
    return {"permission": permission, "pattern": "*", "action": action}


def spelled(server: str) -> str:
    """As OpenCode spells it in the names of its tools."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", server)
