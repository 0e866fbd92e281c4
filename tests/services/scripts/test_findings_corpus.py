"""Scripts as people write them: what would fail is found at its line, and nothing is said of what only looks wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from support.script_pieces import SECRETS, ScriptPiece, pieces
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.texts import say
from traindeck.services.scripts.rules.all_rules import RULE_NAMES

FAULTY, RIGHT = pieces("faulty"), pieces("right")


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len(FAULTY) >= 60 and len(RIGHT) >= 40


def test_every_rule_has_a_faulty_piece() -> None:
    assert {piece.expected[0] for piece in FAULTY} == set(RULE_NAMES)
    assert [name for name, count in Counter(RULE_NAMES).items() if count > 1] == []


@pytest.mark.parametrize("piece", FAULTY, ids=lambda piece: piece.name)
def test_what_is_faulty_is_found_at_its_line(piece: ScriptPiece) -> None:
    report = piece.examined()
    found = piece.found(report)
    assert found is not None, [(one.rule, one.level.value, one.file, one.line, str(one.why)) for one in report.findings]
    assert found.source_line or piece.line is None
    said = " ".join(say(part) for part in (found.title, found.why, found.hint)) + found.source_line
    assert not [value for value in SECRETS.values() if value in said]


@pytest.mark.parametrize("piece", RIGHT, ids=lambda piece: piece.name)
def test_nothing_red_is_said_of_what_is_right(piece: ScriptPiece) -> None:
    report = piece.examined()
    assert [
        (one.rule, one.file, one.line, str(one.why)) for one in report.findings if one.level is CheckLevel.RED
    ] == []


def test_hardly_a_warning_is_given_of_what_is_right() -> None:
    warned = [(piece.name, one.rule, one.line, str(one.why)) for piece in RIGHT for one in piece.examined().findings]
    assert len(warned) <= 2, warned
