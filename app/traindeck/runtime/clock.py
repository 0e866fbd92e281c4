"""Time: what it is, how it is written in HTTP, and how long to wait before another try."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# What 64 bits of nanoseconds hold, as databases and file systems have them.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2262, 1, 1, tzinfo=UTC)
_LATEST_NS = int(LATEST.timestamp()) * 10**9
_FIRST_FILE_NS = -11_644_473_600 * 10**9  # 1601, when the time of Windows begins
_LONGEST_DATE = 64

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def http_date(second: int) -> str:
    """This second since 1970 as HTTP writes it."""
    moment = datetime.fromtimestamp(second, UTC)
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day}, {moment.day:02} {month} {moment.year:04} {moment:%H:%M:%S} GMT"


def clamped(moment: datetime) -> datetime:
    """Return the moment in UTC, and within the years that all who work with it can hold."""
    if moment.tzinfo is not UTC:
        try:
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except OverflowError:  # a day past the last year, or before the first
            return LATEST if moment.year > LATEST.year else EARLIEST
    return moment if EARLIEST <= moment <= LATEST else min(max(moment, EARLIEST), LATEST)


def clamped_ns(nanoseconds: int) -> int:
    """Return the time of a file within the years that every file system and database can hold."""
    return min(max(nanoseconds, _FIRST_FILE_NS), _LATEST_NS)


def moment_at(seconds: float) -> datetime:
    """Return the moment so many seconds after 1970, clamped."""
    return datetime.fromtimestamp(min(max(seconds, 0), _LATEST_NS // 10**9), UTC)


@lru_cache(maxsize=4096)  # many objects are of the same second, and reading a date is slow
def http_moment(words: str) -> datetime | None:
    """Return the date in a header, or None for anything odd."""
    if len(words) > _LONGEST_DATE:
        return None
    match words.split(" "):
        case [_, day, month, year, time, "GMT"] if month in _MONTHS:
            with suppress(ValueError):
                return clamped(datetime.fromisoformat(f"{year}-{_MONTHS.index(month) + 1:02}-{day}T{time}+00:00"))
    from email.utils import parsedate_to_datetime  # slow to load, and few write it in another way

    try:
        return clamped(parsedate_to_datetime(words))
    except (ValueError, OverflowError, TypeError, IndexError):  # zones and numbers that the library does not expect
        return None


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
