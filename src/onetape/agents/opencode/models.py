"""The models that OpenCode can use now: those of every provider that has a key, or that needs none."""

from typing import Any

from onetape.agents.agent import Model, Models

_PROVIDERS, _CONFIG = "/config/providers", "/config"


class Providers:
    def __init__(self) -> None:
        self._answers: dict[str, Any] = {}

    def open(self) -> list[Any]:
        return [{"method": "GET", "path": path, "body": None} for path in (_PROVIDERS, _CONFIG)]

    def feed(self, native: Any) -> list[Any] | Models:
        match native:
            case {"path": str(path), "response": {} as answer}:
                self._answers[path] = answer
            case _:
                pass  # its events are about something else
        if self._answers.keys() < {_PROVIDERS, _CONFIG}:
            return []
        return models_of(self._answers[_PROVIDERS], self._answers[_CONFIG])


def models_of(told: dict[str, Any], config: dict[str, Any]) -> Models:
    models = [
        Model(f"{provider['id']}/{id}", model.get("name"), list(model.get("variants") or ()) or None)
        for provider in told["providers"]
        for id, model in provider["models"].items()
    ]
    return Models(models, config.get("model") or _first(told))


def _first(told: dict[str, Any]) -> str | None:
    """The default of the first provider that has one. (OpenCode itself would take the model that was used last.)"""
    defaults = told.get("default") or {}
    return next((f"{provider['id']}/{defaults[provider['id']]}" for provider in told["providers"] if provider["id"] in defaults), None)
