"""Codex's history on disk: the lines of `CODEX_HOME/sessions/**/rollout-*.jsonl`, three grammars of them.

- *paginated* (0.169.0, `history_mode` in the first line): each finished item is told as
  app-server tells it (`item_completed`); the model's own items stand beside it.
- *events* (September 2025 on): messages are events (`user_message`, `agent_message`, …),
  tools are the model's own items, some with an event that tells more.
- *bare* (before): the model's own items, without an envelope, turns or times.

The model's items (`response_item`) are read for calls alone, also those that the wire
never shows (refused by the sandbox, unknown, a patch that does not fit); everywhere
but in bare files messages are told better beside them. A fork of old repeats its
parent's lines first: they make no events, and their usage is the parent's.
"""

from collections.abc import Iterator
from typing import Any

from onetape import drafts as d
from onetape.agents.codex.calls import Calls
from onetape.agents.codex.content import told, user_parts
from onetape.agents.codex.failures import code_of, details_of
from onetape.agents.codex.inheritance import Inheritance
from onetape.agents.codex.items import Items, Place
from onetape.agents.codex.legacy import item_of
from onetape.agents.codex.notices import Notices, steps
from onetape.agents.codex.settings import Settings, policy_of
from onetape.agents.codex.spelling import camelled, failure, path_of, respelt
from onetape.agents.codex.tools import TOOLS
from onetape.agents.codex.usage import Meter
from onetape.errors import Unparsed
from onetape.schema import Text, TurnStatus
from onetape.tape import Head
from onetape.translator import Outputs, Translator

# What the agent itself puts before and between a user's words.
_CONTEXT = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<subagent_notification>", "<skill>",
)  # fmt: skip

LINES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record", "world_state", "retained_context",
    "inter_agent_communication", "inter_agent_communication_metadata", "dynamic_tools_updated", "security_risk_score", "realtime_item",
})  # fmt: skip

# Beginnings, pieces and requests of what another event tells whole; and what says nothing about the session.
SILENT = frozenset({
    "thread_settings_applied", "session_configured", "raw_response_item", "raw_response_completed", "item_started", "turn_diff",
    "agent_message_content_delta", "agent_message_delta", "plan_delta", "reasoning_content_delta", "reasoning_raw_content_delta",
    "agent_reasoning_delta", "agent_reasoning_raw_content_delta", "agent_reasoning_section_break", "exec_command_begin",
    "exec_command_output_delta", "terminal_interaction", "mcp_tool_call_begin", "web_search_begin", "image_generation_begin",
    "patch_apply_begin", "patch_apply_updated", "collab_agent_spawn_begin", "collab_agent_interaction_begin", "collab_waiting_begin",
    "collab_close_begin", "collab_resume_begin", "dynamic_tool_call_request", "exec_approval_request", "apply_patch_approval_request",
    "request_user_input", "request_permissions", "elicitation_request", "elicitation_abandoned", "guardian_assessment",
    "hook_started", "hook_completed", "mcp_startup_update", "mcp_startup_complete", "turn_moderation_metadata", "safety_buffering",
    "model_verification", "environment_connected", "environment_disconnected", "thread_queue_changed", "shutdown_complete",
    "realtime_conversation_started", "realtime_conversation_realtime", "realtime_conversation_closed", "realtime_conversation_sdp",
    "realtime_conversation_list_voices_response", "auth_recovery_started", "auth_recovery_completed", "background_event",
    "thread_name_updated", "skills_update_available", "undo_started", "undo_completed",
})  # fmt: skip
# What comes from the model, beside its messages.
_ANSWERS = frozenset({
    "reasoning", "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call", "image_generation_call",
})  # fmt: skip
_ABORTED: dict[str, TurnStatus] = {"review_ended": "completed"}


