"""What is the same, what is left out, and two sides joined name by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.errors import InvalidInput
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import Known
from traindeck.domain.transfers.sync_rules import (
    IgnoreRules,
    Side,
    Verdict,
    is_same_time,
    local_and_remote,
    paired,
    remote_and_remote,
)

S = 1_000_000_000
MD5_A, MD5_B = "a" * 32, "b" * 32


@dataclass(frozen=True)
class One:
    name: str


async def batches(names: Sequence[str], size: int) -> AsyncIterator[list[One]]:
    for start in range(0, len(names), size):
        yield [One(name) for name in names[start : start + size]]
        yield []


names = st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3))


@given(names, names, st.integers(1, 4), st.integers(1, 4))
def test_two_sides_are_joined_whatever_the_batches(left: set[str], right: set[str], some: int, others: int) -> None:
    async def joined() -> list[tuple[str, str]]:
        found = []
        async for pairs in paired(batches(sorted(left), some), batches(sorted(right), others)):
            assert pairs
            found += [(pair.left.name if pair.left else "", pair.right.name if pair.right else "") for pair in pairs]
        return found

    expected = [(name if name in left else "", name if name in right else "") for name in sorted(left | right)]
    assert asyncio.run(joined()) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_the_order_of_letters_is_that_of_the_listing(one: str, other: str) -> None:
    assert (one < other) == (one.encode() < other.encode())


@pytest.mark.parametrize(
    ("here", "size_bytes", "by", "known", "verdict"),
    [
        (Known(1, 5 * S, 0, ""), 2, CompareBy.SIZE_AND_TIME, None, Verdict.DIFFERENT),
        (Known(1, 5 * S, 0, ""), 2, CompareBy.MD5, None, Verdict.DIFFERENT),
        (Known(0, 5 * S, 0, MD5_A), 0, CompareBy.MD5, None, Verdict.EQUAL),
        (Known(1, 5 * S, 0, ""), 1, CompareBy.SIZE, None, Verdict.EQUAL),
        # Without a memory of it no time tells anything.
        (Known(1, 5 * S, 0, MD5_A), 1, CompareBy.SIZE_AND_TIME, None, Verdict.LOOK_CLOSER),
        (Known(1, 9 * S, 0, MD5_A), 1, CompareBy.MD5, Known(1, 9 * S, 0, MD5_A), Verdict.LOOK_CLOSER),
        (Known(1, 9, 7, MD5_A), 1, CompareBy.SIZE_AND_TIME, Known(1, 9, 7, MD5_A), Verdict.EQUAL),
        (Known(1, 9, 7, MD5_B), 1, CompareBy.SIZE_AND_TIME, Known(1, 9, 7, MD5_A), Verdict.LOOK_CLOSER),
        (Known(1, 9, 8, MD5_A), 1, CompareBy.SIZE_AND_TIME, Known(1, 9, 7, MD5_A), Verdict.LOOK_CLOSER),
        (Known(1, 8, 7, MD5_A), 1, CompareBy.SIZE_AND_TIME, Known(1, 9, 7, MD5_A), Verdict.LOOK_CLOSER),
        (Known(1, 9, 7, ""), 1, CompareBy.SIZE_AND_TIME, Known(1, 9, 7, ""), Verdict.LOOK_CLOSER),
    ],
)
def test_files_and_objects(here: Known, size_bytes: int, by: CompareBy, known: Known | None, verdict: Verdict) -> None:
    assert local_and_remote(here, size_bytes, by, known) is verdict


@pytest.mark.parametrize(
    ("kept", "here", "is_same"),
    [
        (1_600_000_000_123_456_789, 1_600_000_000_123_456_789, True),
        (1_600_000_000_123_456_789, 1_600_000_000_123_456_788, False),
        (1_600_000_000_123_456_789, 1_600_000_000_123_456_700, True),  # NTFS
        (1_600_000_000_123_456_789, 1_600_000_000_123_456_600, False),
        (1_600_000_000_123_456_789, 1_600_000_000_123_456_000, True),
        (1_600_000_001_123_456_789, 1_600_000_000_000_000_000, True),  # FAT
        (1_600_000_003_123_456_789, 1_600_000_001_000_000_000, False),
        (1_600_000_000_123_456_000, 1_600_000_000_123_456_238, True),  # written in millionths
        (1_600_000_000_000_000_000, 1_600_000_000_123_456_238, False),
    ],
)
def test_times_are_as_fine_as_the_disk_can_hold_them(kept: int, here: int, is_same: bool) -> None:
    assert is_same_time(kept, here) is is_same


def test_objects_and_objects() -> None:
    def verdict(source: Side, target: Side, by: CompareBy = CompareBy.MD5) -> Verdict:
        return remote_and_remote(source, target, by)

    assert verdict(Side(1, 1, MD5_A), Side(1, 1, MD5_A)) is Verdict.EQUAL
    assert verdict(Side(1, 1, MD5_A), Side(1, 9, MD5_B), CompareBy.SIZE_AND_TIME) is Verdict.DIFFERENT
    assert verdict(Side(1, 1, MD5_A + "-2"), Side(1, 9, MD5_B)) is Verdict.LOOK_CLOSER
    assert verdict(Side(1, 1, MD5_A + "-2"), Side(2, 9, MD5_B)) is Verdict.DIFFERENT
    assert verdict(Side(1, 1, MD5_A + "-2"), Side(1, 9, MD5_B), CompareBy.SIZE_AND_TIME) is Verdict.EQUAL
    assert verdict(Side(1, 1, MD5_A), Side(1, 9, MD5_B), CompareBy.SIZE) is Verdict.EQUAL


def test_ignored_names_are_ignored_on_both_sides() -> None:
    rules = IgnoreRules(["*.tmp", "/cache/", "!keep.tmp"])
    assert rules.leaves_out("a/b.tmp") and rules.leaves_out("cache/")
    assert not rules.leaves_out("a/cache/") and not rules.leaves_out("a/keep.tmp")
    assert rules.leaves_out_below("cache/x/y.txt")
    assert not rules.leaves_out_below("x/y.txt")
    assert not IgnoreRules([]).leaves_out_below("anything")


@pytest.mark.parametrize("lines", [["*.tmp", "[[:foo:]]"], [f"name{number}" for number in range(12_000)]])
def test_rules_that_cannot_be_used_are_refused_in_words(lines: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be used|too many rules"):
        IgnoreRules(lines)


def test_a_name_that_is_not_utf_8_is_held_against_the_rules() -> None:
    """As a disk of Linux has it; whatever engine for expressions is installed beside ours."""
    rules = IgnoreRules(["*.tmp"])
    assert rules.leaves_out("\udcff\udcfe.tmp") and not rules.leaves_out("\udcff.py")
