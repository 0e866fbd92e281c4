"""What a bucket would not take is found before it is sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.storage.bucket_settings import (
    OBS_TAGS,
    S3_TAGS,
    CorsRule,
    LifecycleRule,
    cors_mistake,
    cors_opens_to_all,
    mistakes,
    rule_mistake,
    tag_mistakes,
)

GOOD = CorsRule(("https://a.example:8443",), ("GET",), ("x-obs-*",), ("ETag",), 60)


@pytest.mark.parametrize(
    ("tags", "wrong"),
    [
        ([("a", "b"), ("c", "")], set()),
        ([("k" * 36, "v" * 43)], set()),
        ([("k" * 37, "")], {"k" * 37}),
        ([("k", "v" * 44)], {"k"}),
        ([("a=b", "")], {"a=b"}),
        ([("a", "x|y")], {"a"}),
        ([(" ", "x")], {" "}),
        ([("a", "1"), ("a", "2")], {"a"}),
        ([("tab\there", "")], {"tab\there"}),
        ([(f"k{number}", "") for number in range(21)], {""}),
    ],
)
def test_tags(tags: list[tuple[str, str]], wrong: set[str]) -> None:
    assert set(tag_mistakes(tags, OBS_TAGS)) == wrong


def test_other_services_take_more_tags() -> None:
    assert not tag_mistakes([(f"a=b{number}", "v" * 256) for number in range(50)], S3_TAGS)
    assert tag_mistakes([("k" * 129, "")], S3_TAGS)


@pytest.mark.parametrize("origin", ["*", "http://a", "https://*.example.com", "http://127.0.0.1:80", "app.example.com"])
def test_origins_that_are_some(origin: str) -> None:
    assert cors_mistake(replace(GOOD, origins=(origin,))) is None


@pytest.mark.parametrize("origin", ["https://a/b", "https://*.a.*", "two words", "https://", "ftp://x", "a?b", ""])
def test_origins_that_are_none(origin: str) -> None:
    assert cors_mistake(replace(GOOD, origins=(origin,))) is not None


def test_cors_rules() -> None:
    assert cors_mistake(GOOD) is None
    for wrong in (
        replace(GOOD, origins=()),
        replace(GOOD, methods=()),
        replace(GOOD, headers=("x y",)),
        replace(GOOD, headers=("*-*",)),
        replace(GOOD, exposed=("*",)),
        replace(GOOD, max_age_s=-1),
    ):
        assert cors_mistake(wrong) is not None
    assert cors_opens_to_all(CorsRule(("*",), ("PUT",))) and not cors_opens_to_all(CorsRule(("*",), ("GET",)))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (LifecycleRule(), "has no action"),
        (LifecycleRule(expire_days=0), "1 to"),
        (LifecycleRule(abort_days=40000), "1 to"),
        (LifecycleRule(expire_days=3, expire_date=date(2030, 1, 1)), "not both"),
        (LifecycleRule(moves=(("WARM", 30), ("COLD", 30))), "COLD later"),
        (LifecycleRule(moves=(("WARM", 30),), expire_days=30), "before the transition"),
        (LifecycleRule(old_moves=(("COLD", 9),), old_expire_days=8), "before the transition"),
        (LifecycleRule("x" * 256, abort_days=1), "255"),
        (LifecycleRule(prefix="a\n", abort_days=1), "cannot be written"),
    ],
)
def test_lifecycle_rules_that_cannot_be(rule: LifecycleRule, words: str) -> None:
    assert words in str(rule_mistake(rule))


def test_two_rules_must_not_do_the_same() -> None:
    logs, inner = LifecycleRule("logs", "logs/", expire_days=9), LifecycleRule("inner", "logs/old/", expire_days=3)
    assert set(mistakes((logs, inner))) == {0, 1}
    assert "logs/old/" in str(mistakes((logs, inner))[0])
    # Something else, somewhere else, or switched off is fine; so is what the service has taken before.
    assert not mistakes((logs, replace(inner, expire_days=None, abort_days=1)))
    assert not mistakes((logs, replace(inner, prefix="data/")))
    assert not mistakes((logs, replace(inner, is_enabled=False)))
    assert not mistakes((logs, inner), (logs, inner))
    assert set(mistakes((logs, replace(inner, id="logs", prefix="x/")))) == {0, 1}


@given(st.lists(st.builds(LifecycleRule, st.text(max_size=3), st.text(max_size=3), expire_days=st.integers(1, 9))))
def test_what_is_known_is_never_held_against_it(rules: list[LifecycleRule]) -> None:
    assert not mistakes(rules, rules)
