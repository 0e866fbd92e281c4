"""Tells once a month that most of the money is used, and once that all of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.prices import MonthCost, money_words
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.shell.journal import Journal, NewsKind, SystemNotice

if TYPE_CHECKING:
    from traindeck.services.jobs.billing import Billing
    from traindeck.services.jobs.run_watch import RunWatch

_EVERY_MS = 5 * 60_000
_SOON_MS = 2000


class BudgetNews(QObject):
    """Looks when a run becomes another one, and now and then while it goes on."""

    def __init__(self, billing: Billing, watch: RunWatch, journal: Journal, scope: TaskScope) -> None:
        super().__init__()
        self._billing = billing
        self._journal = journal
        self._scope = scope
        # Many runs may change at once, and the sum of them is one.
        self._soon = QTimer(self, interval=_SOON_MS, singleShot=True)
        self._soon.timeout.connect(self._look)
        self._often = QTimer(self, interval=_EVERY_MS)
        self._often.timeout.connect(self._look)
        self._often.start()
        self._stop_listening = watch.changed.add(self._on_run)

    def close(self) -> None:
        self._stop_listening()
        self._soon.stop()
        self._often.stop()

    def _on_run(self, _: Run) -> None:
        self._soon.start()

    def _look(self) -> None:
        self._scope.start("add up the month", self._add_up)

    async def _add_up(self) -> None:
        month = await self._billing.month()
        if month.is_near:
            self._tell(month)

    def _tell(self, month: MonthCost) -> None:
        spent, limit = money_words(month.spent, month.currency), money_words(month.limit, month.currency)
        title = text("{percent} % of the monthly limit is used.", percent=int(100 * (month.share or 0)))
        kind, step = NewsKind.NOTE, "near"
        if month.is_over:
            title, kind, step = text("The monthly limit is reached."), NewsKind.FAILED, "over"
        self._journal.tell(
            kind,
            title,
            text("Runs of this computer this month: {amount} of {limit}.", amount=spent, limit=limit),
            name="budget",
            is_quiet=True,
            notice=SystemNotice.MONEY,
            mark=f"budget {month.begins:%Y-%m} {step} {month.limit}",
        )
