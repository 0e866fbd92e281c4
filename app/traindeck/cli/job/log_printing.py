"""Printing logs: unchanged unless lines have to be chosen, told apart or put into order, or a terminal shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.cli.columns import room_of
from traindeck.cli.output import Output
from traindeck.cli.terminal_log import TerminalText, decoded
from traindeck.domain.jobs.line_times import line_time
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.services.logs.bounded_expression import BoundedExpression
    from traindeck.services.logs.log_notes import LogMark

# A line that never ends is taken piece by piece.
_LONGEST = 16 << 20
_WIDE = 80


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of one worker, with the end it has; the number is that in its log."""

    worker: str
    number: int
    content: bytes
    ending: bytes
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogChoice:
    """Which lines are printed."""

    expression: BoundedExpression | None = None
    since: datetime | None = None
    """Those written since, and those without a time that follow one."""

    @property
    def is_all(self) -> bool:
        return self.expression is None and self.since is None


class LogOutput:
    """Where the lines of all workers go."""

    def __init__(self, output: Output, *, is_named: bool, as_documents: bool) -> None:
        """`as_documents`: one of each line; else lines go beside the one document there is."""
        self._output = output
        self.is_named = is_named
        self.as_documents = as_documents
        stream = sys.stderr if output.json_wanted else sys.stdout
        is_terminal = not as_documents and stream is not None and stream.isatty()
        # Some terminals do not say how wide they are.
        self._columns = (room_of(stream) or _WIDE) if is_terminal else None
        self._terminal = self.terminal_text()

    @property
    def is_as_it_comes(self) -> bool:
        """Whether bytes may go out as they are."""
        return not self.is_named and not self.as_documents and self._columns is None

    def terminal_text(self) -> TerminalText | None:
        return None if self._columns is None else TerminalText(self._columns)

    def bytes(self, content: bytes) -> None:
        self._output.bytes(content)

    def words(self, words: str) -> None:
        self._output.drawn(words)

    def note(self, words: str) -> None:
        self._output.note(words)

    def line(self, line: LogLine) -> None:
        if self.as_documents:
            words = decoded(line.content).removesuffix("\r")
            self._output.document({"worker": line.worker, "line": line.number, "text": words})
        elif self._terminal is not None:
            name = f"[{line.worker}] " if self.is_named else ""
            # Alone as a whole line: what one worker draws must not run into what another says.
            self._output.drawn(name + self._terminal.whole(line.content) + "\n")
        else:
            # Another worker's line may follow, so a last line without an end gets one.
            head = f"[{line.worker}] ".encode() if self.is_named else b""
            self._output.bytes(head + line.content + (line.ending or (b"\n" if self.is_named else b"")))


@dataclass(slots=True)
class LogPrinter:
    """Prints one worker's log, or hands its lines to who puts those of all into order."""

    to: LogOutput
    worker: str
    choice: LogChoice = field(default_factory=LogChoice)
    collect: Callable[[LogLine], None] | None = None
    near: datetime = field(default_factory=lambda: datetime.now().astimezone())
    has_times: bool = False
    """A line has said when it was written."""
    has_begun: bool = False
    _pieces: list[bytes] = field(default_factory=list)
    _open_bytes: int = 0
    _number: int = 0
    _at: datetime | None = None
    _text: TerminalText | None = None

    def take(self, block: bytes) -> None:
        self.has_begun = self.has_begun or bool(block)
        if self.choice.is_all and self.collect is None and not self.to.is_named and not self.to.as_documents:
            self._pass_on(block)
            return
        *lines, last = block.split(b"\n")
        for line in lines:
            self._line(b"".join([*self._pieces, line]), b"\n")
            self._pieces, self._open_bytes = [], 0
        if last:
            self._pieces.append(last)
            self._open_bytes += len(last)
        if self._open_bytes > _LONGEST:
            self._line(b"".join(self._pieces), b"")
            self._pieces, self._open_bytes = [], 0

    def open_line(self) -> LogLine | None:
        """The last line, which nothing ended; taken out, for nothing more will come."""
        found: list[LogLine] = []
        collect, self.collect = self.collect, found.append
        self._end_line()
        self.collect = collect
        return found[0] if found else None

    def end(self) -> None:
        self._end_line()
        if self._text is not None:
            self.to.words(self._text.end())

    def end_marks(self, marks: Iterable[LogMark]) -> None:
        """Say where it is not what the service has."""
        for mark in marks:
            self.to.note(_mark_words(self.worker, mark))

    def _end_line(self) -> None:
        if self._pieces:
            pieces, self._pieces, self._open_bytes = self._pieces, [], 0
            self._line(b"".join(pieces), b"")

    def _pass_on(self, block: bytes) -> None:
        if self.to.is_as_it_comes:
            self.to.bytes(block)
            return
        self._text = self._text or self.to.terminal_text()
        assert self._text is not None
        self.to.words(self._text.feed(block))

    def _line(self, content: bytes, ending: bytes) -> None:
        self._number += 1
        if self.choice.since is not None or self.collect is not None:
            at = line_time(content[:400].decode("utf-8", "replace"), self.near)
            if at is not None:
                self._at, self.has_times = at, True
        if not self._is_chosen(content):
            return
        line = LogLine(self.worker, self._number, content, ending, self._at)
        if self.collect is not None:
            self.collect(line)
        else:
            self.to.line(line)

    def _is_chosen(self, content: bytes) -> bool:
        since, expression = self.choice.since, self.choice.expression
        if since is not None and (self._at is None or self._at < since):
            return False
        return expression is None or expression.is_in(content.removesuffix(b"\r"))


class MergedLines:
    """Puts the lines of several workers into the order of their times, as far as it can wait for them."""

    def __init__(self, to: LogOutput, workers: Iterable[str], wait_s: float, clock: Callable[[], float]) -> None:
        self._to = to
        self._waiting: dict[str, list[tuple[float, LogLine]]] = {worker: [] for worker in workers}
        self._wait_s = wait_s
        self._clock = clock

    def take(self, line: LogLine) -> None:
        self._waiting[line.worker].append((self._clock(), line))

    def begin(self, worker: str) -> None:
        self._waiting[worker] = []

    def ended(self, worker: str) -> None:
        """No more lines of it will come, so nobody waits for one."""
        self._waiting[worker].append((self._clock(), LogLine(worker, 0, b"", b"", datetime.max.astimezone())))

    def flush(self, *, is_last: bool = False) -> None:
        """Print what nothing earlier can come for: every worker has said more, or has been silent for a while."""
        now = self._clock()
        heads = dict.fromkeys(self._waiting, 0)
        while True:
            first: str | None = None
            is_sure = True
            for worker, lines in self._waiting.items():
                if heads[worker] == len(lines):
                    is_sure = False
                    continue
                if first is None or moment(lines[heads[worker]][1]) < moment(self._waiting[first][heads[first]][1]):
                    first = worker
            if first is None:
                break
            came, line = self._waiting[first][heads[first]]
            if line.number == 0 or not (is_sure or is_last or now - came >= self._wait_s):
                break
            heads[first] += 1
            self._to.line(line)
        for worker, count in heads.items():
            del self._waiting[worker][:count]


def moment(line: LogLine) -> float:
    """What lines are ordered by: a line from before the first time comes before all that has one."""
    if line.at is None:
        return 0.0
    return float("inf") if line.number == 0 else line.at.timestamp()


def _mark_words(worker: str, mark: LogMark) -> str:
    from traindeck.services.logs.mark_words import mark_words

    return say("{worker}, byte {offset}: {what}", worker=worker, offset=f"{mark.offset:,}", what=mark_words(mark))
