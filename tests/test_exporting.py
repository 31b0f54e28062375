"""Sessions as files: whole, as documents, and without their secrets."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import onetape
from onetape import tape
from onetape.agents import registry
from onetape.archive.exporting import FORMATS, export
from onetape.archive.writing import Writing
from onetape.errors import Refused
from onetape.redaction.rules import RULES, found
from onetape.stores.memory import Memory
from onetape.stores.store import SessionRow, events
from onetape.tape import Head, Record
from serving import Served, served

KEY = "sk-ant-api03-" + "Ab1" * 12
TOKEN = "ghp_" + "q7R" * 12
PASSWORD = "hunter2-but-longer"

SECRETS = {
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "aws-key": "AKIAIOSFODNN7EXAMPLQ",
    "aws-secret": "aws_secret_access_key = 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",
    "anthropic-key": KEY,
    "openrouter-key": "sk-or-v1-" + "0a" * 16,
    "openai-key": "sk-proj-" + "Zz9" * 10,
    "github-token": TOKEN,
    "gitlab-token": "glpat-" + "x1Y" * 8,
    "slack-token": "xoxb-123456789012-abcdefABCDEF",
    "slack-webhook": "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXYYYYYYYYZZZZ",
    "google-key": "AIza" + "S" * 17 + "y" * 18,
    "stripe-key": "sk_live_" + "4eC39HqLyjWDarjt",
    "npm-token": "npm_" + "aB3" * 12,
    "pypi-token": "pypi-" + "AgEIcHlwaS5vcmc" * 3,
    "huggingface-token": "hf_" + "AbCdEfGhIj" * 4,
    "groq-key": "gsk_" + "a1B2" * 12,
    "xai-key": "xai-" + "a1B2" * 16,
    "replicate-token": "r8_" + "a1B2" * 9,
    "sourcegraph-token": "sgp_" + "a1b2" * 9,
    "sendgrid-key": "SG." + "a1B2" * 5 + "." + "c3D4" * 5,
    "digitalocean-token": "dop_v1_" + "0a" * 32,
    "telegram-token": "123456789:AA" + "bC3" * 11,
    "azure-key": "AccountKey=" + "Ab1+" * 12 + "==",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "bearer-token": "Bearer abcdefghijkl1234",
    "cookie": "Cookie: theme=dark; sessionid=8f7d6e5c4b3a2918",
    "authorization": "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "url-password": "postgres://admin:s3cr3t-pw@db.internal/app",
    "password": 'password: "correct-horse"',
    "secret": "DEPLOY_TOKEN=a1b2c3d4e5",
}


def test_every_rule_finds_its_secret() -> None:
    assert set(SECRETS) == {rule.name for rule in RULES}
    for name, text in SECRETS.items():
        assert name in [rule for rule, _ in found(f"before {text} after")], name


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 4096", "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "the password is required",
        "API_KEY=$ANTHROPIC_API_KEY", "token: <your token>", "password=********", "process.env.SECRET_KEY", "sess_1f0c6a52b7e94d38",
        "api_key = os.environ['KEY']", "https://example.com/path", "uuid 123e4567-e89b-12d3-a456-426614174000",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert list(found(text)) == []


# --- a session with secrets -------------------------------------------------


def spoken(*lines: dict[str, Any]) -> list[Record]:
    head = Head(agent="mock", dialect="stdio", session_id="sess_x", key="x", started="2026-11-18T00:00:00Z")
    return [tape.record(0.0, "head", head), *(tape.recv(at / 8, json.dumps(line).encode()) for at, line in enumerate(lines))]


def leaky() -> list[Record]:
    """Secrets in words, in pieces, in arguments that are JSON in JSON, in base64, in an output, on stderr."""
    said = f"Your key is {KEY}, keep it."
    pieces = [said[at : at + 9] for at in range(0, len(said), 9)]
    return [
        *spoken(
            {"type": "ready", "session": "s1", "version": "1", "model": "m", "mode": "build", "permission_mode": "default"},
            {"type": "turn_start", "turn": "t1"},
            {"type": "user", "id": "u1", "text": f"Deploy with {TOKEN}", "attachments": []},
            {"type": "block_start", "block": "b1"},
            *({"type": "block_delta", "block": "b1", "text": piece} for piece in pieces),
            {"type": "block_end", "block": "b1", "text": said},
            {"type": "tool_call", "call": "c1", "name": "shell", "input": {"command": f'curl -H "Authorization: Bearer {TOKEN}"'}},
            {"type": "tool_result", "call": "c1", "output": base64.b64encode(f"password='{PASSWORD}'".encode()).decode()},
            {"type": "turn_end", "turn": "t1", "status": "completed"},
        ),
        tape.record(9.0, "stderr", f"warning: DB_PASSWORD={PASSWORD}"),
        tape.record(9.5, "exit", 0),
    ]


@pytest.fixture
def kept() -> tuple[Memory, SessionRow]:
    return keep(leaky())


def keep(records: list[Record]) -> tuple[Memory, SessionRow]:
    store, agent = Memory(), registry.find("mock")
    row = SessionRow("sess_x", "mock", key="x", translator="stdio 1")
    store.create(row)
    writing = Writing(store, agent, Head(agent="mock", session_id="sess_x", key="x", started="2026-11-18T00:00:00Z"), row)
    writing.add(records)
    writing.finish()
    return store, row


def exported(kept: tuple[Memory, SessionRow], format: str, **options: Any) -> bytes:
    return b"".join(export(*kept, format, **options).chunks)


def test_a_tape_and_its_events_are_what_is_stored(kept: tuple[Memory, SessionRow]) -> None:
    store, row = kept
    assert exported(kept, "tape") == b"".join(map(tape.encode, store.tape(row.session_id)))
    assert exported(kept, "ndjson").splitlines() == list(events(store, row.session_id))
    again = onetape.transcribe(exported(kept, "tape"))
    assert [onetape.to_json(event) for event in again] == exported(kept, "ndjson").splitlines()


@pytest.mark.parametrize("format", FORMATS)
def test_no_secret_is_left_in_any_format(kept: tuple[Memory, SessionRow], format: str) -> None:
    bare = exported(kept, format).decode()
    clean = exported(kept, format, redact=True).decode()
    assert KEY in bare and TOKEN in bare, "there is something to take out"
    hidden = base64.b64encode(f"password='{PASSWORD}'".encode()).decode()
    for secret in (KEY, TOKEN, PASSWORD, hidden, KEY[len(KEY) // 2 :], TOKEN[10:]):
        assert secret not in clean
    assert "[redacted:anthropic-key:1]" in clean and "[redacted:github-token:1]" in clean


def test_what_streamed_in_pieces_has_its_stub_once(kept: tuple[Memory, SessionRow]) -> None:
    lines = [json.loads(line) for line in exported(kept, "ndjson", redact=True).splitlines()]
    streamed = "".join(line["data"]["delta"] for line in lines if line["type"] == "item.delta")
    assert streamed == "Your key is [redacted:anthropic-key:1], keep it."


def test_a_redacted_transcript_is_a_function_of_the_redacted_tape(kept: tuple[Memory, SessionRow]) -> None:
    again = onetape.transcribe(exported(kept, "tape", redact=True))
    assert [onetape.to_json(event) for event in again] == exported(kept, "ndjson", redact=True).splitlines()
    assert not [fault for fault in onetape.check(onetape.transcribe(exported(kept, "tape", redact=True))) if not fault.is_warning]


def test_the_receipt_counts_secrets_and_places(kept: tuple[Memory, SessionRow]) -> None:
    made = export(*kept, "tape", redact=True)
    b"".join(made.chunks)
    told = {receipt.rule: (receipt.secrets, receipt.places) for receipt in made.receipt()}
    assert told["github-token"] == (1, 2) and told["anthropic-key"][0] == 1 and "password" in told


def test_what_has_no_secrets_keeps_its_bytes() -> None:
    kept = keep([record for record in leaky() if not any(secret in str(record) for secret in (KEY, TOKEN, PASSWORD))][:3])
    assert exported(kept, "tape", redact=True) == exported(kept, "tape")
    assert export(*kept, "tape", redact=True).receipt() == []


def test_a_format_that_there_is_not(kept: tuple[Memory, SessionRow]) -> None:
    with pytest.raises(Refused, match=r"pdf.*markdown, html, ndjson, tape"):
        export(*kept, "pdf")


# --- over HTTP --------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with served(tmp_path) as started:
        yield started


@pytest.mark.parametrize("format", FORMATS)
def test_the_route(server: Served, format: str) -> None:
    server.session("odd%2F..%2Fname")
    server.say("odd%2F..%2Fname", f"echo {KEY}")
    answer = server.http.get("/v1/sessions/odd%2F..%2Fname/export", params={"format": format, "redact": "true"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == FORMATS[format].media_type
    assert answer.headers["content-disposition"] == f'attachment; filename="odd_.._name.{FORMATS[format].suffix}"'
    assert KEY not in answer.text and "redacted:anthropic-key" in answer.text


def test_what_the_route_refuses(server: Served) -> None:
    server.session("one")
    assert server.http.get("/v1/sessions/one/export", params={"format": "pdf"}).status_code == 400
    missing = server.http.get("/v1/sessions/two/export")
    assert (missing.status_code, missing.json()["type"].rpartition(":")[2]) == (404, "session_not_found")
