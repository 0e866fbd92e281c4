"""The log of one worker of one run: its last lines at once, then what arrives, in batches."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections import deque
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import LAB_ENDED, Run
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope, set_within

if TYPE_CHECKING:
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.logs.log_files import LogFile
    from traindeck.services.logs.run_logs import RunLogs


LONGEST_LINE = 4000
"""Longer ones are shown as several; one line of a megabyte would stop the window."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Qt begins a new line at U+2028 and U+2029, which would spoil the count of lines.
_CONTROLS: dict[int, str | None] = {0x2028: " ", 0x2029: " "}
_CONTROLS |= dict.fromkeys((*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, *range(0x80, 0xA0)))


class LogText:
    """Decodes piece by piece; a progress bar redrawn with a carriage return stays one line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now."""
        pieces = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = pieces.pop()
        lines: list[str] = []
        for piece in pieces:
            lines.extend(_shown(piece))
        if len(self._rest) > LONGEST_LINE:
            self._rest = _last_redraw(self._rest)
            while len(self._rest) > LONGEST_LINE:
                lines.extend(_shown(self._rest[:LONGEST_LINE]))
                self._rest = self._rest[LONGEST_LINE:]
        return lines

    @property
    def open_line(self) -> str:
        """What stands after the last line end: a progress bar, or half a line."""
        return "".join(_shown(self._rest))

    def break_line(self) -> list[str]:
        """End the open line, because what follows does not belong to it."""
        rest = self._rest + self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._rest = ""
        return _shown(rest) if rest else []


def _shown(line: str) -> list[str]:
    if not line.isprintable():
        line = _ESCAPES.sub("", _last_redraw(line)).rstrip("\r").translate(_CONTROLS)
    if len(line) <= LONGEST_LINE:
        return [line]
    return [line[start : start + LONGEST_LINE] for start in range(0, len(line), LONGEST_LINE)]


def _last_redraw(line: str) -> str:
    """What is left to see of `10%\\r20%\\r`; the end is kept, a line end may follow."""
    body = line.rstrip("\r")
    return body[body.rfind("\r") + 1 :] + line[len(body) :]


def folded(words: str) -> str:
    """Upper and lower case alike, in every script that has them; a space that does not break is a space."""
    return words.replace("\xa0", " ").casefold()


def count_in(line: str, wanted: str) -> int:
    """How often the folded words `wanted` are in it."""
    content = folded(line)
    # Folding makes one character of one, or several of one: as long as before means one of each.
    return content.count(wanted) if len(content) == len(line) else len(hits_in(line, wanted))


def hits_in(line: str, wanted: str) -> list[tuple[int, int]]:
    """Where `wanted` begins and ends in it, from left to right; two of them share no character."""
    content = folded(line)
    if wanted not in content:
        return []
    # ß is folded to ss, and half of it is no hit.
    edges = {offset: index for index, offset in enumerate(accumulate((len(folded(sign)) for sign in line), initial=0))}
    hits: list[tuple[int, int]] = []
    at = content.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if at in edges and end in edges:
            hits.append((edges[at], edges[end]))
            at = content.find(wanted, end)
        else:
            at = content.find(wanted, at + 1)
    return hits


BEAT_MS = 60
MOST_LINES = 5000
_TAIL_BYTES = 1 << 19
_MOST_AGAIN = 1 << 22
_BLOCK_BYTES = 1 << 18
_LOOK_AGAIN_S = 0.5
_TICK_MS = 1000


@dataclass(frozen=True, slots=True)
class LogBatch:
    """What one beat brings: whole lines, then the line that is still being written."""

    lines: tuple[str, ...]
    open_line: str
    skipped: int = 0
    """Lines that came too fast to be shown; they are in the file."""


