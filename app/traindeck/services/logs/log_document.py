"""The log of one worker as rows: read, counted and looked through on the disk, so that its length costs nothing.

For worker threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from traindeck.domain.readings.encodings import UTF_8, encoding_of
from traindeck.domain.texts import Text
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_index import LONGEST_ROW, Bounds, LogIndex, Offsets
from traindeck.services.logs.log_notes import LogMark, LogNotes
from traindeck.services.logs.log_rows import LogExtent, LogRow, Page
from traindeck.services.logs.mark_words import mark_words
from traindeck.services.logs.row_text import searched, shown

TAIL_BYTES = 1 << 19
_READ_BYTES = 1 << 20
_LOOK_BYTES = 32 << 20
_MOST_AT_ONCE = 4 << 20
_SAMPLE_BYTES = 1 << 16
_CHUNK_BLOCKS = 16
_CHARACTER = 4
_ROWS_AT_ONCE = 2000


class Chunk:
    """Whole rows to look through, in UTF-8 and without control sequences."""

    def __init__(self, first: int, count: int, data: bytes, ends: Offsets | None, next_block: int | None) -> None:
        """Without `ends` each row is a line."""
        self.first, self.count, self.data, self.next_block = first, count, data, next_block
        self._ends = ends

    @property
    def ends(self) -> Offsets:
        """Where in the data each of them ends; mostly nobody wants to know."""
        if self._ends is None:
            stops = np.flatnonzero(np.frombuffer(self.data, np.uint8) == 10) + 1
            self._ends = stops if len(stops) == self.count else np.append(stops, len(self.data))
        return self._ends


class LogDocument:
    """One file; safe to use from several workers."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._notes: LogNotes | None = None
        self._told: list[LogMark] = []
        self._index = LogIndex()
        self._tail: LogIndex | None = None
        self._sample = b""
        self._encoding = UTF_8
        self._generation = self._version = 0
        self._marks: dict[int, list[Text]] = {}
        self._has_looked = False

    def look(self, token: CancelToken) -> LogExtent:
        """Read on; a long file comes with its end first, and is counted in the looks that follow."""
        with self._alone():
            size, moved = self._size_now(), 0
            if not self._has_looked and size > 2 * TAIL_BYTES:
                self._tail = LogIndex(self._begin_of_tail(size))
                self._take_marks(self._tail)
            elif not self._read_on(self._index, size, token):
                pass
            elif self._tail is not None:
                moved, self._tail = self._index.row_of(self._tail.begin, self._file.read), None
                self._version += 1
            self._has_looked = True
            if self._tail is not None:
                self._read_on(self._tail, size, token)
            index = self._shown
            return LogExtent(
                index.size, index.rows, index.ended, self._tail is None, moved, self._index.size < size,
                self._version, self._generation, self._encoding,
            )  # fmt: skip

    def rows(self, first: int, count: int) -> Page:
        with self._alone():
            index, read = self._shown, self._file.read
            bounds = index.bounds(first, count, read)
            if not bounds:
                return Page(self._version, [])
            begin = bounds[0].begin
            line = index.lines_before(begin, read) + 1
            is_begun = begin > 0 and read(begin - 1, 1) != b"\n"
            rows: list[LogRow] = []
            for number, (one, data) in enumerate(self._contents(bounds), max(0, first)):
                if one.is_mark:
                    rows.append(LogRow(number, one.begin, one.end, None, "", (), self._mark_of(number, one.begin)))
                    is_begun = False
                    continue
                if is_begun and one.begin not in self._marks:
                    data = _without_rest(data)
                else:
                    is_begun = False
                words, spans = shown(data, self._encoding)
                known = None if self._tail is not None or is_begun else line
                rows.append(LogRow(number, one.begin, one.end, known, words, spans, None, is_begun))
                is_begun = not data.endswith(b"\n")
                line += not is_begun
            return Page(self._version, rows)

    def rows_of(self, numbers: Sequence[int]) -> Page:
        """These; they need not follow one another."""
        rows: list[LogRow] = []
        version = -1
        at = 0
        while at < len(numbers):
            stop = at + 1
            while stop < len(numbers) and numbers[stop] == numbers[stop - 1] + 1:
                stop += 1
            page = self.rows(numbers[at], stop - at)
            if version not in (-1, page.version):
                return Page(-1, [])  # it was counted anew meanwhile
            version, at = page.version, stop
            rows += page.rows
        return Page(version, rows)

    def pieces(self, token: CancelToken) -> Iterator[bytes]:
        """All bytes of the file."""
        offset = 0
        while data := self._file.read(offset, _READ_BYTES):
            token.check()
            yield data
            offset += len(data)

    def words_of(self, numbers: Sequence[int], token: CancelToken) -> Iterator[bytes]:
        """The words of these rows, in UTF-8 and with line ends."""
        for begin in range(0, len(numbers), _ROWS_AT_ONCE):
            token.check()
            rows = self.rows_of(numbers[begin : begin + _ROWS_AT_ONCE]).rows
            yield b"".join(f"{row.words}\n".encode("utf-8", "replace") for row in rows if row.mark is None)

    def row_of(self, offset: int) -> int:
        """The row that has this byte of the file."""
        with self._alone():
            return self._shown.row_of(offset, self._file.read)

    def row_of_line(self, line: int) -> int | None:
        """None: the lines are not counted yet."""
        with self._alone():
            return None if self._tail is not None else self._index.row_of_line(line, self._file.read)

    def block_before(self, row: int) -> int:
        with self._alone():
            return self._shown.block_before(row)

    def end_row(self, words: Text) -> None:
        """What follows, if anything does, belongs to another story."""
        with self._alone():
            self._mark(self._shown.size, words)

    def chunk(self, block: int) -> Chunk | None:
        """The rows that end from this block on, to be looked through; None: it is not counted, or there are none."""
        with self._alone():
            if self._tail is not None:
                return None
            stretch = self._index.stretch(block, _CHUNK_BLOCKS)
            end, last = stretch.end, stretch.last
            if stretch.next_block is None:
                end, last = self._index.size, self._index.rows  # with the row that is still being written
            if last == stretch.first:
                return None
            raw = self._file.read(stretch.begin, end - stretch.begin)
            signs = np.frombuffer(raw, np.uint8)
            is_open = end > stretch.end
            is_lines = stretch.lines + is_open == last - stretch.first
            low = int(np.count_nonzero(signs < 32))
            # Tabs are seldom; only where there is more than line ends it is worth a look for what else.
            is_plain = self._encoding == UTF_8 and low == stretch.lines + raw.count(b"\t") * (low > stretch.lines)
            if is_plain and is_lines:
                return Chunk(stretch.first, last - stretch.first, raw, None, stretch.next_block)
            return self._cleaned(stretch.first, last, raw, is_lines, is_plain, stretch.begin, stretch.next_block)

    def _cleaned(
        self, first: int, last: int, raw: bytes, is_lines: bool, is_plain: bool, begin: int, block: int | None
    ) -> Chunk:
        if is_lines:
            data = searched(raw, self._encoding, is_plain=is_plain).replace(b"\r\n", b"\n")
            return Chunk(first, last - first, data, None, block)
        bounds = self._index.bounds(first, last - first, self._file.read)
        if is_plain:
            ends = np.array([one.end - begin for one in bounds], np.int64)
            return Chunk(first, last - first, raw, ends, block)
        lines = (raw[one.begin - begin : one.end - begin].rstrip(b"\r\n") for one in bounds)
        pieces = [searched(line, self._encoding, is_plain=is_plain) + b"\n" for line in lines]
        return Chunk(first, last - first, b"".join(pieces), np.cumsum([len(piece) for piece in pieces]), block)

    # reading

    @property
    def _shown(self) -> LogIndex:
        return self._tail or self._index

    def _size_now(self) -> int:
        notes, size = self._file.notes(), self._file.size()
        if self._notes is None:
            self._notes = notes
        elif size < self._shown.size or notes.generation != self._notes.generation:
            self._begin_anew()
        self._notes = notes
        for mark in notes.marks(size):
            if mark not in self._told:
                self._told.append(mark)
                self._mark(mark.offset, mark_words(mark))
        return size

    def _begin_anew(self) -> None:
        self._index, self._tail, self._sample, self._marks, self._told = LogIndex(), None, b"", {}, []
        self._has_looked = False
        self._generation += 1
        self._version += 1

    def _begin_of_tail(self, size: int) -> int:
        begin = size - TAIL_BYTES
        return begin + self._file.read(begin, TAIL_BYTES).find(b"\n") + 1

    def _mark(self, offset: int, words: Text) -> None:
        self._marks.setdefault(offset, []).append(words)
        for index in (self._index, self._tail):
            if index is not None:
                index.mark(offset)

    def _mark_of(self, row: int, offset: int) -> Text:
        """Of this row; several may stand in one place."""
        index, words = self._shown, self._marks[offset]
        behind = index.rows if offset >= index.size else index.row_of(offset, self._file.read)
        return words[max(0, len(words) - (behind - row))]

    def _take_marks(self, index: LogIndex) -> None:
        for offset, words in self._marks.items():
            for _ in words:
                index.mark(offset)

    def _read_on(self, index: LogIndex, size: int, token: CancelToken) -> bool:
        """Whether all is read."""
        stop = min(size, index.size + _LOOK_BYTES)
        while index.size < stop:
            token.check()
            data = self._file.read(index.size, min(_READ_BYTES, size - index.size))
            if not data:
                return False
            index.feed(data)
            if len(self._sample) < _SAMPLE_BYTES and not data.isascii():
                self._take_sample(data)
        return index.size >= size

    def _take_sample(self, data: bytes) -> None:
        lines = b"".join(line for line in data[:_MOST_AT_ONCE].splitlines(keepends=True)[:20_000] if not line.isascii())
        self._sample += lines[: _SAMPLE_BYTES - len(self._sample)]
        encoding = encoding_of(self._sample) or self._encoding
        if encoding != self._encoding:
            self._encoding = encoding
            self._version += 1

    def _contents(self, bounds: list[Bounds]) -> Iterator[tuple[Bounds, bytes]]:
        """The bytes of each; of a bar that was drawn for megabytes, how it is last."""
        begin, end = bounds[0].begin, bounds[-1].end
        whole = self._file.read(begin, end - begin + _CHARACTER) if end - begin <= _MOST_AT_ONCE else None
        for one in bounds:
            first = max(one.begin, one.end - 2 * LONGEST_ROW)
            if whole is not None:
                content = whole[first - begin : one.end - begin + _CHARACTER]
            else:
                content = self._file.read(first, one.end - first + _CHARACTER)
            length = one.end - first
            is_whole = content[:length].endswith(b"\n") or one.end in self._marks
            yield one, content[:length] if is_whole else _with_rest(content, length)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock, local_errors(self._file.path):
            yield


def _with_rest(content: bytes, length: int) -> bytes:
    """A row without a line end may end inside a character: that belongs to it, and not to the next."""
    end = length
    while end < min(len(content), length + _CHARACTER - 1) and content[end] & 0xC0 == 0x80:
        end += 1
    return content[:end]


def _without_rest(content: bytes) -> bytes:
    begin = 0
    while begin < min(len(content), _CHARACTER - 1) and content[begin] & 0xC0 == 0x80:
        begin += 1
    return content[begin:]
