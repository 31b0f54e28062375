"""The scripted model: a server on loopback that speaks three model APIs and says what the test tells it to.

    with Model() as model:
        talk = model.talk("hello", Text("Hello, world."))
        ... an agent is sent talk.prompt("Greet me") ...
        assert talk.asked[0].model == "lab-1" and talk.is_over

One server serves many conversations at once. They are told apart by a mark that `prompt` leaves in the user's words,
so every agent can have one address for all its sessions, as in real life. A request without tools, or one that must
call a certain tool, is none of the main loop (a title, a probe): it is answered by the way and takes nothing from a script.

Threads and events, no clock: where a script holds, the stream is silent until the test releases it or closes the model.
"""

import gzip
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event, Lock, Thread
from types import ModuleType, TracebackType
from typing import Any, TypeAlias

import msgspec

from lab.apis import Asked, anthropic, completions, responses
from lab.script import Answer, ApiError, Hold, Step, Text, Tool, steps
from patience import PATIENCE

APIS: tuple[ModuleType, ...] = (anthropic, completions, responses)
MARK = re.compile(rb"\[talk ([\w.-]+)\]")
OVERRUN = ApiError(message="the script is over")

Json: TypeAlias = Any
Route: TypeAlias = Callable[[str, str, Json], tuple[int, Json] | None]
"""Method, path, body: a status and a JSON body, or None for what it does not serve."""


class Talk:
    """One conversation: what the model will say, and what it was asked."""

    def __init__(self, name: str, answers: Iterable[Answer]) -> None:
        self.name = name
        self.asked: list[Asked] = []
        self._answers = [steps(answer) for answer in answers]
        self._lock = Lock()
        self._held, self._released = Event(), Event()

    def prompt(self, words: str) -> str:
        return f"{words} [talk {self.name}]"

    @property
    def is_over(self) -> bool:
        """Everything was said, and nothing beyond was asked for."""
        return len(self.asked) == len(self._answers)

    def goes_on(self, *answers: Answer) -> None:
        with self._lock:
            self._answers += [steps(answer) for answer in answers]

    def wait_held(self) -> None:
        """Until the model has fallen silent in mid-answer."""
        assert self._held.wait(PATIENCE), f"{self.name}: the model was never asked, or never came to its silence"

    def release(self) -> None:
        self._released.set()

    def answer(self, asked: Asked) -> tuple[int, tuple[Step, ...]]:
        with self._lock:
            at = len(self.asked)
            self.asked.append(asked)
            return at, self._answers[at] if at < len(self._answers) else (OVERRUN,)

    def hold(self) -> None:
        self._held.set()
        self._released.wait()


class Model:
    def __init__(self, *routes: Route) -> None:
        self.talks: dict[str, Talk] = {}
        self.by_the_way: list[Asked] = []
        self.strays: list[str] = []
        """Requests of the main loop that belong to no conversation: a mistake of the lab's."""
        self._routes = routes
        self._ids = count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="scripted model", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def talk(self, name: str, *answers: Answer) -> Talk:
        assert name not in self.talks, f"there is a conversation {name} already"
        talk = self.talks[name] = Talk(name, answers)
        return talk

    def __enter__(self) -> "Model":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for talk in self.talks.values():
            talk.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def find(self, body: bytes) -> Talk | None:
        """The conversation that was begun last in this request: a session may have had several."""
        names = MARK.findall(body)
        return self.talks.get(names[-1].decode()) if names else None

    def reply(self, asked: Asked, body: bytes) -> tuple[str, tuple[Step, ...], Talk | None]:
        if (aside := _aside(asked)) is not None:
            self.by_the_way.append(asked)
            return f"aside_{next(self._ids)}", (aside,), None
        talk = self.find(body)
        if talk is None:
            self.strays.append(str(asked.texts[-1:]))
            return "stray", (OVERRUN,), None
        at, answer = talk.answer(asked)
        return f"{talk.name.replace('.', '_')}_{at}", answer, talk

    def route(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        for route in self._routes:
            if (found := route(method, path, body)) is not None:
                return found
        return 404, {"error": {"type": "not_found_error", "message": f"the lab does not serve {path}"}}


def _aside(asked: Asked) -> Step | None:
    match asked.body.get("tool_choice"):
        case {"type": "tool", "name": str(tool)}:
            return Tool(tool, {"title": "A lab session"})
        case _:
            return None if asked.tools else Text("A lab session", chunks=1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def handle(self) -> None:
        with suppress(ConnectionError):  # an agent that ends, or is ended, does not say goodbye
            super().handle()

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_DELETE = do_GET

    def _serve(self) -> None:
        path, body = self.path.partition("?")[0], self._body()
        api = next((api for api in APIS if path.endswith(api.PATH)), None)
        if api is None or self.command != "POST":
            self._json(*self.model.route(self.command, path, msgspec.json.decode(body) if body else None))
        else:
            self._say(api, body)

    def _say(self, api: ModuleType, body: bytes) -> None:
        asked = api.read(msgspec.json.decode(body))
        id, answer, talk = self.model.reply(asked, body)
        match answer:
            case (ApiError() as error,):
                self._json(error.status, api.refuse(error))
            case _ if not asked.body.get("stream"):
                self._json(200, api.whole(answer, asked, id))
            case _:
                self._stream(api.stream(answer, asked, id), talk)

    def _stream(self, frames: Iterable[bytes | Hold], talk: Talk | None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for frame in frames:
            if isinstance(frame, bytes):
                self.wfile.write(frame)
            elif talk is not None:
                talk.hold()

    def _json(self, status: int, body: Json) -> None:
        data = msgspec.json.encode(body)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = b"".join(iter(self._chunk, b""))
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        return gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline(), 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def log_message(self, format: str, *args: Any) -> None:
        pass  # what matters is recorded, not printed
