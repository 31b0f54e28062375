"""A session as a file to keep: a document, its events, or its tape."""

import asyncio
import re
from typing import Annotated

from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from onetape.archive.exporting import FORMATS, export
from onetape.server.daemon import TheDaemon

_UNNAMEABLE = re.compile(r"[^\w.-]+", re.ASCII)
"""What a file had better not be called, whatever a client calls its session."""


@get("/v1/sessions/{session_id:str}/export", tags=["archive"], summary="A session as a file")
async def export_session(
    daemon: TheDaemon,
    session_id: FromPath[str],
    format: Annotated[str, QueryParameter(description=", ".join(FORMATS), schema_extra={"enum": list(FORMATS)})] = "markdown",
    redact: FromQuery[bool] = False,
) -> Stream:
    row = await asyncio.to_thread(daemon.row, session_id)
    made = await asyncio.to_thread(lambda: export(daemon.store, row, format, redact=redact))
    name = f"{_UNNAMEABLE.sub('_', session_id)}.{made.format.suffix}"
    # To be kept, not shown: under our address it could be taken for ours.
    return Stream(made.chunks, media_type=made.format.media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


ROUTES = (export_session,)
