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
PARTS = 8
TRIES = 3


def longest(one: Expression) -> int:
    if one.words in WINDOWS:
        return WINDOWS[one.words]
    return next((bound for where, bound in BOUNDED.items() if one.where.startswith(where)), LONGEST)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_text_takes_longer_than_its_length(part: int) -> None:
    found = [*of_program(), *of_data(progress_patterns(), failure_rules(), phase_rules())]
    assert len(found) > 600
    slow: list[str] = []
    for one in found[part::PARTS]:
        took_s, length, text = (
            min((worst(one, longest(one)) for _ in range(TRIES)), key=lambda told: told[0])
            if worst(one, longest(one))[0] > MOST_S
            else (0.0, 0, "")
        )
        if took_s > MOST_S:
            slow.append(f"{one.id}: {took_s:.2f} s for {length} of {text[:40]!r}")
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    ("words", "way"),
    [("(a+)+b", "search"), (r"\s+$", "search"), (r"(?:<!--.*?-->\s*)*<html", "match"), ("a*a*b", "match")],
)
def test_what_is_not_linear_is_found(words: str, way: str) -> None:
    assert worst(Expression("here", words, 0, False, frozenset({way})))[0] > MOST_S
