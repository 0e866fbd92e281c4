"""The sub-pages of a run."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QPlainTextEdit, QSplitter, QWidget

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.storage.objects import ObjectEntry, size_words
from traindeck.domain.texts import exact_words, say, say_count
from traindeck.ui.kit.cards import Facts, card, fill_scrolling, plain, push_button, show_words
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import NUMBERS, RowTable, plain_table
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.jobs.run_page import RunPage, RunPageState
from traindeck.viewmodels.jobs.run_words import tone_of
from traindeck.viewmodels.ports import Tone

_MARGINS = (2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
_NAMES_WIDTH, _TEXT_WIDTH = 28 * SPACE, 60 * SPACE
NamedSize = tuple[str, int | None]


class NamedSizes(RowsModel[NamedSize]):
    """Files, each with its size."""

    COLUMNS = 2

    def key(self, row: NamedSize) -> Hashable:
        return row[0]

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("Size"))

    def cell(self, row: NamedSize, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return size_words(row[1]) if column else row[0]
        if role == Qt.ItemDataRole.ToolTipRole:
            return row[0]
        if role == Qt.ItemDataRole.TextAlignmentRole and column:
            return NUMBERS
        return None


def _files_table(model: NamedSizes, name: str) -> RowTable:
    table = RowTable()
    plain_table(table, name)
    table.setModel(model)
    table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    table.horizontalHeader().setMinimumSectionSize(5 * SPACE)
    table.setColumnWidth(1, 10 * SPACE)
    return table


class RunPart(QWidget):
    """Shows something of a run, while it is in sight."""

    def show_run(self, run: Run) -> None:
        raise NotImplementedError


class OverviewPart(RunPart):
    """What happened, when, and with which values."""

    def __init__(self, page: RunPage) -> None:
        super().__init__()
        self._page = page
        self.reason, self.isolation, self.origin = plain("dim"), plain("warn"), plain("")
        self._moments, self._values = Facts(), Facts()
        cards = (card(say("Times"), [self._moments]), card(say("Job"), [self._values]))
        parts = (self.reason, self.isolation, self.origin, *cards, 1)
        fill_scrolling(self, column_of(*parts, margins=_MARGINS, spacing=SPACE + SPACE // 2))

    def show_run(self, run: Run) -> None:
        state = self._page.state
        set_role(self.reason, "error" if tone_of(run) is Tone.BAD else "dim")
        show_words(self.reason, str(run.reason))
        show_words(self.isolation, str(run.isolation.warning or ""))
        show_words(self.origin, self._origin_words())
        moments = [(str(words), exact_words(moment)) for words, moment in state.moments]
        took = duration_words(run.run_seconds(self._page.runs.clock()))
        self._moments.show_facts([*moments, (say("Duration"), took)])
        self._values.show_facts([(str(words), value) for words, value in state.first_values])

    def _origin_words(self) -> str:
        origin = self._page.origin
        if origin is None:
            return ""
        changes = "; ".join(f"{one.name}: {one.before} → {one.after}" for one in self._page.changes())
        if changes:
            return say("Like run {number}, except {changes}.", number=origin.number, changes=changes)
        return say("Same as run {number}.", number=origin.number)


class OutputsPart(RunPart):
    """What the run wrote to OBS."""

    def __init__(self, page: RunPage) -> None:
        super().__init__()
        self._page = page
        self.model = NamedSizes()
        self.table = _files_table(self.model, say("Outputs"))
        self.note = sentence("", "dim")
        self.fetch = push_button(say("Download the outputs…"), self.choose_target)
        head = row_of((self.note, 1), self.fetch, margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=SPACE)
        column_of(head, (self.table, 1), inside=self, margins=0, spacing=0)

    def choose_target(self) -> None:
        page = self._page
        choose_folder(self, say("Download the outputs into this folder"), lambda targets: page.fetch(targets[0]))

    def show_run(self, run: Run) -> None:
        state = self._page.state
        self.model.show([(_below(run, entry), entry.size_bytes) for entry in state.outputs])
        self.note.setText(_outputs_words(state))
        self.fetch.setEnabled(bool(state.outputs) and state.fetching is None)


class CodePart(RunPart):
    """The files as they were frozen; no later edit is in them."""

    def __init__(self, page: RunPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        self.model = NamedSizes()
        self.files = _files_table(self.model, say("Code files"))
        self.files.selectionModel().currentRowChanged.connect(self._open)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(theme.mono_font())
        self.text.setAccessibleName(say("Text of the file"))
        self._shown: object = None
        set_role(self.text, "log")
        self.note = sentence("", "dim")
        self.note.setContentsMargins(2 * SPACE, SPACE, SPACE, SPACE)
        beside = QSplitter()
        beside.setChildrenCollapsible(False)
        beside.addWidget(self.files)
        beside.addWidget(self.text)
        beside.setStretchFactor(1, 1)
        beside.setSizes([_NAMES_WIDTH, _TEXT_WIDTH])
        column_of(self.note, (beside, 1), inside=self, margins=0, spacing=0)

    def show_run(self, run: Run) -> None:
        state = self._page.state
        files = state.code.files if state.code is not None else ()
        self.model.show([(file.path, file.size_bytes) for file in files])
        self.note.setText(_code_words(state))
        if state.code_file is not None:
            number = self.model.number_of(state.code_file.path)
            if number is not None and number != self.files.currentIndex().row():
                self.files.selectRow(number)
        if state.code_text is not self._shown:
            self._shown = state.code_text
            self.text.setPlainText((state.code_text.words or "") if state.code_text is not None else "")

    def _open(self, index: QModelIndex | QPersistentModelIndex) -> None:
        file = self._page.state.code_file
        if index.isValid() and (path := self.model.row(index.row())[0]) != (file.path if file else ""):
            self._page.open_code(path)


class DetailsPart(RunPart):
    """Everything that was sent, and under which names it is known."""

    def __init__(self, page: RunPage) -> None:
        super().__init__()
        self._page = page
        self._names, self._values = Facts(), Facts()
        cards = (card(say("IDs"), [self._names]), card(say("Submitted settings"), [self._values]))
        fill_scrolling(self, column_of(*cards, 1, margins=_MARGINS, spacing=SPACE + SPACE // 2))

    def show_run(self, run: Run) -> None:
        self._names.show_facts(
            [
                (say("Name"), run.name),
                (say("Run ID"), run.id),
                (say("Job ID"), run.job_id or "–"),
                (say("Account"), say("The Lab") if run.profile == LAB else run.profile),
                (say("State at the service"), run.phase or "–"),
                (say("Last response"), exact_words(run.checked)),
                (say("Workers"), ", ".join(run.tasks)),
                (say("Code in OBS"), run.code_url or "–"),
            ]
        )
        self._values.show_facts([(str(words), value) for words, value in self._page.state.values])


def _below(run: Run, entry: ObjectEntry) -> str:
    """Without the folder of the run, which all have in common."""
    whole = str(entry.path)
    places = [f"{channel.place.rstrip('/')}/" for channel in run.filled_spec.outputs]
    return next((whole.removeprefix(place) for place in places if len(places) == 1 and whole.startswith(place)), whole)


def _outputs_words(state: RunPageState) -> str:
    if state.outputs_trouble is not None:
        return state.outputs_trouble.sentence()
    if state.fetched_to is not None:
        done = say("Downloaded to {folder}.", folder=str(state.fetched_to))
        if not state.fetch_kept:
            return done
        kept = say_count(
            "{count} file there was edited or comes from elsewhere, and was kept.",
            "{count} files there were edited or come from elsewhere, and were kept.",
            state.fetch_kept,
        )
        return f"{done} {kept}"
    if state.outputs_are_loading and not state.outputs:
        return say("Looking for outputs…")
    size_bytes = sum(entry.size_bytes or 0 for entry in state.outputs)
    if state.outputs:
        return say_count("1 file, {size}", "{count} files, {size}", len(state.outputs), size=size_words(size_bytes))
    if state.run is not None and not state.run.state.is_over:
        return say("No outputs yet. They are uploaded when the job ends, or earlier if the job does so.")
    return say("The output folders of this run are empty.")


def _code_words(state: RunPageState) -> str:
    if state.code_trouble is not None:
        return state.code_trouble.sentence()
    if state.run is not None and not state.run.bundle:
        return say("The code of this run was not kept.")
    if state.code is None:
        return say("Reading the code…")
    if state.code_text is not None and state.code_text.words is None:
        return say("This file is not text.")
    if state.code_text is not None and not state.code_text.is_whole:
        return say("Only the beginning of this file is shown.")
    size = size_words(sum(file.size_bytes for file in state.code.files))
    return say_count("1 file, {size}", "{count} files, {size}", len(state.code.files), size=size)
