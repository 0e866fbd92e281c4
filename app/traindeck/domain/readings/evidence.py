"""What a log has to say about its end: its lines there, and the tracebacks among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from traindeck.domain.readings.encodings import words_of

MOST_LINE = 2000
_MOST_KEPT = 200
_MOST_MESSAGE = 12
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|\x00")
TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'File "([^"\n]{1,500})", line (\d{1,9})(?:, in (\S+))?')
_EXCEPTION = re.compile(r"^([A-Za-z_][\w.]{2,120})(?::\s?(.*))?$")
_LIKELY = re.compile(
    r"(?:Error|Exception|Interrupt|Exit|Warning|Timeout|Failure|Fault|Refused|Denied|NotFound|Iteration|Group|Lost|Abort\w*)$"
)
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_PROGRESS = re.compile(
    r"\b(?:epoch|step|iter(?:ation)?|batch)s?\b[^a-z]{0,12}\d.{0,200}\b(?:loss|acc\w*|lr|eta)\b", re.IGNORECASE
)
# A log of the platform, a stamp: not a part of what an exception says.
_STAMPED = re.compile(r"^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|^\[?(?:INFO|WARNING|ERROR)\b|^\[[\w.]+ Service Log\]")
_PREFIX = re.compile(r"^\s*+(?:\[[^\]\n]{1,60}\][: ]{0,2}|[\w./-]{1,40}[:|]\s)?\s*+$")
_MOST_PREFIX = 120
_MOMENT = re.compile(r"(?<!\d)\d++(?:[-/:.,T]\d++)++(?:Z|[+-]\d\d:?\d\d)?")
# Nothing is given back: of several in a row, each could take in the next ones in ever so many ways.
_ANY_MOMENT = r"\d++(?:[-/:.,T]\d++)*+(?:Z|[+-]\d\d:?\d\d)?+"
_OF_LIBRARIES = ("site-packages", "dist-packages", "<frozen", "<string>", "lib/python")


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """One line; its number counts from 1, None: too much before it was not read to count."""

    number: int | None
    offset: int
    words: str


@dataclass(frozen=True, slots=True)
class LogPart:
    """Bytes of a log from a place on."""

    data: bytes
    offset: int = 0
    first_line: int | None = 1


@dataclass(slots=True)
class Traceback:
    """One as it was printed."""

    lines: list[NumberedLine]
    frames: list[tuple[str, int]] = field(default_factory=list)
    type: str = ""
    message: list[NumberedLine] = field(default_factory=list)
    """Its last line, which names the exception, and the lines that go on from there."""
    is_stale: bool = False
    """The training went on after it."""
    is_chained: bool = False
    """Another one came of it."""

    def leave_out_middle(self) -> None:
        """Of one that is very long the beginning and the end are enough."""
        for kept in (self.lines, self.frames):
            if len(kept) > _MOST_KEPT:
                del kept[_MOST_KEPT // 2 : -_MOST_KEPT // 4]

    @property
    def words(self) -> str:
        return "\n".join(line.words for line in self.message)

    @property
    def own_frame(self) -> tuple[str, int] | None:
        """The last one that is not of a library."""
        own = [frame for frame in self.frames if not any(part in frame[0] for part in _OF_LIBRARIES)] or self.frames
        return own[-1] if own else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that may show why a training ended."""

    head: Sequence[NumberedLine] = ()
    """Of the beginning, for facts."""
    end: Sequence[NumberedLine] = ()
    """From the last progress on."""
    tracebacks: Sequence[Traceback] = ()
    exit_code: int | None = None
    messages: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()


def lines_of(part: LogPart) -> Iterator[NumberedLine]:
    """Bounded each; what carriage returns put over each other stands below each other."""
    offset, number = part.offset, part.first_line
    for line in part.data.split(b"\n"):
        at = offset
        for piece in line.split(b"\r") if len(line) < 1 << 20 else (line[-MOST_LINE:],):
            if piece:
                yield NumberedLine(number, at, _ANSI.sub("", words_of(piece[:MOST_LINE])))
            at += len(piece) + 1
        offset += len(line) + 1
        number = None if number is None else number + 1


