"""What several outcomes are as a whole, and what the shell is told of it."""

from __future__ import annotations

import pytest

from traindeck.cli.exit_codes import code_of
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    DiskFull,
    InvalidInput,
    KeysRefused,
    LedAway,
    LocalTrouble,
    NoRight,
    NotFound,
    NotOffered,
    NotTheService,
    NotTrusted,
    NotUnderstood,
    ServiceTrouble,
    Unreachable,
    Vanished,
    ends_all,
)
from traindeck.domain.outcomes import Outcomes, is_worst, of_file, worst
from traindeck.domain.texts import text

CODES: dict[type[AppError], int] = {
    AppError: 1,
    Conflict: 1,
    LocalTrouble: 1,
    DiskFull: 1,
    NotOffered: 1,
    Vanished: 1,
    InvalidInput: 2,
    AccessRefused: 3,
    KeysRefused: 3,
    NoRight: 3,
    NotFound: 4,
    ServiceTrouble: 5,
    Unreachable: 5,
    NotTrusted: 5,
    NotTheService: 5,
    NotUnderstood: 5,
    LedAway: 5,
}


def error(kind: type[AppError]) -> AppError:
    return kind(text("What happened."), text("What to do."))


@pytest.mark.parametrize("kind", CODES)
def test_each_kind_has_its_code(kind: type[AppError]) -> None:
    assert code_of(error(kind)) == CODES[kind]


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ((ServiceTrouble, LocalTrouble), 1),
        ((LocalTrouble, ServiceTrouble), 1),
        ((Unreachable, NoRight), 3),
        ((NotFound, Unreachable), 4),
        ((NoRight, NotFound), 3),
        ((NotOffered, Unreachable), 1),
        ((InvalidInput, ServiceTrouble), 1),
        ((NoRight, Vanished), 1),
        ((Unreachable, ServiceTrouble), 5),
    ],
)
def test_several_files_are_as_bad_as_the_worst(kinds: tuple[type[AppError], ...], code: int) -> None:
    for order in (kinds, kinds[::-1]):
        found = worst(of_file(error(kind)) for kind in order)
        assert found is not None and code_of(found) == code
        assert is_worst(found) is (code == 1)


def test_what_was_listed_and_is_gone_was_not_misspelled() -> None:
    assert code_of(of_file(error(NotFound), was_listed=True)) == 1
    assert of_file(error(NotFound)).sentence() == error(NotFound).sentence()
    assert worst([]) is None


def test_one_that_fails_leaves_the_rest_to_be_tried() -> None:
    outcomes, tried = Outcomes(), []
    for name, kind in (("a", NotFound), ("b", LocalTrouble), ("c", NotFound)):
        with outcomes.one(name):
            tried.append(name)
            raise error(kind)
    with pytest.raises(LocalTrouble):
        outcomes.end()
    assert tried == [name for name, _ in outcomes.failures] == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [Unreachable, NotUnderstood, KeysRefused, NotTrusted, LedAway])
def test_a_service_that_fails_all_is_asked_no_more(kind: type[AppError]) -> None:
    outcomes = Outcomes()
    with pytest.raises(kind), outcomes.one("a"):
        raise error(kind)


@pytest.mark.parametrize("kind", CODES)
def test_what_cannot_pass_is_not_waited_for(kind: type[AppError]) -> None:
    assert error(kind).passes is (kind in (ServiceTrouble, Unreachable))
    assert ends_all(error(kind)) is (kind in (NotTrusted, NotTheService, LedAway, AccessRefused, KeysRefused))
