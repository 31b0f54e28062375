"""Money: sums that a person can check, and never a price that nobody told."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from onetape import schema
from onetape.agents import registry
from onetape.archive.finding import Search
from onetape.archive.importing import bring_in
from onetape.errors import Refused
from onetape.ledger import Bill, Row, ledger, total
from onetape.moments import milliseconds_of
from onetape.prices import cost_of, price_of, table
from onetape.projection import Projection, Rows, Turn
from onetape.schema import Usage
from onetape.stores.memory import Memory
from onetape.stores.sqlite import Sqlite
from onetape.stores.store import Batch, SessionRow, Store
from onetape.summary import Summary
from onetape.transcribe import transcribe

CAPTURES = Path(__file__).parent / "captures"
DAY = 86_400_000


def bill(session: str = "s", agent: str = "a", day: int = 0, mark: str = "", **usage: object) -> Bill:
    return Bill(session, agent, "/d", Turn(1, day * DAY, Usage(**usage), mark))  # type: ignore[arg-type]


def test_a_told_cost_is_kept_and_a_missing_one_computed() -> None:
    told = bill(input_tokens=10, output_tokens=5, cost_usd=0.25, model="claude-sonnet-4-5")
    computed = bill(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=1_000_000, model="claude-sonnet-4-5-20250929")
    unpriced = bill(input_tokens=7, output_tokens=3, reasoning_tokens=2, model="scripted-1")
    (row,) = ledger([told, computed, unpriced], "agent")
    assert row.told_usd == 0.25 and row.computed_usd == pytest.approx(3 + 1.5 + 0.3) and row.cost_usd == pytest.approx(5.05)
    assert row.unpriced_tokens == 10 and row.turns == 3 and row.output_tokens == 100_008


def test_an_unknown_model_is_unpriced_and_never_free() -> None:
    (row,) = ledger([bill(input_tokens=10, model="nobody's")], "model")
    assert row.cost_usd is None and row.unpriced_tokens == 10
    assert price_of("claude-sonnet-4-5-turbo") is None, "never the price of another"


def test_names_with_a_provider_or_a_date_are_the_same_model() -> None:
    for name in ("claude-opus-4-5-20251101", "anthropic/claude-opus-4-5", "claude-opus-4-5-latest", "claude-opus-4-5"):
        assert price_of(name) == table().models["claude-opus-4-5"]
    assert cost_of(Usage(input_tokens=1_000_000, cache_write_tokens=1_000_000, model="gpt-5")) == 2.5


@pytest.mark.parametrize("by, keys", [
    ("day", ["1970-01-01", "1970-01-02"]), ("agent", ["b", "a"]), ("session", ["t", "s"]), ("model", ["m", None]), ("directory", ["/d"]),
])  # fmt: skip
def test_groupings(by: str, keys: list[str | None]) -> None:
    bills = [bill("s", "a", 1, cost_usd=1.0), bill("t", "b", 0, cost_usd=2.0, model="m")]
    assert [row.key for row in ledger(bills, by)] == keys
    assert total(ledger(bills, by)).cost_usd == 3.0


def test_a_wrong_grouping_is_refused() -> None:
    with pytest.raises(Refused, match="not by 'colour'"):
        ledger([], "colour")


@pytest.mark.parametrize("make", [Memory, None])
def test_a_copied_turn_is_counted_once(make: type[Memory] | None, tmp_path: Path) -> None:
    """A fork repeats its parent's turns: the same names, the same times, the same bill."""
    store: Store = make() if make else Sqlite(tmp_path)
    for name, created, marks in (("parent", 1, ["x", "y"]), ("fork", 2, ["x", "y", "z"])):
        store.create(SessionRow(name, "a", created_at=created, summary=Summary(directory="/d")))
        turns = [Turn(at, 1000 + at, Usage(output_tokens=10), mark) for at, mark in enumerate(marks, 1)]
        store.append(Batch(name, rows=Rows(turns=turns))).result()
    assert [(found.session_id, found.turn.mark) for found in store.billed()] == [("parent", "x"), ("parent", "y"), ("fork", "z")]
    assert [found.turn.mark for found in store.billed(since=1002)] == ["y", "z"] and list(store.billed(until=1001)) == []
    store.close()


def by_hand(events: list[schema.Event]) -> tuple[int, int, int, float]:
    """The sums, straight from the events."""
    told = [event.data.metadata.usage for event in events if isinstance(event, schema.TurnEnded)]
    bills = [usage for usage in told if isinstance(usage, Usage)]
    return (
        len(bills), sum(usage.input_tokens or 0 for usage in bills), sum(usage.output_tokens or 0 for usage in bills),
        sum(usage.cost_usd or 0 for usage in bills),
    )  # fmt: skip


@pytest.mark.parametrize("agent", ["amp", "claude", "codex", "opencode", "pi"])
def test_the_ledger_of_recordings_is_their_sum(agent: str) -> None:
    store = Memory()
    wanted = [0, 0, 0, 0.0]
    for at, file in enumerate(sorted((CAPTURES / agent).rglob("*.jsonl"))[:40]):
        events = list(transcribe(file.read_bytes(), agent, session_id=f"s{at}"))
        wanted = [have + more for have, more in zip(wanted, by_hand(events), strict=True)]
        row = SessionRow(f"s{at}", agent)
        store.create(row)
        rows = Projection(row.summary).see(events)
        store.append(Batch(row.session_id, rows=Rows(turns=[_unique(turn, at) for turn in rows.turns]), row=row)).result()
    (row,) = ledger(store.billed(), "agent")
    assert [row.turns, row.input_tokens, row.output_tokens] == wanted[:3]
    assert (row.told_usd or 0.0) == pytest.approx(wanted[3])


def _unique(turn: Turn, at: int) -> Turn:
    """Recordings of one script may be alike to the letter."""
    return Turn(turn.sequence, turn.time, turn.usage, f"{at}/{turn.sequence}")


def test_an_import_of_everything_has_a_ledger() -> None:
    store = Memory()
    for found in Search(registry.every()).named([CAPTURES]):
        bring_in(store, found)
    rows: list[Row] = ledger(store.billed(), "agent")
    assert {row.key for row in rows} >= {"claude", "codex", "pi", "opencode"}


@pytest.mark.parametrize("words, wanted", [
    ("1970-01-02", DAY), ("1970-01-01T00:00:01Z", 1000), ("1970-01-01T01:00:00+01:00", 0), ("1234", 1234), ("1d", DAY),
    ("2h", 2 * DAY - 7_200_000),
])  # fmt: skip
def test_moments(words: str, wanted: int) -> None:
    assert milliseconds_of(words, datetime(1970, 1, 3, tzinfo=UTC)) == wanted


def test_what_is_no_moment_is_refused() -> None:
    with pytest.raises(Refused, match="no moment"):
        milliseconds_of("yesterday", datetime(1970, 1, 3, tzinfo=UTC))
