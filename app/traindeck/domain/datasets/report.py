"""What is known of a dataset before it is used: counted from its names, and found in its contents as far as they were
looked at."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappush, heapreplace
from itertools import pairwise

from traindeck.domain.datasets.choice import ClassShare, SampleChoice, SampleShare
from traindeck.domain.datasets.layouts import Layout, LayoutSketch
from traindeck.domain.previews import is_picture_name
from traindeck.domain.texts import Text
from traindeck.domain.transfers.packing import advises_packing, likely_shards

MOST_LISTED = 200
"""Of everything that is named one by one; how many there are is counted on."""
MOST_LOOKED_INTO = 20_000
_MOST_FOLDERS = 200_000
_MOST_KINDS = 200
_PARTS = 256
_TEXT_ENDINGS = (
    ".txt",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".xml",
    ".yaml",
    ".yml",
    ".names",
    ".md",
    ".py",
    ".vtt",
    ".srt",
)


@dataclass(slots=True)
class Amount:
    files: int = 0
    size_bytes: int = 0

    def add(self, size_bytes: int) -> None:
        self.files += 1
        self.size_bytes += size_bytes


@dataclass(slots=True)
class NamesFound:
    """How many there are, and the first of them."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.first) < MOST_LISTED:
            self.first.append(name)


@dataclass(frozen=True, slots=True)
class FileTrouble:
    """A file, and what is wrong with it."""

    name: str
    why: Text


@dataclass(frozen=True, slots=True)
class Extent:
    """Of how many there are, so many were looked at; of the others nothing is known."""

    looked_at: int = 0
    there: int = 0

    @property
    def is_whole(self) -> bool:
        return self.looked_at == self.there


@dataclass(frozen=True, slots=True)
class Groups:
    """Names that belong together and should not: equal contents, or names that are one on some systems."""

    extent: Extent
    files: int = 0
    """Those that are in a group."""
    count: int = 0
    size_bytes: int = 0
    """What all but one of each group take up."""
    first: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """What looking into files showed."""

    pictures: Extent
    broken: tuple[FileTrouble, ...] = ()
    broken_count: int = 0
    unchecked_why: Text | None = None
    """Why pictures were not looked at, or not all of them."""
    texts: Extent = Extent()
    encodings: tuple[tuple[str, int], ...] = ()
    other_encodings: tuple[FileTrouble, ...] = ()
    """Texts that are not UTF-8."""
    other_count: int = 0
    unreadable: tuple[FileTrouble, ...] = ()
    unreadable_count: int = 0
    records: tuple[tuple[str, int | None], ...] = ()
    """Files of records and how many each holds; None: unknown."""


@dataclass(frozen=True, slots=True)
class DatasetReport:
    place: str
    total: Amount
    kinds: tuple[tuple[str, Amount], ...]
    classes: dict[str, ClassShare]
    layouts: tuple[Layout, ...]
    splits: tuple[tuple[str, int], ...]
    indexes: tuple[str, ...]
    notes: tuple[Text, ...]
    empty: NamesFound
    clashes: Groups
    left: tuple[FileTrouble, ...]
    left_count: int
    duplicates: Groups | None = None
    """None: unknown, for no content was looked at."""
    contents: Contents | None = None
    is_stopped: bool = False

    @property
    def shards(self) -> int | None:
        """Into about how many tar shards it should be packed; None: there is no need."""
        files, size = self.total.files, self.total.size_bytes
        return likely_shards(files, size) if advises_packing(files, size) else None


class Repeats:
    """Finds what comes more than once for eight bytes each."""

    def __init__(self) -> None:
        # In parts: a thread that sorts a million numbers keeps all others waiting.
        self._seen = [array("Q") for _ in range(_PARTS)]

    def add(self, key: str) -> int:
        sign = sign_of(key)
        self._seen[sign % _PARTS].append(sign)
        return sign

    def repeated(self) -> set[int]:
        return {before for part in self._seen for before, sign in pairwise(sorted(part)) if before == sign}


