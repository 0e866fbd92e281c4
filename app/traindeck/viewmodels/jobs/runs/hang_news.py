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
from traindeck.viewmodels.shell.journal import Answer, Journal, NewsKind, Subject, SystemNotice, Topic


class HangNews(QObject):
    """The mark of each is how much it had said: the same hang is told of once, also after a restart.

    The question stands in the window until it is answered or nobody asks any more.
    """

    stop_wanted = Signal(str)
    """The id of a run: the user is to confirm that it is stopped."""

    def __init__(self, guard: HangGuard, journal: Journal, scope: TaskScope) -> None:
        super().__init__()
        self._guard = guard
        self._journal = journal
        self._scope = scope
        self._stop_listening = (
            guard.suspected.add(self._on_hang),
            guard.unused.add(self._on_unused),
            guard.refuted.add(self._withdraw),
            guard.watch.changed.add(self._on_run),
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
            for of in Suspicion:
                self._withdraw(Suspected(run.id, of))

    def _ask(self, news: RunNotice, of: Suspicion) -> None:
        run = news.run
        suspected = Suspected(run.id, of)
        self._journal.tell(
            NewsKind.NOTE,
            news.title,
            news.hint,
            name=_name(suspected),
            topic=Topic(Subject.RUN, run.id, run.profile),
            answers=(
                Answer("stop", text("Stop…"), partial(self.stop_wanted.emit, run.id)),
                Answer("wait", text("Wait"), partial(self._wait, run, suspected)),
            ),
            notice=SystemNotice.RUN_HANGS,
            mark=news.mark,
        )

    def _wait(self, run: Run, suspected: Suspected) -> None:
        self._withdraw(suspected)
        self._scope.start(f"wait for {_name(suspected)}", partial(self._put_off, run, suspected))

    async def _put_off(self, run: Run, suspected: Suspected) -> None:
        period = await self._guard.postpone(suspected)
        self._journal.done(
            count_text(
                "“{name}” (run {number}): the next notice comes in {count} minute at the earliest.",
                "“{name}” (run {number}): the next notice comes in {count} minutes at the earliest.",
                max(1, round(period.total_seconds() / 60)),
                name=job_name(run),
                number=run.number,
            )
        )

    def _withdraw(self, suspected: Suspected) -> None:
        self._journal.withdraw(_name(suspected))


def _name(suspected: Suspected) -> str:
    return f"{suspected.of} {suspected.run_id}"
