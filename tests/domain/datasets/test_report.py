"""What is counted from names alone."""

from __future__ import annotations

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.datasets.report import DatasetTally, Extent, Repeats, folded, groups_of, sign_of

NAMES = st.lists(st.text(st.sampled_from("aAäÄﬁßs/."), min_size=1, max_size=5), unique=True, max_size=40)


@given(NAMES)
def test_everything_that_comes_twice_is_found(names: list[str]) -> None:
    repeats, counted = Repeats(), [folded(name) for name in names]
    for name in counted:
        repeats.add(name)
    assert repeats.repeated() == {sign_of(name) for name in counted if counted.count(name) > 1}


@given(NAMES)
def test_the_sums_are_those_of_the_names(names: list[str]) -> None:
    tally = DatasetTally()
    for name in names:
        tally.see(name, len(name) - 1)
    assert tally.total.files == len(names) == sum(amount.files for amount in tally.kinds.values())
    assert tally.empty.count == sum(len(name) == 1 for name in names)
    assert sorted(name for name, _ in tally.looked_into) == sorted(name for name in names if len(name) > 1)


def test_folders_that_differ_by_case_are_one_elsewhere() -> None:
    tally = DatasetTally()
    for name in ("Cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/x/1.jpg"):
        tally.see(name, 1)
    assert tally.folder_clashes == [("Cat/", "cat/")]
    assert folded("Cafe\u0301") == folded("café")


def test_groups_count_what_their_copies_take_up() -> None:
    groups = groups_of({1: [("b", 5), ("a", 5), ("c", 5)], 2: [("d", 9)]}, Extent(4, 4))
    assert (groups.count, groups.files, groups.size_bytes, groups.first) == (1, 3, 10, (("a", "b", "c"),))


@pytest.mark.long
def test_a_million_names_are_counted_with_some_bytes_each() -> None:
    before = psutil.Process().memory_info().rss
    tally = DatasetTally()
    for number in range(1_000_000):
        tally.see(f"train/class{number % 1000:03}/{number:07}.jpg", 1000, f"{number:032x}")
    assert len(tally.classes) == 1000 and not tally.folds.repeated() and len(tally.looked_into) == 20_000
    assert psutil.Process().memory_info().rss - before < 300 << 20


def test_files_side_by_side_are_no_class() -> None:
    tally = DatasetTally()
    for name in ("a.py", "b.py"):
        tally.see(name, 1)
    assert tally.classes == {}
    tally.see("cat/a.png", 1)
    assert {name: one.samples for name, one in tally.classes.items()} == {"": 2, "cat": 1}
