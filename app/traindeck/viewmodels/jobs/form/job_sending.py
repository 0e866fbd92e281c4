"""Sending what stands in the job form: once, when its checks allow it, and with what was accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from traindeck.domain.jobs.checks import CheckFinding, CheckLevel, CheckReport, ChecksFailed, NotAccepted
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.jobs.form.form_state import FormState
from traindeck.viewmodels.jobs.form.form_text import FormText
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.live_checks import LiveChecks
from traindeck.viewmodels.ports import REST_S, Stateful

if TYPE_CHECKING:
    from traindeck.services.jobs.submission import Submission

_SUBMIT = "submit the job"
_Accepted = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SendingState:
    stage: Text | None = None
    """What sending is doing now; None while nothing is being sent."""
    can_cancel: bool = False
    """Nothing has left yet: it can be given up."""
    told: Text | None = None
    """Why the last try sent nothing."""


class JobSending(Stateful):
    """Submit is asked for here, by button, key and menu; `submitted` tells of the run."""

    state: SendingState

    submitted = Signal(object)
    refused = Signal(str)
    """Submit was asked for with something to be mended first: the field of it, or nothing."""
    asked = Signal()
    """It is only sent when somebody says so once more, with `submit_anyway`."""

    def __init__(
        self, form: JobForm, written: FormText, sender: Submission, checks: LiveChecks, scope: TaskScope
    ) -> None:
        super().__init__()
        self.state = SendingState()
        self._form = form
        self._written = written
        self._sender = sender
        self._checks = checks
        self._scope = scope
        form.changed.connect(self._on_form)

    @property
    def to_accept(self) -> tuple[CheckFinding, ...]:
        """What somebody has to accept before it is sent."""
        report = self._checks.state.report
        return report.to_accept if report is not None and not report.is_red else ()

    @property
    def submit_words(self) -> Text:
        """What the button does, and what it costs at most as far as that is known."""
        state = self._form.state
        is_for_lab = state.spec.target is Target.LAB and bool(state.profile)
        if self.to_accept:
            if is_for_lab:
                return text("Submit to the Lab anyway")
            return text("Submit anyway · {cost}", cost=state.cost_words)
        if is_for_lab:
            return text("Submit to the Lab")
        return text("Submit · {cost}", cost=state.cost_words)

    def submit(self) -> None:
        """Send what stands in the form now; while that is under way, asking again changes nothing."""
        self._submit(frozenset())

    def submit_anyway(self) -> None:
        """The same, by somebody who has what the checks warn of before him; it is kept with the run."""
        self._submit(_keys(self.to_accept))

    def cancel(self) -> None:
        """While nothing has left, nothing needs to."""
        if self.state.can_cancel:
            self._scope.cancel(_SUBMIT)
            self._become(stage=None, can_cancel=False)  # it may not even have begun

    def _submit(self, accepted: _Accepted) -> None:
        if self.state.stage is not None:
            return
        if not self._written.state.is_read:
            self._scope.start("read the text before it is submitted", lambda: self._read_and_submit(accepted))
            return
        self._form.show_all_mistakes()
        state = self._form.state
        if state.all_errors:
            self.refused.emit(state.all_errors[0].field)
            return
        self._become(stage=text("Waiting for the checks…"), can_cancel=True, told=None)
        if not self._scope.start(_SUBMIT, lambda: self._send(state, accepted), words=text("Submitting the job…")):
            self._become(stage=None, can_cancel=False)

    async def _read_and_submit(self, accepted: _Accepted) -> None:
        await self._written.settle()
        if self._written.state.is_read:
            self._submit(accepted)
        else:
            self._refuse(text("Not submitted: the text cannot be read."))

    async def _send(self, state: FormState, accepted: _Accepted) -> None:
        try:
            report = await self._checks.report()
            if self._form.state.spec != state.spec:
                self._refuse(text("Not submitted: the form was changed meanwhile."))
                return
            if report.is_red:
                raise ChecksFailed(report)
            if not _keys(report.to_accept) <= accepted:
                raise NotAccepted(report)
            run = await self._sent(state, accepted)
        except (ChecksFailed, NotAccepted) as refusal:
            self._on_refused(refusal)
            return
        except BaseException:
            self._become(stage=None, can_cancel=False)
            raise
        self._form.was_sent(state.spec)
        self._become(stage=text("Submitted {name}", name=run.name), can_cancel=False)
        self._scope.start("rest after sending", self._rest)
        self.submitted.emit(run)

    async def _sent(self, state: FormState, accepted: _Accepted) -> Run:
        async def accept(report: CheckReport) -> bool:
            return _keys(report.to_accept) <= accepted

        self._become(stage=text("Checking the form…"), can_cancel=False)
        origin = state.origin
        if self._checks.frozen is not None and origin is not None:
            rerun = partial(self._sender.rerun, origin.run_id, spec=state.spec, profile=state.profile)
            return await rerun(stage=self._show_stage, accept=accept)
        parent = origin.run_id if origin is not None else ""
        send = partial(self._sender.submit, stage=self._show_stage, accept=accept, parent=parent)
        return await send(state.spec, state.base, state.profile)

    def _on_refused(self, refusal: ChecksFailed | NotAccepted) -> None:
        """What was found at the last moment is shown like all that was found before."""
        self._checks.adopt(refusal.report)
        if isinstance(refusal, ChecksFailed):
            self._refuse(refusal.title)
            self.refused.emit(refusal.report.of(CheckLevel.RED)[0].field)
            return
        count = len(refusal.report.to_accept)
        self._refuse(
            count_text(
                "Not submitted: {count} warning. Submit anyway?",
                "Not submitted: {count} warnings. Submit anyway?",
                count,
            )
        )
        self.asked.emit()

    def _refuse(self, words: Text) -> None:
        self._become(stage=None, can_cancel=False, told=words)

    async def _rest(self) -> None:
        """The button says what was sent before it can be pressed again."""
        try:
            await asyncio.sleep(REST_S)
        finally:
            self._become(stage=None)

    def _show_stage(self, words: Text) -> None:
        self._become(stage=words)

    def _on_form(self) -> None:
        """Why the last try sent nothing is about the form as it was."""
        if self.state.told is not None and self._checks.state.report is None:
            self._become(told=None)


def _keys(findings: Iterable[CheckFinding]) -> _Accepted:
    """What somebody has read and accepted; another fact is another finding."""
    return frozenset((one.check, one.fact.in_english()) for one in findings)
