"""What a sync leaves out, and whether two files are the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

import pathspec

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.texts import text
from traindeck.domain.transfers import CompareBy, Known, is_plain_md5

DATA_IGNORE_FILE = ".traindeckignore"

# What file systems make of times: two seconds (FAT), one, a thousandth, a millionth, 100 ns (NTFS).
_GRAINS_NS = (2_000_000_000, 1_000_000_000, 1_000_000, 1_000, 100)
# Some programs write down thousandths; one that writes whole seconds would hide an edit within one.
_WRITTEN_NS = 1_000_000


class IgnoreRules:
    """Names left out, as .gitignore writes them; a folder ends with a slash."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._spec = pathspec.GitIgnoreSpec.from_lines(lines)
        self._is_empty = not self._spec.patterns

    def leaves_out(self, name: str) -> bool:
        return not self._is_empty and self._spec.match_file(name)

    def leaves_out_below(self, name: str) -> bool:
        """Also where only a folder above is left out, as a listing of a service does not show folders."""
        if self._is_empty:
            return False
        parts = name.split("/")
        folders = ("/".join(parts[:count]) + "/" for count in range(1, len(parts)))
        return any(self._spec.match_file(folder) for folder in folders) or self._spec.match_file(name)


class Verdict(Enum):
    EQUAL = auto()
    DIFFERENT = auto()
    LOOK_CLOSER = auto()  # only the object's metadata, or the file's content, can tell


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of one of two files without opening it; a time of 0 is unknown."""

    size_bytes: int
    modified_ns: int = 0
    etag: str = ""
    inode: int = 0


def local_and_remote(local: Side, remote: Side, by: CompareBy, known: Known | None = None) -> Verdict:
    """A time alone tells nothing: a copy keeps that of its original, and clocks are wrong.

    So only a file that is what it was when its MD5 was that of the object (`known`) is equal at once.
    """
    if local.size_bytes != remote.size_bytes:
        return Verdict.DIFFERENT
    if by is CompareBy.SIZE or not local.size_bytes:
        return Verdict.EQUAL
    if by is CompareBy.SIZE_AND_TIME and remote.etag:
        here = Known(local.size_bytes, local.modified_ns, local.inode, remote.etag)
        return Verdict.EQUAL if here == known else Verdict.LOOK_CLOSER
    return Verdict.LOOK_CLOSER


def remote_and_remote(source: Side, target: Side, by: CompareBy) -> Verdict:
    """Within a service nothing else is known; ETags of parts cannot be compared with others."""
    if source.size_bytes != target.size_bytes:
        return Verdict.DIFFERENT
    if by is CompareBy.SIZE or (source.etag and source.etag == target.etag):
        return Verdict.EQUAL
    if is_plain_md5(source.etag) and is_plain_md5(target.etag):
        return Verdict.DIFFERENT
    if by is CompareBy.SIZE_AND_TIME and 0 < source.modified_ns <= target.modified_ns:
        return Verdict.EQUAL
    return Verdict.DIFFERENT


def is_same_time(kept_ns: int, here_ns: int) -> bool:
    """Whether a file has this time, as far as its file system can hold one and as it was written down."""
    grain = max(_grain(here_ns), min(_grain(kept_ns), _WRITTEN_NS))
    return abs(kept_ns - here_ns) < grain


def _grain(time_ns: int) -> int:
    return next((grain for grain in _GRAINS_NS if time_ns % grain == 0), 1)


def too_many_removals(count: int, most: int) -> AppError:
    return Conflict(
        text("This would remove {count} files, more than the limit of {most}.", count=count, most=most),
        text("Nothing was changed. Look at the list; if it is right, allow more with --max-delete."),
    )


class Named(Protocol):
    @property
    def name(self) -> str: ...


Left = TypeVar("Left", bound=Named)
Right = TypeVar("Right", bound=Named)


@dataclass(frozen=True, slots=True)
class Pair(Generic[Left, Right]):
    """What stands under one name on both sides, or on one of them."""

    left: Left | None
    right: Right | None


async def paired(
    left: AsyncIterator[Sequence[Left]], right: AsyncIterator[Sequence[Right]]
) -> AsyncIterator[list[Pair[Left, Right]]]:
    """Join two sides without holding either; both in the order of their names, which is that of their bytes."""
    ours, theirs = _Ahead(left), _Ahead(right)
    batch: list[Pair[Left, Right]] = []
    while True:
        if ours.is_used_up or theirs.is_used_up:
            if batch:
                yield batch
                batch = []
            await ours.fill()
            await theirs.fill()
        mine, other = ours.first, theirs.first
        if mine is None and other is None:
            return
        if other is None or (mine is not None and mine.name < other.name):
            batch.append(Pair(ours.take(), None))
        elif mine is None or other.name < mine.name:
            batch.append(Pair(None, theirs.take()))
        else:
            batch.append(Pair(ours.take(), theirs.take()))


class _Ahead(Generic[Left]):
    """The next of a stream of batches."""

    def __init__(self, batches: AsyncIterator[Sequence[Left]]) -> None:
        self._batches = batches
        self._batch: Sequence[Left] = ()
        self._at = 0
        self._is_over = False

    @property
    def is_used_up(self) -> bool:
        return self._at >= len(self._batch) and not self._is_over

    @property
    def first(self) -> Left | None:
        return self._batch[self._at] if self._at < len(self._batch) else None

    def take(self) -> Left:
        taken = self._batch[self._at]
        self._at += 1
        return taken

    async def fill(self) -> None:
        while self.is_used_up:
            try:
                self._batch, self._at = await anext(self._batches), 0
            except StopAsyncIteration:
                self._batch, self._at, self._is_over = (), 0, True
