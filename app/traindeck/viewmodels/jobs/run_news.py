"""Tells the journal what becomes of runs, each state once."""

from __future__ import annotations

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import Text, text
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.viewmodels.jobs.run_words import job_words
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic

_ENDS = {
    RunState.COMPLETED: (NewsKind.DONE, SystemNotice.RUN_FINISHED),
    RunState.TERMINATED: (NewsKind.NOTE, SystemNotice.RUN_STOPPED),
    RunState.FAILED: (NewsKind.FAILED, SystemNotice.RUN_FAILED),
    RunState.ABNORMAL: (NewsKind.FAILED, SystemNotice.RUN_FAILED),
    RunState.NOT_SENT: (NewsKind.FAILED, SystemNotice.RUN_FAILED),
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
        kind, notice = _ENDS.get(run.state, (NewsKind.NOTE, None))
        self._journal.tell(
            kind,
            text("“{name}” (run {number}): {state}", name=job_words(run), number=run.number, state=run.state_words),
            _reason(run) if run.state.is_over else None,
            name=f"run {run.id}",
            topic=Topic(Subject.RUN, run.id, run.profile),
            is_quiet=True,
            notice=notice,
            mark=f"run {run.id} {run.state}",
        )


def _reason(run: Run) -> Text | None:
    if isinstance(run.reason, Text):
        return run.reason
    return Text("{words}", {"words": run.reason}) if run.reason else None
