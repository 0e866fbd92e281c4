"""Which names --include and --exclude take: the last rule that fits decides, written as rclone writes names."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.transfers.name_filter import NameFilter
from traindeck.domain.transfers.sync_rules import IgnoreRules

NAMES = ["a.jpg", "b.txt", "train/a.jpg", "train/deep/c.jpg", "train/n.txt", "数据/图 1.JPG", "test/x/train/z.jpg"]


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("*.jpg", ["a.jpg", "train/a.jpg", "train/deep/c.jpg", "test/x/train/z.jpg"]),
        ("/*.jpg", ["a.jpg"]),
        ("train/*", ["train/a.jpg", "train/n.txt", "test/x/train/z.jpg"]),
        ("/train/**", ["train/a.jpg", "train/deep/c.jpg", "train/n.txt"]),
        ("train/**", ["train/a.jpg", "train/deep/c.jpg", "train/n.txt", "test/x/train/z.jpg"]),
        ("train/**/*.jpg", ["train/deep/c.jpg"]),
        ("{{.*\\.(jpg|JPG)}}", ["a.jpg", "train/a.jpg", "train/deep/c.jpg", "数据/图 1.JPG", "test/x/train/z.jpg"]),
        ("*.{txt,JPG}", ["b.txt", "train/n.txt", "数据/图 1.JPG"]),
        ("[ab].*", ["a.jpg", "b.txt", "train/a.jpg"]),
        ("[^a-b].*", ["train/deep/c.jpg", "train/n.txt", "test/x/train/z.jpg"]),
        ("数?/*", ["数据/图 1.JPG"]),
        ("*", NAMES),
        ("**", NAMES),
        ("a\\.jpg", ["a.jpg", "train/a.jpg"]),
    ],
)  # fmt: skip
def test_patterns_take_names(pattern: str, taken: list[str]) -> None:
    assert [name for name in NAMES if NameFilter(((True, pattern),)).takes(name)] == taken
    assert [name for name in NAMES if not NameFilter(((False, pattern),)).takes(name)] == taken


def test_the_order_decides_as_in_aws_and_who_includes_first_means_nothing_else() -> None:
    def taken(*rules: tuple[bool, str]) -> list[str]:
        return [name for name in NAMES if NameFilter(rules).takes(name)]

    only = ["a.jpg", "train/a.jpg", "train/deep/c.jpg", "test/x/train/z.jpg"]
    assert taken() == NAMES
    assert taken((False, "*"), (True, "*.jpg")) == taken((True, "*.jpg")) == only
    assert taken((True, "*.jpg"), (False, "*")) == []
    assert taken((True, "*.jpg"), (False, "/train/")) == ["a.jpg", "test/x/train/z.jpg"]
    assert taken((False, "train/")) == ["a.jpg", "b.txt", "数据/图 1.JPG"]
    assert taken((False, "/train/"), (True, "deep/*")) == [
        "a.jpg", "b.txt", "train/deep/c.jpg", "数据/图 1.JPG", "test/x/train/z.jpg",
    ]  # fmt: skip


def test_letters_are_the_same_however_a_system_composes_them() -> None:
    for form in ("NFC", "NFD"):
        assert NameFilter(((True, unicodedata.normalize(form, "é*")),)).takes(unicodedata.normalize("NFD", "é.txt"))
    assert not NameFilter(((True, "*.jpg"),)).takes("A.JPG")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "empty"), ("/", "empty"), ("[a", "brackets"), ("{a,b", "brackets"), ("a[]", "expression"),
        ("[z-a]", "expression"), ("[!a]", "[^x]"), ("train/", "write train/**"), ("***", "two stars"),
        ("a]", "brackets"), ("a.jpg}", "brackets"), ("a\\", "backslash"), ("{{(}}", "expression"), ("[a/b]", "slash"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match="is not a pattern") as refused:
        NameFilter(((True, pattern),))
    assert reason in refused.value.sentence()


def test_a_pattern_of_many_stars_takes_no_longer_for_long_names() -> None:
    stars, name = "*a" * 40 + "*b", "a" * 1000
    assert not NameFilter(((True, stars),)).takes(name) and NameFilter(((True, stars),)).takes(name + "b")
    assert not IgnoreRules([stars]).leaves_out(name) and IgnoreRules([stars]).leaves_out(name + "b")


def test_names_that_are_not_utf8_are_matched() -> None:
    name = os.fsdecode(b"caf\xe9.jpg")
    assert NameFilter(((True, "caf?.jpg"),)).takes(name) and IgnoreRules(["*.jpg"]).leaves_out(name)
    assert IgnoreRules([b"caf\xe9.*".decode(errors="replace")]).leaves_out(name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("rule", "taken"), [("[+--]*", "-a"), ("[a--]*", None), ("!", None)])
def test_rules_to_ignore_are_understood_or_refused(rule: str, taken: str | None) -> None:
    if taken is not None:
        assert IgnoreRules([rule]).leaves_out(taken) and not IgnoreRules([rule]).leaves_out("zz")
        return
    with pytest.raises(InvalidInput, match="cannot be used to ignore"):
        IgnoreRules([rule])


_PIECES = st.sampled_from(["a", "b", "/", "*", "**", "?", "{a,b}", "[ab]", ".", "é"])


@given(
    st.lists(st.tuples(st.booleans(), st.lists(_PIECES, min_size=1, max_size=5).map("".join)), max_size=4),
    st.lists(st.text("ab.é", min_size=1, max_size=3), min_size=2, max_size=4),
)
def test_a_folder_that_is_passed_over_holds_nothing_that_is_taken(
    rules: list[tuple[bool, str]], parts: list[str]
) -> None:
    try:
        names = NameFilter(tuple(rules))
    except InvalidInput:
        return
    if names.takes("/".join(parts)):
        assert all(names.may_hold("/".join(parts[:count]) + "/") for count in range(1, len(parts)))
