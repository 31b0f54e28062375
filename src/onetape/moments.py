"""Moments as people write them: a day, a time, how long ago, or milliseconds."""

import re
from datetime import UTC, datetime, timedelta

from onetape.errors import Refused

_AGO = re.compile(r"^(\d+)\s*([mhdw])$")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def milliseconds_of(text: str, now: datetime) -> int:
    """`2026-11-18`, `2026-11-18T09:30Z`, `7d` (ago), or Unix milliseconds. Without a zone: UTC, as all times of a transcript."""
    words = text.strip()
    if words.isdecimal():
        return int(words)
    if ago := _AGO.match(words.lower()):
        return _since_epoch(now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
    try:
        moment = datetime.fromisoformat(words)
    except ValueError:
        raise Refused(f"{text!r} is no moment: say a day (2026-11-18), a time (2026-11-18T09:30Z) or how long ago (7d, 12h)") from None
    return _since_epoch(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _since_epoch(moment: datetime) -> int:
    return (moment - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
