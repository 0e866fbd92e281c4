"""The log of one worker of one run: what is shown of it, how things stand, and whether its end is followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import LAB_ENDED, Run
from traindeck.domain.readings.failures import Failure
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope, set_within
from traindeck.viewmodels.logs.log_appearance import LogAppearance
from traindeck.viewmodels.logs.log_filter import LogFilter
from traindeck.viewmodels.logs.log_landmarks import LogLandmarks
from traindeck.viewmodels.logs.log_rows import LogExtent, LogRows
from traindeck.viewmodels.logs.log_search import LogSearch
from traindeck.viewmodels.logs.log_travel import LogTravel

if TYPE_CHECKING:
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.logs.log_document import LogDocument
    from traindeck.services.logs.log_files import LogFile
    from traindeck.services.logs.merged_log import MergedLog
    from traindeck.services.logs.run_logs import RunLogs

ALL_WORKERS = "*"
"""In the place of a worker: all of them in one."""
_BEAT_S = 0.06
"""A chatty job costs one repaint in so long."""
_LOOK_AGAIN_S = 0.5
_HEAD_START_S = 0.1
_TICK_MS = 1000


@dataclass(frozen=True, slots=True)
class LogState:
    run: Run | None = None
    task: str = ""
    is_read: bool = False
    size_bytes: int = 0
    order: Text | None = None
    """In which the lines of several workers are."""
    cloud_bytes: int | None = None
    """What the service said it has; unknown before its first answer."""
    run_seconds: float | None = None
    answer_age_s: float | None = None
    trouble: AppError | None = None
    next_look_s: float | None = None
    failure: Failure | None = None
    """Why the run failed, as soon as that is known."""
    is_following: bool = True
    new_lines: int = 0


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A row of the log of one worker, by the byte of the file where it begins."""

    run: str
    task: str
    offset: int


def log_place(kept: object) -> LogPlace | None:
    """As it was written down; what is read may be anything."""
    if not isinstance(kept, dict):
        return None
    run, task, offset = (kept.get(name) for name in ("run", "task", "offset"))
    if isinstance(run, str) and isinstance(task, str) and isinstance(offset, int):
        return LogPlace(run, task, max(0, offset))
    return None


