"""Tells the journal what becomes of runs, each state once."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.notices.run_notices import LONG_AGO, is_news, state_notice
from traindeck.domain.readings.failures import Failure
from traindeck.runtime.clock import utc_now
from traindeck.runtime.tasks import TaskScope
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.notices.failure_causes import PATIENCE_S, Explain, cause_of
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic

if TYPE_CHECKING:
    from traindeck.store.events import EventStore
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_DAY = timedelta(days=1)

_KINDS = {
    SystemNotice.RUN_FINISHED: NewsKind.DONE,
    SystemNotice.RUN_STOPPED: NewsKind.NOTE,
    SystemNotice.RUN_FAILED: NewsKind.FAILED,
}


class RunNews:
    """What the program before this one told of is not told again: the mark of each is the run and its state.

    That a run failed is told with the cause, once its log was read for it or took too long.
    """

    def __init__(
        self,
        watch: RunWatch,
        journal: Journal,
        explain: Explain,
        scope: TaskScope,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._journal = journal
        self._explain = explain
        self._scope = scope
        self._patience_s = patience_s
        self._told: dict[str, RunState] = {}
        self._failed: dict[str, Run] = {}
        """Of which the cause is being looked for."""
        self._stop_listening = watch.changed.add(self._on_run)

    def close(self) -> None:
        self._stop_listening()

    async def catch_up(self, records: RunStore, events: EventStore) -> None:
        """Announce runs that ended while no window was open, or while it looked for the cause of a failure.

        Runs that ended before the last event were seen then, unless a window followed them or it was within a day.
        """
        now = utc_now()
        try:
            ended = [run for run in await records.since(now - LONG_AGO) if run.state.is_over]
            told = await events.marks([_name(run) for run in ended])
            last = [event.at for event in await events.newest(1)]
        except AppError as error:
            log.warning("looking for what was not told: %s %s", error, error.detail)
            return
        unseen_since = min([now - _DAY, *last])
        for run in reversed(ended):
            if not is_news(run, now) or run.state is RunState.NOT_SENT or state_notice(run).mark in told:
                continue
            followed = any(mark.startswith(f"{_name(run)} ") for mark in told)
            if followed or (run.ended or run.created) >= unseen_since:
                self._on_run(run)

    def flush(self) -> None:
        """Tell now what waits for its cause: the program ends."""
        for run_id in list(self._failed):
            self._tell_failed(run_id, None)

    def _on_run(self, run: Run) -> None:
        if run.id in self._failed and run.state.is_failure:
            self._failed[run.id] = run  # its cause is being looked for
            return
        if self._told.get(run.id) is run.state:
            return
        self._told[run.id] = run.state
        if not run.state.is_failure:
            self._tell(run, None)
            return
        self._failed[run.id] = run
        if not self._scope.start(f"why {run.id} is {run.state}", partial(self._look_for_cause, run)):
            self._tell_failed(run.id, None)

    async def _look_for_cause(self, run: Run) -> None:
        failure = None
        try:
            failure = await cause_of(run, self._explain, self._patience_s)
        finally:
            self._tell_failed(run.id, failure)

    def _tell_failed(self, run_id: str, failure: Failure | None) -> None:
        if (run := self._failed.pop(run_id, None)) is not None:
            self._tell(run, failure)

    def _tell(self, run: Run, failure: Failure | None) -> None:
        news = state_notice(run, failure)
        notice = SystemNotice(news.kind) if news.kind else None
        self._journal.tell(
            _KINDS[notice] if notice else NewsKind.NOTE,
            news.title,
            news.hint,
            name=_name(run),
            topic=Topic(Subject.RUN, run.id, run.profile),
            is_quiet=True,
            notice=notice,
            mark=news.mark,
        )


def _name(run: Run) -> str:
    return f"run {run.id}"
