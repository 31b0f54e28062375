"""The client for programs that do other things while they wait. sync.py is made from this by a test (tests/test_client.py)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self, Unpack

import httpx
import msgspec

from onetape import schema
from onetape.client import calls
from onetape.client.calls import CALLS, Answer, Attachments, Call, Follower, Heard, Options, PermissionReply
from onetape.schema import Event


class AsyncClient:
    """Talks to the daemon at `url`, else to the one that `ONETAPE_URL` names, else to that of this machine."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._named = url, token
        self._http = httpx.AsyncClient(**calls.settings(calls.daemon(url, token)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, call: Call) -> Any:
        """The JSON that answers a request, or None."""
        told = await self.fetch(call)
        return msgspec.json.decode(told) if told else None

    async def fetch(self, call: Call) -> bytes:
        """The same as it came."""
        try:
            response = await self._http.request(call.method, call.path, params=call.query, json=call.body)
        except httpx.TransportError as error:
            raise calls.unreachable(error) from None
        return calls.checked(response).content

    async def stream(self, first: Call, follower: Follower) -> AsyncGenerator[Heard]:
        """What a request streams; where the connection is lost, what comes after what was heard."""
        call, attempt, is_connected = first, 0, False
        while True:
            try:
                async with self._http.stream(call.method, call.path, params=call.query, json=call.body, timeout=calls.STREAM) as response:
                    if response.status_code >= 400:
                        await response.aread()
                        calls.checked(response)
                    attempt, is_connected = 0, True
                    async for chunk in response.aiter_raw():
                        for heard in follower.feed(chunk):
                            yield heard
                if call.method == "POST":
                    return  # it has said all that it had to say
            except httpx.TransportError as error:
                # Whether a message was heard that was never answered, nobody can say: it is not sent again.
                if attempt == calls.ATTEMPTS or not (is_connected or call.method == "GET"):
                    raise calls.unreachable(error) from None
            await asyncio.sleep(calls.pause(attempt))
            attempt += 1
            calls.find_again(self._http, *self._named)
            call = follower.call()

    # --- sessions -----------------------------------------------------------

    async def create(
        self, agent: str, *, id: str | None = None, cwd: str | Path | None = None, **options: Unpack[Options]
    ) -> "AsyncSession":
        """A new session that goes on until somebody ends it."""
        made = await self.call(CALLS.create(agent, id, calls.located(cwd, options)))
        calls.check_health(made)
        return AsyncSession(self, id or made["sessionId"])

    @asynccontextmanager
    async def session(
        self, agent: str, *, id: str | None = None, cwd: str | Path | None = None, **options: Unpack[Options]
    ) -> AsyncIterator["AsyncSession"]:
        """A new session for the length of a `with` block."""
        session = await self.create(agent, id=id, cwd=cwd, **options)
        try:
            yield session
        finally:
            await session.terminate()

    def attach(self, session_id: str) -> "AsyncSession":
        """A session that is there already."""
        return AsyncSession(self, session_id)

    async def sessions(self, **query: Any) -> list[dict[str, Any]]:
        return (await self.call(CALLS.sessions(**query)))["sessions"]  # type: ignore[no-any-return]

    async def pending(self) -> list[dict[str, Any]]:
        """Every permission and question that waits for an answer."""
        return (await self.call(Call("GET", "/v1/pending")))["pending"]  # type: ignore[no-any-return]

    async def agents(self) -> list[dict[str, Any]]:
        return (await self.call(Call("GET", "/v1/agents")))["agents"]  # type: ignore[no-any-return]


class AsyncSession:
    def __init__(self, client: AsyncClient, session_id: str) -> None:
        self._client = client
        self.id = session_id

    async def info(self) -> dict[str, Any]:
        return await self._client.call(CALLS.of(self.id))  # type: ignore[no-any-return]

    # --- events -------------------------------------------------------------

    async def send(self, text: str, attachments: Attachments = None) -> AsyncGenerator[Event]:
        """Says this, and gives the events of the turn that answers it, to its end. Asks are to be answered on the way."""
        follower, answer = Follower(self.id, (await self.info())["eventCount"]), Answer()
        async with aclosing(self._client.stream(CALLS.message(self.id, text, attachments, stream=True), follower)) as stream:
            async for heard in stream:
                yield heard.event
                if await self._is_answered(answer, heard.event):
                    return
        # It asked for something and goes on; or the message was taken back, and there is nothing to wait for.
        answer.settle(await self._info_if_any())
        if answer.is_over(follower.after):
            return
        async with aclosing(self._client.stream(follower.call(), follower)) as stream:
            async for heard in stream:
                yield heard.event
                if await self._is_answered(answer, heard.event):
                    return

    async def _is_answered(self, answer: Answer, event: Event) -> bool:
        if answer.doubts(event):
            answer.settle(await self._info_if_any())
        return answer.ends_with(event)

    async def _info_if_any(self) -> dict[str, Any] | None:
        """None while the daemon is being started again: the stream will wait for it."""
        try:
            return await self.info()
        except calls.Unreachable:
            return None

    async def follow(self, after: int = 0) -> AsyncGenerator[Event]:
        """The events that there are and those that come, until the session ends."""
        async with aclosing(self.heard(after)) as stream:
            async for heard in stream:
                yield heard.event

    async def heard(self, after: int = 0) -> AsyncGenerator[Heard]:
        """The same, each with its JSON as it is kept."""
        follower = Follower(self.id, after)
        async with aclosing(self._client.stream(follower.call(), follower)) as stream:
            async for heard in stream:
                yield heard
                if isinstance(heard.event, schema.SessionEnded):
                    return

    async def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events that there are."""
        told = await self._client.fetch(CALLS.of(self.id, "/events", offset=after, limit=limit))
        return msgspec.json.decode(told, type=calls.Events).events

    async def stored(self, *, raw: bool = False) -> list[bytes]:
        """The same, each as it is kept; with `raw`, what the agent said goes with it."""
        told = await self._client.fetch(CALLS.of(self.id, "/events", includeRaw=raw or None))
        return [bytes(event) for event in msgspec.json.decode(told, type=calls.StoredEvents).events]

    async def pending(self) -> list[dict[str, Any]]:
        """What it asks and nobody answered yet, oldest first."""
        return [told for told in await self._client.pending() if told["sessionId"] == self.id]

    # --- commands -----------------------------------------------------------

    async def post(self, text: str, attachments: Attachments = None) -> None:
        """Says this and does not wait; during a turn it is queued, or joins it."""
        await self._client.call(CALLS.message(self.id, text, attachments, stream=False))

    async def reply_permission(self, ask: str | schema.PermissionRequested, reply: PermissionReply, message: str | None = None) -> None:
        await self._client.call(CALLS.permission(self.id, calls.ask_id(ask), reply, message))

    async def reply_question(self, ask: str | schema.QuestionRequested, answers: list[list[str]]) -> None:
        await self._client.call(CALLS.question(self.id, calls.ask_id(ask), answers))

    async def reject_question(self, ask: str | schema.QuestionRequested) -> None:
        await self._client.call(CALLS.question(self.id, calls.ask_id(ask), None))

    async def interrupt(self) -> None:
        await self._client.call(CALLS.of(self.id, "/interrupt", "POST"))

    async def terminate(self) -> None:
        await self._client.call(CALLS.of(self.id, "/terminate", "POST"))

    async def take_back(self, number: int) -> None:
        """Takes a queued message back."""
        await self._client.call(CALLS.of(self.id, f"/queue/{number}", "DELETE"))

    async def change(self, **changes: Any) -> None:
        """Its title, model, variant, agent_mode or permission_mode."""
        await self._client.call(CALLS.of(self.id, "", "PATCH", calls.camel(changes)))

    async def resume(self, **changes: Any) -> "AsyncSession":
        """Goes on with a session that is over, as a new one."""
        made = await self._client.call(CALLS.of(self.id, "/resume", "POST", calls.camel(changes)))
        calls.check_health(made)
        return AsyncSession(self._client, made["sessionId"])

    async def delete(self) -> None:
        await self._client.call(CALLS.of(self.id, "", "DELETE"))
