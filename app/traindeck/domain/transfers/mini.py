"""A small dataset out of a large one: which samples of each class are kept, decided by their names alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappush, heapreplace

from traindeck.domain.transfers.packing import sample_of

_RANKS = 1 << 64


@dataclass(slots=True)
class ClassShare:
    """A folder that holds files: what there is in it, and what of that is kept."""

    samples: int = 0
    kept: int = 0
    files: int = 0
    size_bytes: int = 0
    """Of what is kept, like `files`."""


@dataclass(slots=True)
class _Class:
    seen: set[int] = field(default_factory=set)
    worst: list[tuple[int, str]] = field(default_factory=list)
    """Of those kept for being the first by rank, the last on top."""
    kept: dict[str, list[tuple[str, int]]] = field(default_factory=dict)


class SampleChoice:
    """Takes the names as they come; a million of them cost a number each.

    A sample is known by its stem, so that `images/7.jpg` and `labels/7.txt` are kept together.
    """

    def __init__(self, per_class: int | None = None, share: float = 0.0, seed: str = "") -> None:
        # Of a share, too, a class keeps one: a model is not trained on a class that is gone.
        self._least = 1 if per_class is None else per_class
        self._below = int(share * _RANKS) if per_class is None else 0
        self._seed = seed.encode()
        self._classes: dict[str, _Class] = {}

    def add(self, name: str, size_bytes: int) -> None:
        folder, _, _ = name.rpartition("/")
        stem = sample_of(name).rpartition("/")[2]
        found = self._classes.setdefault(folder, _Class())
        rank = self._rank(stem)
        found.seen.add(rank)
        if stem not in found.kept and not self._is_kept(found, rank, stem):
            return
        found.kept.setdefault(stem, []).append((name, size_bytes))

    def _rank(self, stem: str) -> int:
        digest = blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8, key=self._seed[:64])
        return int.from_bytes(digest.digest(), "big")

    def _is_kept(self, found: _Class, rank: int, stem: str) -> bool:
        if rank < self._below:
            return True
        if len(found.worst) < self._least:
            heappush(found.worst, (-rank, stem))
            return True
        if not found.worst or rank >= -found.worst[0][0]:
            return False
        _, gone = heapreplace(found.worst, (-rank, stem))
        del found.kept[gone]
        return True

    @property
    def names(self) -> list[str]:
        """Of all files kept, in the order of their keys."""
        found = [name for one in self._samples() for files in one.values() for name, _ in files]
        return sorted(found, key=lambda name: name.encode("utf-8", "surrogatepass"))

    @property
    def classes(self) -> dict[str, ClassShare]:
        return {
            folder: ClassShare(
                len(one.seen),
                len(kept),
                sum(map(len, kept.values())),
                sum(size for files in kept.values() for _, size in files),
            )
            for (folder, one), kept in zip(self._classes.items(), self._samples(), strict=True)
        }

    def _samples(self) -> list[dict[str, list[tuple[str, int]]]]:
        """Of each class; one that was kept only so that the class has any goes when others came."""
        found = []
        for one in self._classes.values():
            spare = {stem for _, stem in one.worst} if self._below and len(one.kept) > len(one.worst) else set()
            found.append({stem: files for stem, files in one.kept.items() if stem not in spare})
        return found
