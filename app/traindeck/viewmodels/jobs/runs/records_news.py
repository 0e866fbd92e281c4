"""Banners while records or logs cannot be written, and one telling of what became of damaged records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.shell.notices import Mending, Notices

if TYPE_CHECKING:
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.store.runs import RunStore

RECORDS, RESTORED, LOGS = "records", "restored records", "logs that are not kept"


class RecordsNews:
    """Told by the watch, which tries the disk again while there is something to be written."""

    def __init__(self, records: RunStore, watch: RunWatch, notices: Notices, scope: TaskScope) -> None:
        self._records = records
        self._notices = notices
        self._scope = scope
        self._watch = watch
        self._told: Text | None = None
        self._deaf = (watch.records_told.add(self._look), watch.connection_state.add(self._look_at_logs))
        self._look(None)

    def close(self) -> None:
        for stop_listening in self._deaf:
            stop_listening()

    def _look_at_logs(self, _: str) -> None:
        trouble = self._watch.log_trouble
        if trouble is None:
            self._notices.clear(LOGS)
            return
        title = text("Logs cannot be kept on this computer. No job is affected.")
        hint = text(
            "{why} {hint} The service has what is missing here: “traindeck job logs” shows it, and it is added as"
            " soon as it can be written.",
            why=trouble.title, hint=trouble.hint,
        )  # fmt: skip
        again = Mending(text("Try again"), self._watch.wake)
        self._notices.hold(LOGS, title, hint, trouble.detail, mending=again)

    def _look(self, _: None) -> None:
        recovered, trouble = self._records.recovered, self._records.trouble
        if recovered is not None and recovered is not self._told:
            self._told = recovered
            seen = Mending(text("Close"), self._on_seen)
            self._notices.hold(RESTORED, text("The records of your runs were restored."), recovered, mending=seen)
        if trouble is None:
            self._notices.clear(RECORDS)
            return
        again = Mending(text("Try again"), self._try_again)
        self._notices.hold(RECORDS, trouble.title, trouble.hint, trouble.detail, mending=again)

    def _on_seen(self) -> None:
        """It is in the list of events for good."""
        self._notices.clear(RESTORED)

    def _try_again(self) -> None:
        async def write() -> None:
            await self._records.write_what_was_not()
            self._watch.wake()

        self._scope.start("write the records", write)
