"""Asks about a run that seems to hang or leaves its card idle; whether it is stopped is the user's to say."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.jobs.job import Run
from traindeck.domain.notices.run_notices import RunNotice, card_notice, hang_notice, job_name
from traindeck.domain.texts import count_text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.services.notices.hang_guard import Hang, HangGuard, Suspected, Suspicion
from traindeck.services.notices.unused_cards import CardUnused
from traindeck.viewmodels.shell.journal import Answer, NewsKind, Subject, SystemNotice, Topic
from traindeck.viewmodels.shell.notices import Notices


class HangNews(QObject):
    """The mark of each is how much it had said: the same hang is told of once, also after a restart.

    The question is a condition of the window: it stands until it is answered, the run goes on, or is over.
    """

    stop_wanted = Signal(str)
    """The id of a run: the user is to confirm that it is stopped."""

    def __init__(self, guard: HangGuard, notices: Notices, scope: TaskScope) -> None:
        super().__init__()
        self._guard = guard
        self._notices = notices
        self._scope = scope
        self._stop_listening = (
            guard.suspected.add(self._on_hang),
            guard.unused.add(self._on_unused),
            guard.refuted.add(self._clear),
            guard.watch.changed.add(self._on_run),
            guard.watch.gone.add(self._clear_all),
        )

    def close(self) -> None:
        for stop in self._stop_listening:
            stop()

    def _on_hang(self, hang: Hang) -> None:
        silence = self._guard.clock() - hang.silent_since
        self._ask(hang_notice(hang.run, silence, hang.held_bytes, hang.waits), Suspicion.HANGS)

    def _on_unused(self, found: CardUnused) -> None:
        self._ask(card_notice(found.run, found.card, found.minutes, found.waits), Suspicion.CARD_UNUSED)

    def _on_run(self, run: Run) -> None:
        if not run.state.can_stop:
            self._clear_all(run.id)

    def _clear_all(self, run_id: str) -> None:
        for of in Suspicion:
            self._clear(Suspected(run_id, of))

    def _ask(self, news: RunNotice, of: Suspicion) -> None:
        run = news.run
        suspected = Suspected(run.id, of)
        self._notices.hold(
            _name(suspected),
            news.title,
            news.hint,
            is_error=False,
            topic=Topic(Subject.RUN, run.id, run.profile),
            answers=(
                Answer("stop", text("Stop…"), partial(self.stop_wanted.emit, run.id)),
                Answer("wait", text("Wait"), partial(self._wait, run, suspected)),
            ),
            notice=SystemNotice.RUN_HANGS,
            mark=news.mark,
        )

    def _wait(self, run: Run, suspected: Suspected) -> None:
        self._notices.withdraw(_name(suspected))
        self._scope.start(f"wait for {_name(suspected)}", partial(self._put_off, run, suspected))

    async def _put_off(self, run: Run, suspected: Suspected) -> None:
        period = await self._guard.postpone(suspected)
        self._notices.journal.tell(
            NewsKind.DONE,
            count_text(
                "“{name}” (run {number}): the next notice comes in {count} minute at the earliest.",
                "“{name}” (run {number}): the next notice comes in {count} minutes at the earliest.",
                max(1, round(period.total_seconds() / 60)),
                name=job_name(run),
                number=run.number,
            ),
            name=_name(suspected),
        )

    def _clear(self, suspected: Suspected) -> None:
        self._notices.clear(_name(suspected))


def _name(suspected: Suspected) -> str:
    return f"{suspected.of} {suspected.run_id}"
