"""User messages that were sent to Pi and are yet to be echoed.

The echo is the event, but what was typed is its content: Pi echoes a prompt template (`/fix x`)
as the text that it stands for, and whatever an extension made of the words. A sent message is found
again by its text; else it is the one that Pi said to start a run with (1.x), else the oldest one
that begins with a slash.
"""

from typing import Any

from msgspec import Struct

from onetape.agents.pi.content import UserMessage, user_message
from onetape.drafts import Blob
from onetape.schema import Image


class Prompt(Struct):
    id: Any
    raw: str
    """As it was sent, with what we put in front of the words."""
    said: UserMessage
    is_accepted: bool = False
    """Pi took it without telling whether it starts a run (before 1.0)."""
    is_started: bool = False
    """Pi starts a run with it: the next message of the user's role is it, in whatever words."""

    @property
    def is_command(self) -> bool:
        return self.said.text.startswith("/")


class Prompts:
    def __init__(self) -> None:
        self._waiting: list[Prompt] = []

    def said(self, id: Any, text: str, images: list[Any], *, idle: bool) -> None:
        if idle:
            # Before 1.0 Pi did not tell that an extension handled a command: one that was accepted and started nothing was.
            self._waiting = [prompt for prompt in self._waiting if not (prompt.is_command and prompt.is_accepted)]
        content = [{"type": "text", "text": text}, *images]
        self._waiting.append(Prompt(id, text, user_message(content)))

    def typed(self, words: list[str], piped: str) -> None:
        """Prompts of a command line, one per word. Pi puts what it is piped in front of the first."""
        if piped:
            first, words = words[:1], words[1:]
            said = user_message("\n".join([*first, piped]))
            self._waiting.append(Prompt(None, "".join([piped, *first]), said))
        self._waiting += [Prompt(None, word, user_message(word)) for word in words]

    def accepted(self, id: Any) -> None:
        if (found := self._of(id)) is not None:
            found.is_accepted = True

    def started(self, id: Any) -> None:
        if (found := self._of(id)) is not None:
            found.is_started = True

    def take(self, id: Any) -> Prompt | None:
        """The message of this request, which will not be echoed."""
        found = self._of(id)
        if found is not None:
            self._waiting.remove(found)
        return found

    def _of(self, id: Any) -> Prompt | None:
        return None if id is None else next((prompt for prompt in self._waiting if prompt.id == id), None)

    def forget(self, texts: list[Any]) -> None:
        """The queue was emptied: these will not be echoed."""
        self._waiting = [prompt for prompt in self._waiting if prompt.raw not in texts]

    def clear(self) -> None:
        self._waiting.clear()

    def heard(self, content: Any) -> tuple[UserMessage, str]:
        """The message as it was sent, and the text that the agent made of it, if that is another."""
        echo = user_message(content)
        same = next((prompt for prompt in self._waiting if echo.text in (prompt.said.text, prompt.raw)), None)
        if same is not None:
            self._waiting.remove(same)
            return _with_files(echo, same.said), echo.added.removeprefix(same.said.added).strip()
        started = (prompt for prompt in self._waiting if prompt.is_started)
        rewritten = next(started, None) or next((prompt for prompt in self._waiting if prompt.is_command), None)
        if rewritten is None:
            return echo, echo.added
        self._waiting.remove(rewritten)
        return _with_files(echo, rewritten.said), echo.text


def _with_files(echo: UserMessage, said: UserMessage) -> UserMessage:
    """The words as they were typed. Pictures too: Pi makes large ones smaller; a command line names none."""
    images: list[Image] = said.images or echo.images
    kept: list[Blob] = said.kept or echo.kept
    return UserMessage(said.text, said.files or echo.files, images, kept, echo.added)
