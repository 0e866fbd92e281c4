"""When a line of a log was written, as it says itself; in the ways that frameworks and the platform write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_LOOKED_AT = 120
_DAY = r"(?P<year>\d{4})[-/](?P<month>\d\d?)[-/](?P<day>\d\d?)"
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,:](?P<part>\d{1,9}))?)?(?!\d)"
_ZONE = r"(?P<zone>Z\b|[+-]\d\d:?\d\d\b)?"
# 2025-11-18T16:03:11.123+08:00, 2025-11-18 16:03:11,123, 2025/11/18 16:03:11, MindSpore's 2025-11-18-16:03:11.123.456
_WHOLE = re.compile(rf"(?<![\d.]){_DAY}[T\s-]{{1,2}}{_CLOCK} ?{_ZONE}")
# glog's I1118 16:03:11.123456, and [11/18 16:03:11 of Detectron
_NO_YEAR = re.compile(rf"^(?:[IWEF](?P<month>\d\d)(?P<day>\d\d)|\[(?P<m>\d\d)/(?P<d>\d\d)) {_CLOCK}")


def line_time(line: str, near: datetime) -> datetime | None:
    """`near`: a time of the log, for what the line leaves out: its year, and its zone, which is this computer's."""
    beginning = line[:_LOOKED_AT]
    found = _WHOLE.search(beginning) or _NO_YEAR.search(beginning)
    if found is None:
        return None
    said: dict[str, str] = {name: value or "" for name, value in found.groupdict().items()}
    month, day = said["month"] or said.get("m", ""), said["day"] or said.get("d", "")
    part = (said["part"] or "0")[:6].ljust(6, "0")
    clock = (int(said["hour"]), int(said["minute"]), int(said["second"] or 0), int(part))
    try:
        if said.get("year"):
            when = datetime(int(said["year"]), int(month), int(day), *clock)
            return when.replace(tzinfo=_zone(said["zone"])) if said["zone"] else when.astimezone()
        year = near.astimezone().year
        whens = [datetime(each, int(month), int(day), *clock).astimezone() for each in (year - 1, year, year + 1)]
    except (ValueError, OverflowError, OSError):
        return None  # no such day, or one before what this system counts from
    return min(whens, key=lambda when: abs(when - near))


def _zone(words: str) -> timezone:
    if words == "Z":
        return UTC
    sign = -1 if words[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(words[1:3]), minutes=int(words[-2:])))
