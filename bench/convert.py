"""Convert: an agent's native lines into events, in memory.

The floor decodes the same lines without types and encodes the same events, both with msgspec: what any translator would have to do.
"""

import resource
import sys
import time

import msgspec

import native
from measure import Figure, Section, in_turns, quotients, rate, show
from native.claude import turns
from onetape import schema, to_json, transcribe

GOAL = 2.5
TIMES = 15
PIECES, CALLS = 2000, 300


def run() -> Section:
    about = "Native lines into events, against msgspec's untyped decoding of the lines and encoding of the events."
    return Section("Convert", about, [figure for agent in native.AGENTS for figure in _of(agent)])


def _of(agent: str) -> list[Figure]:
    made = native.of(agent)
    return [_ratio(f"{agent}, a long reply", agent, made.reply(PIECES)), _ratio(f"{agent}, many tools", agent, made.tools(CALLS))]


def _ratio(name: str, agent: str, source: bytes) -> Figure:
    events = list(transcribe(source, agent))
    assert not any(isinstance(event, schema.AgentUnparsed) for event in events), "the workload is not what the translator reads"
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    lines = source.splitlines()

    def floor() -> None:
        for line in lines:
            decode(line)
        for event in events:
            encode(event)

    def ours() -> None:
        for event in transcribe(source, agent):
            to_json(event)

    floors, spent = in_turns(floor, ours, TIMES, time.process_time)
    return Figure(name, f"{rate(len(lines), spent)} lines", f"{rate(len(lines), floors)} lines", quotients(spent, floors), GOAL)


def memory(size: int) -> str:
    """A tape of so many bytes, converted: the peak must not depend on its length."""
    before = _peak()
    count = sum(len(to_json(event)) > 0 for event in transcribe(turns(size), "claude"))
    return f"{size / 1e6:,.0f} MB, {count:,} events: peak {_peak() / 1e6:.0f} MB, of which {before / 1e6:.0f} MB before"


def _peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(memory(int(sys.argv[1])))
    else:
        show(run())