@dataclass(frozen=True, slots=True)
class LogState:
    run: Run | None = None
    task: str = ""
    is_read: bool = False
    size_bytes: int = 0
    run_seconds: float | None = None
    answer_age_s: float | None = None
    trouble: AppError | None = None
    next_look_s: float | None = None
    is_following: bool = True
    new_lines: int = 0


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A line of the log of one worker: so many after the byte of the file where reading began."""

    run: str
    task: str
    begin: int
    line: int


def log_place(kept: object) -> LogPlace | None:
    """As it was written down; what is read may be anything."""
    if not isinstance(kept, dict):
        return None
    run, task, begin, line = (kept.get(name) for name in ("run", "task", "begin", "line"))
    if isinstance(run, str) and isinstance(task, str) and isinstance(begin, int) and isinstance(line, int):
        return LogPlace(run, task, max(0, begin), max(0, line))
    return None


@dataclass(frozen=True, slots=True)
class _Reading:
    lines: list[str | Text]
    open_line: str
    position: int
    begin: int
    began_anew: bool
    has_more: bool


class LogFeed(QObject):
    """Hands lines on in batches, so that a chatty job costs one repaint per beat."""

    changed = Signal()
    cleared = Signal()
    arrived = Signal(object)

    def __init__(
        self, logs: RunLogs, watch: RunWatch, disk: BlockingCalls, scope: TaskScope, clock: Clock = utc_now
    ) -> None:
        super().__init__()
        self._logs = logs
        self._watch = watch
        self._disk = disk
        self._scope = scope
        self._clock = clock
        self.state = LogState()
        self._work = ""
        # A sentence of ours among them is said in the language in use when a view shows it.
        self._kept: deque[str | Text] = deque(maxlen=MOST_LINES)
        self._waiting: deque[str | Text] = deque(maxlen=MOST_LINES)
        self._skipped = 0
        self._open_line = ""
        self.begin = 0
        """The byte of the file where reading began."""
        self.passed = 0
        """So many lines have been handed on since."""
        self.place_wanted: LogPlace | None = None
        """Where the last start left this log, until another is shown or somebody scrolls."""
        self._beat = QTimer(self, singleShot=True, interval=BEAT_MS)
        self._beat.timeout.connect(self._hand_on)
        self._seconds = QTimer(self, interval=_TICK_MS)
        self._seconds.timeout.connect(self._tick)
        self._remove_listeners = (
            watch.changed.add(self._on_changed),
            watch.connection_state.add(self._on_connection_state),
        )

    def close(self) -> None:
        """Stop following for good; the panel goes away."""
        for remove in self._remove_listeners:
            remove()
        self._scope.cancel(self._work)
        self._beat.stop()
        self._seconds.stop()

    def show(self, run: Run, task: str = "worker-0") -> None:
        """Follow this worker of this run from now on."""
        wanted = self.place_wanted
        if wanted is not None and self.state.run is None and wanted.run == run.id and wanted.task in run.tasks:
            task = wanted.task  # the first one that is shown is that of the last start
        elif wanted is not None:
            wanted = self.place_wanted = None
        self._scope.cancel(self._work)
        self._waiting.clear()
        self._kept.clear()
        self._skipped = 0
        self._open_line = ""
        self._beat.stop()
        self.cleared.emit()
        self.begin = self.passed = 0
        self._become(LogState(run=run, task=task, is_following=wanted is None))
        self._work = f"follow {task} of {run.id}"
        begin = wanted.begin if wanted is not None else None
        self._scope.start(self._work, lambda: self._follow(run.id, task, begin), Repeat.REPLACE)

    def follow_end(self, wanted: bool) -> None:
        """Whether the view stays at the newest line."""
        if wanted != self.state.is_following:
            self._become(replace(self.state, is_following=wanted, new_lines=0))

    def lines_so_far(self) -> LogBatch:
        """What a view that opens now must show first."""
        return LogBatch(tuple(map(str, self._kept)), self._open_line)

    def place_at(self, lines_below: int) -> LogPlace | None:
        """The line with so many whole ones after it, and with it."""
        run = self.state.run
        return None if run is None else LogPlace(run.id, self.state.task, self.begin, self.passed - lines_below)

    def lines_below(self, place: LogPlace) -> int | None:
        """The other way round; None: it is not among those that were handed on."""
        run = self.state.run
        is_this = run is not None and (run.id, self.state.task, self.begin) == (place.run, place.task, place.begin)
        return self.passed - place.line if is_this and 0 <= place.line < self.passed else None

    async def _follow(self, run_id: str, task: str, begin: int | None) -> None:
        reader = _LogReader(self._logs.file(run_id, task), begin)
        grown, is_marked = asyncio.Event(), False
        with self._logs.grew.heard_by(lambda grown_id: grown.set() if grown_id == run_id else None):
            while True:
                grown.clear()
                reading = await self._disk.run(lambda _: reader.read())
                self._take(reading)
                if not reading.has_more:
                    self._give_up_place()
                    run = self.state.run
                    if run is not None and run.reason == LAB_ENDED and not is_marked:
                        # Seen here, not written into the file: that has the bytes of the service and no others.
                        mark = text("— the Lab ended unexpectedly here and was started again —")
                        lines: list[str | Text] = [*reader.break_line(), mark]
                        self._take(_Reading(lines, "", reading.position, reading.begin, False, False))
                        is_marked = True
                    # Another program may be the one that writes: while the run lives, look even when nobody tells.
                    await set_within(grown, None if run is None or run.state.is_over else _LOOK_AGAIN_S)

    def _give_up_place(self) -> None:
        """All is read, and what was at the top is not there: the log began anew, or grew beyond it."""
        wanted = self.place_wanted
        passed = self.passed + len(self._waiting) + self._skipped
        if wanted is not None and (self.begin != wanted.begin or wanted.line >= passed):
            self.place_wanted = None
            self.follow_end(True)

    def _take(self, reading: _Reading) -> None:
        self.begin = reading.begin
        if reading.began_anew:
            self.passed = 0
            self._waiting.clear()
            self._kept.clear()
            self.cleared.emit()
        self._skipped += max(0, len(self._waiting) + len(reading.lines) - MOST_LINES)
        self._waiting.extend(reading.lines)
        grew = bool(reading.lines) or reading.open_line != self._open_line
        self._open_line = reading.open_line
        if grew and not self._beat.isActive():
            self._beat.start()
        if (reading.position, True) != (self.state.size_bytes, self.state.is_read):
            self._become(replace(self.state, size_bytes=reading.position, is_read=True))

    def _hand_on(self) -> None:
        batch = LogBatch(tuple(map(str, self._waiting)), self._open_line, self._skipped)
        lines = batch.lines
        self._kept.extend(self._waiting)
        self.passed += len(lines) + self._skipped
        self._waiting.clear()
        self._skipped = 0
        self.arrived.emit(batch)
        if not self.state.is_following and lines and self.place_wanted is None:
            self._become(replace(self.state, new_lines=self.state.new_lines + len(lines) + batch.skipped))

    def _on_changed(self, run: Run) -> None:
        if self.state.run is not None and run.id == self.state.run.id:
            self._become(replace(self.state, run=run))

    def _on_connection_state(self, profile: str) -> None:
        if self.state.run is not None and profile == self.state.run.profile:
            self._become(self.state)

    def _tick(self) -> None:
        self._become(self.state)

    def _become(self, state: LogState) -> None:
        run, now = state.run, self._clock()
        if run is not None:
            account = self._watch.accounts[run.profile]
            last = max((moment for moment in (account.last_answer, run.checked) if moment is not None), default=None)
            due = account.next_look
            state = replace(
                state,
                run_seconds=run.run_seconds(now),
                answer_age_s=None if last is None else max(0.0, (now - last).total_seconds()),
                trouble=None if run.state.is_over else self._watch.trouble(run.profile),
                next_look_s=None if due is None else max(0.0, (due - now).total_seconds()),
            )
        self.state = state
        is_live = run is not None and not run.state.is_over
        if is_live and not self._seconds.isActive():
            self._seconds.start()
        elif not is_live:
            self._seconds.stop()
        self.changed.emit()


class _LogReader:
    """Reads on from where it was; lives in a worker."""

    def __init__(self, file: LogFile, begin: int | None) -> None:
        """`begin` where it began before; else with the last lines."""
        self._file = file
        self._wanted = begin
        self._begin = 0
        self._text = LogText()
        self._position: int | None = None  # not looked at yet
        self._in_first_line = False

    def break_line(self) -> list[str]:
        return self._text.break_line()

    def read(self) -> _Reading:
        size = self._file.size()
        if self._position is None:
            is_near = self._wanted is not None and 0 <= size - self._wanted <= _MOST_AGAIN
            tail = max(0, size - _TAIL_BYTES)
            self._position = self._begin = max(0, self._wanted or 0) if is_near else tail
            self._in_first_line = self._position > 0
        began_anew = size < self._position
        lines: list[str | Text] = []
        if began_anew:
            self._text, self._position, self._in_first_line, self._begin = LogText(), 0, False, 0
            lines.append(text("— the service started this log anew; the old one is kept next to it —"))
        data = self._file.read(self._position, _BLOCK_BYTES)
        has_more = len(data) == _BLOCK_BYTES
        end = self._position + len(data)
        if self._in_first_line and data:
            # The tail begins somewhere inside a line, perhaps inside a character.
            cut = data.find(b"\n") + 1
            data, self._in_first_line = data[cut:], cut == 0
            self._position = end - len(data)
        for gap in self._file.gaps():
            if self._position <= gap.offset < end:
                before, data = data[: gap.offset - self._position], data[gap.offset - self._position :]
                lines += self._text.feed(before) + self._text.break_line()
                missing = size_words(gap.missing)
                lines.append(text("— {size} missing here: no longer available from the service —", size=missing))
                self._position = gap.offset
        lines += self._text.feed(data)
        self._position = end
        return _Reading(lines, self._text.open_line, end, self._begin, began_anew, has_more)
