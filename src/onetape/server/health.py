"""Whether the server answers. Public: whoever starts it waits for this."""

from litestar import get, head
from msgspec import Struct


class Health(Struct, frozen=True):
    status: str


@get("/v1/health", tags=["health"], summary="Whether the server answers", sync_to_thread=False)
def health() -> Health:
    return Health("ok")


@head("/v1/health", include_in_schema=False, sync_to_thread=False)
def health_head() -> None:
    """The same without words: what watches over servers asks so."""


ROUTES = (health, health_head)
