"""A model on loopback that says what a test wants, in the three APIs that agents call; and as much of Amp's server as Amp needs.

A script is a list of replies, taken one per request; a reply is a list of blocks: words, a `Call`, or `SILENCE`, which
keeps the stream open until the model is closed. Requests without tools are an agent's own errands (a title, a summary)
and take nothing from the script.
"""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool call; `given` is text for a tool that takes no JSON."""

    tool: str
    given: dict[str, Any] | str


SILENCE = object()
Event = dict[str, Any]
USER = {"id": "user_1", "email": "dev@example.invalid", "username": "dev", "features": [], "team": None, "siteAdmin": False}


class Model:
    """Serves until it is left. `requests` has the bodies of all requests that took a reply."""

    def __init__(self, *replies: list[Any]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.threads: dict[str, Any] = {}
        self.is_silent = threading.Event()
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._calls = 0
        self._server = _Server(("127.0.0.1", 0), type("Bound", (_Handler,), {"model": self}))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Model":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: dict[str, Any]) -> list[tuple[str, Any]]:
        """The next reply, each call with an id."""
        with self._lock:
            if not request.get("tools") or _is_errand(request):
                return [("", "ok")]
            self.requests.append(request)
            blocks = self.replies.pop(0) if self.replies else ["(the script is over)"]
            return [(self._id(block), block) for block in blocks]

    def _id(self, block: Any) -> str:
        self._calls += isinstance(block, Call)
        return f"toolu_{self._calls}"


def _is_errand(request: dict[str, Any]) -> bool:
    return [tool.get("name") for tool in request["tools"]] == ["set_title"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # an agent that was stopped hangs up
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._json([] if self.path == "/api/threads" else {"data": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        told = json.loads(body) if body[:1] in (b"{", b"[") else {}
        path = self.path.partition("?")[0]
        for api, speak in _APIS.items():
            if path.endswith(api):
                return self._stream(speak(self.model.reply(told)))
        if path == "/api/internal":
            return self._json(self._internal(told.get("method"), told.get("params") or {}))
        versions = told.get("threadVersions", ()) if isinstance(told, dict) else ()
        return self._json({"threadActions": [{"id": version["id"], "action": "upload"} for version in versions]})

    def _internal(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        result: Any = {}
        match method:
            case "getUserInfo":
                result = USER
            case "uploadThread":
                self.model.threads[params["thread"]["id"]] = params["thread"]
            case "getThread" if params["thread"] not in self.model.threads:
                return {"ok": False, "error": {"code": "thread-not-found", "message": "no such thread"}}
            case "getThread":
                result = {"thread": {"data": self.model.threads[params["thread"]]}}
            case "getThreadLinkInfo":
                result = {"creatorUserID": USER["id"]}
            case "loadPlugins" | "loadSkills":
                result = []
            case _:
                pass
        return {"ok": True, "result": result}

    def _json(self, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: Iterator[Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for event in events:
                if event is SILENCE:
                    self.model.is_silent.set()
                    self.model.over.wait()
                    return
                kind = f"event: {event['type']}\n" if "type" in event else ""
                self.wfile.write(f"{kind}data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
        except OSError:
            pass  # the agent hung up: it was interrupted


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _responses(blocks: list[tuple[str, Any]]) -> Iterator[Any]:
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    for at, (id, block) in enumerate(blocks):
        match block:
            case str():
                item = {"type": "message", "role": "assistant", "id": f"msg_{id}_{at}", "status": "completed"}
                yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "content": []}}
                for words in _halves(block):
                    yield {"type": "response.output_text.delta", "item_id": item["id"], "output_index": at, "delta": words}
                done = {**item, "content": [{"type": "output_text", "text": block, "annotations": []}]}
                yield {"type": "response.output_item.done", "output_index": at, "item": done}
            case Call(tool, str(text)):
                call = {"type": "custom_tool_call", "id": f"ctc_{id}", "call_id": id, "name": tool, "input": text, "status": "completed"}
                yield {"type": "response.output_item.done", "output_index": at, "item": call}
            case Call(tool, given):
                call = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": tool, "arguments": json.dumps(given)}
                yield {"type": "response.output_item.done", "output_index": at, "item": call}
            case _:
                yield SILENCE
    usage = {"input_tokens": 1200, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 42,
             "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": 1242}  # fmt: skip
    yield {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}


def _messages(blocks: list[tuple[str, Any]]) -> Iterator[Any]:
    usage = {"input_tokens": 120, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 900, "output_tokens": 42}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}}
    for at, (id, block) in enumerate(blocks):
        match block:
            case str():
                yield {"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}}
                for words in _halves(block):
                    yield {"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": words}}
            case Call(tool, given):
                called = {"type": "tool_use", "id": id, "name": tool, "input": {}}
                yield {"type": "content_block_start", "index": at, "content_block": called}
                given = json.dumps(given)
                yield {"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": given}}
            case _:
                yield SILENCE
        yield {"type": "content_block_stop", "index": at}
    stop = "tool_use" if any(isinstance(block, Call) for _, block in blocks) else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _completions(blocks: list[tuple[str, Any]]) -> Iterator[Any]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": choices}

    calls = 0
    for id, block in blocks:
        match block:
            case str():
                yield from (chunk({"content": words}) for words in _halves(block))
            case Call(tool, given):
                function = {"name": tool, "arguments": json.dumps(given)}
                yield chunk({"tool_calls": [{"index": calls, "id": id, "type": "function", "function": function}]})
                calls += 1
            case _:
                yield SILENCE
    usage = {"prompt_tokens": 1200, "completion_tokens": 42, "total_tokens": 1242, "prompt_tokens_details": {"cached_tokens": 200}}
    yield {**chunk({}, "tool_calls" if calls else "stop"), "usage": usage}


_APIS = {"/responses": _responses, "/v1/messages": _messages, "/chat/completions": _completions}
