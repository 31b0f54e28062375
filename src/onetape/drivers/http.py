"""An agent that is an HTTP server: requests one way, a stream of server-sent events the other.

Its stdout and stderr are logs. A stream that breaks off while the server lives is not
opened again, since such servers do not repeat what was missed: a transcript with a hole
would be a lie, so the process is ended instead.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from math import inf
from typing import Any

import httpx
import msgspec
from msgspec import Raw

from onetape import tasks
from onetape.agents.agent import Launch
from onetape.drivers.child import AFTERMATH_SECONDS, Child
from onetape.drivers.lines import Data, said
from onetape.drivers.sources import Inbox, Log
from onetape.errors import AgentFailed
from onetape.tape import Record, record

START_SECONDS = 60.0
# A server that accepts a connection may still lose what is asked on it (seen with one built on Bun), so it is believed
# when it prints its address; one that prints none is believed when it accepts connections after this time.
QUIET_SECONDS = 5.0
# Between two looks; whatever the server prints cuts it short.
RETRY_SECONDS = 0.05
STREAM = "text/event-stream"
BROKEN_OFF = "onetape: its event stream broke off while it was still running"


class Http:
    replies = True

    def __init__(self, child: Child) -> None:
        self._child = child
        self._client: httpx.AsyncClient | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def start(self) -> None:
        launch = await self._child.start(talks=False)
        process = self._child.process
        self._child.sources += [Log(process.stdout, "recv", "log"), Log(process.stderr, "stderr")]
        try:
            await self._until_it_listens(launch)
        except BaseException:
            await self._child.abandon()
            raise
        self._client = _client(self._child.private.port, launch.login)

    async def heard(self) -> AsyncIterator[list[Record]]:
        try:
            async with contextlib.aclosing(self._child.heard()) as batches:
                async for batch in batches:
                    yield batch
        finally:
            if self._client is not None:
                await self._client.aclose()

    async def send(self, message: Any) -> Record:
        said = await self._child.say(message)
        if said is not None:
            return Record(self._child.clock(), "send", Raw(said))
        answered = {**message, **await self._request(message["method"], message["path"], message.get("body"))}
        return record(self._child.clock(), "send", answered)

    async def stop(self, polite_seconds: float = 3.0) -> None:
        await self._child.stop(polite_seconds)

    # --- its beginning ------------------------------------------------------

    async def _until_it_listens(self, launch: Launch) -> None:
        now, port, program = asyncio.get_running_loop().time, self._child.private.port, launch.argv[0]
        deadline = now() + START_SECONDS
        believed = inf if launch.listening else now() + QUIET_SECONDS
        sign = (launch.listening or f":{port}").encode()
        while now() < believed or not await self._accepts():
            if self._child.process.is_gone:
                raise AgentFailed(f"{program} ended before it listened: {self._child.last_words()}")
            if now() > deadline:
                raise AgentFailed(f"{program} did not listen on port {port} within {START_SECONDS:.0f} seconds")
            if any(sign in record.line for record in await self._child.listen(RETRY_SECONDS)):
                if launch.listening:
                    return
                believed = now()

    async def _accepts(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._child.private.port)
        except OSError:
            return False
        writer.close()
        return True

    # --- requests -----------------------------------------------------------

    async def _request(self, method: str, path: str, body: Any) -> dict[str, Any]:
        self._child.must_live()
        assert self._client is not None
        content = None if body is None else msgspec.json.encode(body)
        try:
            response = await self._client.send(self._client.build_request(method, path, content=content), stream=True)
            if response.headers.get("content-type", "").startswith(STREAM):
                tasks.start(self._follow(response, self._child.inbox()), f"{method} {path}")
                return {"status": response.status_code, "response": None}
            return {"status": response.status_code, "response": _answer(await response.aread())}
        except httpx.HTTPError as error:
            raise AgentFailed(f"{method} {path} was not answered: {error or type(error).__name__}") from None

    # --- the stream ---------------------------------------------------------

    async def _follow(self, response: httpx.Response, inbox: Inbox) -> None:
        data = Data()
        try:
            with contextlib.suppress(httpx.HTTPError, httpx.StreamError):  # how it ended does not matter
                async for chunk in response.aiter_raw():
                    now = self._child.clock()
                    await inbox.put([said(now, line) for line in data.cut(chunk)])
                await response.aclose()
            await self._end_if_it_lives()
        finally:
            inbox.close()

    async def _end_if_it_lives(self) -> None:
        process = self._child.process
        await asyncio.wait([process.exit], timeout=AFTERMATH_SECONDS)
        if not process.is_gone and not self._child.is_stopping:
            self._child.last_word(BROKEN_OFF)
            await process.kill()


def _client(port: int, login: str | None) -> httpx.AsyncClient:
    user, _, password = (login or "").partition(":")
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        auth=(user, password) if login else None,
        headers={"content-type": "application/json", "accept-encoding": "identity"},
        timeout=httpx.Timeout(None, connect=10.0),  # a request may last as long as a turn
        # A kept connection that the server closes at the wrong moment fails the next request. They are few and near.
        limits=httpx.Limits(max_keepalive_connections=0),
        trust_env=False,  # no proxy stands between us and a child
        verify=False,
    )


def _answer(content: bytes) -> Any:
    """A response as it was; as a string where it is not JSON, as some pages are."""
    if not content.strip():
        return None
    try:
        native = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return content.decode(errors="replace")
    return native if b"\n" in content else Raw(content)
