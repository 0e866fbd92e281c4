"""The time a line of a log says of itself, and the row of a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from traindeck.domain.jobs.line_times import line_time
from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.log_document import LogDocument

_NEAR_ROWS = 200
_OF_DAY = re.compile(r"(?<![\d:.])(\d{1,2}):(\d\d)(?::(\d\d))?(?![\d:])")


def time_of(words: str) -> datetime | None:
    """As it is written; of which zone, does not matter within one log."""
    found = line_time(words, datetime.now(UTC))
    return None if found is None else found.replace(tzinfo=None)


def row_of_time(document: LogDocument, typed: str, rows: int, token: CancelToken) -> int | None:
    """The first row at that time or later; None: no line says its time, or `typed` is none."""
    first = _time_near(document, 0, rows)
    if first is None or (wanted := _wanted(typed, first[1])) is None:
        return None
    low, high = first[0], rows
    while low < high:
        token.check()
        middle = (low + high) // 2
        near = _time_near(document, middle, min(high, middle + _NEAR_ROWS))
        if near is None:
            high = middle
        elif near[1] >= wanted:
            # Rows without a time in front of it belong to the one before them.
            high = middle
        else:
            low = near[0] + 1
    found = _time_near(document, low, rows)
    return rows - 1 if found is None else found[0]


def _time_near(document: LogDocument, first: int, last: int) -> tuple[int, datetime] | None:
    for row in document.rows(first, min(_NEAR_ROWS, last - first)).rows:
        if (at := time_of(row.words)) is not None:
            return row.number, at
    return None


def _wanted(typed: str, begin: datetime) -> datetime | None:
    """A time of day is the first after the log began."""
    if (full := time_of(typed)) is not None:
        return full
    found = _OF_DAY.search(typed)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups())
    if hour > 23 or minute > 59 or second > 59:
        return None
    at = begin.replace(hour=hour, minute=minute, second=second, microsecond=0)
    return at if at >= begin.replace(microsecond=0) else at + timedelta(days=1)