class Rollout(Translator):
    title = "Codex"
    dialect = "rollout"
    is_history = True

    def __init__(self, head: Head) -> None:
        super().__init__(head)
        self._items = Items()
        self._calls = Calls(self._items)
        self._meter = Meter()
        self._notices = Notices()
        self._settings = Settings()
        self._past = Inheritance()
        self._thread = ""
        self._turn: str | None = None
        self._tells_turns = False
        self._is_bare = False
        self._is_paginated = False
        self._summary: str | None = None
        self._goes_on = False
        """It begins where another file ends: that of a fork's parent, or this thread's own before it was reverted."""
        self._has_answered = False
        """The model said something in this file. A total told before that is the other file's."""
        self._count = 0

    @classmethod
    def recognises(cls, native: Any, *, sent: bool) -> bool:
        match native:
            case {"timestamp": str(), "type": str(kind), "payload": dict()}:
                return kind in LINES
            case {"id": str(), "timestamp": str(), "instructions": _}:
                return True
            case _:
                return False

    # --- lines --------------------------------------------------------------

    def _read(self, native: dict[str, Any]) -> Outputs:
        self._count += 1
        match native:
            case {"type": "session_meta", "payload": {"id": str()} as meta}:
                yield from self._met(meta)
            case {"type": str(kind), "payload": dict(payload)} if kind in LINES:
                if not self._past.covers(native):
                    yield from self._line(kind, payload)
                elif kind == "event_msg" and (info := payload.get("info")):
                    self._meter.baseline(self._thread, info["total_token_usage"])
            case {"type": str(kind)} if kind in LINES:
                raise Unparsed(f"{kind} without the fields it must have")
            case {"id": str(), "timestamp": str()} if "type" not in native:
                self._is_bare = True
                yield from self._met(native)
            case {"record_type": str()}:
                pass  # "state", between the lines of bare files
            case {"type": str()} if self._is_bare:
                yield from self._bare(native)
            case _:
                yield d.Unknown(native)

    def _met(self, meta: dict[str, Any]) -> Iterator[d.Draft]:
        if self._thread:
            self._past.begin(meta, self._thread)  # a fork's parent; or the same thread, taken up again
            return
        self._thread = meta["id"]
        self._is_paginated = meta.get("history_mode") == "paginated"
        self._past.own(meta)
        self._goes_on = meta.get("history_base") is not None
        if not self._goes_on and meta.get("forked_from_id") is None:
            self._meter.born(self._thread)
        self._settings.model = (_model(meta) or self.head.model) or None
        yield d.NativeSession(self._thread)
        yield d.Announce(told(
            agent_version=meta.get("cli_version"), cwd=path_of(meta["cwd"]) if isinstance(meta.get("cwd"), str) else None,
            model=self._settings.model, forked_from=meta.get("forked_from_id"),
            parent_thread_id=meta.get("parent_thread_id"),
        ))  # fmt: skip

    def _line(self, kind: str, payload: dict[str, Any]) -> Iterator[d.Draft]:
        match kind:
            case "event_msg":
                yield from self._event(payload)
            case "response_item":
                yield from self._response(payload)
            case "turn_context":
                yield from self._context(payload)
            case "compacted":
                self._summary = payload.get("message") or None
                if not self._is_paginated:  # else the item that follows tells it, with its id
                    yield from self._compacted()
            case _:
                pass  # the agent's own bookkeeping: usage is in token_count too

    def _place(self) -> Place:
        return Place(self._thread, self._turn or "")

    # --- events -------------------------------------------------------------

    def _event(self, event: dict[str, Any]) -> Iterator[d.Draft]:
        match event:
            case {"type": "item_completed", "item": {"type": str(), "id": str()} as item}:
                # A command may end after its turn (capture 04e): the item says whose it is.
                yield from self._item(respelt(item), Place(self._thread, event.get("turn_id") or self._turn or ""))
            case {"type": "task_started" | "turn_started"}:
                yield from self._end_turn("interrupted")  # one that was killed has no end of its own (capture 22)
                self._tells_turns = True
                self._turn = event.get("turn_id") or f"turn {self._count}"
                yield d.BeginTurn(event.get("turn_id"))
            case {"type": "task_complete" | "turn_complete"}:
                error = failure(event.get("error") or {})
                yield from self._end_turn("failed" if error else "completed", error)
            case {"type": "turn_aborted"}:
                yield from self._end_turn(_ABORTED.get(str(event.get("reason")), "interrupted"))
            case {"type": "user_message", "message": str()}:
                yield from self._user(event)
            case {"type": "agent_message", "message": str(text)}:
                yield from self._items.completed({"type": "agentMessage", "id": self._id(), "text": text}, self._place())
            case {"type": "agent_reasoning", "text": str(text)}:
                yield from self._items.completed({"type": "reasoning", "id": self._id(), "summary": [text]}, self._place())
            case {"type": "agent_reasoning_raw_content", "text": str(text)}:
                yield from self._items.completed({"type": "reasoning", "id": self._id(), "summary": [], "content": [text]}, self._place())
            case {"type": "token_count"}:
                yield from self._counted(event)
            case {"type": "context_compacted"}:
                if self._summary is None:  # else its `compacted` line has told it
                    yield from self._compacted()
                self._summary = None
            case {"type": str(kind)} if kind in SILENT:
                pass
            case {"type": str()} if (item := item_of(event)) is not None:
                yield from self._item(item, self._place())
            case _:
                yield from self._noticed(event)

    def _noticed(self, event: dict[str, Any]) -> Iterator[d.Draft]:
        match event:
            case {"type": "error", "message": str(message)}:
                error = failure(event)
                yield d.Failure(message, code_of(error), details_of(error))
            case {"type": "stream_error", "message": str(message)}:
                yield d.Note("retry", message)
            case {"type": "warning" | "guardian_warning", "message": str(message)}:
                yield d.Note("notice", message)
            case {"type": "deprecation_notice", "summary": str(summary)}:
                yield d.Note("notice", summary)
            case {"type": "plan_update", "plan": [*plan]}:
                yield d.Note("plan", event.get("explanation"), steps(plan))
            case {"type": "thread_goal_updated", "goal": {"objective": objective, "status": status} as goal}:
                yield d.Note("notice", f"goal, {status}: {objective}", goal)
            case {"type": "thread_rolled_back"}:
                yield d.Note("notice", f"the last {event.get('num_turns', 1)} turns were taken back")
            case {"type": "entered_review_mode"}:
                yield d.Note("mode", f"review: {event.get('user_facing_hint') or event.get('prompt') or ''}")
            case {"type": "exited_review_mode"}:
                yield d.Note("mode", "review is over")
            case {"type": "model_reroute", "to_model": str(model)}:
                self._settings.model = model
                yield d.Note("model", model, {"from": event.get("from_model"), "reason": event.get("reason")})
            case _:
                yield d.Unknown({"type": "event_msg", "payload": event})

    def _id(self) -> str:
        """Messages of the older grammar have none: their place in the file."""
        return f"line {self._count}"

    def _item(self, item: dict[str, Any], place: Place) -> Iterator[d.Draft]:
        if item["type"] == "contextCompaction":
            item, self._summary = {**item, "summary": summary_of(self._summary)}, None
        if item["type"] in TOOLS:  # an asynchronous question has the id of its call, and is a message (capture 10d)
            self._calls.settled(item["id"])
        yield from self._items.completed(item, place)

    def _compacted(self) -> Iterator[d.Draft]:
        yield d.Note("compaction", summary_of(self._summary))

    def _counted(self, event: dict[str, Any]) -> Iterator[d.Draft]:
        if info := event.get("info"):
            is_ours = self._has_answered or not self._goes_on
            self._meter.told(self._thread, info["total_token_usage"], info["last_token_usage"], in_turn=is_ours)
        if limits := event.get("rate_limits"):
            yield from self._notices.limits(camelled(limits))

    # --- turns --------------------------------------------------------------

    def _context(self, context: dict[str, Any]) -> Iterator[d.Draft]:
        if not self._tells_turns:
            yield from self._end_turn("completed")  # it opens each turn of files that tell turns in no other way
        collaboration = context.get("collaboration_mode")
        now = {
            "model": context.get("model"), "effort": context.get("effort"), "collaborationMode": collaboration,
            "approvalPolicy": context.get("approval_policy"),
        }  # fmt: skip
        if self._settings.model is None or self._settings.policy is None:
            # The first one completes what the first line left open: no change.
            self._settings.model, self._settings.effort = now["model"], now["effort"]
            self._settings.policy = policy_of(now["approvalPolicy"])
        yield from self._settings.updated(now)

    def _end_turn(self, status: TurnStatus, error: dict[str, Any] | None = None) -> Iterator[d.Draft]:
        if self._turn is None:
            return
        self._turn = None
        self._summary = None
        yield from self._calls.unfinished()
        error = error or {}
        yield d.EndTurn(status, self._meter.take(self._settings.model), error.get("message"), code_of(error), details_of(error))

    def _begin_implied(self) -> Iterator[d.Draft]:
        """Where no line tells a turn's start, the user's message is it."""
        if not self._tells_turns:
            yield from self._end_turn("completed")
            self._turn = f"turn {self._count}"

    # --- messages of the older grammars -------------------------------------

    def _user(self, event: dict[str, Any]) -> Iterator[d.Draft]:
        if event.get("kind") in ("environment_context", "user_instructions"):
            return
        images = [{"type": "image", "url": url} for url in event.get("images") or ()]
        images += [{"type": "localImage", "path": path} for path in event.get("local_images") or ()]
        yield from self._begin_implied()
        parts, kept = user_parts([{"type": "text", "text": event["message"]}, *images])
        yield from kept
        yield d.UserMessage(parts)

    def _response(self, item: dict[str, Any]) -> Iterator[d.Draft]:
        self._has_answered = self._has_answered or item.get("type") in _ANSWERS or item.get("role") == "assistant"
        match item:
            case {"type": "message" | "agent_message" | "additional_tools" | "configuration_update" | "compaction_trigger" | "other"}:
                pass  # told beside it, or context for the model alone
            case {"type": "reasoning"}:
                # Thought in secret: no event of the older grammar tells that.
                if not self._is_paginated and not item.get("summary") and not item.get("content"):
                    secret: dict[str, Any] = {"type": "reasoning", "id": item.get("id") or self._id(), "summary": []}
                    yield from self._items.completed(secret, self._place())
            case {"type": "compaction" | "context_compaction" | "ghost_snapshot"}:
                pass  # encrypted, and told by its line and its item
            case {"type": str()}:
                yield from self._calls.read(item, self._place(), is_paginated=self._is_paginated)
            case _:
                raise Unparsed("a response_item without a type")

    def _bare(self, item: dict[str, Any]) -> Iterator[d.Draft]:
        match item:
            case {"type": "message", "role": "user", "content": [*content]}:
                parts, kept = user_parts(content)
                if any(isinstance(part, Text) and part.text.startswith(_CONTEXT) for part in parts):
                    yield d.System(parts, item.get("id"))
                    return
                yield from self._begin_implied()
                yield from kept
                yield d.UserMessage(parts, item.get("id"))
            case {"type": "message", "role": "assistant", "content": [*content]}:
                text = "".join(part["text"] for part in content if part.get("type") == "output_text")
                yield from self._items.completed({"type": "agentMessage", "id": item.get("id") or self._id(), "text": text}, self._place())
            case {"type": "reasoning", "summary": [*summary]}:
                texts = [part["text"] for part in summary]
                raw = [part["text"] for part in item.get("content") or ()]
                thought = {"type": "reasoning", "id": item.get("id") or self._id(), "summary": texts, "content": raw}
                yield from self._items.completed(thought, self._place())
            case {"type": "message"}:
                pass  # developer and system: for the model alone
            case _:
                yield from self._response(item)


def _model(meta: dict[str, Any]) -> str | None:
    """The model that the base instructions were written for: the first line's only word on it."""
    match meta.get("base_instructions"):
        case {"provenance": {"model": str(model)}}:
            return model
        case _:
            return None


def summary_of(message: str | None) -> str | None:
    """The summary without the sentence that hands it to the next model."""
    if message is None:
        return None
    head, found, summary = message.partition("to assist with your own analysis:\n")
    return summary if found else head
