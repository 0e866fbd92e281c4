"""Dates as HTTP writes them are written and read as the library does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import formatdate, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.odd_dates import FAR_DATES, ODD_DATES, ascii_start
from traindeck.runtime.clock import EARLIEST, LATEST, clamped, clamped_ns, http_date, http_moment, moment_at


@given(st.integers(0, 4_000_000_000))
def test_a_second_is_written_as_the_library_writes_it_and_read_back(second: int) -> None:
    words = http_date(second)
    assert words == formatdate(second, usegmt=True)
    assert http_moment(words) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)


@pytest.mark.parametrize(
    "words",
    [
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 +0200",
        "6 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
    ],
)
def test_what_others_write_is_read_as_the_library_reads_it(words: str) -> None:
    read = parsedate_to_datetime(words)
    assert http_moment(words) == (read if read.tzinfo else read.replace(tzinfo=UTC))


@pytest.mark.parametrize("words", ODD_DATES, ids=ascii_start)
def test_what_is_odd_is_no_date(words: str) -> None:
    assert http_moment(words) is None


@pytest.mark.parametrize("words", FAR_DATES)
def test_a_far_date_is_clamped(words: str) -> None:
    found = http_moment(words)
    assert found in (EARLIEST, LATEST) and datetime.now(UTC) - found is not None


DATE_LIKE = st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{1,9} \d\d:\d\d:\d\d [-+A-Z0-9]{0,30}")


@given(st.text(max_size=80) | DATE_LIKE)
def test_no_text_is_too_strange(words: str) -> None:
    found = http_moment(words)
    assert found is None or EARLIEST <= found <= LATEST


@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_every_moment_is_within_the_years(moment: datetime) -> None:
    assert EARLIEST <= clamped(moment) <= LATEST


@given(st.floats(allow_nan=False) | st.integers())
def test_every_number_of_seconds_is_a_moment(seconds: float) -> None:
    assert EARLIEST <= moment_at(seconds) <= LATEST
    if isinstance(seconds, int):
        assert -(2**63) < clamped_ns(seconds) < 2**63
