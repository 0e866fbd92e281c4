"""What was typed into the form stays at hand when another job takes its place."""

from __future__ import annotations

from functools import partial

from traindeck.domain.texts import text
from traindeck.viewmodels.jobs.form.form_draft import ReplacedForm
from traindeck.viewmodels.jobs.form.form_text import FormText
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.shell.journal import Journal, NewsKind

_NEWS = "the job form"


class FormReplacing:
    """Nobody is asked, whichever way the other job came; one click brings all of it back."""

    def __init__(self, form: JobForm, written: FormText, journal: Journal) -> None:
        self._form = form
        self._written = written
        self._journal = journal
        form.replacing.connect(self._keep)

    def _keep(self) -> None:
        unread = self._written.unread
        if unread is None and not self._form.holds_typing:
            return
        undo = partial(self._bring_back, self._form.as_it_is(), unread)
        self._written.give_way()
        self._journal.tell(NewsKind.DONE, text("The job form was replaced."), name=_NEWS, undo=undo)

    def _bring_back(self, kept: ReplacedForm, unread: str | None) -> None:
        """What was typed meanwhile is kept in the same way."""
        self._form.bring_back(kept)
        if unread is not None:
            self._written.bring_back(unread)
