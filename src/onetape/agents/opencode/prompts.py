"""Prompts as they were sent over HTTP: whose they are, what they said, and those that the server refused."""

from typing import Any

_PROMPTS = ("message", "prompt_async", "command")


def is_prompt(path: str) -> bool:
    """`/session/{id}/prompt_async` and its like."""
    match path.split("/"):
        case ["", "session", _, str(what)]:
            return what in _PROMPTS
        case _:
            return False


def session_in(path: str) -> str:
    return path.split("/")[2]


def answered(native: dict[str, Any]) -> Any:
    """What the server answered, where it did and did not refuse."""
    status = native.get("status")
    return native.get("response") if isinstance(status, int) and status < 400 else None


def text_of(parts: Any) -> str:
    """The words of a prompt, as sent or as echoed."""
    if not isinstance(parts, list):
        return ""
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text" and not part.get("synthetic"))


class Refusals:
    """Prompts that the server failed on, which it may all the same have taken up and will then echo."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Any]] = []

    def add(self, text: str, error: Any) -> None:
        self._waiting.append((text, error if error is not None else {}))

    def take(self, text: str) -> Any | None:
        for at, (refused, error) in enumerate(self._waiting):
            if refused == text:
                del self._waiting[at]
                return error
        return None

    def take_first(self) -> bool:
        """Whether there was one."""
        return bool(self._waiting) and self._waiting.pop(0) is not None

    def take_all(self) -> list[Any]:
        taken = [error for _, error in self._waiting]
        self._waiting.clear()
        return taken
