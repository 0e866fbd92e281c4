"""Tells of a run that seems to hang or leaves its card idle; whether it is stopped is the user's to say."""

from __future__ import annotations

from traindeck.domain.notices.run_notices import RunNotice, card_notice, hang_notice
from traindeck.services.notices.hang_guard import Hang, HangGuard
from traindeck.services.notices.unused_cards import CardUnused
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, SystemNotice, Topic


class HangNews:
    """The mark of each is how much it had said: the same hang is told of once, also after a restart."""

    def __init__(self, guard: HangGuard, journal: Journal) -> None:
        self._guard = guard
        self._journal = journal
        self._stop_listening = guard.suspected.add(self._on_hang), guard.unused.add(self._on_unused)

    def close(self) -> None:
        for stop in self._stop_listening:
            stop()

    def _on_hang(self, hang: Hang) -> None:
        self._tell(hang_notice(hang.run, self._guard.clock() - hang.silent_since, hang.held_bytes), "hang")

    def _on_unused(self, found: CardUnused) -> None:
        self._tell(card_notice(found.run, found.card, found.minutes), "unused")

    def _tell(self, news: RunNotice, what: str) -> None:
        run = news.run
        self._journal.tell(
            NewsKind.NOTE,
            news.title,
            news.hint,
            name=f"{what} {run.id}",
            topic=Topic(Subject.RUN, run.id, run.profile),
            notice=SystemNotice.RUN_HANGS,
            mark=news.mark,
        )
