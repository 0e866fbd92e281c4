"""Rules and sizes of transfers, and failures that are told later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    ClockOff,
    DiskFull,
    InvalidInput,
    NotFound,
    ServiceTrouble,
    Unexpected,
    Unreachable,
)
from traindeck.domain.texts import CHINESE, count_text, text
from traindeck.domain.transfers.object_limits import MOST_OBJECT_BYTES, MOST_PART_BYTES, part_bytes, part_count, refusal
from traindeck.domain.transfers.orders import CompareBy, Kind, Links, Order, Rules
from traindeck.domain.transfers.records import WaitsFor, waits_for
from traindeck.runtime import language

words = text("“{place}” does not exist.", place="x")


@given(st.integers(1, MOST_OBJECT_BYTES))
def test_every_file_the_service_takes_fits_into_its_parts(size: int) -> None:
    each = part_bytes(size)
    assert 100_000 <= each <= MOST_PART_BYTES
    assert part_count(size, each) <= 10_000
    assert (part_count(size, each) - 1) * each < size <= part_count(size, each) * each


@given(st.builds(Rules, compare=st.none() | st.sampled_from(CompareBy), ignore=st.lists(st.text()).map(tuple),
                 delete=st.booleans(), max_delete=st.integers(0), links=st.sampled_from(Links),
                 filters=st.lists(st.tuples(st.booleans(), st.text())).map(tuple), part_bytes=st.integers(0),
                 metadata=st.lists(st.tuples(st.text(), st.text())).map(tuple),
                 keeps_existing=st.booleans()))  # fmt: skip
def test_rules_come_back_from_the_journal(rules: Rules) -> None:
    assert Rules.from_json(rules.to_json()) == rules


def test_rules_of_a_newer_program_are_read_as_far_as_they_are_known() -> None:
    assert Rules.from_json('{"delete": true, "of_tomorrow": 1, "links": "skip"}') == Rules(delete=True)


def test_an_order_from_before_links_were_left_out_follows_them() -> None:
    assert Rules.from_json("{}").links is Links.FOLLOW


def test_an_order_keeps_a_key_letter_by_letter() -> None:
    order = Order(Kind.DOWNLOAD, "lab", "obs://bucket/ a//b?c ", "/tmp/x")
    assert order.remote_source.key == " a//b?c "


@pytest.mark.parametrize(
    ("key", "problem"),
    [("é" * 512, None), ("é" * 512 + "x", "1,024 bytes"), ("a\\b", "backslash"), ("a\nb", "control"),
     ("a\udcff", "UTF-8"), ("data/a b+c%:?*.txt", None)],
)  # fmt: skip
def test_names_no_service_could_keep_are_refused_before_a_byte_goes_up(key: str, problem: str | None) -> None:
    error = refusal(key, 1)
    assert (problem is None) == (error is None)
    if error:
        assert isinstance(error, InvalidInput)
        assert str(problem) in error.sentence()
        error.sentence().encode()


def test_a_file_over_the_limit_of_the_service_is_refused() -> None:
    assert refusal("a", MOST_OBJECT_BYTES) is None
    assert refusal("a", MOST_OBJECT_BYTES + 1) is not None


def test_what_may_pass_waits_and_the_rest_does_not() -> None:
    reasons = {
        Unreachable: WaitsFor.NETWORK, ServiceTrouble: WaitsFor.SERVICE, AccessRefused: WaitsFor.KEYS,
        ClockOff: WaitsFor.CLOCK, DiskFull: WaitsFor.DISK, NotFound: None, InvalidInput: None,
    }  # fmt: skip
    assert {kind: waits_for(kind(words, words)) for kind in reasons} == reasons


def test_a_failure_comes_back_with_its_kind_and_its_words() -> None:
    inner = text("Look at the network.")
    error = ServiceTrouble(text("It failed: {why}", why=inner, at=3), inner, "HTTP 503", 3.0)
    read = kept_errors.from_json(kept_errors.to_json(error))
    assert type(read) is ServiceTrouble
    assert (read.sentence(), read.detail, read.title) == (error.sentence(), "HTTP 503", error.title)
    assert type(kept_errors.from_json(kept_errors.to_json(Unexpected("oh")))) is Unexpected


def test_a_failure_of_a_newer_program_is_a_failure_all_the_same() -> None:
    content = kept_errors.to_json(NotFound(words, words)).replace("NotFound", "OfTomorrow")
    assert type(kept_errors.from_json(content)) is AppError


def test_a_sentence_written_down_is_said_in_the_language_of_the_day() -> None:
    error = NotFound(text("“{place}” does not exist.", place="{x}.py"), text("Refresh the list."))
    kept = kept_errors.words_from_json(kept_errors.words_to_json(error.paragraph()))
    assert kept == error.paragraph() and str(kept) == "“{x}.py” does not exist. Refresh the list."
    language.speak(CHINESE)
    assert str(kept) == error.sentence() and "does not exist" not in str(kept)


def test_a_sentence_about_one_thing_stays_about_one() -> None:
    kept = kept_errors.words_from_json(kept_errors.words_to_json(count_text("{count} file", "{count} files", 1)))
    assert str(kept) == "1 file"


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Exit code 1",
        "{name} is not {0}",
        '{"english": "as a service might say it", "fields": {}}',
        '{"english": ',
        '{"english": "{of_tomorrow}", "fields": {}}',
        '{"english": 3, "fields": 4}',
    ],
)
def test_words_of_others_stay_as_they_are(words: str) -> None:
    assert str(kept_errors.words_from_json(kept_errors.words_to_json(words))) == words


@pytest.mark.parametrize("content", ['{"english": ', '{"english": "{of_tomorrow}", "fields": {}}', '{"english": 3}'])
def test_a_sentence_that_cannot_be_read_is_shown_as_it_stands(content: str) -> None:
    assert kept_errors.words_from_json(content) == content
