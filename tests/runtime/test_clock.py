"""Dates as HTTP writes them are written and read as the library does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import formatdate, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.runtime.clock import http_date, of_http_date


@given(st.integers(0, 4_000_000_000))
def test_a_second_is_written_as_the_library_writes_it_and_read_back(second: int) -> None:
    words = http_date(second)
    assert words == formatdate(second, usegmt=True)
    assert of_http_date(words) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)


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
    assert of_http_date(words) == parsedate_to_datetime(words)


@pytest.mark.parametrize("words", ["", "soon", "120", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 GMT"])
def test_what_is_none_is_refused(words: str) -> None:
    with pytest.raises(ValueError):
        of_http_date(words)
