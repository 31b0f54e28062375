"""The models that Pi can use now, those of providers with a key, and their thinking levels."""

from typing import Any

from onetape.agents.agent import Model, Models
from onetape.agents.pi.encode import request

# The last two exist only where a model names them (getSupportedThinkingLevels in pi-ai 0.87.1).
_LEVELS, _NAMED_LEVELS = ("off", "minimal", "low", "medium", "high"), ("xhigh", "max")


class AvailableModels:
    def __init__(self) -> None:
        self._answers: dict[str, Any] = {}

    def open(self) -> list[Any]:
        return [request("models", "get_available_models"), request("state", "get_state")]

    def feed(self, native: Any) -> list[Any] | Models:
        match native:
            case {"type": "response", "id": str(id), "data": {} as data}:
                self._answers[id] = data
            case _:
                pass  # extensions say this and that when they are loaded
        if self._answers.keys() < {"models", "state"}:
            return []
        return models_of(self._answers["models"]["models"], self._answers["state"])


def models_of(told: list[dict[str, Any]], state: dict[str, Any]) -> Models:
    now = _id(state.get("model") or {})
    models = [
        Model(_id(model), model.get("name"), _levels(model), state.get("thinkingLevel") if _id(model) == now else None) for model in told
    ]
    return Models(models, now if any(model.id == now for model in models) else None)


def _id(model: dict[str, Any]) -> str:
    return f"{model.get('provider')}/{model.get('id')}"


def _levels(model: dict[str, Any]) -> list[str] | None:
    if not model.get("reasoning"):
        return None
    named = model.get("thinkingLevelMap") or {}
    common = [level for level in _LEVELS if named.get(level, "") is not None]
    return common + [level for level in _NAMED_LEVELS if named.get(level) is not None]
