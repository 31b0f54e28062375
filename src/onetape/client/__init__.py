"""The daemon over HTTP, from Python: sync and async, typed events, and streams that survive a lost connection.

    with Client() as client, client.session("mock", cwd=".") as session:
        for event in session.send("permission"):
            if isinstance(event, schema.PermissionRequested):
                session.reply_permission(event, "once")

`Client()` finds the daemon of this machine by itself.
"""

from onetape import schema
from onetape.client.aio import AsyncClient, AsyncSession
from onetape.client.calls import Failed, Heard, Unreachable
from onetape.client.sync import Client, Session

__all__ = ["Client", "Session", "AsyncClient", "AsyncSession", "Heard", "Failed", "Unreachable", "schema"]
