"""Tells the journal what becomes of runs, each state once."""

from __future__ import annotations

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.notices.run_notices import state_notice
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic

_KINDS = {
    SystemNotice.RUN_FINISHED: NewsKind.DONE,
    SystemNotice.RUN_STOPPED: NewsKind.NOTE,
    SystemNotice.RUN_FAILED: NewsKind.FAILED,
}


class RunNews:
    """What the program before this one told of is not told again: the mark of each is the run and its state."""

    def __init__(self, watch: RunWatch, journal: Journal) -> None:
        self._journal = journal
        self._told: dict[str, RunState] = {}
        self._stop_listening = watch.changed.add(self._on_run)

    def close(self) -> None:
        self._stop_listening()

    def _on_run(self, run: Run) -> None:
        if self._told.get(run.id) is run.state:
            return
        self._told[run.id] = run.state
        news = state_notice(run)
        notice = SystemNotice(news.kind) if news.kind else None
        self._journal.tell(
            _KINDS[notice] if notice else NewsKind.NOTE,
            news.title,
            news.hint,
            name=f"run {run.id}",
            topic=Topic(Subject.RUN, run.id, run.profile),
            is_quiet=True,
            notice=notice,
            mark=news.mark,
        )
