"""One run as a central tab."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from traindeck.domain.jobs.job import RunState, duration_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, exact_words, say
from traindeck.ui.kit.cards import Facts, card, fill_scrolling, plain
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.run_page import RunPage, RunPageState, state_words, tone_of
from traindeck.viewmodels.ports import Confirm, Tone

_MOST_OUTPUTS = 200


class RunPageView(QWidget):
    """Shows RunPage; what was sent can be read and copied here, not edited."""

    def __init__(self, page: RunPage, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self._page = page
        self.chip = StateChip()
        self.title = plain("title")
        self.reason = plain("dim")
        self.isolation = plain("warn")
        self.busy = plain("dim")
        self._theme = theme
        self.log = QPushButton(say("Show log"))
        self.again = QPushButton(say("Run again"))
        self.edit = QPushButton(say("Edit and run again"))
        self.stop = QPushButton(say("Stop…"))
        self.check = QPushButton(say("Check again"))
        self.fetch = QPushButton(say("Fetch the outputs…"))
        set_role(self.again, "primary")
        set_role(self.stop, "danger")

        head = row_of(self.title, (self.chip, 0, Qt.AlignmentFlag.AlignVCenter), 1, spacing=SPACE)
        acts = row_of(self.check, self.again, self.edit, self.log, self.stop, 1, spacing=SPACE)

        self._moments, self._values, self._outputs = Facts(), Facts(), Facts()
        self.outputs_note = plain("dim")
        column = column_of(
            head,
            self.reason,
            self.isolation,
            acts,
            self.busy,
            margins=(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE),
            spacing=SPACE + HALF,
        )
        for words, facts in ((say("Times"), self._moments), (say("What was sent"), self._values)):
            column.addWidget(card(words, [facts]))
        column.addWidget(card(say("Outputs"), [self._outputs, self.outputs_note, self.fetch]))
        column.addStretch(1)
        fill_scrolling(self, column)

        runs = page.runs
        self.log.clicked.connect(lambda: runs.log_wanted.emit(page.state.run))
        self.again.clicked.connect(lambda: runs.rerun(page.state.run))
        self.edit.clicked.connect(lambda: runs.edit_wanted.emit(page.state.run))
        self.stop.clicked.connect(lambda: runs.stop([page.state.run.id], confirm))
        self.check.clicked.connect(lambda: runs.check_again(page.state.run))
        self.fetch.clicked.connect(self.choose_target)
        page.changed.connect(self._on_changed)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._on_changed()

    def choose_target(self) -> None:
        page = self._page
        choose_folder(self, say("Fetch the outputs into this folder"), lambda targets: page.fetch(targets[0]))

    def _apply_theme(self) -> None:
        self.again.setIcon(self._theme.icon("again", "on_accent"))
        drawn = ((self.log, "log"), (self.edit, "form"), (self.stop, "stop"), (self.fetch, "download"))
        for button, name in drawn:
            button.setIcon(self._theme.icon(name))

    def _on_changed(self) -> None:
        state = self._page.state
        run = state.run
        self.chip.show_state(tone_of(run), state_words(run))
        self.title.setText(run.name)
        self.reason.setText(str(run.reason))
        self.reason.setVisible(bool(run.reason))
        role = "error" if tone_of(run) is Tone.BAD else "dim"
        set_role(self.reason, role)
        warning = run.isolation.warning
        self.isolation.setText(str(warning or ""))
        self.isolation.setVisible(warning is not None)
        busy = self._page.busy
        self.busy.setText(str(busy or ""))
        self.busy.setVisible(busy is not None)
        self.again.setEnabled(bool(run.bundle) and not state.is_gone)
        self.stop.setEnabled(run.state.can_stop)
        self.check.setVisible(run.state is RunState.UNCONFIRMED)
        self.check.setEnabled(busy is None)
        self._moments.show_facts(
            [
                *((str(words), exact_words(moment)) for words, moment in state.moments),
                (say("Run time"), duration_words(run.run_seconds(self._page.runs.clock()))),
                (say("Profile"), run.profile),
                (say("Job id"), run.job_id or "–"),
            ]
        )
        self._values.show_facts([(str(words), value) for words, value in state.values])
        self._show_outputs(state)

    def _show_outputs(self, state: RunPageState) -> None:
        shown = state.outputs[:_MOST_OUTPUTS]
        self._outputs.show_facts([(size_words(entry.size_bytes), str(entry.path)) for entry in shown])
        self.outputs_note.setText(str(_outputs_words(state)))
        self.fetch.setEnabled(bool(state.outputs) and state.fetching is None)


def _outputs_words(state: RunPageState) -> Text | str:
    if state.outputs_trouble is not None:
        return state.outputs_trouble.sentence()
    if state.fetched_to is not None:
        return say("Fetched to {folder}.", folder=str(state.fetched_to))
    if state.outputs_are_loading and not state.outputs:
        return say("Looking for outputs…")
    size_bytes = sum(entry.size_bytes or 0 for entry in state.outputs)
    if state.outputs:
        return say("Files: {count}, {size}", count=len(state.outputs), size=size_words(size_bytes))
    if not state.run.state.is_over:
        return say("Nothing yet. Outputs are uploaded when the job ends, or while it runs if it says so.")
    return say("This run left nothing in its output folders.")
