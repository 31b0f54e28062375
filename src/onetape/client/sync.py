"""The client for programs that wait. Made from aio.py by a test: change that one, then `pytest --rewrite`."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self, Unpack

import httpx
import msgspec

from onetape import schema
from onetape.client import calls
from onetape.client.calls import CALLS, Answer, Attachments, Call, Follower, Heard, Options, PermissionReply
from onetape.schema import Event


class Client:
    """Talks to the daemon at `url`, else to the one that `ONETAPE_URL` names, else to that of this machine."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._named = url, token
        self._http = httpx.Client(**calls.settings(calls.daemon(url, token)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def call(self, call: Call) -> Any:
        """The JSON that answers a request, or None."""
        told = self.fetch(call)
        return msgspec.json.decode(told) if told else None

    def fetch(self, call: Call) -> bytes:
        """The same as it came."""
        try:
            response = self._http.request(call.method, call.path, params=call.query, json=call.body)
        except httpx.TransportError as error:
            raise calls.unreachable(error) from None
        return calls.checked(response).content

    def stream(self, first: Call, follower: Follower) -> Generator[Heard]:
        """What a request streams; where the connection is lost, what comes after what was heard."""
        call, attempt, is_connected = first, 0, False
        while True:
            try:
                with self._http.stream(call.method, call.path, params=call.query, json=call.body, timeout=calls.STREAM) as response:
                    if response.status_code >= 400:
                        response.read()
                        calls.checked(response)
                    attempt, is_connected = 0, True
                    for chunk in response.iter_raw():
                        for heard in follower.feed(chunk):
                            yield heard
                if call.method == "POST":
                    return  # it has said all that it had to say
            except httpx.TransportError as error:
                # Whether a message was heard that was never answered, nobody can say: it is not sent again.
                if attempt == calls.ATTEMPTS or not (is_connected or call.method == "GET"):
                    raise calls.unreachable(error) from None
            time.sleep(calls.pause(attempt))
            attempt += 1
            calls.find_again(self._http, *self._named)
            call = follower.call()

    # --- sessions -----------------------------------------------------------

    def create(
        self, agent: str, *, id: str | None = None, cwd: str | Path | None = None, **options: Unpack[Options]
    ) -> "Session":
        """A new session that goes on until somebody ends it."""
        made = self.call(CALLS.create(agent, id, calls.located(cwd, options)))
        calls.check_health(made)
        return Session(self, id or made["sessionId"])

    @contextmanager
    def session(
        self, agent: str, *, id: str | None = None, cwd: str | Path | None = None, **options: Unpack[Options]
    ) -> Iterator["Session"]:
        """A new session for the length of a `with` block."""
        session = self.create(agent, id=id, cwd=cwd, **options)
        try:
            yield session
        finally:
            session.terminate()

    def attach(self, session_id: str) -> "Session":
        """A session that is there already."""
        return Session(self, session_id)

    def sessions(self, **query: Any) -> list[dict[str, Any]]:
        return self.call(CALLS.sessions(**query))["sessions"]  # type: ignore[no-any-return]

    def pending(self) -> list[dict[str, Any]]:
        """Every permission and question that waits for an answer."""
        return self.call(Call("GET", "/v1/pending"))["pending"]  # type: ignore[no-any-return]

    def agents(self) -> list[dict[str, Any]]:
        return self.call(Call("GET", "/v1/agents"))["agents"]  # type: ignore[no-any-return]


class Session:
    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self.id = session_id

    def info(self) -> dict[str, Any]:
        return self._client.call(CALLS.of(self.id))  # type: ignore[no-any-return]

    # --- events -------------------------------------------------------------

    def send(self, text: str, attachments: Attachments = None) -> Generator[Event]:
        """Says this, and gives the events of the turn that answers it, to its end. Asks are to be answered on the way."""
        follower, answer = Follower(self.id, self.info()["eventCount"]), Answer()
        with closing(self._client.stream(CALLS.message(self.id, text, attachments, stream=True), follower)) as stream:
            for heard in stream:
                yield heard.event
                if self._is_answered(answer, heard.event):
                    return
        # It asked for something and goes on; or the message was taken back, and there is nothing to wait for.
        answer.settle(self._info_if_any())
        if answer.is_over(follower.after):
            return
        with closing(self._client.stream(follower.call(), follower)) as stream:
            for heard in stream:
                yield heard.event
                if self._is_answered(answer, heard.event):
                    return

    def _is_answered(self, answer: Answer, event: Event) -> bool:
        if answer.doubts(event):
            answer.settle(self._info_if_any())
        return answer.ends_with(event)

    def _info_if_any(self) -> dict[str, Any] | None:
        """None while the daemon is being started again: the stream will wait for it."""
        try:
            return self.info()
        except calls.Unreachable:
            return None

    def follow(self, after: int = 0) -> Generator[Event]:
        """The events that there are and those that come, until the session ends."""
        with closing(self.heard(after)) as stream:
            for heard in stream:
                yield heard.event

    def heard(self, after: int = 0) -> Generator[Heard]:
        """The same, each with its JSON as it is kept."""
        follower = Follower(self.id, after)
        with closing(self._client.stream(follower.call(), follower)) as stream:
            for heard in stream:
                yield heard
                if isinstance(heard.event, schema.SessionEnded):
                    return

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events that there are."""
        told = self._client.fetch(CALLS.of(self.id, "/events", offset=after, limit=limit))
        return msgspec.json.decode(told, type=calls.Events).events

    def stored(self, *, raw: bool = False) -> list[bytes]:
        """The same, each as it is kept; with `raw`, what the agent said goes with it."""
        told = self._client.fetch(CALLS.of(self.id, "/events", includeRaw=raw or None))
        return [bytes(event) for event in msgspec.json.decode(told, type=calls.StoredEvents).events]

    def pending(self) -> list[dict[str, Any]]:
        """What it asks and nobody answered yet, oldest first."""
        return [told for told in self._client.pending() if told["sessionId"] == self.id]

    # --- commands -----------------------------------------------------------

    def post(self, text: str, attachments: Attachments = None) -> None:
        """Says this and does not wait; during a turn it is queued, or joins it."""
        self._client.call(CALLS.message(self.id, text, attachments, stream=False))

    def reply_permission(self, ask: str | schema.PermissionRequested, reply: PermissionReply, message: str | None = None) -> None:
        self._client.call(CALLS.permission(self.id, calls.ask_id(ask), reply, message))

    def reply_question(self, ask: str | schema.QuestionRequested, answers: list[list[str]]) -> None:
        self._client.call(CALLS.question(self.id, calls.ask_id(ask), answers))

    def reject_question(self, ask: str | schema.QuestionRequested) -> None:
        self._client.call(CALLS.question(self.id, calls.ask_id(ask), None))

    def interrupt(self) -> None:
        self._client.call(CALLS.of(self.id, "/interrupt", "POST"))

    def terminate(self) -> None:
        self._client.call(CALLS.of(self.id, "/terminate", "POST"))

    def take_back(self, number: int) -> None:
        """Takes a queued message back."""
        self._client.call(CALLS.of(self.id, f"/queue/{number}", "DELETE"))

    def change(self, **changes: Any) -> None:
        """Its title, model, variant, agent_mode or permission_mode."""
        self._client.call(CALLS.of(self.id, "", "PATCH", calls.camel(changes)))

    def resume(self, **changes: Any) -> "Session":
        """Goes on with a session that is over, as a new one."""
        made = self._client.call(CALLS.of(self.id, "/resume", "POST", calls.camel(changes)))
        calls.check_health(made)
        return Session(self._client, made["sessionId"])

    def delete(self) -> None:
        self._client.call(CALLS.of(self.id, "", "DELETE"))
