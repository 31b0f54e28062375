"""Model, effort, mode and approval policy of the session's thread: as announced, and as they change."""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.codex.content import told as known
from onetape.tape import Head


class Settings:
    def __init__(self) -> None:
        self.model: str | None = None
        self.effort: str | None = None
        self.mode = "default"
        self.policy: str | None = None

    def begin(self, told: dict[str, Any]) -> None:
        """A thread's announcement: the answer to thread/start, or the thread itself."""
        self.model = told.get("model") or self.model
        self.effort = told.get("reasoningEffort") or self.effort
        self.mode = (told.get("collaborationMode") or {}).get("mode") or self.mode
        self.policy = policy_of(told.get("approvalPolicy")) or self.policy

    def updated(self, told: dict[str, Any]) -> Iterator[d.Draft]:
        """thread/settings/updated, or the settings that a turn of the rollout began with: what changed."""
        effort = told.get("effort")
        if (told["model"], effort) != (self.model, self.effort):
            self.model, self.effort = told["model"], effort
            yield d.Note("model", self.model, known(model=self.model, variant=effort))
        mode = (told.get("collaborationMode") or {}).get("mode") or self.mode
        if mode != self.mode:
            self.mode = mode
            yield d.Note("mode", mode)
        policy = policy_of(told.get("approvalPolicy")) or self.policy
        if policy != self.policy:
            if self.policy is not None:
                yield d.Note("mode", f"approval policy: {policy}")
            self.policy = policy


def policy_of(policy: Any) -> str | None:
    """A word, or an object that grants piece by piece."""
    return policy if isinstance(policy, str) else "granular" if policy else None


def has_past(thread: dict[str, Any]) -> bool:
    """Whether it was talked to before: its answer does not say "resumed"."""
    return bool(thread.get("turns") or thread.get("preview"))


def started_as(thread: dict[str, Any], told: dict[str, Any], version: str | None, head: Head) -> dict[str, Any]:
    """The metadata of `session.started`, from a thread and the answer that it came in."""
    sandbox, forked = told.get("sandbox"), thread.get("forkedFromId")
    return known(
        agent_version=version or thread.get("cliVersion"),
        model=told.get("model") or thread.get("model"),
        cwd=told.get("cwd") or thread.get("cwd"),
        mode=(told.get("collaborationMode") or {}).get("mode"),
        # A live session's head knows which of our modes the policy stands for.
        permission_mode=head.permission_mode or policy_of(told.get("approvalPolicy")),
        sandbox=sandbox.get("type") if isinstance(sandbox, dict) else None,
        variant=told.get("reasoningEffort") or thread.get("reasoningEffort"),
        forked_from=forked,
        resumed_from=head.resumed_from or (thread["id"] if has_past(thread) and not forked else None),
    )
