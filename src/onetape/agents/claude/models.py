"""The models that Claude Code offers and their efforts: it tells them when it is greeted, logged in or not."""

from typing import Any

from onetape.agents.agent import Model, Models
from onetape.agents.claude.encode import request


class Initialize:
    def open(self) -> list[Any]:
        return [request("models", "initialize")]

    def feed(self, native: Any) -> list[Any] | Models:
        match native:
            case {"type": "control_response", "response": {"response": {"models": [*models]}}}:
                return models_of(models)
            case _:
                return []


def models_of(told: list[dict[str, Any]]) -> Models:
    """`value` is what `--model` takes: an alias, or an id."""
    models = [Model(model["value"], model.get("displayName"), model.get("supportedEffortLevels") or None) for model in told]
    return Models(models, "default" if any(model.id == "default" for model in models) else None)
