"""The program that Amp runs before each tool: it asks the session, and tells Amp by its exit code.

    sh wrapper (see launch.py) -> python -I -S helper.py SOCKET    stdin: the tool's input as JSON

One line to the session's private socket, one line back, exit 0 (allow) or 2 (reject; stderr goes to the model).
Exit 1 would mean "ask the user", which hangs the January build and ends the run of the May one, so nothing here
ends with 1: whatever goes wrong, a session that is gone included, is a reject that says why. A human may take
as long as he likes: Amp waits (measured: 14 s, though its code speaks of ten), and so does this.

Standard library alone and few modules of it, since it starts once per tool call. It is a program, not a part of
onetape: it may import nothing of ours, and nothing of ours imports it.
"""

import json
import os
import socket
import sys

ALLOW, REJECT = 0, 2
# The translator knows a refusal by these words where the answer is not on the tape.
REJECTED = "The user rejected this tool call."
UNASKED = "This tool call was rejected because nobody could be asked"


def main() -> int:
    try:
        answer = ask(sys.argv[1], request())
    except (OSError, ValueError, IndexError) as error:
        return reject(f"{UNASKED}: {error or type(error).__name__}")
    if answer.get("decision") == "allow":
        return ALLOW
    words = answer.get("message")
    return reject(f"{REJECTED} {words}" if words else REJECTED)


def request() -> dict[str, object]:
    return {
        "channel": "delegate",
        "id": os.urandom(8).hex(),
        "tool": os.environ.get("AGENT_TOOL_NAME", ""),
        "input": json.loads(sys.stdin.buffer.read() or b"{}"),
        # The September build does not tell it: the session then finds the call by its name and input.
        "tool_use_id": os.environ.get("AGENT_TOOL_USE_ID") or None,
        "thread_id": os.environ.get("AMP_THREAD_ID") or None,
    }


def ask(address: str, question: dict[str, object]) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as session:
        session.connect(address)
        session.sendall(json.dumps(question, ensure_ascii=False).encode() + b"\n")
        with session.makefile("rb") as lines:
            line = lines.readline()
    if not line:
        raise OSError("the session is gone")
    answer = json.loads(line)
    if not isinstance(answer, dict):
        raise ValueError("the session's answer is malformed")
    return answer


def reject(why: str) -> int:
    print(why, file=sys.stderr)
    return REJECT


if __name__ == "__main__":
    sys.exit(main())
