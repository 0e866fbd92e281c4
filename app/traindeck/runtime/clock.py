"""Time: what it is, how it is written in HTTP, and how long to wait before another try."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def http_date(second: int) -> str:
    """This second since 1970 as HTTP writes it."""
    moment = datetime.fromtimestamp(second, UTC)
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day}, {moment.day:02} {month} {moment.year:04} {moment:%H:%M:%S} GMT"


def of_http_date(words: str) -> datetime:
    """ValueError: this is no date."""
    match words.split(" "):
        case [_, day, month, year, time, "GMT"] if month in _MONTHS:
            with suppress(ValueError):
                return datetime.fromisoformat(f"{year}-{_MONTHS.index(month) + 1:02}-{day}T{time}+00:00")
    from email.utils import parsedate_to_datetime  # slow to load, and few write it in another way

    return parsedate_to_datetime(words)


def delays(first_s: float, longest_s: float, chance: random.Random) -> Iterator[float]:
    """Doubling delays with full jitter below, so that many clients do not come back at once."""
    ceiling = first_s
    while True:
        yield ceiling * chance.uniform(0.5, 1.0)
        ceiling = min(longest_s, ceiling * 2)


# Rows by the ten thousand live until the end; looked at anew for every few hundred more they cost a sixth of a listing.
_NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Called once everything is loaded."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
