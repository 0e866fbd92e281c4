"""Text: which encoding it is in, and pages of it."""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from traindeck.domain.previews import TablePage, TextPage
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.previews.steps import (
    MOST_ROWS,
    PAGE_BYTES,
    ByteSource,
    Reading,
    Steps,
    one_line,
)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as that of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MOST_SHOWN = 16 << 20
_LONGEST_LINE = 4000
_TOO_LONG = re.compile(rf"[^\n]{{{_LONGEST_LINE}}}(?=[^\n])")
# A log may ring the bell, move back over what it printed, and colour its words.
_NO_TEXT = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_UNSHOWN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_HIGH_CONTROLS = re.compile("[\x80-\x9f]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How letters became bytes; `mark` are the bytes before the first letter."""

    name: str
    mark: bytes = b""

    @property
    def title(self) -> str:
        """As people write it."""
        title = {"iso-8859-1": "ISO 8859-1", "gb18030": "GB18030"}.get(self.name, self.name.upper())
        return f"{title} BOM" if self.mark else title


def encoding_of(head: bytes, *, is_whole: bool) -> Encoding | None:
    """What the beginning of a text is in; None: it is no text."""
    for mark, name in _MARKS:
        if head.startswith(mark) and _decoded(head[len(mark) :], name, is_whole) is not None:
            return Encoding(name, mark)
    for name in ("utf-8", *_unmarked_utf_16(head), "gb18030", "iso-8859-1"):
        words = _decoded(head, name, is_whole)
        if words is not None and not _NO_TEXT.search(words):
            if name == "iso-8859-1" and _HIGH_CONTROLS.search(words):
                return None
            return Encoding(name)
    return None


def text_steps(source: ByteSource, encoding: Encoding) -> Steps:
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    offset = len(encoding.mark)
    is_first = True
    while is_first or offset < _MOST_SHOWN:
        content = yield from source.take(offset, PAGE_BYTES)
        offset += len(content)
        size = source.size_bytes
        has_more = len(content) == PAGE_BYTES and (size is None or offset < size)
        words = decoder.decode(content, final=not has_more)
        if not words and not is_first:
            return
        notes: tuple[Text, ...] = ()
        if has_more and offset >= _MOST_SHOWN:
            has_more = False
            notes = (text("Only the beginning is shown; download it to see all of it."),)
        yield TextPage(shown(words), encoding.title, has_more=has_more, notes=notes)
        if not has_more:
            return
        is_first = False


def shown(words: str) -> str:
    """For the screen: lines that are not too long for it, and a sign for what cannot be drawn."""
    words = words.replace("\r\n", "\n").replace("\r", "\n")
    return _TOO_LONG.sub("\\g<0>\n", _UNSHOWN.sub("�", words))


def _unmarked_utf_16(head: bytes) -> tuple[str, ...]:
    """Half of the bytes of Latin letters are zero."""
    pairs = len(head) // 2
    if pairs == 0 or len(head) % 2:
        return ()
    even, odd = head[::2].count(0), head[1::2].count(0)
    order = ((odd, even, "utf-16-le"), (even, odd, "utf-16-be"))
    return tuple(name for zeros, others, name in order if zeros * 3 > pairs and others * 20 < pairs)


def _decoded(content: bytes, name: str, is_whole: bool) -> str | None:
    """A letter may be cut in two at the end of what was read."""
    try:
        return codecs.getincrementaldecoder(name)("strict").decode(content, final=is_whole)
    except UnicodeDecodeError:
        return None


_DELIMITERS = ",\t;|"
_LONGEST_RECORD = 1 << 18
_MOST_COLUMNS = 1000
_LOOKED_AT = 100
_NUMBER = re.compile(r"[+-]?(\d[\d,. ]*|\.\d+)([eE][+-]?\d+)?%?|[+-]?(nan|inf)", re.IGNORECASE)
_BREATH = 2000

Records = list[tuple[str, ...]]


class _Table:
    """Rows of a text, page by page, out of its whole lines."""

    def __init__(self, source: ByteSource, encoding: Encoding) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding.name)("replace")
        self._offset = len(encoding.mark)
        self._rest = ""
        self._has_more = True
        self._notes: dict[Text, None] = {}

    def steps(self) -> Steps:
        count = 0
        has_more = True
        while has_more:
            rows: Records = []
            for number, row in enumerate(self._rows((yield from self._lines()))):
                if number % _BREATH == _BREATH - 1:
                    yield None
                rows.append(row)
            columns, rows = self._headed(rows)
            count += len(rows)
            has_more = self._has_more and count < MOST_ROWS
            notes = [*self._notes]
            if self._has_more and not has_more:
                notes.append(text("Only the beginning is shown; download it to see all of it."))
            yield TablePage(columns, tuple(rows), has_more=has_more, notes=tuple(notes))

    def _rows(self, lines: list[str]) -> Iterator[tuple[str, ...]]:
        raise NotImplementedError

    def _headed(self, rows: Records) -> tuple[tuple[str, ...], Records]:
        """The names of all columns so far, and the rows below them."""
        raise NotImplementedError

    def _lines(self) -> Reading[list[str]]:
        """Those of the next page, with their ends; the last may lack one, and so may one that is far too long."""
        content = yield from self._source.take(self._offset, PAGE_BYTES)
        self._offset += len(content)
        size = self._source.size_bytes
        self._has_more = len(content) == PAGE_BYTES and (size is None or self._offset < size)
        words = self._rest + self._decoder.decode(content, final=not self._has_more)
        # Only these end a line; `splitlines` knows more.
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r(?!\Z)|\n)|[^\r\n]+\r?\Z|\r\Z", words)
        lines = [line for line in lines if line]
        self._rest = ""
        if self._has_more and lines and not lines[-1].endswith("\n") and len(lines[-1]) < _LONGEST_RECORD:
            self._rest = lines.pop()
        return lines


