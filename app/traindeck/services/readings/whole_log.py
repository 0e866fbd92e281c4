"""Reads a log of any length in bounded time: all of a small one; of a large one its beginning, its end, and samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from traindeck.domain.readings.evidence import (
    TRACEBACK,
    Evidence,
    LogPart,
    NumberedLine,
    from_last_progress,
    lines_of,
    tracebacks_in,
)
from traindeck.domain.readings.log_reader import LogReader
from traindeck.runtime.blocking import CancelToken

_BLOCK = 1 << 20
_ALL_BYTES = 8 << 20
_HEAD_BYTES = 1 << 20
_TAIL_BYTES = 1 << 20
_SAMPLES = 64
_SAMPLE_BYTES = 1 << 16
_MOST_SEARCHED = 4 << 30
_OF_FACTS = 1 << 18
_OF_END = 1 << 20
_OF_TRACEBACK = 1 << 16
_HEAD_LINES = 2000
_MARK = TRACEBACK.encode()

ReadPart = Callable[[int, int], bytes]
"""So many bytes from an offset on, fewer at the end."""


def read_values(reader: LogReader, read: ReadPart, size: int, token: CancelToken, at: float | None = None) -> None:
    """From where the reader is to `size`; where that is too much, evenly taken pieces of it. `at`: all of it is new."""
    begin = reader.offset
    if size - begin <= _ALL_BYTES:
        _read(reader, read, begin, size, token, at)
        return
    _read(reader, read, begin, begin + _HEAD_BYTES, token)
    tail = size - _TAIL_BYTES
    between = (tail - reader.offset) / _SAMPLES
    first = reader.offset
    for number in range(_SAMPLES):
        _skip_to_line(reader, read, int(first + number * between))
        _read(reader, read, reader.offset, min(tail, reader.offset + _SAMPLE_BYTES), token)
    _skip_to_line(reader, read, tail)
    _read(reader, read, reader.offset, size, token)


def _read(reader: LogReader, read: ReadPart, begin: int, end: int, token: CancelToken, at: float | None = None) -> None:
    while begin < end and (block := read(begin, min(_BLOCK, end - begin))):
        token.check()
        reader.take(block, at)
        begin += len(block)


def _skip_to_line(reader: LogReader, read: ReadPart, offset: int) -> None:
    """A piece begins with a whole line, as far as there is one near."""
    place = read(offset, _SAMPLE_BYTES).find(b"\n")
    reader.skip(offset + max(0, place + 1))


@dataclass(frozen=True, slots=True)
class _Marks:
    """What is only known after a look at every byte."""

    lines_before_end: int | None
    traceback: int | None
    """Where the first one begins."""
    lines_before_traceback: int | None


def evidence_in(
    read: ReadPart,
    size: int,
    token: CancelToken,
    *,
    exit_code: int | None = None,
    messages: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> Evidence:
    """The end of a log, its beginning for facts, and the first traceback, wherever that is."""
    tail = _line_start(read, max(0, size - _OF_END))
    marks = _marks(read, tail, token)
    head = list(lines_of(LogPart(read(0, _OF_FACTS))))[:_HEAD_LINES]
    first_line = None if marks.lines_before_end is None else marks.lines_before_end + 1
    end = list(lines_of(LogPart(read(tail, size - tail), tail, first_line)))
    before: list[NumberedLine] = []
    if marks.traceback is not None:
        line = None if marks.lines_before_traceback is None else marks.lines_before_traceback + 1
        stop = min(tail, marks.traceback + _OF_TRACEBACK)
        before = list(lines_of(LogPart(read(marks.traceback, stop - marks.traceback), marks.traceback, line)))
    return Evidence(head, from_last_progress(end), tracebacks_in([*before, *end]), exit_code, messages, facts)


def _line_start(read: ReadPart, offset: int) -> int:
    """The next beginning of a line; within a line without an end the place itself."""
    if offset == 0:
        return 0
    place = read(offset, _SAMPLE_BYTES).find(b"\n")
    return offset + place + 1 if place >= 0 else offset


def _marks(read: ReadPart, end: int, token: CancelToken) -> _Marks:
    """Up to `end`, as far as that is no matter of minutes."""
    if end > _MOST_SEARCHED:
        return _Marks(None, None, None)
    lines, line_start, offset = 0, 0, 0
    traceback: int | None = None
    lines_before: int | None = None
    rest = b""
    while offset < end and (block := read(offset, min(_BLOCK, end - offset))):
        token.check()
        if traceback is None and (place := (rest + block).find(_MARK)) >= 0:
            place += offset - len(rest)
            inside = block[: max(0, place - offset)]
            begin = inside.rfind(b"\n")
            traceback = offset + begin + 1 if begin >= 0 else line_start
            lines_before = lines + inside.count(b"\n")
        last = block.rfind(b"\n")
        line_start = offset + last + 1 if last >= 0 else line_start
        lines += block.count(b"\n")
        rest = block[-len(_MARK) :]
        offset += len(block)
    # Only so much in front of it: its line may have a bar of megabytes there.
    if traceback is not None:
        traceback = max(traceback, 0)
    return _Marks(lines, traceback, lines_before)
