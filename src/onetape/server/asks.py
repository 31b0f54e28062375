"""Answers to what an agent asks: permissions and questions."""

import asyncio
from typing import Literal

from litestar import post
from litestar.params import FromPath, JSONBody
from msgspec import Struct

from onetape.server.daemon import TheDaemon


class ReplyPermission(Struct, frozen=True):
    reply: Literal["once", "always", "reject"]
    message: str | None = None


class ReplyQuestion(Struct, frozen=True):
    answers: list[list[str]]


@post("/v1/sessions/{session_id:str}/permissions/{ask_id:str}/reply", tags=["asks"], summary="Answer a permission", status_code=204)
async def reply_permission(daemon: TheDaemon, session_id: FromPath[str], ask_id: FromPath[str], data: JSONBody[ReplyPermission]) -> None:
    """The same answer again is as good as once; another one is a conflict."""
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.reply_permission(session_id, ask_id, data.reply, data.message)


@post("/v1/sessions/{session_id:str}/questions/{ask_id:str}/reply", tags=["asks"], summary="Answer a question", status_code=204)
async def reply_question(daemon: TheDaemon, session_id: FromPath[str], ask_id: FromPath[str], data: JSONBody[ReplyQuestion]) -> None:
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.reply_question(session_id, ask_id, data.answers)


@post("/v1/sessions/{session_id:str}/questions/{ask_id:str}/reject", tags=["asks"], summary="Reject a question", status_code=204)
async def reject_question(daemon: TheDaemon, session_id: FromPath[str], ask_id: FromPath[str]) -> None:
    await asyncio.to_thread(daemon.row, session_id)
    await daemon.sessions.reject_question(session_id, ask_id)


ROUTES = (reply_permission, reply_question, reject_question)
