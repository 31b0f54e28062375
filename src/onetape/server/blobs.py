"""Images and documents of a transcript: named by their content, so they never change."""

import asyncio
import re

from litestar import Response, get
from litestar.params import FromPath

from onetape import blobs
from onetape.server.daemon import TheDaemon
from onetape.server.problems import Refusal

_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,10}")


@get("/v1/blobs/{name:str}", tags=["blobs"], summary="An image or document of a transcript", media_type="application/octet-stream")
async def get_blob(daemon: TheDaemon, name: FromPath[str]) -> Response[bytes]:
    content = await asyncio.to_thread(daemon.store.blob, name) if _NAME.fullmatch(name) else None
    if content is None:
        raise Refusal("not_found", "there is no such blob")
    mime = blobs.mime_of(name)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    if not blobs.is_image(mime):  # a document is for keeping: shown here it would stand under our address
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return Response(content, media_type=mime or "application/octet-stream", headers=headers)


ROUTES = (get_blob,)
