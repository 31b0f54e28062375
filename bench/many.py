"""Many sessions: what the daemon needs for one that idles. The agent is a shell script that waits; its own memory is not counted."""

import served
from measure import Figure, Section, Spread, show

SESSIONS = 500
IDLE_SECONDS = 5.0


def run() -> Section:
    with served.daemon() as server:
        _create(server, 0, 20)  # what the first ones bring in belongs to nobody
        before = served.resident(server.pid)
        _create(server, 20, SESSIONS)
        each = (served.resident(server.pid) - before) / (SESSIONS - 20) / 1000
        share = 100 * served.idle_share(server.pid, IDLE_SECONDS)
        whole = f"{served.resident(server.pid) / 1e6:.0f} MB"
    about = f"{SESSIONS} idle sessions of a light agent in one daemon."
    memory = Figure("memory for each", whole, f"{before / 1e6:.0f} MB", Spread(each, each, each), 200.0, unit=" kB")
    return Section("Many sessions", about, [memory, Figure("processor when idle", "–", "–", Spread(share, share, share), 1.0, unit=" %")])


def _create(server: served.Server, first: int, last: int) -> None:
    for number in range(first, last):
        served.post(server.port, f"/v1/sessions/idle-{number}", {"agent": served.AGENT, "permissionMode": "bypass"})


if __name__ == "__main__":
    show(run())
