"""The index of rows against a plain walk over the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.log_document import LogDocument
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_index import BLOCK, LONGEST_ROW, LogIndex

PIECES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [b"\n", b"\r\n", b"\r", b"loss 0.5\n", "损失\n".encode(), b"x" * (LONGEST_ROW - 1), b"x" * 9000]
        ),
        st.integers(1, 40_000).map(lambda count: b"y" * count),
        st.integers(1, 4000).map(lambda count: b"line\n" * count),
    ),
    max_size=20,
)


def plainly(content: bytes, marks: list[int]) -> list[tuple[int, int]]:
    """Begin and end of each row, sign by sign."""
    rows, begin, since = [], 0, 0
    for at, sign in enumerate(content):
        if at in marks:
            if begin < at:
                rows.append((begin, at))
            rows += [(at, at)] * marks.count(at)
            begin = since = at
        if sign == 10:
            rows.append((begin, at + 1))
            begin = since = at + 1
        elif sign == 13:
            since = at + 1
        elif at - since == LONGEST_ROW:
            rows.append((begin, at))
            begin = since = at
    if begin < len(content):
        rows.append((begin, len(content)))
    return rows + [(len(content), len(content))] * marks.count(len(content))


@settings(max_examples=60, deadline=None)
@given(PIECES, st.lists(st.integers(0, 200_000), max_size=3), st.data())
def test_rows_are_those_of_a_plain_walk(pieces: list[bytes], places: list[int], data: st.DataObject) -> None:
    content = b"".join(pieces)
    marks = sorted(min(place, len(content)) for place in places)
    index = LogIndex()
    for mark in marks:
        index.mark(mark)
    for piece in pieces:
        index.feed(piece)
    expected = plainly(content, marks)

    def read(offset: int, count: int) -> bytes:
        return content[offset : offset + count]

    assert index.rows == len(expected)
    found = [(one.begin, one.end) for one in index.bounds(0, len(expected), read)]
    assert found == expected
    if expected:
        first = data.draw(st.integers(0, len(expected) - 1))
        few = [(one.begin, one.end) for one in index.bounds(first, 7, read)]
        assert few == expected[first : first + 7]
        begin, end = expected[first]
        if begin < end:
            assert index.row_of(begin, read) == index.row_of(end - 1, read) == first
        assert index.lines_before(begin, read) == content[:begin].count(b"\n")
        line = data.draw(st.integers(1, content.count(b"\n") + 1))
        at = [0, *(found.end() for found in re.finditer(b"\n", content))][line - 1]
        assert index.row_of_line(line, read) == index.row_of(at, read)


@settings(max_examples=30, deadline=None)
@given(PIECES, st.integers(1, 4))
def test_stretches_follow_one_another_and_leave_nothing_out(pieces: list[bytes], count: int) -> None:
    index, content = LogIndex(), b"".join(pieces)
    index.feed(content)
    block: int | None = 0
    row = offset = 0
    while block is not None:
        stretch = index.stretch(block, count)
        assert (stretch.first, stretch.begin) == (row, offset)
        row, offset, block = stretch.last, stretch.end, stretch.next_block
    assert (row, offset) == (index.ended, index.open_from)


def test_a_long_file_costs_little() -> None:
    index = LogIndex()
    line = b"epoch 1 step 2 loss 0.123\n"
    content = line * (BLOCK * 64 // len(line))
    index.feed(content)
    assert index.rows == len(content) // len(line)
    held = sum(len(known) * known.itemsize for known in (index._rows, index._ends, index._since, index._lines))
    assert held <= len(content) // 1000


def test_the_end_comes_first_and_is_counted_later(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = [b"line %d" % number for number in range(150_000)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    document, token = LogDocument(LogFile(path)), CancelToken()
    standing = document.look(token)
    assert not standing.is_counted and standing.is_behind
    last = document.rows(standing.rows - 1, 1).rows[0]
    assert (last.words, last.line) == ("line 149999", None)
    standing = document.look(token)
    assert standing.is_counted and standing.rows == 150_000
    assert document.rows(last.number + standing.moved, 1).rows[0].words == "line 149999"
    assert document.rows(77, 1).rows[0].line == 78
