"""Many small files as a few tar archives: which file goes where, always the same way for the same files."""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

BLOCK = 512
_RECORD = 20 * BLOCK
END_BYTES = 2 * BLOCK
FILE_MODE = 0o644
_FOLDER_MODE = 0o755
_NAME_BYTES = 100
_MOST_OCTAL = 8**11
_AFTER_TYPE = b"\0" * 100 + b"ustar\x0000" + b"\0" * 64 + b"\0" * 16 + b"\0" * 167


def padded(size_bytes: int) -> int:
    """What content of this size takes up."""
    return -(-size_bytes // BLOCK) * BLOCK


def archive_bytes(members_bytes: int) -> int:
    """The size of an archive whose members take up so much: an end, and whole records, as tape drives wanted them."""
    return -(-(members_bytes + END_BYTES) // _RECORD) * _RECORD


def header(path: str, size_bytes: int, modified_s: int) -> bytes:
    """What stands before the content; a path that ends with a slash is a folder."""
    name = path.encode()
    mode, kind = (_FOLDER_MODE, b"5") if path.endswith("/") else (FILE_MODE, b"0")
    records = _records(path, name, size_bytes, modified_s)
    if not records:
        return _block(name, mode, size_bytes, modified_s, kind)
    shown = path.encode("ascii", "replace")[:_NAME_BYTES]
    size = size_bytes if size_bytes < _MOST_OCTAL else 0
    return b"".join((
        _block(b"././@PaxHeader", 0, len(records), 0, b"x"),
        records.ljust(padded(len(records)), b"\0"),
        _block(shown, mode, size, modified_s if 0 <= modified_s < _MOST_OCTAL else 0, kind),
    ))  # fmt: skip


def header_bytes(path: str, size_bytes: int, modified_s: int) -> int:
    if len(path) <= _NAME_BYTES and path.isascii() and size_bytes < _MOST_OCTAL and 0 <= modified_s < _MOST_OCTAL:
        return BLOCK
    return 2 * BLOCK + padded(len(_records(path, path.encode(), size_bytes, modified_s)))


def _records(path: str, name: bytes, size_bytes: int, modified_s: int) -> bytes:
    """Empty where an ordinary header holds it all."""
    found = b""
    if len(name) > _NAME_BYTES or not path.isascii():
        found += _record(b"path", name)
    if size_bytes >= _MOST_OCTAL:
        found += _record(b"size", b"%d" % size_bytes)
    if not 0 <= modified_s < _MOST_OCTAL:
        found += _record(b"mtime", b"%d" % modified_s)
    return found


def _record(word: bytes, value: bytes) -> bytes:
    """Begins with its own length, which counts itself."""
    rest = b" %s=%s\n" % (word, value)
    length = len(rest) + 1
    while len(rest) + len(b"%d" % length) != length:
        length += 1
    return b"%d" % length + rest


def _block(name: bytes, mode: int, size_bytes: int, modified_s: int, kind: bytes) -> bytes:
    before = b"%s%07o\x000000000\x000000000\x00%011o\x00%011o\x00" % (
        name.ljust(_NAME_BYTES, b"\0"), mode, size_bytes, modified_s,
    )  # fmt: skip
    after = kind + _AFTER_TYPE
    # The sum is made as if blanks stood in its place.
    total = sum(before) + sum(after) + 8 * 0x20
    return b"%s%06o\x00 %s" % (before, total, after)


SHARD_BYTES = 256 * 1024 * 1024
SHARD_FILES = 25_000
LEAST_SHARD_BYTES = 64 * 1024
INDEX_NAME = "index.jsonl"
SUMMARY_NAME = "shards.json"
SUMMARY_VERSION = 1
MOST_SHARDS = 1_000_000
_SHARD_NAME = re.compile(r"shard-(\d{6})\.tar")

# From so many files on, of so few bytes each, a request costs more than what it carries.
ADVICE_FILES = 5_000
ADVICE_AVERAGE_BYTES = 100_000

_SECOND_NS = 1_000_000_000


def advises_packing(files: int, size_bytes: int) -> bool:
    return files >= ADVICE_FILES and size_bytes < files * ADVICE_AVERAGE_BYTES


def likely_shards(files: int, size_bytes: int) -> int:
    """About how many archives that would be; names and paddings are guessed."""
    with_headers = size_bytes + files * 768
    return max(1, -(-with_headers // SHARD_BYTES), -(-files // SHARD_FILES))


def shard_name(number: int) -> str:
    return f"shard-{number:06}.tar"


def shard_number(name: str) -> int | None:
    """None: it is not the name of a shard."""
    match = _SHARD_NAME.fullmatch(name)
    return int(match[1]) if match else None


def is_safe_path(path: str) -> bool:
    """Whether every program would unpack it below its target."""
    return all(part not in ("", ".", "..") for part in path.removesuffix("/").split("/"))


def sample_of(path: str) -> str:
    """The key under which WebDataset puts files together: all before the first dot of the name."""
    folder, slash, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return f"{folder}{slash}{stem}" if stem else path


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a shard; a path that ends with a slash is an empty folder."""

    path: str
    size_bytes: int
    modified_ns: int
    inode: int = 0
    etag: str = ""

    @property
    def modified_s(self) -> int:
        return self.modified_ns // _SECOND_NS

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")

    @property
    def header(self) -> bytes:
        return header(self.path, self.size_bytes, self.modified_s)

    @property
    def header_bytes(self) -> int:
        return header_bytes(self.path, self.size_bytes, self.modified_s)

    @property
    def tar_bytes(self) -> int:
        return self.header_bytes + padded(self.size_bytes)


class Cutter:
    """Cuts files that come in the order of their paths into shards; files of one sample stay in one where they fit."""

    def __init__(self, shard_bytes: int = SHARD_BYTES, shard_files: int = SHARD_FILES) -> None:
        self._most_bytes = shard_bytes
        self._most_files = shard_files
        self._open: list[Member] = []
        self._bytes = 0
        self._sample = ""
        self._sample_at = 0

    def add(self, member: Member) -> list[list[Member]]:
        """The shards that are full now."""
        full: list[list[Member]] = []
        belongs = bool(self._sample) and member.path.startswith(self._sample)
        while self._open and self._is_too_much(member):
            # A sample larger than a shard is cut after all.
            at = self._sample_at if belongs and self._sample_at else len(self._open)
            full.append(samples_together(self._open[:at]))
            self._open = self._open[at:]
            self._bytes = sum(one.tar_bytes for one in self._open)
            self._sample_at = 0
        if not belongs:
            sample = sample_of(member.path)
            self._sample = f"{sample}." if sample != member.path else ""
            self._sample_at = len(self._open)
        self._open.append(member)
        self._bytes += member.tar_bytes
        return full

    def rest(self) -> list[list[Member]]:
        last, self._open, self._bytes = self._open, [], 0
        return [samples_together(last)] if last else []

    def _is_too_much(self, member: Member) -> bool:
        is_larger = archive_bytes(self._bytes + member.tar_bytes) > self._most_bytes
        return is_larger or len(self._open) >= self._most_files


def samples_together(members: Iterable[Member]) -> list[Member]:
    """In the order they came, but a sample in one stretch: a folder `a.d/` sorts between `a.c` and `a.e`."""
    samples: dict[str, list[Member]] = {}
    for member in members:
        samples.setdefault(sample_of(member.path), []).append(member)
    return [member for sample in samples.values() for member in sample]


@dataclass(frozen=True, slots=True)
class MemberSpan:
    """A stretch of the content of one member."""

    number: int
    offset: int
    size_bytes: int


class ShardLayout:
    """Where everything stands in one shard."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        ends = list(accumulate((member.tar_bytes for member in members), initial=0))
        self._starts = ends[:-1]
        self._end = ends[-1]
        self.size_bytes = archive_bytes(self._end)

    def offset(self, number: int) -> int:
        """Where the content of a member begins."""
        return self._starts[number] + self.members[number].header_bytes

    def _between(self, begin: int, end: int) -> range:
        """The numbers of the members that stand from here to there, at least in part."""
        return range(max(0, bisect_right(self._starts, begin) - 1), bisect_left(self._starts, end))

    def spans(self, begin: int, end: int) -> Iterator[tuple[MemberSpan, int]]:
        """The stretches of files from here to there, and where in the shard each begins."""
        for number in self._between(begin, end):
            data = self.offset(number)
            first, last = max(begin, data), min(end, data + self.members[number].size_bytes)
            if first < last:
                yield MemberSpan(number, first - data, last - first), first

    def pieces(self, begin: int, end: int) -> Iterator[bytes | MemberSpan]:
        """What stands from here to there: bytes that follow from the names, and stretches of files."""
        for number in self._between(begin, end):
            member, start = self.members[number], self._starts[number]
            yield from _within(member.header, start, begin, end)
            data = start + member.header_bytes
            first, last = max(begin, data), min(end, data + member.size_bytes)
            if first < last:
                yield MemberSpan(number, first - data, last - first)
            padding = padded(member.size_bytes) - member.size_bytes
            yield from _within(bytes(padding), data + member.size_bytes, begin, end)
        yield from _within(bytes(self.size_bytes - self._end), self._end, begin, end)


def _within(data: bytes, start: int, begin: int, end: int) -> Iterator[bytes]:
    """What of these bytes, which stand at `start`, is between the two."""
    piece = data[max(0, begin - start) : max(0, end - start)]
    if piece:
        yield piece


def index_line(shard: str, layout: ShardLayout, number: int, md5: bytes) -> str:
    member = layout.members[number]
    line = {
        "path": member.path, "shard": shard, "offset": layout.offset(number), "size": member.size_bytes,
        "md5": md5.hex(),
    }  # fmt: skip
    return json.dumps(line, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One line of an index: a file, and where its content stands."""

    path: str
    shard: str
    offset: int
    size_bytes: int
    md5: str = ""

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes

    @classmethod
    def parse(cls, line: bytes) -> IndexEntry:
        """ValueError when it is no such line; it need not be we who wrote it."""
        try:
            content = json.loads(line)
        except RecursionError as error:
            raise ValueError("deeper than any line") from error
        if not isinstance(content, dict):
            raise ValueError(line[:80])
        try:
            path, shard, md5 = content["path"], content["shard"], content.get("md5", "")
            offset, size = content["offset"], content["size"]
        except KeyError as error:
            raise ValueError(line[:80]) from error
        are_words = all(isinstance(word, str) for word in (path, shard, md5))
        are_counts = all(isinstance(count, int) and count >= 0 for count in (offset, size))
        if not (are_words and are_counts and path and shard and is_safe_path(shard) and "\\" not in shard):
            raise ValueError(line[:80])
        return cls(path, shard, offset, size, md5.lower())


def stretches(entries: Iterable[IndexEntry], most_bytes: int, gap_bytes: int) -> Iterator[list[IndexEntry]]:
    """Files that stand close to each other, to be read in one request; a large one alone."""
    found: list[IndexEntry] = []
    for entry in entries:
        if found and not _is_near(found, entry, most_bytes, gap_bytes):
            yield found
            found = []
        found.append(entry)
    if found:
        yield found


def _is_near(found: list[IndexEntry], entry: IndexEntry, most_bytes: int, gap_bytes: int) -> bool:
    first, last = found[0], found[-1]
    if entry.shard != last.shard or not 0 <= entry.offset - last.end <= gap_bytes:
        return False
    return entry.end - first.offset <= most_bytes


def names_of(members: Iterable[Member]) -> bytes:
    """The same for the same files in the same order, whatever is in them."""
    return "".join(f"{one.path}\0{one.size_bytes}\0" for one in members).encode()


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """What a summary says of one shard, and a plan knows before it is made."""

    name: str
    size_bytes: int
    names_md5: str


def facts_of(summary: bytes) -> list[ShardFacts] | None:
    """None: it is no summary of ours."""
    try:
        return [ShardFacts(one["name"], one["size"], one["names"]) for one in json.loads(summary)["shards"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def written(members: Sequence[Member]) -> bytes:
    """As a journal keeps them."""
    rows = [[one.path, one.size_bytes, one.modified_ns, one.inode, one.etag] for one in members]
    return zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def read(content: bytes) -> list[Member]:
    """The reverse of `written`."""
    return [Member(*row) for row in json.loads(zlib.decompress(content))]
