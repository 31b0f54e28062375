"""What we say to Codex's app-server: requests, answers, and a user's message as its input."""

from typing import Any

from onetape import blobs
from onetape.commands import Attachment, SendMessage
from onetape.tape import Head

CLIENT = {"name": "onetape", "title": "Onetape", "version": "0.1.0"}

# Approval policy and sandbox for each of our permission modes. "untrusted" asks before every command and
# patch; config.toml and -c no longer take it in 0.169.0, only thread/start does.
POLICIES = {
    "default": ("untrusted", "workspace-write"),
    "plan": ("on-request", "read-only"),
    "acceptEdits": ("on-request", "workspace-write"),
    "bypass": ("never", "danger-full-access"),
}
_SANDBOXES: dict[str, dict[str, Any]] = {
    "read-only": {"type": "readOnly", "networkAccess": False},
    "workspace-write": {
        "type": "workspaceWrite", "writableRoots": [], "networkAccess": False, "excludeTmpdirEnvVar": False, "excludeSlashTmp": False,
    },
    "danger-full-access": {"type": "dangerFullAccess"},
}  # fmt: skip


def initialize() -> dict[str, Any]:
    # experimentalApi: collaboration modes, settings changes and questions are behind it (captures 10, 33).
    return {"clientInfo": CLIENT, "capabilities": {"experimentalApi": True, "requestAttestation": False}}


def thread(head: Head) -> tuple[str, dict[str, Any]]:
    """How the session's thread comes to be: method and parameters.

    Never with a cwd: the process has it already, and with one and a writable sandbox Codex would
    write the project's trust into the user's config.toml (tried with 0.169.0).
    """
    params: dict[str, Any] = {}
    if head.permission_mode in POLICIES:
        params["approvalPolicy"], params["sandbox"] = POLICIES[head.permission_mode]
    if head.model is not None:
        params["model"] = head.model
    if head.variant is not None:
        params["config"] = {"model_reasoning_effort": head.variant}
    if head.resume is not None:
        # Without excludeTurns the answer holds the whole history, and a deprecation notice comes with it.
        return "thread/resume", {"threadId": head.resume, "excludeTurns": True, **params}
    return "thread/start", params


def message(thread: str, command: SendMessage, id: str) -> dict[str, Any]:
    """The parameters that turn/start and turn/steer have in common."""
    text: list[dict[str, Any]] = [{"type": "text", "text": command.text, "text_elements": []}]
    files = [file for file in command.attachments if not _is_image(file)]
    params: dict[str, Any] = {
        "threadId": thread,
        "clientUserMessageId": id,
        "input": text + [_attached(file) for file in command.attachments],
    }
    if files:
        # A mention alone does not reach the model (capture 21): the context tells it where the file is.
        params["additionalContext"] = {
            f"attachment.{at}": {"kind": "application", "value": f"The user attached the file {file.path}"} for at, file in enumerate(files)
        }
    return params


def _attached(file: Attachment) -> dict[str, Any]:
    if _is_image(file):
        return {"type": "localImage", "path": file.path}
    return {"type": "mention", "name": file.filename or file.path.rpartition("/")[2], "path": file.path}


def _is_image(file: Attachment) -> bool:
    return blobs.is_image(file.mime or blobs.mime_of(file.filename or file.path))


def collaboration_of(mode: str) -> str:
    """Codex's collaboration mode in each of our permission modes: planning is one, all others are its default."""
    return "plan" if mode == "plan" else "default"


def collaboration(mode: str, model: str, effort: str | None) -> dict[str, Any]:
    return {"mode": mode, "settings": {"model": model, "reasoning_effort": effort, "developer_instructions": None}}


def policy(mode: str) -> dict[str, Any]:
    """A permission mode as settings of a running thread, where the sandbox is an object."""
    approval, sandbox = POLICIES[mode]
    return {"approvalPolicy": approval, "sandboxPolicy": _SANDBOXES[sandbox]}


def error(id: Any, why: str) -> dict[str, Any]:
    return {"id": id, "error": {"code": -32601, "message": why}}
