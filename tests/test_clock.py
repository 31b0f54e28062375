"""Times: of a tape, and as agents write them."""

import pytest

from onetape.clock import LAST, Clock, moment, written


@pytest.mark.parametrize(("stamp", "seconds"), [
    ("2026-01-01T00:00:00Z", 1767225600.0), ("2026-01-01T02:00:00.250+02:00", 1767225600.25),
    ("2026-01-01T00:00:00", 1767225600.0), ("2026-01-01", 1767225600.0),
])  # fmt: skip
def test_a_time_without_a_zone_is_utc_wherever_it_is_read(stamp: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    told = moment(stamp)
    assert told is not None and told.timestamp() == seconds


@pytest.mark.parametrize("stamp", [None, 7, "", "yesterday", [], {}, True])
def test_what_is_no_time_is_none(stamp: object) -> None:
    assert moment(stamp) is None


@pytest.mark.parametrize(("milliseconds", "told"), [
    (0, "1970-01-01T00:00:00.000Z"), (1767225600250, "2026-01-01T00:00:00.250Z"), (-1, "1970-01-01T00:00:00.000Z"),
    (LAST + 1, "1970-01-01T00:00:00.000Z"), (1e300, "1970-01-01T00:00:00.000Z"), (float("nan"), "1970-01-01T00:00:00.000Z"),
])  # fmt: skip
def test_what_no_clock_shows_is_the_beginning(milliseconds: float, told: str) -> None:
    assert written(milliseconds) == told


def test_half_a_millisecond_is_rounded_up() -> None:
    assert Clock(None).at(1.0005) == "1970-01-01T00:00:01.001Z"
