"""`onetape server`: the daemon, in the foreground."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

PORT = 2468


class LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def server(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = PORT,
    token: Annotated[str | None, typer.Option(envvar="ONETAPE_TOKEN", help="What clients must show; else one is made and kept.")] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let everybody on this machine in; on loopback only.")] = False,
    root: Annotated[Path | None, typer.Option(help="Where sessions run that name no directory. Default: here.")] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="Another host name that clients may use, `*` for any. Repeatable.")] = None,
    allow_env: Annotated[bool, typer.Option("--allow-env", help="Let requests set an agent's environment variables.")] = False,
    cors_allow_origin: Annotated[list[str] | None, typer.Option(help="A page's origin that may use the API. Repeatable.")] = None,
    cors_allow_method: Annotated[list[str] | None, typer.Option(help="Repeatable. Default: all that there are.")] = None,
    cors_allow_header: Annotated[list[str] | None, typer.Option(help="Repeatable. Default: those asked for.")] = None,
    cors_allow_credentials: Annotated[bool, typer.Option("--cors-allow-credentials")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Begin with a demonstration session, which needs no login.")] = False,
    log_level: Annotated[LogLevel, typer.Option()] = LogLevel.info,
) -> None:
    """Serve sessions over HTTP until Ctrl-C or SIGTERM, which stop every agent and commit every event."""
    from onetape.errors import Refused
    from onetape.server import logs
    from onetape.server.security import Cors
    from onetape.server.serving import Options, serve

    if no_token and token is not None:
        raise Refused("--no-token and a token contradict each other (is ONETAPE_TOKEN set?)")
    if cors_allow_credentials and "*" in (cors_allow_origin or ()):
        raise Refused("--cors-allow-credentials needs origins by name, not `*`")
    origins = frozenset(map(origin, cors_allow_origin or ()))
    cors = Cors(origins, tuple(cors_allow_method or ()), tuple(cors_allow_header or ()), cors_allow_credentials)
    logs.begin(log_level.value)
    serve(Options(host, port, token, not no_token, root, tuple(allow_host or ()), cors, allow_env, demo), announce)


def origin(told: str) -> str:
    """As browsers send it: one with a slash at its end, or without its scheme, would be allowed in vain."""
    from urllib.parse import urlsplit

    from onetape.errors import Refused

    plain = told.rstrip("/").lower()
    if plain != "*" and (not (parts := urlsplit(plain)).netloc or plain != f"{parts.scheme}://{parts.netloc}"):
        raise Refused(f"--cors-allow-origin is an origin, as https://example.org:8443, or `*`; not {told}")
    return plain


def announce(url: str, token: str | None, session_id: str | None) -> None:
    """The link opens the page with the token in the fragment, which browsers send to nobody."""
    from urllib.parse import quote

    place = f"/sessions/{session_id}" if session_id else "/"
    print(f"Onetape listens on {url}")
    print(f"Open {url}{place}{f'#token={quote(token)}' if token else ''}", flush=True)
