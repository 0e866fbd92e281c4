"""“Track this number”: found again in the lines that come, whatever the numbers and blanks around it are then."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.readings.line_reader import LineReader
from traindeck.domain.readings.tracking import tracked_number
from traindeck.services.readings.shipped import progress_patterns

LINE = "[12:01:07] actor 3: reward=-14.25 buffer 81.5% (max 100)"


def found(line: str, selected: str, others: str) -> str | None:
    begin = line.index(selected)
    match = re.search(tracked_number(line, begin, begin + len(selected)).expression, others)
    return match[1] if match else None


@pytest.mark.parametrize(
    ("selected", "value"),
    [("reward=-14.25", "2.5e-3"), ("14.25", "2.5e-3"), ("buffer 81.5", "7"), ("81", "7"), ("max 100", "250")],
)
def test_a_selected_number_is_found_in_the_lines_that_follow(selected: str, value: str) -> None:
    assert found(LINE, selected, "[12:01:09] actor  17: reward=2.5e-3 buffer   7% (max 250)") == value


def test_a_number_with_its_thousands_apart_is_one_number() -> None:
    assert found("fed 12,345 tok/s", "12,345", "fed 1,002,345 tok/s") == "1,002,345"


def test_it_is_called_after_the_words_before_it_or_as_somebody_likes() -> None:
    begin = LINE.index("81.5")
    assert tracked_number(LINE, begin, begin + 4).name == "reward buffer"
    assert tracked_number(LINE, begin, begin + 4, " fill ").name == "fill"


def test_without_a_number_it_says_so() -> None:
    with pytest.raises(InvalidInput):
        tracked_number("no numbers here at all, none", 3, 9)
    with pytest.raises(InvalidInput):
        tracked_number("", 0, 0)


@given(st.text(max_size=300), st.integers(0, 300), st.integers(0, 300))
@example("\N{SUPERSCRIPT TWO}0", 0, 0)
@example("loss 1 loss 2 loss 3", 12, 13)
@example("fed 12,345 tok/s", 6, 7)
def test_any_selection_is_a_number_that_is_found_in_its_own_line_or_none(line: str, one: int, other: int) -> None:
    begin, end = sorted((one, other))
    try:
        number = tracked_number(line, begin, end)
    except InvalidInput:
        return
    expression = re.compile(number.expression)
    found = [match for place in range(len(line)) if (match := expression.match(line, place))]
    # It is the selected number, or the one right behind the selection, and not merely one of the same line.
    assert any(match.end(1) > begin and match.start(1) < max(end, begin + 1) + 8 for match in found), number


def test_no_line_takes_long() -> None:
    number = tracked_number("a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8.5 i", 30, 33)
    began = time.process_time()
    for line in ("1 " * 2000, "a " * 2000, "9" * 4000, "a 1 b 2 c 3 d 4 " * 250):
        re.search(number.expression, line)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("head", ["2026-05-01 10:30:00 ", "[12:01:07] ", "[rank0]: ", "\x1b[32m12:01:07\x1b[0m ", ""])
def test_a_number_behind_the_time_or_the_rank_of_a_line_is_read(head: str) -> None:
    line = f"{head}fill 7.50".replace("\x1b[32m", "").replace("\x1b[0m", "")
    place = line.index("7.50")
    reader = LineReader(progress_patterns(), (tracked_number(line, place, place + 4),))
    facts = reader.facts(f"{head}fill 8.25".encode())
    assert facts is not None and [value for _, value in facts.tracked] == [8.25]
