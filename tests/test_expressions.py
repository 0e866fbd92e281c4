"""Every regular expression of the program takes linear time, also for texts made to be bad for it."""

from __future__ import annotations

import pytest

from support.expressions import LONGEST, MOST_S, Expression, of_data, of_program, worst
from traindeck.services.readings.shipped import failure_rules, phase_rules, progress_patterns

# Whose texts are cut before: lines of logs and scripts, names of objects, windows of a line.
BOUNDED = {
    "data": 4096,
    "domain/readings/": 4096,
    "services/scripts/rules/secrets.py": 4000,
    "domain/datasets/": 1024,
}
# Searched in so many signs alone.
WINDOWS = {r"([A-Za-z_-]+)[^A-Za-z0-9]*$": 24, r"(?<![\w./@-])((?:[A-Za-z\u4e00-\u9fff][\w./@%-]{0,59} ){1,2})$": 80}
PARTS = 4
TRIES = 3


def longest(one: Expression) -> int:
    if one.words in WINDOWS:
        return WINDOWS[one.words]
    return next((bound for where, bound in BOUNDED.items() if one.where.startswith(where)), LONGEST)


def slow_of(found: list[Expression]) -> list[str]:
    slow: list[str] = []
    for one in found:
        told = worst(one, longest(one))
        if told[0] > MOST_S:  # once may be by chance
            told = min([told, *(worst(one, longest(one)) for _ in range(TRIES))])
        if told[0] > MOST_S:
            slow.append(f"{one.id}: {told[0]:.2f} s for {told[1]} of {told[2][:40]!r}")
    return slow


@pytest.mark.parametrize("part", range(PARTS))
def test_no_text_takes_longer_than_its_length(part: int) -> None:
    found = of_program()
    assert len(found) > 250
    assert not slow_of(found[part::PARTS])


@pytest.mark.long
def test_nor_with_those_of_the_data_files() -> None:
    found = of_data(progress_patterns(), failure_rules(), phase_rules())
    assert len(found) > 600
    assert not slow_of(found)


def test_the_most_common_of_the_data_files_are_linear() -> None:
    assert not slow_of(of_data(progress_patterns()))


@pytest.mark.parametrize(
    ("words", "way"),
    [("(a+)+b", "search"), (r"\s+$", "search"), (r"(?:<!--.*?-->\s*)*<html", "match")],
)
def test_what_is_not_linear_is_found(words: str, way: str) -> None:
    assert worst(Expression("here", words, 0, False, frozenset({way})))[0] > MOST_S
