"""When a line was written, in the ways that frameworks say it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from traindeck.domain.jobs.line_times import line_time

NEAR = datetime(2025, 11, 18, 12, tzinfo=UTC)
CHINA = timezone(timedelta(hours=8))


def local(*parts: int) -> datetime:
    return datetime(*parts).astimezone()  # type: ignore[arg-type]  # year, month and day come first


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "2025-11-18T16:03:11.123+08:00 [ModelArts Service Log] started",
            datetime(2025, 11, 18, 16, 3, 11, 123000, CHINA),
        ),
        ("2025-11-18T08:03:11Z ready", datetime(2025, 11, 18, 8, 3, 11, tzinfo=UTC)),
        ("2025-11-18 16:03:11,123 - INFO - epoch 1", local(2025, 11, 18, 16, 3, 11, 123000)),
        ("INFO 2025/11/18 16:03:11 train.py:12 loss 0.1", local(2025, 11, 18, 16, 3, 11)),
        (
            "[WARNING] ME(1:2,MainProcess):2025-11-18-16:03:11.123.456 [mindspore/x.py:9] m",
            local(2025, 11, 18, 16, 3, 11, 123000),
        ),
        ("I1118 16:03:11.123456 42 x.cc:1] glog", local(2025, 11, 18, 16, 3, 11, 123456)),
        ("[11/18 16:03:11 d2.engine]: detectron", local(2025, 11, 18, 16, 3, 11)),
        ("[12/31 23:59:59 d2.engine]: the year before?", local(2025, 12, 31, 23, 59, 59)),
        ("epoch 1/3 loss 0.5", None),
        ("2025-13-45 99:99:99 no such day", None),
        ("loss 2025", None),
        ("0000-00-00 00:00:00 nothing", None),
        ("9999-12-31 23:59:59+99:99 far", None),
        ("", None),
    ],
)
def test_a_line_says_when_it_was_written(line: str, expected: datetime | None) -> None:
    assert line_time(line, NEAR) == expected


def test_a_time_without_a_year_is_the_one_nearest_to_the_run() -> None:
    assert line_time("I0101 00:00:01.0 x", datetime(2025, 12, 31, tzinfo=UTC)) == local(2026, 1, 1, 0, 0, 1)
