"""Tells the journal of runs with a loss or score that is NaN or infinite, once for each run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.domain.notices.run_notices import nan_notice
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic

if TYPE_CHECKING:
    from traindeck.services.notices.nan_guard import NanFound, NanGuard


class NanNews:
    """A click on it opens the line of the log."""

    def __init__(self, guard: NanGuard, journal: Journal) -> None:
        self._journal = journal
        self.close = guard.found.add(self._on_found)

    def _on_found(self, found: NanFound) -> None:
        run, bad = found.run, found.bad
        news = nan_notice(run, bad)
        self._journal.tell(
            NewsKind.NOTE,
            news.title,
            news.hint,
            detail=bad.line,
            name=f"nan {run.id}",
            topic=Topic(Subject.LOG, f"{run.id} {bad.worker} {bad.offset}", run.profile),
            is_quiet=True,
            notice=SystemNotice.RUN_NAN,
            mark=news.mark,
        )
