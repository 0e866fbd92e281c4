"""The job form with all that watches it: what a window shows of it is made of these."""

from __future__ import annotations

from dataclasses import dataclass

from traindeck.viewmodels.jobs.code_folder import CodeFolder
from traindeck.viewmodels.jobs.earlier_code import EarlierCode
from traindeck.viewmodels.jobs.form_choices import FormChoices
from traindeck.viewmodels.jobs.form_exchange import FormExchange
from traindeck.viewmodels.jobs.form_templates import FormTemplates
from traindeck.viewmodels.jobs.form_text import FormText
from traindeck.viewmodels.jobs.job_form import JobForm
from traindeck.viewmodels.jobs.job_sending import JobSending
from traindeck.viewmodels.jobs.live_checks import LiveChecks
from traindeck.viewmodels.jobs.place_notes import PlaceNotes


@dataclass(frozen=True, slots=True)
class FormParts:
    """One form; each part tells by itself when it changed."""

    form: JobForm
    places: PlaceNotes
    choices: FormChoices
    checks: LiveChecks
    code: CodeFolder
    earlier: EarlierCode
    written: FormText
    exchange: FormExchange
    templates: FormTemplates
    sending: JobSending

    def watch(self, is_seen: bool) -> None:
        """Whether the form is in sight: only then disk and services are asked about it."""
        if is_seen:
            self.form.load_prices()
        self.code.watch(is_seen)
        self.checks.watch(is_seen)
