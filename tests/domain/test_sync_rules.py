"""What is the same, what is left out, and two sides joined name by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.sync_rules import IgnoreRules, Side, Verdict, local_and_remote, paired, remote_and_remote
from traindeck.domain.transfers import CompareBy

S = 1_000_000_000
MD5_A, MD5_B = "a" * 32, "b" * 32


@dataclass(frozen=True)
class One:
    name: str


async def batches(names: Sequence[str], size: int) -> AsyncIterator[list[One]]:
    for start in range(0, len(names), size):
        yield [One(name) for name in names[start : start + size]]
        yield []


names = st.sets(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=3))


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


@given(st.text(st.characters(exclude_categories=("Cs",))), st.text(st.characters(exclude_categories=("Cs",))))
def test_the_order_of_letters_is_that_of_the_listing(one: str, other: str) -> None:
    assert (one < other) == (one.encode() < other.encode())


@pytest.mark.parametrize(
    ("local", "remote", "by", "is_upload", "verdict"),
    [
        (Side(1, 5 * S), Side(2, 9 * S), CompareBy.SIZE_AND_TIME, True, Verdict.DIFFERENT),
        (Side(1, 5 * S), Side(2, 9 * S), CompareBy.MD5, True, Verdict.DIFFERENT),
        (Side(1, 5 * S), Side(1, 9 * S), CompareBy.SIZE_AND_TIME, True, Verdict.EQUAL),
        (Side(1, 9 * S), Side(1, 5 * S), CompareBy.SIZE_AND_TIME, True, Verdict.LOOK_CLOSER),
        (Side(1, 9 * S), Side(1, 9 * S + 1), CompareBy.SIZE_AND_TIME, False, Verdict.EQUAL),
        (Side(1, 5 * S), Side(1, 9 * S), CompareBy.SIZE_AND_TIME, False, Verdict.LOOK_CLOSER),
        (Side(1, 9 * S), Side(1, 5 * S), CompareBy.SIZE_AND_TIME, False, Verdict.LOOK_CLOSER),
        (Side(1, 5 * S), Side(1, 0), CompareBy.SIZE_AND_TIME, True, Verdict.LOOK_CLOSER),
        (Side(1, 5 * S), Side(1, 9 * S), CompareBy.SIZE, False, Verdict.EQUAL),
        (Side(1, 5 * S), Side(1, 9 * S, MD5_A), CompareBy.MD5, True, Verdict.LOOK_CLOSER),
    ],
)
def test_files_and_objects(local: Side, remote: Side, by: CompareBy, is_upload: bool, verdict: Verdict) -> None:
    assert local_and_remote(local, remote, by, is_upload=is_upload) is verdict


def test_objects_and_objects() -> None:
    def verdict(source: Side, target: Side, by: CompareBy = CompareBy.MD5) -> Verdict:
        return remote_and_remote(source, target, by)

    assert verdict(Side(1, 1, MD5_A), Side(1, 1, MD5_A)) is Verdict.EQUAL
    assert verdict(Side(1, 1, MD5_A), Side(1, 9, MD5_B), CompareBy.SIZE_AND_TIME) is Verdict.DIFFERENT
    assert verdict(Side(1, 1, MD5_A + "-2"), Side(1, 9, MD5_B)) is Verdict.DIFFERENT
    assert verdict(Side(1, 1, MD5_A + "-2"), Side(1, 9, MD5_B), CompareBy.SIZE_AND_TIME) is Verdict.EQUAL
    assert verdict(Side(1, 1, MD5_A), Side(1, 9, MD5_B), CompareBy.SIZE) is Verdict.EQUAL


def test_ignored_names_are_ignored_on_both_sides() -> None:
    rules = IgnoreRules(["*.tmp", "/cache/", "!keep.tmp"])
    assert rules.leaves_out("a/b.tmp") and rules.leaves_out("cache/")
    assert not rules.leaves_out("a/cache/") and not rules.leaves_out("a/keep.tmp")
    assert rules.leaves_out_below("cache/x/y.txt")
    assert not rules.leaves_out_below("x/y.txt")
    assert not IgnoreRules([]).leaves_out_below("anything")
