"""Logs of the daemon: one line each, `key=value`, and never what people or agents said.

Code logs facts as `extra`: ids, counts, kinds. Of an exception the type and the place are told; its words, which may
quote anything, only at level debug.
"""

import json
import logging
import sys
import time
from traceback import extract_tb
from typing import Any

from onetape.server.asgi import App, Message, Receive, Scope, Send

LEVELS = ("debug", "info", "warning", "error")

_log = logging.getLogger(__name__)
_BUILT_IN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


def begin(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(is_wordy=level == "debug"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for theirs in ("uvicorn", "httpx", "httpcore", "asyncio"):
        logging.getLogger(theirs).setLevel(logging.WARNING)


class Lines(logging.Formatter):
    def __init__(self, *, is_wordy: bool) -> None:
        super().__init__()
        self._is_wordy = is_wordy

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        told: dict[str, Any] = {"time": f"{at}.{int(record.msecs):03d}Z", "level": record.levelname.lower(), "what": record.getMessage()}
        told |= {name: value for name, value in record.__dict__.items() if name not in _BUILT_IN}
        if record.exc_info and record.exc_info[1] is not None:
            told |= _exception(record.exc_info[1])
        line = " ".join(f"{name}={_value(value)}" for name, value in told.items())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info and self._is_wordy else line


def _exception(error: BaseException) -> dict[str, Any]:
    told = {"error": type(error).__name__}
    if frames := extract_tb(error.__traceback__):
        told["at"] = f"{frames[-1].filename}:{frames[-1].lineno}"
    return told


def _value(value: Any) -> str:
    text = str(value)
    return text if text and text.isprintable() and not set(text) & set(' "=') else json.dumps(text, ensure_ascii=False)


class Observed:
    """Logs each request once it is over: method, path without query, status, milliseconds. At level debug only."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _log.isEnabledFor(logging.DEBUG):
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            told = {"method": scope["method"], "path": scope["path"], "status": status, "ms": round((time.monotonic() - began) * 1000)}
            _log.debug("request", extra=told)