def delimiter_of(lines: list[str], *, is_tsv: bool = False) -> str:
    """What stands equally often in every line, outside of quotes."""
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines[:_LOOKED_AT] if line.strip()]
    best, best_share = "\t" if is_tsv else ",", 0.0
    for delimiter in _DELIMITERS:
        counts = [line.count(delimiter) for line in bare]
        usual = max(set(counts), key=counts.count, default=0)
        share = counts.count(usual) / len(counts) if usual else 0.0
        if share > best_share:
            best, best_share = delimiter, share
    return best


class CsvTable(_Table):
    """A CSV file; a record of it may go over several lines."""

    def __init__(self, source: ByteSource, encoding: Encoding, *, is_tsv: bool) -> None:
        super().__init__(source, encoding)
        self._is_tsv = is_tsv
        self._delimiter = ""
        self._columns: tuple[str, ...] | None = None
        self._open: list[str] = []
        self._open_chars = 0

    def _rows(self, lines: list[str]) -> Iterator[tuple[str, ...]]:
        if not self._delimiter:
            self._delimiter = delimiter_of(lines, is_tsv=self._is_tsv)
        return map(self._cells, self._records(lines))

    def _records(self, lines: list[str]) -> Iterator[list[str]]:
        """An odd number of quotes so far means that the record goes on."""
        is_open = bool(self._open)
        for line in lines:
            is_open ^= line.count('"') % 2 == 1
            self._open.append(line)
            self._open_chars += len(line)
            if is_open and self._open_chars < _LONGEST_RECORD:
                continue
            if is_open:
                self._notes[text("A quotation mark is not closed. The lines after it are shown one by one.")] = None
                yield from ([line] for line in self._open)
            elif any(part.strip() for part in self._open):
                yield self._open
            self._open, self._open_chars, is_open = [], 0, False
        if not self._has_more:
            yield from ([line] for line in self._open)

    def _cells(self, record: list[str]) -> tuple[str, ...]:
        words = "".join(record)
        cells = words.rstrip("\r\n").split(self._delimiter)
        if words.count('"') % 2 == 0:
            try:
                cells = next(csv.reader(record, delimiter=self._delimiter), [])
            except csv.Error:  # a cell beyond the limit of the reader
                self._notes[text("Some cells are too long to be read as such.")] = None
        if len(cells) > _MOST_COLUMNS:
            self._notes[
                count_text(
                    "Only the first column is shown.", "Only the first {count} columns are shown.", _MOST_COLUMNS
                )
            ] = None
        return tuple(one_line(cell) for cell in cells[:_MOST_COLUMNS])

    def _headed(self, rows: Records) -> tuple[tuple[str, ...], Records]:
        """The first row names the columns unless it looks like the others."""
        if self._columns is None:
            names = [cell.strip() for cell in rows[0]] if rows else []
            is_head = len(rows) > 1 and all(names) and len(set(names)) == len(names)
            if is_head and not any(_NUMBER.fullmatch(name) for name in names):
                self._columns, rows = tuple(names), rows[1:]
            else:
                self._columns = ()
        # A row may hold more than the first one promised.
        widest = min(max(map(len, rows), default=0), _MOST_COLUMNS)
        self._columns += tuple(str(number + 1) for number in range(len(self._columns), widest))
        return self._columns, rows


class JsonLinesTable(_Table):
    """A file with an object in each line."""

    def __init__(self, source: ByteSource, encoding: Encoding) -> None:
        super().__init__(source, encoding)
        self._columns: dict[str, None] = {}

    def _rows(self, lines: list[str]) -> Iterator[tuple[str, ...]]:
        return (self._row(line) for line in lines if line.strip())

    def _headed(self, rows: Records) -> tuple[tuple[str, ...], Records]:
        return tuple(self._columns), rows

    def _row(self, line: str) -> tuple[str, ...]:
        columns = self._columns
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            self._notes[text("Some lines are not JSON and are shown unchanged.")] = None
            columns.setdefault("", None)
            return tuple(one_line(line.strip()) if name == "" else "" for name in columns)
        if not isinstance(found, dict):
            found = {"": found}
        for key in found:
            if len(columns) < _MOST_COLUMNS:
                columns.setdefault(one_line(key, 100), None)
        cells = {one_line(key, 100): value for key, value in found.items()}
        return tuple(_cell(cells[name]) if name in cells else "" for name in columns)


def _cell(value: object) -> str:
    if isinstance(value, str):
        return one_line(value)
    try:
        return one_line(json.dumps(value, ensure_ascii=False))
    except (RecursionError, ValueError):
        return "…"
