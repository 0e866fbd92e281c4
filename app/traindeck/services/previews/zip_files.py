"""Zip archives: found out from their end, however long they are. Checkpoints and arrays come as such, too."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from traindeck.domain.previews import (
    ArchiveMember,
    ArchivePage,
    Fact,
    MemberKind,
    NotShown,
    Tensor,
    TensorsPage,
)
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.previews.arrays import Header, read_header
from traindeck.services.previews.steps import (
    MOST_ROWS,
    ByteSource,
    Reading,
    Steps,
    Want,
    damaged,
    need,
    plain,
    too_much,
)
from traindeck.services.previews.torch_pickles import checkpoint_page

_END, _END64, _LOCATOR64, _ENTRY, _LOCAL = (b"PK" + kind for kind in (b"\5\6", b"\6\6", b"\6\7", b"\1\2", b"\3\4"))
_LONGEST_END = 22 + 65535
_ENTRY_BYTES = 46
_PIECE = 128 * 1024
_MEMBERS_A_PAGE = 2000
_ARRAYS_A_PAGE = 100
_MOST_PICKLE = 8 << 20
_STORED, _DEFLATED = 0, 8
_DATA_PICKLE = re.compile(r"([^/]+/)?data\.pkl")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the central directory."""

    member: ArchiveMember
    name: str
    method: int
    packed_bytes: int
    is_encrypted: bool
    at: int
    """Where its own header is."""


def zip_steps(source: ByteSource, name: str) -> Steps:
    directory = yield from _directory(source)
    first = yield from directory.some(_MEMBERS_A_PAGE)
    pickle = next((entry for entry in first if _DATA_PICKLE.fullmatch(entry.name)), None)
    if pickle is not None:
        content = yield from _content(source, pickle, _MOST_PICKLE)
        page = yield from checkpoint_page(content, text("PyTorch checkpoint"))
        yield page
        return
    arrays = [entry for entry in first if entry.name.endswith(".npy")]
    if arrays and (name.lower().endswith(".npz") or len(arrays) == len(first)):
        yield from _arrays(source, arrays)
    else:
        yield from _listing(first, directory)


class _Directory:
    """What the archive says of its entries, read from one to the next."""

    def __init__(self, source: ByteSource, start: int, length: int, shift: int, count: int) -> None:
        """`shift`: by so much all places are off, for something stands before the archive."""
        self.count = count
        self._source = source
        self._shift = shift
        self._at = start
        self._end = start + length
        self._kept, self._kept_at = b"", start

    def some(self, most: int) -> Reading[list[Entry]]:
        """The next entries."""
        found: list[Entry] = []
        while len(found) < most and self._at + _ENTRY_BYTES <= self._end:
            fields = struct.unpack("<4sHHHHHHIIIHHHHHII", (yield from self._bytes(_ENTRY_BYTES)))
            if fields[0] != _ENTRY:
                raise damaged("an entry of the zip directory is not where it should be")
            name_bytes, extra_bytes, comment_bytes = fields[10:13]
            whole = yield from self._bytes(_ENTRY_BYTES + name_bytes + extra_bytes + comment_bytes)
            name, extra = whole[_ENTRY_BYTES:][:name_bytes], whole[_ENTRY_BYTES + name_bytes :][:extra_bytes]
            found.append(_entry(fields, name, extra, self._shift))
            self._at += len(whole)
        return found

    def _bytes(self, length: int) -> Reading[bytes]:
        """So many of the entry one is at."""
        if self._at + length > self._end:
            raise damaged("an entry of the zip directory is cut off")
        if self._at + length > self._kept_at + len(self._kept):
            # The longest entry is below 200 kB; names and comments are shorter by far.
            self._kept = yield from need(self._source, self._at, min(2 * _PIECE, self._end - self._at))
            self._kept_at = self._at
        return self._kept[self._at - self._kept_at :][:length]


def _directory(source: ByteSource) -> Reading[_Directory]:
    size = source.size_bytes
    if size is None:
        raise NotShown(text("This archive is compressed again."), text("Download and unpack it to see its content."))
    tail_bytes = min(size, _LONGEST_END + 20)
    tail = yield from need(source, size - tail_bytes, tail_bytes)
    place = tail.rfind(_END)
    while place >= 0:
        if place + 22 <= len(tail) and place + 22 + struct.unpack_from("<H", tail, place + 20)[0] <= len(tail):
            break
        place = tail.rfind(_END, 0, place)
    if place < 0:
        raise damaged("no end of a zip archive")
    end_at = size - tail_bytes + place
    count, length, start = struct.unpack_from("<HII", tail, place + 10)
    if (count == 0xFFFF or length == 0xFFFFFFFF or start == 0xFFFFFFFF) and tail[place - 20 : place - 16] == _LOCATOR64:
        at = struct.unpack_from("<Q", tail, place - 12)[0]
        record = yield from need(source, at, 56)
        if record[:4] != _END64:
            raise damaged("no zip64 record where one should be")
        count, length, start = struct.unpack_from("<QQQ", record, 32)
        end_at = at
    shift = end_at - length - start
    if shift < 0 or start + length > size:
        raise damaged("the directory of the zip archive is not where it should be")
    return _Directory(source, start + shift, length, shift, count)


