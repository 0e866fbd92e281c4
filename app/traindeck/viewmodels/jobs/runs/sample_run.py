"""The sample project, run by one press."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.ports import REST_S

if TYPE_CHECKING:
    from traindeck.services.jobs.sample_project import SampleProject
    from traindeck.services.jobs.submission import Submission


class SampleRun(QObject):
    """Puts the sample where it belongs and submits it to the Lab."""

    changed = Signal()
    submitted = Signal(object)

    def __init__(self, sample: SampleProject, sender: Submission, form: JobForm, scope: TaskScope) -> None:
        super().__init__()
        self._sample = sample
        self._sender = sender
        self._form = form
        self._scope = scope
        self._rests_until = 0.0
        self.stage: Text | None = None
        """What is being done; None while nothing is."""

    def start(self) -> None:
        """Once, however often it is asked for while it is under way."""
        preparing = text("Preparing the sample…")
        if time.monotonic() < self._rests_until:
            return
        if self._scope.start("run the sample", self._run, words=preparing):
            self._show(preparing)

    async def _run(self) -> None:
        try:
            spec, base = await self._sample.prepare()
            run = await self._sender.submit(spec, base, LAB, stage=self._show)
            if not self._form.state.is_dirty:  # what somebody typed is not thrown away
                self._form.load_spec(run.spec, base, run)
            self.submitted.emit(run)
            self._rests_until = time.monotonic() + REST_S
        finally:
            self._show(None)

    def _show(self, words: Text | None) -> None:
        self.stage = words
        self.changed.emit()
