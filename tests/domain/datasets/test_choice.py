"""Which samples make a small dataset: the same ones, and exactly so many."""

from __future__ import annotations

import random
from fractions import Fraction

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.datasets.choice import SampleChoice, SampleShare, chosen_records
from traindeck.domain.transfers.packing import sample_of

NAMES = st.lists(
    st.tuples(
        st.sampled_from(["", "cat", "train/dog", "训练/猫", "a b", ".."]),
        st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=8),
        st.sampled_from(["", ".jpg", ".txt"]),
    ).map(lambda parts: f"{parts[0]}/{parts[1]}{parts[2]}".lstrip("/") or "x"),
    unique=True,
    max_size=60,
)
SHARES = st.one_of(
    st.builds(SampleShare, st.integers(1, 20), st.just(0.0), st.text(max_size=80)),
    st.builds(SampleShare, st.none(), st.integers(1, 100).map(lambda percent: percent / 100), st.text(max_size=80)),
)


def chosen(share: SampleShare, names: list[str]) -> SampleChoice:
    choice = SampleChoice(share)
    for name in names:
        choice.add(name, len(name))
    return choice


@given(NAMES, SHARES, st.randoms(use_true_random=False))
def test_the_same_whatever_the_order_of_the_listing(names: list[str], share: SampleShare, lot: random.Random) -> None:
    shuffled = [*names]
    lot.shuffle(shuffled)
    first, second = chosen(share, names), chosen(share, shuffled)
    assert first.names == second.names
    assert first.classes == {name: second.classes[name] for name in first.classes}


@given(NAMES, SHARES)
def test_so_many_of_each_class_and_whole_samples(names: list[str], share: SampleShare) -> None:
    choice = chosen(share, names)
    samples: dict[str, set[str]] = {}
    for name in names:
        samples.setdefault(name.rpartition("/")[0], set()).add(sample_of(name))
    kept = set(choice.names)
    assert kept <= set(names)
    for folder, stems in samples.items():
        of_class = {sample_of(name) for name in kept if name.rpartition("/")[0] == folder}
        assert len(of_class) == share.count(len(stems)) == choice.classes[folder].kept
        assert choice.classes[folder].samples == len(stems)
    assert all(sample_of(name) not in {sample_of(one) for one in kept} or name in kept for name in names)


@pytest.mark.parametrize(
    ("percent", "samples", "kept"), [(1, 10, 1), (10, 10, 1), (25, 10, 3), (50, 5, 3), (100, 7, 7), (5, 1000, 50)]
)
def test_a_share_is_rounded_to_the_nearest_and_never_to_nothing(percent: int, samples: int, kept: int) -> None:
    share = SampleShare(None, percent / 100)
    assert share.count(samples) == kept == max(1, int(Fraction(percent, 100) * samples + Fraction(1, 2)))


def test_what_is_kept_of_many_is_the_first_by_rank_however_much_was_dropped_on_the_way() -> None:
    share = SampleShare(5, 0.0, "seed")
    names = [f"c/{number:06}.jpg" for number in range(20_000)]
    first = sorted(names, key=lambda name: share.rank(sample_of(name).rpartition("/")[2]))[:5]
    assert chosen(share, names).names == sorted(first)


def test_another_seed_keeps_others() -> None:
    names = [f"c/{number}.jpg" for number in range(100)]
    assert chosen(SampleShare(10), names).names != chosen(SampleShare(10, 0.0, "二"), names).names


@given(st.lists(st.integers(0, 4), max_size=100), SHARES)
def test_records_are_kept_by_their_class(classes: list[int], share: SampleShare) -> None:
    kept = chosen_records(share, "data_batch_1.bin", classes)
    assert kept == sorted(set(kept))
    for one in set(classes):
        assert sum(classes[number] == one for number in kept) == share.count(classes.count(one))


@pytest.mark.long
def test_a_million_names_cost_some_bytes_each() -> None:
    before = psutil.Process().memory_info().rss
    choice = SampleChoice(SampleShare(20))
    for number in range(1_000_000):
        choice.add(f"train/class{number % 1000:03}/{number:07}.jpg", 1000)
    assert len(choice.names) == 20_000
    assert psutil.Process().memory_info().rss - before < 150 << 20
