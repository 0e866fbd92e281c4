"""A small dataset out of a large one: which samples of each class are kept, decided by their names alone."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from traindeck.domain.transfers.packing import sample_of

_PRUNED_FROM = 1024


@dataclass(slots=True)
class ClassShare:
    """A class: how many samples it has, and what of that is kept."""

    samples: int = 0
    kept: int = 0
    files: int = 0
    size_bytes: int = 0
    """Of what is kept, like `files`."""


@dataclass(frozen=True, slots=True)
class SampleShare:
    """How much of each class is kept: so many samples, or such a share of them."""

    per_class: int | None = None
    share: float = 0.0
    seed: str = ""

    def count(self, samples: int) -> int:
        """Of a class of so many. Of a share, too, one is kept: a model is not trained on a class that is gone."""
        if self.per_class is not None:
            return min(samples, self.per_class)
        return min(samples, max(1, int(self.share * samples + 0.5)))

    def rank(self, sample: str) -> int:
        """The first by rank are kept: another seed gives others, another order of the listing does not."""
        key = self.seed.encode("utf-8", "surrogatepass")[:64]
        digest = blake2b(sample.encode("utf-8", "surrogatepass"), digest_size=8, key=key)
        return int.from_bytes(digest.digest(), "big")


@dataclass(slots=True)
class _Class:
    seen: array[int] = field(default_factory=lambda: array("Q"))
    ranks: array[int] = field(default_factory=lambda: array("Q"))
    names: list[str] = field(default_factory=list)
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    prune_at: int = _PRUNED_FROM

    def keep_up_to(self, most: int) -> None:
        last, left = -1, most
        for some in _distinct(self.ranks):
            if left <= len(some):
                last = sorted(some)[left - 1] if left else last
                break
            last, left = max(some, default=last), left - len(some)
        else:
            return
        kept = [number for number, rank in enumerate(self.ranks) if rank <= last]
        self.ranks = array("Q", (self.ranks[number] for number in kept))
        self.sizes = array("Q", (self.sizes[number] for number in kept))
        self.names = [self.names[number] for number in kept]


class SampleChoice:
    """Takes the names as they come, in any order; of a million, those that cannot be kept cost a number each."""

    def __init__(self, wanted: SampleShare) -> None:
        self.wanted = wanted
        self._classes: dict[str, _Class] = {}
        self._is_cut = False

    def add(self, name: str, size_bytes: int) -> None:
        """The class is the folder. A sample is known by its stem: `images/7.jpg` goes with `labels/7.txt`."""
        folder, _, _ = name.rpartition("/")
        self.offer(folder, sample_of(name).rpartition("/")[2], [(name, size_bytes)])

    def offer(self, class_name: str, sample: str, files: Iterable[tuple[str, int]]) -> None:
        rank = self.wanted.rank(sample)
        found = self._classes.setdefault(class_name, _Class())
        found.seen.append(rank)
        for name, size_bytes in files:
            found.ranks.append(rank)
            found.names.append(name)
            found.sizes.append(size_bytes)
        if self.wanted.per_class is not None and len(found.names) >= found.prune_at:
            found.keep_up_to(self.wanted.per_class)
            found.prune_at = max(_PRUNED_FROM, 2 * len(found.names))

    @property
    def names(self) -> list[str]:
        """Of all files kept, in the order of their keys."""
        found = {name for one in self._cut().values() for name in one.names}
        return sorted(found, key=lambda name: name.encode("utf-8", "surrogatepass"))

    @property
    def classes(self) -> dict[str, ClassShare]:
        return {
            name: ClassShare(_count(one.seen), _count(one.ranks), len(one.names), sum(one.sizes))
            for name, one in self._cut().items()
        }

    @property
    def is_empty(self) -> bool:
        return not self._classes

    def _cut(self) -> dict[str, _Class]:
        """When all have come: a share is one of all of them."""
        if not self._is_cut:
            for one in self._classes.values():
                one.keep_up_to(self.wanted.count(_count(one.seen)))
            self._is_cut = True
        return self._classes


def _distinct(ranks: array[int]) -> Iterator[set[int]]:
    """Those of a class, the lower before the higher; of many, some at a time: a thread that sorts keeps all others."""
    if len(ranks) <= _AT_ONCE:
        yield set(ranks)
        return
    parts = [set[int]() for _ in range(_PARTS)]
    for rank in ranks:
        parts[rank >> 56].add(rank)
    yield from parts


def _count(ranks: array[int]) -> int:
    return sum(map(len, _distinct(ranks)))


_AT_ONCE, _PARTS = 10_000, 256


def chosen_records(wanted: SampleShare, file: str, classes: Sequence[object]) -> list[int]:
    """Which records of a file are kept, by the class of each, in their order."""
    by_class: dict[object, list[tuple[int, int]]] = {}
    for number, one in enumerate(classes):
        by_class.setdefault(one, []).append((wanted.rank(f"{file}#{number}"), number))
    return sorted(
        number for found in by_class.values() for _, number in sorted(found)[: wanted.count(len(found))]
    )  # fmt: skip
