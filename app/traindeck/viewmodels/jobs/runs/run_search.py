"""Looking for runs: words, filters, the best by a number, and what they wrote to their logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.run_query import RunQuery, RunSort, metric_best
from traindeck.domain.texts import say, say_count, say_list
from traindeck.runtime.clock import Clock
from traindeck.runtime.tasks import Repeat, TaskScope

if TYPE_CHECKING:
    from traindeck.services.logs.log_search import LogFinder
    from traindeck.store.runs import RunStore

_TYPING_MS = 150
_NEWS_MS = 500
"""Runs that change while they are looked for are looked for again, but not each of them by itself."""
_LEAST_IN_LOGS = 2


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What is looked for; empty: all runs, the active ones on top."""

    words: str = ""
    in_logs: bool = False
    states: tuple[RunState, ...] = ()
    account: str = ""
    tag: str = ""
    starred: bool = False
    days: int = 0
    """0: of any time."""
    best: str = ""
    sort: RunSort = RunSort.NUMBER
    ascending: bool = False

    @property
    def is_empty(self) -> bool:
        return replace(self, in_logs=False, words=self.words.strip()) == RunFilter()

    def query(self, now: Clock, *, with_words: bool = True) -> RunQuery:
        return RunQuery(
            words=tuple(self.words.split()) if with_words else (),
            states=self.states,
            account=self.account or None,
            tags=(self.tag,) if self.tag else (),
            starred=self.starred,
            since=now() - timedelta(days=self.days) if self.days else None,
            best=metric_best(self.best) if self.best else None,
            sort=self.sort,
            ascending=self.ascending,
        )

    def words_of_it(self) -> Iterator[str]:
        """Each part of it beside the words that were typed."""
        if self.states:
            yield say_list(state.words for state in self.states)
        if self.account:
            yield say("account {name}", name=self.account)
        if self.tag:
            yield say("tag {tag}", tag=self.tag)
        if self.starred:
            yield say("starred")
        if self.days:
            yield say_count("last {count} day", "last {count} days", self.days)
        if self.best:
            yield say("best by {metric}", metric=self.best)
        if (self.sort, self.ascending) != (RunSort.NUMBER, False) and not self.best:
            yield say("sorted")


@dataclass(frozen=True, slots=True)
class RunsFound:
    """The answer to a filter."""

    ids: tuple[str, ...] = ()
    lines: Mapping[str, str] = field(default_factory=dict)
    """Of those whose logs have the words, the last line with them."""
    is_whole: bool = True
    """Else the logs are larger than what is searched of them."""


class RunSearch(QObject):
    """The records answer; logs are searched after that, in those that the records did not find."""

    changed = Signal()

    def __init__(self, records: RunStore, logs: LogFinder, scope: TaskScope, clock: Clock) -> None:
        super().__init__()
        self._records = records
        self._logs = logs
        self._scope = scope
        self._clock = clock
        self.filter = RunFilter()
        self.found: RunsFound | None = None
        """None: nothing is looked for."""
        self.trouble: AppError | None = None
        self.is_searching = False
        self.metrics: tuple[str, ...] = ()
        """The numbers that were measured in some run."""
        self.accounts: tuple[str, ...] = ()
        self.tags: tuple[str, ...] = ()
        """Of all runs."""
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._start)

    def close(self) -> None:
        self._soon.stop()

    def set(self, **changes: object) -> None:
        """Look for something else, or for all again."""
        before = self.filter
        self.filter = replace(before, **changes)  # type: ignore[arg-type]
        if self.filter == before:
            return
        if self.filter.is_empty:
            self._soon.stop()
            self._scope.cancel(_TASK)
            self.found, self.trouble, self.is_searching = None, None, False
        else:
            self.is_searching = True
            self._soon.start(_TYPING_MS if "words" in changes else 0)
        self.changed.emit()

    def clear(self) -> None:
        self.set(**{name: getattr(RunFilter(), name) for name in RunFilter.__dataclass_fields__})

    def runs_changed(self) -> None:
        """What was found may no longer be, and others may be."""
        if not self.filter.is_empty and not self._soon.isActive() and not self._scope.is_running(_TASK):
            self._soon.start(_NEWS_MS)

    def look_for_choices(self) -> None:
        """For those who choose a number, an account or a tag."""

        async def look() -> None:
            self.metrics = tuple(await self._records.metric_names())
            self.accounts = tuple(await self._records.accounts())
            self.tags = tuple(await self._records.tags())
            self.changed.emit()

        self._scope.start("look for what runs are told apart by", look)

    def _start(self) -> None:
        self._scope.start(_TASK, self._search, Repeat.REPLACE)

    async def _search(self) -> None:
        wanted = self.filter
        try:
            ids = tuple(await self._records.found_ids(wanted.query(self._clock)))
            in_logs = wanted.in_logs and len(wanted.words.strip()) >= _LEAST_IN_LOGS
            self._become(RunsFound(ids), is_searching=in_logs)
            if in_logs:
                self._become(await self._with_logs(wanted, ids))
        except AppError as error:
            self.trouble, self.is_searching = error, False
            self.changed.emit()

    async def _with_logs(self, wanted: RunFilter, ids: Sequence[str]) -> RunsFound:
        candidates = await self._records.found(wanted.query(self._clock, with_words=False))
        known = set(ids)
        found = await self._logs.find(wanted.words.strip(), [run for run in candidates if run.id not in known])
        lines = {hit.run_id: hit.line for hit in found.hits}
        shown = tuple(run.id for run in candidates if run.id in known or run.id in lines)
        return RunsFound(shown, lines, found.is_whole)

    def _become(self, found: RunsFound, *, is_searching: bool = False) -> None:
        self.found, self.trouble, self.is_searching = found, None, is_searching
        self.changed.emit()


_TASK = "search the runs"
