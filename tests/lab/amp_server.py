"""The other half of Amp: the server behind `AMP_URL` that knows the user and keeps the threads.

Found by watching the build of May 2026 talk to it. The model itself is asked through the same address
(`/api/provider/anthropic/v1/messages`), which the scripted model serves; this is the rest.
"""

from typing import Any

USER = {
    "id": "user_lab", "email": "dev@example.invalid", "username": "dev", "firstName": "Dev", "lastName": "Lab", "emailVerified": True,
    "profilePictureUrl": None, "lastSignInAt": None, "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:00.000Z",
    "externalId": None, "metadata": {}, "siteAdmin": False, "features": [], "team": None, "mysteriousMessage": None,
}  # fmt: skip
NO_THREAD = {"ok": False, "error": {"code": "thread-not-found", "message": "no such thread"}}


class AmpServer:
    def __init__(self) -> None:
        self.threads: dict[str, Any] = {}

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any] | None:
        match path.split("/")[1:]:
            case ["api", "internal"]:
                return 200, self._internal(body["method"], body.get("params") or {})
            case ["api", "telemetry"]:
                return 200, {}
            case ["api", "threads", "sync"]:
                return 200, {"threadActions": [{"id": thread["id"], "action": "upload"} for thread in body["threadVersions"]]}
            case ["api", "threads"]:
                return 200, list(self.threads.values())
            case ["api", "threads", id]:
                return (200, self.threads[id]) if id in self.threads else (404, NO_THREAD)
            case _:
                return None

    def _internal(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "getUserInfo":
                return _ok(USER)
            case "uploadThread":
                self.threads[params["thread"]["id"]] = params["thread"]
                return _ok({})
            case "getThread":
                thread = self.threads.get(params["thread"])
                return _ok({"thread": {"data": thread}}) if thread else NO_THREAD
            case "getThreadLinkInfo":
                return _ok({"creatorUserID": USER["id"]})
            case "loadPlugins" | "loadSkills":
                return _ok([])
            case "getUserFreeTierStatus":
                return _ok({"canUseAmpFree": False, "isDailyGrantEnabled": False})
            case _:
                return _ok({})


def _ok(result: Any) -> dict[str, Any]:
    return {"ok": True, "result": result}