def from_last_progress(lines: Sequence[NumberedLine], most: int = 1000) -> Sequence[NumberedLine]:
    """A few lines of progress may still come after what ends a training: other processes go on for a while."""
    seen = 0
    for at in range(len(lines) - 1, max(-1, len(lines) - 1 - most), -1):
        seen += _PROGRESS.search(lines[at].words, 0, 400) is not None
        if seen > 3:
            return lines[at:]
    return lines[-most:]


def tracebacks_in(lines: Sequence[NumberedLine]) -> list[Traceback]:
    """In their order; of those that the training survived it is said."""
    found: list[Traceback] = []
    at = 0
    while at < len(lines):
        words = lines[at].words
        if TRACEBACK in words or _is_bare(lines, at):
            one, after = _traceback(lines, at)
            if one is not None:
                found.append(one)
                at = after
                continue
        elif found and any(words.find(chain) >= 0 for chain in _CHAINED):
            found[-1].is_chained = True
        at += 1
    _mark_stale(found, lines)
    return found


def _is_bare(lines: Sequence[NumberedLine], at: int) -> bool:
    """Of a script that is no Python the place is told without a traceback."""
    match = _FRAME.search(lines[at].words)
    return match is not None and match[3] is None and lines[at].words.lstrip().startswith("File ")


def _traceback(lines: Sequence[NumberedLine], at: int) -> tuple[Traceback | None, int]:
    head = lines[at].words
    start = head.find(TRACEBACK)
    prefix = _prefix(head[:start], lines[at + 1].words if at + 1 < len(lines) else "") if start > 0 else None
    one = Traceback([lines[at]])
    if start < 0 and (frame := _FRAME.search(head)):
        one.frames.append((frame[1], int(frame[2])))
    at += 1
    since = 0
    while at < len(lines) and since < _MOST_KEPT:
        words = _without(prefix, lines[at].words)
        one.lines.append(lines[at])
        since += 1
        if frame := _FRAME.search(words):
            since = 0
            one.frames.append((frame[1], int(frame[2])))
            one.leave_out_middle()
        elif words[:1] not in (" ", "\t", "|", "") and not words.startswith(("^", "~", "[Previous line")):
            match = _EXCEPTION.match(words)
            if match is None:
                is_other = prefix is not None and words == lines[at].words
                if not one.frames and not is_other:
                    return None, at
                at += 1
                continue  # a line of another process in between
            one.type = match[1].rpartition(".")[2]
            return _with_message(one, lines, at, prefix), at + 1
        at += 1
    return (one if one.frames else None), at


def _with_message(one: Traceback, lines: Sequence[NumberedLine], at: int, prefix: re.Pattern[str] | None) -> Traceback:
    one.message = [NumberedLine(lines[at].number, lines[at].offset, _without(prefix, lines[at].words))]
    for line in lines[at + 1 : at + 1 + _MOST_MESSAGE]:
        words = _without(prefix, line.words)
        if (
            TRACEBACK in words
            or words.startswith(_CHAINED)
            or _STAMPED.match(words)
            or (prefix and words == line.words)
        ):
            break
        if ((other := _EXCEPTION.match(words)) and _LIKELY.search(other[1])) or _PROGRESS.search(words, 0, 400):
            break
        one.message.append(NumberedLine(line.number, line.offset, words))
        one.lines.append(line)
    return one


def _prefix(head: str, below: str) -> re.Pattern[str] | None:
    """What stands before each line, a process or a moment; None: it stands before the first one only."""
    if len(head) > _MOST_PREFIX:
        return None
    parts = _MOMENT.split(head)
    prefix = re.compile(_ANY_MOMENT.join(map(re.escape, parts)))
    return prefix if prefix.match(below) or _PREFIX.match(head) else None


def _without(prefix: re.Pattern[str] | None, words: str) -> str:
    found = prefix.match(words) if prefix else None
    return words[found.end() :] if found else words


def _mark_stale(found: Iterable[Traceback], lines: Sequence[NumberedLine]) -> None:
    progress = [line.offset for line in lines if _PROGRESS.search(line.words, 0, 400)]
    for one in found:
        end = one.lines[-1].offset
        one.is_stale = sum(offset > end for offset in progress) > 3