def sign_of(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def folded(name: str) -> str:
    """What names have in common that are one name on Windows or macOS."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class DatasetTally:
    """Counts names as they come; a million of them cost some bytes each."""

    def __init__(self) -> None:
        self.total = Amount()
        self.empty = NamesFound()
        self.pictures = 0
        self.texts = 0
        self.sketch = LayoutSketch()
        self.kinds: dict[str, Amount] = {}
        self.folds = Repeats()
        self.contents = Repeats()
        self.with_etag = 0
        self._classes = SampleChoice(SampleShare(0))
        self._folders: dict[str, set[str]] = {}
        self._lowest: list[tuple[int, str, int]] = []

    def see(self, name: str, size_bytes: int, etag: str = "") -> None:
        self.total.add(size_bytes)
        self.sketch.see(name)
        self._classes.add(name, size_bytes)
        if not size_bytes:
            self.empty.add(name)
        self._see_kind(name, size_bytes)
        self._see_folders(name)
        self.folds.add(folded(name))
        if etag and size_bytes:
            self.with_etag += 1
            self.contents.add(f"{size_bytes} {etag}")
        self._draw_lot(name, size_bytes)

    def _see_kind(self, name: str, size_bytes: int) -> None:
        kind = kind_of(name)
        if kind not in self.kinds and len(self.kinds) >= _MOST_KINDS:
            kind = "…"
        self.kinds.setdefault(kind, Amount()).add(size_bytes)
        self.pictures += is_picture_name(name)
        self.texts += is_text_name(name)

    def _see_folders(self, name: str) -> None:
        folder = name.rpartition("/")[0]
        while folder and len(self._folders) < _MOST_FOLDERS:
            there = self._folders.setdefault(folded(folder), set())
            if folder in there:
                return
            there.add(folder)
            folder = folder.rpartition("/")[0]

    def _draw_lot(self, name: str, size_bytes: int) -> None:
        """Which files are looked into is told by their names: the same each time, and from everywhere in the folder."""
        if not size_bytes:
            return
        lot = (-sign_of(name), name, size_bytes)
        if len(self._lowest) < MOST_LOOKED_INTO:
            heappush(self._lowest, lot)
        elif lot[0] > self._lowest[0][0]:
            heapreplace(self._lowest, lot)

    @property
    def looked_into(self) -> list[tuple[str, int]]:
        return [(name, size) for _, name, size in sorted(self._lowest, reverse=True)]

    @property
    def classes(self) -> dict[str, ClassShare]:
        """Files that lie side by side in the folder itself are no class."""
        found = self._classes.classes
        return {} if set(found) == {""} else found

    @property
    def folder_clashes(self) -> list[tuple[str, ...]]:
        return [tuple(sorted(f"{one}/" for one in names)) for names in self._folders.values() if len(names) > 1]

    @property
    def kinds_by_count(self) -> tuple[tuple[str, Amount], ...]:
        return tuple(sorted(self.kinds.items(), key=lambda kind: (-kind[1].files, kind[0])))

    @property
    def splits(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(Counter(self.sketch.splits).items()))


def kind_of(name: str) -> str:
    """The ending, in small letters; empty where there is none."""
    stem, dot, ending = name.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if dot and stem and len(ending) <= 12 else ""


def is_text_name(name: str) -> bool:
    return name.lower().endswith(_TEXT_ENDINGS)


def groups_of(by_sign: dict[int, list[tuple[str, int]]], extent: Extent) -> Groups:
    """Files by what they have in common; those that are alone do not count."""
    found = [sorted(files) for files in by_sign.values() if len(files) > 1]
    found.sort(key=lambda files: (-sum(size for _, size in files[1:]), files[0]))
    return Groups(
        extent,
        sum(map(len, found)),
        len(found),
        sum(size for files in found for _, size in files[1:]),
        tuple(tuple(name for name, _ in files[:_MOST_IN_GROUP]) for files in found[:MOST_LISTED]),
    )


_MOST_IN_GROUP = 10


def troubles_cut(troubles: Sequence[FileTrouble]) -> tuple[FileTrouble, ...]:
    return tuple(troubles[:MOST_LISTED])
