"""What a sync leaves out, and whether two files are the same."""

from __future__ import annotations

import re
import warnings
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from traindeck.domain.errors import AppError, Conflict, InvalidInput
from traindeck.domain.texts import count_text, text
from traindeck.domain.transfers.name_filter import FilterRules, NameFilter, utf8_name
from traindeck.domain.transfers.orders import CompareBy
from traindeck.domain.transfers.records import Known, is_plain_md5

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

DATA_IGNORE_FILE = ".traindeckignore"
# Of much more no automaton can be made, and each name would take long.
_MOST_RULES = 8_000

# What file systems make of times: two seconds (FAT), one, a thousandth, a millionth, 100 ns (NTFS).
_GRAINS_NS = (2_000_000_000, 1_000_000_000, 1_000_000, 1_000, 100)
# Some programs write down thousandths; one that writes whole seconds would hide an edit within one.
_WRITTEN_NS = 1_000_000


def ignore_spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Rules as .gitignore writes them, matched in linear time; ValueError for lines that cannot be used.

    It takes names that are UTF-8: `utf8_name` makes them so.
    """
    import re2  # most transfers leave out nothing, and need not wait for it
    from pathspec import GitIgnoreSpec

    rules = list(lines)
    if len(rules) > _MOST_RULES:
        raise too_many_rules()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about what a pattern may mean one day
        try:
            return GitIgnoreSpec.from_lines(rules, backend="re2")
        except (re.error, re2.error) as error:
            raise ValueError(str(error)) from error


class IgnoreRules:
    """Names left out, as .gitignore writes them or because a filter does not take them; a folder ends with a slash."""

    def __init__(self, lines: Iterable[str], filters: FilterRules = ()) -> None:
        """Raises InvalidInput for a rule that cannot be used: what it protects could be deleted."""
        said = list(lines)
        self._filter = NameFilter(filters) if filters else None
        self._spec = _spec_of(said) if said else None

    def leaves_out(self, name: str) -> bool:
        """Of a folder: with all that is in it."""
        if self._spec is not None and self._spec.match_file(utf8_name(name)):
            return True
        if self._filter is None:
            return False
        return not (self._filter.may_hold(name) if name.endswith("/") else self._filter.takes(name))

    def takes(self, name: str) -> bool:
        """Whether a filter takes this file, or a folder with nothing in it."""
        return self._filter is None or self._filter.takes(name)

    def leaves_out_below(self, name: str) -> bool:
        """Also where only a folder above is left out, as a listing of a service does not show folders."""
        if not self.takes(name):
            return True
        spec = self._spec
        if spec is None:
            return False
        shown = utf8_name(name)
        parts = shown.split("/")
        folders = ("/".join(parts[:count]) + "/" for count in range(1, len(parts)))
        return any(spec.match_file(folder) for folder in folders) or spec.match_file(shown)


def _spec_of(lines: Sequence[str]) -> GitIgnoreSpec:
    try:
        return ignore_spec(lines)
    except ValueError as error:
        wrong = next((line for line in lines if not can_be_used(line)), "")
        if not wrong:
            raise too_many_rules() from error
        raise InvalidInput(
            text("“{rule}” cannot be used to ignore names.", rule=wrong.strip()),
            text("Correct it in --ignore or in {file}; write it as in .gitignore.", file=DATA_IGNORE_FILE),
            str(error),
        ) from error


def too_many_rules() -> AppError:
    return InvalidInput(
        text("There are too many rules to ignore names."),
        text("Use at most {most}: a rule such as *.tmp covers many files.", most=f"{_MOST_RULES:,}"),
    )


def can_be_used(line: str) -> bool:
    try:
        ignore_spec([line])
    except ValueError:
        return False
    return True


class Verdict(Enum):
    EQUAL = auto()
    DIFFERENT = auto()
    LOOK_CLOSER = auto()  # only the object's metadata, or the file's content, can tell


@dataclass(slots=True, unsafe_hash=True)  # not frozen: four times as fast to make, and there may be a million
class Side:
    """What is known of one of two objects without fetching it; a time of 0 is unknown."""

    size_bytes: int
    modified_ns: int = 0
    etag: str = ""


def local_and_remote(here: Known, size_bytes: int, by: CompareBy, known: Known | None = None) -> Verdict:
    """`here` is the file as it is now, with the ETag of the object, which has so many bytes.

    A time alone tells nothing: a copy keeps that of its original, and clocks are wrong. So only a file that is what
    it was when its MD5 was that of the object (`known`) is equal at once.
    """
    if here.size_bytes != size_bytes:
        return Verdict.DIFFERENT
    if by is CompareBy.SIZE or not size_bytes:
        return Verdict.EQUAL
    is_known = by is CompareBy.SIZE_AND_TIME and here.etag and here == known
    return Verdict.EQUAL if is_known else Verdict.LOOK_CLOSER


def remote_and_remote(source: Side, target: Side, by: CompareBy) -> Verdict:
    """ETags of parts cannot be compared with others; the heads of both may tell more."""
    if source.size_bytes != target.size_bytes:
        return Verdict.DIFFERENT
    if by is CompareBy.SIZE or (source.etag and source.etag == target.etag):
        return Verdict.EQUAL
    if is_plain_md5(source.etag) and is_plain_md5(target.etag):
        return Verdict.DIFFERENT
    if by is CompareBy.SIZE_AND_TIME and 0 < source.modified_ns <= target.modified_ns:
        return Verdict.EQUAL
    return Verdict.LOOK_CLOSER


def is_same_time(kept_ns: int, here_ns: int) -> bool:
    """Whether a file has this time, as far as its file system can hold one and as it was written down."""
    grain = max(_grain(here_ns), min(_grain(kept_ns), _WRITTEN_NS))
    return abs(kept_ns - here_ns) < grain


def _grain(time_ns: int) -> int:
    return next((grain for grain in _GRAINS_NS if time_ns % grain == 0), 1)


def too_many_removals(count: int, most: int) -> AppError:
    return Conflict(
        count_text(
            "This would delete {count} file, more than the limit of {most}.",
            "This would delete {count} files, more than the limit of {most}.",
            count,
            most=most,
        ),
        text("Nothing was changed. Check what would be deleted. If it is correct, raise the limit (--max-delete)."),
    )


class Named(Protocol):
    @property
    def name(self) -> str: ...


Left = TypeVar("Left", bound=Named)
Right = TypeVar("Right", bound=Named)


@dataclass(slots=True, unsafe_hash=True)  # not frozen: four times as fast to make, and there may be a million
class Pair(Generic[Left, Right]):
    """What stands under one name on both sides, or on one of them."""

    left: Left | None
    right: Right | None


async def paired(
    left: AsyncIterator[Sequence[Left]], right: AsyncIterator[Sequence[Right]]
) -> AsyncIterator[list[Pair[Left, Right]]]:
    """Join two sides without holding either; both in the order of their names, which is that of their bytes."""
    ours, theirs = _Ahead(left), _Ahead(right)
    while True:
        await ours.fill()
        await theirs.fill()
        if ours.is_over or theirs.is_over:
            # Without their types, which would cost more than the pair.
            batch: list[Pair[Left, Right]] = [Pair(one, None) for one in ours.take(len(ours.batch))]
            batch += [Pair(None, other) for other in theirs.take(len(theirs.batch))]
            if not batch:
                return
            yield batch
            continue
        batch, at, other_at = [], 0, 0
        while at < len(ours.batch) and other_at < len(theirs.batch):
            mine, other = ours.batch[at], theirs.batch[other_at]
            if mine.name == other.name:
                batch.append(Pair(mine, other))
                at, other_at = at + 1, other_at + 1
            elif mine.name < other.name:
                batch.append(Pair(mine, None))
                at += 1
            else:
                batch.append(Pair(None, other))
                other_at += 1
        ours.take(at)
        theirs.take(other_at)
        yield batch


class _Ahead(Generic[Left]):
    """The next of a stream of batches."""

    def __init__(self, batches: AsyncIterator[Sequence[Left]]) -> None:
        self._batches = batches
        self.batch: Sequence[Left] = ()
        self.is_over = False

    def take(self, count: int) -> Sequence[Left]:
        taken, self.batch = self.batch[:count], self.batch[count:]
        return taken

    async def fill(self) -> None:
        while not self.batch and not self.is_over:
            try:
                self.batch = await anext(self._batches)
            except StopAsyncIteration:
                self.is_over = True
