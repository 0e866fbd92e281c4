"""The job form with all that watches it: what a window shows of it is made of these."""

from __future__ import annotations

from dataclasses import dataclass, field

from traindeck.domain.jobs.checks import CheckFix
from traindeck.viewmodels.jobs.form.code_findings import CodeFindings
from traindeck.viewmodels.jobs.form.code_folder import CodeFolder
from traindeck.viewmodels.jobs.form.earlier_code import EarlierCode
from traindeck.viewmodels.jobs.form.form_choices import FormChoices
from traindeck.viewmodels.jobs.form.form_exchange import FormExchange
from traindeck.viewmodels.jobs.form.form_replacing import FormReplacing
from traindeck.viewmodels.jobs.form.form_templates import FormTemplates
from traindeck.viewmodels.jobs.form.form_text import FormText
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.job_sending import JobSending
from traindeck.viewmodels.jobs.form.live_checks import LiveChecks
from traindeck.viewmodels.jobs.form.place_notes import PlaceNotes
from traindeck.viewmodels.jobs.form.script_parameters import ScriptParameters
from traindeck.viewmodels.scripts.script_fixes import ScriptFixes


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FormParts:
    """One form; each part tells by itself when it changed."""

    form: JobForm
    places: PlaceNotes
    choices: FormChoices
    checks: LiveChecks
    code: CodeFolder
    script: ScriptParameters
    earlier: EarlierCode
    written: FormText
    replacing: FormReplacing
    exchange: FormExchange
    templates: FormTemplates
    sending: JobSending
    fixes: ScriptFixes
    findings: CodeFindings
    viewers: set[object] = field(default_factory=set)
    """In which it is in sight."""

    def __post_init__(self) -> None:
        self.fixes.changed.connect(self.checks.use_edited)
        self.fixes.changed.connect(self.code.look_after_fix)
        self.code.edited.connect(self.checks.use_edited)

    def mend(self, fix: CheckFix) -> None:
        """In the form at once; in scripts only after somebody saw what would change."""
        if fix.script_fix:
            self.fixes.ask(fix.script_fix)
        else:
            self.checks.mend(fix)

    def watch(self, viewer: object, *, is_seen: bool) -> None:
        """Whether the form is in sight somewhere: only then disk and services are asked about it.

        A window that takes the place of another is seen before that one is gone.
        """
        if is_seen:
            self.viewers.add(viewer)
            self.form.load_prices()
        else:
            self.viewers.discard(viewer)
        self.code.watch(bool(self.viewers))
        self.checks.watch(bool(self.viewers))
