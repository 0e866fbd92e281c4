"""The sub-pages of a run."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.jobs.run_query import Metric, metric_best
from traindeck.domain.jobs.run_table import number_words
from traindeck.domain.jobs.run_tags import check_tags, description_of, tags_in
from traindeck.domain.texts import exact_words, say
from traindeck.ui.kit.cards import Facts, card, fill_scrolling, plain, show_words
from traindeck.ui.kit.fields import Field
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.ui.readings.failure_card import FailureCard
from traindeck.ui.readings.phase_bar import PhaseBar
from traindeck.viewmodels.jobs.runs.run_page import RunPage
from traindeck.viewmodels.jobs.runs.run_words import tone_of
from traindeck.viewmodels.ports import Tone

_MARGINS = (2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
_LABELS = 12 * SPACE


class RunPart(QWidget):
    """Shows something of a run, while it is in sight."""

    def show_run(self, run: Run) -> None:
        raise NotImplementedError


class KeptLine(QLineEdit):
    """A line that is kept when the keyboard leaves it or Return is pressed; Escape takes back what was typed."""

    def __init__(self, name: str, placeholder: str, keep: Callable[[str], None]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self._shown = ""
        self._keep = keep
        self.editingFinished.connect(self._on_finished)

    def show_kept(self, words: str) -> None:
        """What is kept; what somebody is typing stays."""
        if words != self._shown:
            is_typing = self.hasFocus() and self.text() != self._shown
            self._shown = words
            if not is_typing:
                self.setText(words)
                self.setCursorPosition(0)

    def leave(self) -> None:
        """Keep what was typed; what is shown next is of something else."""
        self.blockSignals(True)
        self.clearFocus()
        self.blockSignals(False)
        self._on_finished()
        self._shown = ""
        self.clear()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text() != self._shown:
            self.setText(self._shown)
        else:
            super().keyPressEvent(event)

    def _on_finished(self) -> None:
        if self.text() != self._shown:
            self._keep(self.text())


class OverviewPart(RunPart):
    """What happened, when, with which values, and what somebody wrote to it."""

    def __init__(self, page: RunPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        self._run_id = ""
        self.phases = PhaseBar(theme)
        self.reason, self.isolation, self.origin = plain("dim"), plain("warn"), plain("")
        self.note = KeptLine(say("Note"), say("What this run was about"), self._keep_note)
        self.tags = KeptLine(say("Tags"), say("Words or KEY=VALUE, separated by commas"), self._keep_tags)
        self.note_field = Field(say("Note"), self.note, label_width=_LABELS)
        self.tags_field = Field(say("Tags"), self.tags, label_width=_LABELS)
        self._metrics, self._accepted, self._code = Facts(), Facts(), Facts()
        self._moments, self._values = Facts(), Facts()
        self.metrics_card = card(say("Metrics"), [self._metrics])
        self.accepted_card = card(say("Accepted warnings"), [self._accepted])
        cards = (
            self.metrics_card,
            card(say("Times"), [self._moments, self.phases]),
            card(say("Job"), [self._values]),
            card(say("Code"), [self._code]),
            self.accepted_card,
        )
        own = (self.note_field, self.tags_field)
        self.failure = FailureCard(page.runs.mending_wanted.emit)
        self.failure.line_wanted.connect(self._show_line)
        parts = (self.failure, self.reason, self.isolation, self.origin, *own, *cards, 1)
        # Under a low head the card of a failure is in sight with its buttons.
        margins = (2 * SPACE, SPACE, 2 * SPACE, 2 * SPACE)
        fill_scrolling(self, column_of(*parts, margins=margins, spacing=SPACE + SPACE // 2))

    def leave_out(self, words: str) -> None:
        """These stand over it already."""
        for label in (self.reason, self.isolation):
            label.setVisible(label.text() not in ("", words))

    def show_run(self, run: Run) -> None:
        state = self._page.state
        if run.id != self._run_id:
            for field in (self.note, self.tags):
                field.leave()  # what was typed there is about the run before
            self._run_id = run.id
            self.tags_field.show_error("")
        self.note.show_kept(run.note)
        self.tags.show_kept(", ".join(run.tags))
        for each in (self.note_field, self.tags_field):
            each.lock(self._page.gone_words)
        set_role(self.reason, "error" if tone_of(run) is Tone.BAD else "dim")
        self.failure.show_reading(run, self._page.reading)
        # The card says more than the service does, which stands in the head.
        show_words(self.reason, "" if self.failure.failure is not None else str(run.reason))
        show_words(self.isolation, str(run.isolation.warning or ""))
        show_words(self.origin, self._origin_words())
        self._metrics.show_facts([(name, _metric_words(name, one)) for name, one in state.metrics.items()])
        self.metrics_card.setVisible(bool(state.metrics))
        moments = [(str(words), exact_words(moment)) for words, moment in state.moments]
        took = duration_words(run.run_seconds(self._page.runs.clock()))
        self._moments.show_facts([*moments, (say("Duration"), took)])
        self.phases.show_times(state.phases)
        self.phases.setVisible(bool(state.phases))
        self._values.show_facts([(str(words), value) for words, value in state.first_values])
        self._code.show_facts([(say("Git"), self._git_words(run))])
        self._accepted.show_facts([(str(one.title), str(one.fact)) for one in run.accepted])
        self.accepted_card.setVisible(bool(run.accepted))

    def _show_line(self, worker: str, offset: int) -> None:
        if (run := self._page.runs.run(self._run_id)) is not None:
            self._page.runs.line_wanted.emit(run, worker, offset)

    def _git_words(self, run: Run) -> str:
        code = self._page.state.code
        if not run.bundle:
            return say("The code of this run was not kept.")
        if code is None:
            return self._page.state.code_trouble.sentence() if self._page.state.code_trouble else "–"
        return say(code.git.words()) if code.git is not None else say("unknown")

    def _keep_note(self, words: str) -> None:
        if (run := self._page.runs.run(self._run_id)) is not None:
            self._page.runs.note(run, words)

    def _keep_tags(self, words: str) -> None:
        run = self._page.runs.run(self._run_id)
        if run is None:
            return
        try:
            check_tags(words)
        except AppError as error:
            self.tags_field.show_error(error.sentence())
            return
        self.tags_field.show_error("")
        wanted = tags_in(words)
        self._page.runs.tag([run], wanted, [tag for tag in run.tags if tag not in wanted])

    def _origin_words(self) -> str:
        origin = self._page.origin
        if origin is None:
            return ""
        changes = "; ".join(
            say("{label}: {value}", label=one.name, value=f"{one.before} → {one.after}") for one in self._page.changes()
        )
        if changes:
            return say("Like run {number}, except {changes}.", number=origin.number, changes=changes)
        return say("Same as run {number}.", number=origin.number)


class DetailsPart(RunPart):
    """Everything that was sent, and under which names it is known."""

    def __init__(self, page: RunPage) -> None:
        super().__init__()
        self._page = page
        self._run_id = ""
        self.description = KeptLine(say("Description"), say("Kept with the job at the service"), self._keep_description)
        self.description_field = Field(say("Description"), self.description, label_width=_LABELS)
        self._names, self._values = Facts(), Facts()
        cards = (card(say("IDs"), [self._names]), card(say("Submitted settings"), [self._values]))
        fill_scrolling(self, column_of(self.description_field, *cards, 1, margins=_MARGINS, spacing=SPACE + SPACE // 2))

    def show_run(self, run: Run) -> None:
        if run.id != self._run_id:
            self.description.leave()  # what was typed there is about the run before
            self._run_id = run.id
            self.description_field.show_error("")
        self.description.show_kept(run.spec.description)
        self.description_field.lock(self._page.gone_words)
        self._names.show_facts(
            [
                (say("Name"), run.name),
                (say("Run ID"), run.id),
                (say("Job ID"), run.job_id or "–"),
                (say("Account"), say("The Lab") if run.profile == LAB else run.profile),
                (say("State at the service"), run.phase or "–"),
                (say("Secondary phase"), run.secondary_phase or "–"),
                (say("Name at the service"), run.remote_name or run.name),
                (say("Last response"), exact_words(run.checked)),
                (say("Workers"), ", ".join(run.tasks)),
                (say("Code in OBS"), run.code_url or "–"),
            ]
        )
        self._values.show_facts([(str(words), value) for words, value in self._page.state.values])

    def _keep_description(self, words: str) -> None:
        run = self._page.runs.run(self._run_id)
        if run is None:
            return
        try:
            description_of(words)
        except AppError as error:
            self.description_field.show_error(error.sentence())
            return
        self.description_field.show_error("")
        self._page.runs.describe(run, words)


def _metric_words(name: str, metric: Metric) -> str:
    best = metric.best(lowest=metric_best(name).lowest)
    return say("last {last}, best {best}", last=number_words(metric.last), best=number_words(best))