def _entry(fields: tuple[int, ...], raw_name: bytes, extra: bytes, shift: int) -> Entry:
    flags, method, time, date = fields[3:7]
    packed, size = fields[8:10]
    external, at = fields[15:17]
    packed, size, at = _long_numbers(extra, packed, size, at)
    name = _name(raw_name, is_utf8=bool(flags & 0x800))
    kind = MemberKind.FOLDER if name.endswith("/") else MemberKind.FILE
    if external >> 16 & 0o170000 == 0o120000:
        kind = MemberKind.LINK
    member = ArchiveMember(plain(name), size, packed, _moment(date, time), kind)
    return Entry(member, name, method, packed, bool(flags & 1), at + shift)


def _long_numbers(extra: bytes, packed: int, size: int, at: int) -> tuple[int, int, int]:
    """With zip64 the numbers that do not fit are in the extra field, in this order."""
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == 1:
            numbers = iter(struct.unpack_from(f"<{min(length, len(extra) - place - 4) // 8}Q", extra, place + 4))
            size = next(numbers, size) if size == 0xFFFFFFFF else size
            packed = next(numbers, packed) if packed == 0xFFFFFFFF else packed
            at = next(numbers, at) if at == 0xFFFFFFFF else at
            break
        place += 4 + length
    return packed, size, at


def _name(raw: bytes, *, is_utf8: bool) -> str:
    """Programs of Chinese systems write GB18030 and do not say so."""
    if is_utf8:
        return raw.decode("utf-8", "replace")
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("cp437")


def _moment(date: int, time: int) -> datetime | None:
    try:
        return datetime(
            (date >> 9) + 1980, date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, (time & 31) * 2
        )  # fmt: skip
    except ValueError:
        return None


def _listing(first: list[Entry], directory: _Directory) -> Steps:
    facts = (Fact(text("Entries"), f"{directory.count:,}"),)
    shown, upcoming = 0, first
    while True:
        found, upcoming = upcoming, []
        shown += len(found)
        if len(found) == _MEMBERS_A_PAGE and shown < MOST_ROWS:
            upcoming = yield from directory.some(_MEMBERS_A_PAGE)
        notes: tuple[Text, ...] = ()
        if shown >= MOST_ROWS:
            notes = (
                count_text("Only the first entry is shown.", "Only the first {count} entries are shown.", MOST_ROWS),
            )
        elif any(entry.is_encrypted for entry in found):
            notes = (text("Some entries are encrypted."),)
        members = tuple(entry.member for entry in found)
        yield ArchivePage(text("Zip archive"), facts, members, has_more=bool(upcoming), notes=notes)
        if not upcoming:
            return


def _arrays(source: ByteSource, arrays: list[Entry]) -> Steps:
    """Each array's own header."""
    facts = (Fact(text("Arrays"), f"{len(arrays):,}"),)
    for begin in range(0, len(arrays), _ARRAYS_A_PAGE):
        tensors = []
        for entry in islice(arrays, begin, begin + _ARRAYS_A_PAGE):
            header = yield from _array_header(source, entry)
            known = (header.dtype, header.shape, header.size_bytes) if header else ("?", (), entry.member.size_bytes)
            tensors.append(Tensor(plain(entry.name.removesuffix(".npy")), *known))
        has_more = begin + _ARRAYS_A_PAGE < len(arrays)
        yield TensorsPage(text("NumPy arrays"), facts, tuple(tensors), has_more=has_more)


def _array_header(source: ByteSource, entry: Entry) -> Reading[Header | None]:
    """Out of the beginning of the entry, which is all that is read."""
    try:
        begin = yield from _content(source, entry, 1 << 16, is_begin=True)
        reading = read_header(ByteSource(len(begin)))
        step = next(reading)
        while True:
            assert isinstance(step, Want)
            step = reading.send(begin[step.offset : step.offset + step.length])
    except NotShown:
        return None
    except StopIteration as done:
        header: Header = done.value
        return header


def _content(source: ByteSource, entry: Entry, most: int, *, is_begin: bool = False) -> Reading[bytes]:
    """What an entry holds, or its beginning."""
    if entry.is_encrypted:
        raise NotShown(text("The content is encrypted."), text("Download it and open it with its password."))
    local = yield from need(source, entry.at, 30, 512)
    if local[:4] != _LOCAL:
        raise damaged("an entry of the zip archive is not where it should be")
    name_bytes, extra_bytes = struct.unpack_from("<HH", local, 26)
    if entry.packed_bytes > most and not is_begin:
        raise too_much(text("Its table of contents is too long to be shown."))
    packed = yield from need(
        source, entry.at + 30 + name_bytes + extra_bytes, min(entry.packed_bytes, 2048 if is_begin else most)
    )
    if entry.method == _STORED:
        return packed
    if entry.method != _DEFLATED:
        raise too_much(text("Its compression is not supported."))
    try:
        return zlib.decompressobj(wbits=-15).decompress(packed, most)
    except zlib.error as error:
        raise damaged(str(error)) from error
