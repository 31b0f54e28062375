"""Permissions and questions of OpenCode, both ways. It confirms every answer; the confirmation is the event."""

import re
from typing import Any

import msgspec

from onetape import drafts as d
from onetape.agents.opencode import patches
from onetape.agents.opencode.calls import Called
from onetape.agents.opencode.content import APPROVE, native_plan_answer, plan_answer, questions_of
from onetape.agents.opencode.conversation import Conversation
from onetape.agents.opencode.wire import PLAN_EXIT
from onetape.errors import Refused
from onetape.schema import PermissionStatus

_PLAN_FILE = re.compile(r"^Plan at (\S+) is complete")
VERDICTS: dict[str, PermissionStatus] = {"once": "accept", "always": "accept_for_session", "reject": "reject"}


class Asked:
    """The asks that may still be answered."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._permissions: dict[str, str | None] = {}
        """With the words that we sent along with a refusal."""
        self._questions: dict[str, tuple[int, bool]] = {}
        """How many are in the request, and whether it is a plan's."""

    def forget(self) -> None:
        self._permissions.clear()
        self._questions.clear()

    # --- permissions --------------------------------------------------------

    def permission(self, told: dict[str, Any], session: str) -> d.Ask:
        id, kind, shown = told["id"], told["permission"], told.get("metadata") or {}
        self._permissions[id] = None
        tool = told.get("tool") or {}
        called = self._talk.calls.find(tool.get("messageID"), tool.get("callID"))
        # A loop names the tool instead of the call (capture 38b).
        action = called.name if called else self._talk.calls.name(str(shown.get("tool") or kind), None)
        args = (called.input if called else None) or shown.get("input") or shown
        metadata = {
            "input": args, "permission": kind, "patterns": told.get("patterns"), "suggestions": told.get("always"),
            "diff": self._diff(shown, called),
        }  # fmt: skip
        call_id = called.call_id if called else tool.get("callID")
        return d.Ask(id, action, call_id, {name: value for name, value in metadata.items() if value is not None}, self._talk.under(session))

    def _diff(self, shown: dict[str, Any], called: Called | None) -> str | None:
        diff, path = shown.get("diff"), shown.get("filepath")
        if not isinstance(diff, str) or not isinstance(path, str):
            return None
        if called is not None:
            self._talk.calls.results.proposed(called.call_id, diff)
        files = [(path, diff)]
        if isinstance(several := shown.get("files"), list) and several:  # of apply_patch
            files = [(str(file.get("filePath")), str(file.get("patch"))) for file in several]
        args = (called.input if called else None) or {}
        lines = self._talk.calls.results.whole_lines
        # Who is asked sees a diff as OpenCode shows it, where there is none that `git apply` would take.
        told = [patches.restored(patch, file, lines(file, args)) or patches.stripped(patch, file) for file, patch in files]
        return "".join(diff for diff in told if diff) or None

    def sent(self, id: str, body: Any) -> None:
        if id in self._permissions and isinstance(body, dict) and isinstance(body.get("message"), str):
            self._permissions[id] = body["message"]

    def permission_replied(self, told: dict[str, Any]) -> d.Answer:
        id = told["requestID"]
        return d.Answer(id, VERDICTS[told["reply"]], self._permissions.pop(id, None))

    # --- questions ----------------------------------------------------------

    def question(self, told: dict[str, Any], session: str) -> d.Query:
        id, tool = told["id"], told.get("tool") or {}
        called = self._talk.calls.find(tool.get("messageID"), tool.get("callID"))
        is_plan = called is not None and called.tool == PLAN_EXIT
        questions = questions_of(told["questions"], is_plan=is_plan)
        if is_plan and (named := _PLAN_FILE.search(questions[0].prompt)) and (plan := self._talk.calls.results.plan(named[1])):
            questions[0] = msgspec.structs.replace(questions[0], prompt=plan)
        self._questions[id] = len(questions), is_plan
        return d.Query(id, questions, called.call_id if called else tool.get("callID"), self._talk.under(session))

    def question_replied(self, told: dict[str, Any]) -> d.Reply:
        id = told["requestID"]
        _, is_plan = self._questions.pop(id, (0, False))
        answers = [[plan_answer(label) if is_plan else label for label in labels] for labels in told.get("answers") or ()]
        return d.Reply(id, answers if any(answers) else None)

    def approves_plan(self, told: dict[str, Any]) -> bool:
        _, is_plan = self._questions.get(told["requestID"], (0, False))
        return is_plan and any(plan_answer(label) == APPROVE for labels in told.get("answers") or () for label in labels)

    # --- what a client answers ----------------------------------------------

    def open(self, id: str, kind: str) -> str:
        if id not in (self._permissions if kind == "permission" else self._questions):
            raise Refused(f"OpenCode has no open {kind} {id!r}")
        return id

    def native_answers(self, id: str, answers: list[list[str]]) -> list[list[str]]:
        count, is_plan = self._questions[self.open(id, "question")]
        if not any(answers):
            raise Refused(f"question {id} needs an answer; to decline it, reject it")
        if len(answers) > count:
            raise Refused(f"question {id} has {count} questions, and {len(answers)} answers were given")
        whole = answers + [[]] * (count - len(answers))
        return [[native_plan_answer(label) if is_plan else label for label in labels] for labels in whole]
