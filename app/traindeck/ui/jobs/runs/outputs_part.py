"""What a run wrote to OBS, and bringing it to this computer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QHeaderView, QLineEdit, QProgressBar

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import ObjectEntry, size_words
from traindeck.domain.texts import say, say_count
from traindeck.ui.jobs.runs.run_parts import RunPart
from traindeck.ui.kit.cards import fill_with_rows, push_button, show_words
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.fields import name_field
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import NUMBERS, RowTable, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, set_role
from traindeck.viewmodels.jobs.runs.output_fetches import FetchState, FetchWish
from traindeck.viewmodels.jobs.runs.run_page import RunPage, RunPageState
from traindeck.viewmodels.ports import Asks

_PARTS = 1000
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


class OutputsPart(RunPart):
    """Some of it or all, once or as long as the run goes on; what was edited here is never overwritten unasked."""

    def __init__(self, page: RunPage, asks: Asks) -> None:
        super().__init__()
        self._page = page
        self._asks = asks
        self._fetches = page.runs.fetches
        self.model = NamedSizes()
        self.table = RowTable()
        plain_table(self.table, say("Outputs"))
        self.table.setModel(self.model)
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setMinimumSectionSize(5 * SPACE)
        self.table.setColumnWidth(1, 10 * SPACE)
        self.note = sentence("", "dim")
        self.told = sentence("", "")
        self.told.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.patterns, self.largest = QLineEdit(), QLineEdit()
        self.patterns.setPlaceholderText(say("all files, or patterns such as *.ckpt"))
        name_field(self.patterns, say("Only files like these; a minus leaves them out"))
        self.patterns.setToolTip(self.patterns.accessibleName())
        self.largest.setPlaceholderText(say("any size"))
        name_field(self.largest, say("Only files up to this size, such as 2GB"))
        self.largest.setToolTip(self.largest.accessibleName())
        self.largest.setFixedWidth(11 * SPACE)
        self.until_over = QCheckBox(say("Until the run ends"))
        self.until_over.setToolTip(say("Download again and again while the run goes on"))
        self.fetch = push_button(say("Download the outputs…"), self.choose_target)
        self.stop = push_button(say("Stop downloading"), self._stop)
        self.board = push_button(say("TensorBoard"), self._show_board)
        self.end_board = push_button(say("End TensorBoard"), self._end_board)
        self.progress = QProgressBar()
        self.progress.setAccessibleName(say("Progress of the download"))
        self.progress.setTextVisible(False)
        wishes = row_of((self.patterns, 1), self.largest, margins=0, spacing=HALF)
        buttons = FlowLayout(self.until_over, self.fetch, self.stop, self.board, self.end_board, spacing=SPACE)
        head = column_of(
            self.note, wishes, buttons, self.progress, self.told,
            margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=SPACE,
        )  # fmt: skip
        fill_with_rows(self, [head], self.table)
        wish = self._fetches.wish
        self.patterns.setText(wish.patterns)
        self.largest.setText(wish.largest)

    def choose_target(self) -> None:
        """Where to, unless what was typed makes no sense."""
        wish, run = self._wish(), self._page.state.run
        try:
            wish.filters()
            wish.most_bytes()
        except AppError as error:
            set_role(self.told, "error")
            show_words(self.told, error.sentence())
            return
        if run is not None:
            start = self._page.fetch.folder
            choose_folder(
                self,
                say("Download the outputs into this folder"),
                lambda targets: self._fetches.fetch(run, targets[0], self._wish(), self._asks.choose),
                start,
            )

    def show_run(self, run: Run) -> None:
        state, fetch = self._page.state, self._page.fetch
        self.model.show([(_below(run, entry), entry.size_bytes) for entry in state.outputs])
        self.note.setText(_outputs_words(state))
        can_come = bool(state.outputs) or (bool(run.spec.outputs) and not run.state.is_over and bool(run.job_id))
        self.fetch.setEnabled(can_come and not fetch.is_busy)
        self.until_over.setVisible(not run.state.is_over)
        self.stop.setVisible(fetch.is_busy)
        self.progress.setVisible(fetch.is_busy and not fetch.is_waiting)
        self.progress.setRange(0, _PARTS if fetch.share is not None else 0)
        self.progress.setValue(round(_PARTS * (fetch.share or 0)))
        self.board.setVisible(bool(fetch.tensorboard) or _has_events(fetch))
        self.end_board.setVisible(bool(fetch.tensorboard))
        set_role(self.told, "warn" if fetch.fetched is not None and fetch.fetched.kept else "")
        show_words(self.told, _fetched_words(fetch))

    def _wish(self) -> FetchWish:
        until_over = self.until_over.isChecked() and not self.until_over.isHidden()
        return FetchWish(self.patterns.text(), self.largest.text(), until_over)

    def _stop(self) -> None:
        if (run := self._page.state.run) is not None:
            self._fetches.stop(run)

    def _show_board(self) -> None:
        if (run := self._page.state.run) is not None:
            self._fetches.show_tensorboard(run)

    def _end_board(self) -> None:
        if (run := self._page.state.run) is not None:
            self._fetches.end_tensorboard(run)


def _has_events(fetch: FetchState) -> bool:
    files: Sequence[Path] = fetch.fetched.files if fetch.fetched is not None else ()
    return any("tfevents" in file.name for file in files)


def _fetched_words(fetch: FetchState) -> str:
    """What is being done, or what became of the last time."""
    if fetch.words is not None:
        return say(fetch.words)
    done = fetch.fetched
    if done is None:
        return ""
    parts = [
        say_count(
            "Downloaded {count} file to {folder}; {equal} were here already.",
            "Downloaded {count} files to {folder}; {equal} were here already.",
            len(done.new), folder=str(fetch.folder or done.folder), equal=len(done.equal),
        )
    ]  # fmt: skip
    if done.kept:
        parts.append(
            say_count(
                "{count} file there was edited or comes from elsewhere, and was kept:",
                "{count} files there were edited or come from elsewhere, and were kept:",
                len(done.kept),
            )
        )
        parts.append(", ".join(file.name for file in done.kept[:_NAMED]) + (" …" if len(done.kept) > _NAMED else ""))
    if done.too_large:
        parts.append(
            say_count(
                "{count} larger file was left in OBS ({size}).",
                "{count} larger files were left in OBS ({size}).",
                len(done.too_large), size=size_words(sum(size for _, size in done.too_large)),
            )
        )  # fmt: skip
    return "\n".join(parts)


_NAMED = 6


def _below(run: Run, entry: ObjectEntry) -> str:
    """Without the folder of the run, which all have in common."""
    whole = str(entry.path)
    places = [f"{channel.place.rstrip('/')}/" for channel in run.filled_spec.outputs]
    return next((whole.removeprefix(place) for place in places if len(places) == 1 and whole.startswith(place)), whole)


def _outputs_words(state: RunPageState) -> str:
    if state.outputs_trouble is not None:
        return state.outputs_trouble.sentence()
    if state.outputs_are_loading and not state.outputs:
        return say("Looking for outputs…")
    size_bytes = sum(entry.size_bytes or 0 for entry in state.outputs)
    if state.outputs:
        return say_count("1 file, {size}", "{count} files, {size}", len(state.outputs), size=size_words(size_bytes))
    if state.run is not None and not state.run.spec.outputs:
        return say("This job has no outputs in OBS.")
    if state.run is not None and not state.run.state.is_over:
        return say("No outputs yet. They are uploaded when the job ends, or earlier if the job does so.")
    return say("The output folders of this run are empty.")