class LogFeed(QObject):
    """Looks at the file again whenever there may be more of it."""

    changed = Signal()
    cleared = Signal()
    """Another log, or this one began anew."""
    place_found = Signal(int)
    """The row where the last start left this log."""

    def __init__(
        self,
        logs: RunLogs,
        watch: RunWatch,
        disk: BlockingCalls,
        scope: TaskScope,
        clock: Clock = utc_now,
        look: LogAppearance | None = None,
    ) -> None:
        super().__init__()
        self._logs = logs
        self._watch = watch
        self._disk = disk
        self._scope = scope
        self._clock = clock
        self.state = LogState()
        self.lines = LogRows(disk, scope)
        self.search = LogSearch(self.lines, disk, scope)
        self.filter = LogFilter(self.lines, disk, scope)
        self.travel = LogTravel(self.lines, disk, scope)
        self.landmarks = LogLandmarks(self.lines, disk, scope)
        self.look = look or LogAppearance()
        self.filter.fold(self.look.state.folds)
        self.look.changed.connect(self._mark)
        self._work = ""
        self.path: Path | None = None
        """Of the file that is shown."""
        self._seen_rows = 0
        """So many were there when the end was no longer followed."""
        self.found_row: int | None = None
        """Where that is, for a view that opens later."""
        self.failure_of: Callable[[str], Failure | None] = lambda _: None
        """By the id of a run; for who knows it."""
        self.place_wanted: LogPlace | None = None
        """Where the last start left this log, until another is shown or somebody scrolls."""
        self._look_again = asyncio.Event()
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
        self.search.look_for(None)
        self.filter.stop()
        self.landmarks.stop()
        self.lines.show(None)
        self._seconds.stop()

    def show(self, run: Run, task: str = "worker-0") -> None:
        """Follow this worker of this run from now on."""
        wanted = self.place_wanted
        if wanted is not None and self.state.run is None and wanted.run == run.id and wanted.task in run.tasks:
            task = wanted.task  # the first one that is shown is that of the last start
        elif wanted is not None:
            wanted = self.place_wanted = None
        self._scope.cancel(self._work)
        self.lines.show(None)
        self._seen_rows, self.found_row = 0, None
        self.cleared.emit()
        self._become(LogState(run=run, task=task, is_following=wanted is None))
        self._work = f"follow {task} of {run.id}"
        self._scope.start(self._work, lambda: self._follow(run, task), Repeat.REPLACE)

    def show_at(self, run: Run, task: str, offset: int) -> None:
        """Where the line of this byte of the file is."""
        self.state = LogState()
        self.place_wanted = LogPlace(run.id, task, offset)
        self.show(run, task)

    def want_place(self, place: LogPlace | None) -> None:
        """Where a panel is to be that is new, as in another language; found also where nothing is written any more."""
        run = self.state.run
        if place is None or run is None or (place.run, place.task) == (run.id, self.state.task):
            self.place_wanted = place
            self._look_again.set()

    def follow_end(self, wanted: bool) -> None:
        """Whether the view stays at the newest line."""
        self.found_row = None
        if wanted != self.state.is_following:
            standing = self.lines.standing
            self._seen_rows = 0 if standing is None else standing.ended
            self._become(replace(self.state, is_following=wanted, new_lines=0))

    def look_at_failure(self) -> None:
        """`failure_of` may have another answer."""
        self._become(self.state)

    def place_at(self, offset: int) -> LogPlace | None:
        run = self.state.run
        return None if run is None else LogPlace(run.id, self.state.task, offset)

    async def _follow(self, run: Run, task: str) -> None:
        if task != ALL_WORKERS:
            with self._logs.looking_at(run.id, task):
                while True:  # another file when the disk takes nothing, and when it does again
                    await self._follow_file(run.id, self._logs.file(run.id, task), None)
        files = {name: self._logs.file(run.id, name) for name in run.tasks}
        merged = await self._disk.run(lambda _: _merged(files))
        try:
            await self._follow_file(run.id, merged.file, merged)
        finally:
            await self._disk.run(lambda _: merged.close())

    async def _follow_file(self, run_id: str, file: LogFile, merged: MergedLog | None) -> None:
        document = await self._disk.run(lambda _: _document(file))
        self.path = file.path
        self.lines.show(document)
        self._restart()
        self._look_again, is_marked = asyncio.Event(), False
        grown = self._look_again
        task, was_written = self.state.task, self._logs.is_written(run_id, self.state.task)
        with self._logs.grew.heard_by(lambda grown_id: grown.set() if grown_id == run_id else None):
            # Seen here, not written into the file: that has the bytes of the service and no others.
            mark = text("— the Lab ended unexpectedly here and was started again —")
            while True:
                grown.clear()
                if self._logs.is_written(run_id, task) != was_written:
                    return
                run = self.state.run
                has_more = merged is not None and await self._merge(merged)
                standing = await self._disk.run(document.look)
                self._take(standing, merged)
                if standing.is_behind or has_more:
                    await self.lines.reading_done(_HEAD_START_S)  # what is in sight comes before all is counted
                    continue
                await self._find_place(document, standing)
                if run is not None and run.reason == LAB_ENDED and not is_marked:
                    await self._disk.run(lambda _: document.end_row(mark))
                    is_marked = True
                    continue
                # Another program may be the one that writes: while the run lives, look even when nobody tells.
                await set_within(grown, None if run is None or run.state.is_over else _LOOK_AGAIN_S)
                await asyncio.sleep(_BEAT_S)

    def _restart(self) -> None:
        for reader in (self.search, self.filter, self.landmarks):
            reader.restart()
        self._mark()

    def _mark(self) -> None:
        run = self.state.run
        marks = [] if run is None else self.look.bookmarks(run.id, self.state.task)
        self.landmarks.mark([mark.offset for mark in marks])

    async def _merge(self, merged: MergedLog) -> bool:
        run = self.state.run
        is_over = run is not None and run.state.is_over
        if run is not None and await self._disk.run(lambda _: merged.began_anew):
            self.show(run, ALL_WORKERS)  # this work ends for that
        return await self._disk.run(lambda token: merged.take(token, is_over=is_over))

    async def _find_place(self, document: LogDocument, standing: LogExtent) -> None:
        """All is read: go where the last start was, unless the log began anew since."""
        wanted = self.place_wanted
        if wanted is None:
            return
        row = await self._disk.run(lambda _: document.row_of(wanted.offset))
        if self.place_wanted is wanted:
            self.place_wanted = None
            if wanted.offset < standing.size:
                self._seen_rows, self.found_row = standing.ended, row
                self.place_found.emit(row)
            else:
                self.follow_end(True)

    def _take(self, standing: LogExtent, merged: MergedLog | None = None) -> None:
        before = self.lines.standing
        if before is not None and before.generation != standing.generation:
            self._seen_rows = 0
            self.cleared.emit()
            self.lines.take(standing)
            self._restart()
        self._seen_rows += standing.moved
        self.lines.take(standing)
        new_lines = self.state.new_lines
        if not self.state.is_following and self.place_wanted is None:
            new_lines = max(0, standing.ended - self._seen_rows)
        size, order = (standing.size, None) if merged is None else (merged.size, _order(merged))
        state = replace(self.state, size_bytes=size, is_read=True, new_lines=new_lines, order=order)
        if state != self.state:
            self._become(state)

    def _cloud_bytes(self, run: Run, task: str) -> int | None:
        sizes = [self._logs.cloud_bytes(run.id, name) for name in (run.tasks if task == ALL_WORKERS else (task,))]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) else None

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
                cloud_bytes=self._cloud_bytes(run, state.task),
                failure=self.failure_of(run.id) if run.state.is_failure else None,
                answer_age_s=None if last is None else max(0.0, (now - last).total_seconds()),
                trouble=None if run.state.is_over else self._watch.trouble(run.profile) or self._watch.log_trouble,
                next_look_s=None if due is None else max(0.0, (due - now).total_seconds()),
            )
        self.state = state
        is_live = run is not None and not run.state.is_over
        if is_live and not self._seconds.isActive():
            self._seconds.start()
        elif not is_live:
            self._seconds.stop()
        self.changed.emit()


def _order(merged: MergedLog) -> Text:
    return text("in order of time") if merged.is_by_time else text("in order of arrival")


def _merged(files: Mapping[str, LogFile]) -> MergedLog:
    from traindeck.services.logs.merged_log import MergedLog

    return MergedLog(files)


def _document(file: LogFile) -> LogDocument:
    # Loaded with the first log that is shown, not with the window.
    from traindeck.services.logs.log_document import LogDocument

    return LogDocument(file)
