"""The models that Codex offers and their efforts, out of the answer to `model/list`.

The list is bundled with the program, works offline, and knows nothing of a custom provider.
"""

from typing import Any

from onetape.agents.agent import Model, Models
from onetape.agents.codex.encode import initialize

_GREETING, _LIST = 1, 2


class ModelList:
    def open(self) -> list[Any]:
        return [{"id": _GREETING, "method": "initialize", "params": initialize()}]

    def feed(self, native: Any) -> list[Any] | Models:
        match native:
            case {"id": 1, "result": _}:
                return [{"method": "initialized"}, {"id": _LIST, "method": "model/list", "params": {}}]
            case {"id": 2, "result": {"data": [*_]} as result}:
                return models_of(result)
            case _:
                return []


def models_of(result: dict[str, Any]) -> Models:
    shown = [model for model in result["data"] if not model.get("hidden")]
    return Models(
        [
            Model(
                model["model"],
                model.get("displayName") or model["model"],
                [effort["reasoningEffort"] for effort in model.get("supportedReasoningEfforts") or ()],
                model.get("defaultReasoningEffort"),
            )
            for model in shown
        ],
        next((model["model"] for model in shown if model.get("isDefault")), None),
    )
