"""When a job is stopped, in every way people write it."""

import pytest

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.stop_time import StopTime, stop_hours, stop_time


@pytest.mark.parametrize(
    ("written", "hours"),
    [("4h", 4), ("2d", 48), ("none", None), (" 1 H ", 1), ("30m", 1), ("90m", 2), ("1h30m", 2), ("1.5d", 36),
     ("3600s", 1), ("365d", 8760)],
)  # fmt: skip
def test_stop_times(written: str, hours: int | None) -> None:
    assert stop_hours(written) == hours


def test_a_later_end_than_asked_for_is_said() -> None:
    assert str(stop_time("30m").remark) == "The service counts whole hours: the job stops after 1 hour."
    assert str(stop_time("1h30m").remark) == "The service counts whole hours: the job stops after 2 hours."
    assert stop_time("120m") == StopTime(2)
    assert stop_time("120m").remark is None and stop_time("none").remark is None


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "Enter when to stop"), ("4", "Enter when to stop"), ("h", "units"), ("-1h", "units"), ("four", "units"),
        ("1h x", "units"), ("0h", "no time"), ("0m", "no time"), ("9999h", "longer than a year"),
        ("9" * 400 + "h", "longer than a year"),
    ],
)  # fmt: skip
def test_what_is_no_stop_time_says_why(written: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        stop_time(written)
    assert said in refused.value.sentence()
