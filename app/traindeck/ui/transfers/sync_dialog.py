"""Making a folder here and one in a bucket alike: first the list of what would change, then the yes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QStackedWidget,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.domain.transfers.orders import CompareBy, Links
from traindeck.domain.transfers.records import ItemState
from traindeck.ui.kit.cards import EmptyPage, push_button
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.fields import form_label
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, row_of
from traindeck.ui.kit.property_page import number_box
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.transfers.transfer_files_dialog import FilesModel, FilesTable
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.transfers.sync_form import PlanStage, SyncForm, SyncState
from traindeck.viewmodels.transfers.transfer_list import TransferFiles, TransferList
from traindeck.viewmodels.transfers.transfer_words import plan_words

_CHANGES = (ItemState.QUEUED, ItemState.WAITING, ItemState.FAILED, ItemState.SKIPPED)
_MOST_REMOVED = 1_000_000
_IGNORE_LINES = 3

Chosen = TypeVar("Chosen", bound=Enum)


class SyncDialog(QDialog):
    """Binds a SyncForm; closing it forgets a plan that was not begun."""

    def __init__(
        self, form: SyncForm, transfers: TransferList, theme: Theme, confirm: Confirm, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Synchronize {place}", place=str(form.place)))
        fit_on_screen(self, 100 * SPACE, 78 * SPACE)
        self.form = form
        self._transfers = transfers
        self._confirm = confirm
        self._files: TransferFiles | None = None
        self._shown = 0
        self._build(theme)
        self._lay_out()
        form.changed.connect(self._on_changed)
        form.begun.connect(self.accept)
        self.finished.connect(self._end)
        self._on_changed()
        self.folder.setFocus()

    def choose(self) -> None:
        """The folder of this computer."""
        start = Path(self.folder.text()) if self.folder.text() else None
        choose_folder(self, say("The folder on this computer"), self._chosen, start)

    def _build(self, theme: Theme) -> None:
        form, options = self.form, self.form.state.options
        self.folder = QLineEdit(options.folder)
        self.folder.setAccessibleName(say("The folder on this computer"))
        self.folder.setPlaceholderText(say("The folder on this computer"))
        self.browse = push_button(say("Browse…"), self.choose)
        self.up = QRadioButton(say("&Upload: make the bucket match the folder"))
        self.down = QRadioButton(say("&Download: make the folder match the bucket"))
        (self.up if options.goes_up else self.down).setChecked(True)
        ways = {
            CompareBy.SIZE_AND_TIME: say("Size and time"),
            CompareBy.SIZE: say("Size alone"),
            CompareBy.MD5: say("Content (MD5): every file is read"),
        }
        self.compare = _choice(ways, options.compare)
        self.links = _choice(
            {
                Links.SKIP: say("Skip and report"),
                Links.FOLLOW: say("Follow: transfer their targets"),
                Links.KEEP: say("Keep as links"),
            },
            options.links,
        )
        self.delete = QCheckBox(say("&Delete files that the other side does not have, at most"))
        self.delete.setChecked(options.delete)
        self.most = number_box(0, _MOST_REMOVED, say("Maximum number of files to delete"))
        self.most.setValue(options.max_delete)
        self.ignore = QPlainTextEdit(options.ignore)
        self.ignore.setFont(theme.mono_font())
        self.ignore.setPlaceholderText("*.tmp\ncache/")
        self.ignore.setTabChangesFocus(True)
        self.ignore.setFixedHeight(_IGNORE_LINES * self.ignore.fontMetrics().lineSpacing() + 2 * SPACE)
        self.look = push_button(say("&Preview"), form.look)
        self.summary = label(wraps=True)
        self.table = FilesTable(theme, say("Preview of changes"))
        self.empty = EmptyPage(say("No preview yet."), say("Select Preview to see what would change."))
        self.seen = QStackedWidget()
        self.seen.addWidget(self.empty)
        self.seen.addWidget(self.table)
        self.begin = push_button(say("&Start transfer"), self._begin)
        self.close_button = push_button(say("Close"), self.reject)
        self.folder.textChanged.connect(lambda words: form.choose(folder=words))
        self.up.toggled.connect(lambda goes_up: form.choose(goes_up=goes_up))
        self.compare.currentIndexChanged.connect(lambda _: form.choose(compare=self.compare.currentData()))
        self.links.currentIndexChanged.connect(lambda _: form.choose(links=self.links.currentData()))
        self.delete.toggled.connect(lambda wanted: form.choose(delete=wanted))
        self.most.valueChanged.connect(lambda most: form.choose(max_delete=most))
        self.ignore.textChanged.connect(lambda: form.choose(ignore=self.ignore.toPlainText()))
        self.folder.returnPressed.connect(form.look)

    def _lay_out(self) -> None:
        rows = QFormLayout()
        rows.setSpacing(SPACE)
        rows.setLabelAlignment(Qt.AlignmentFlag.AlignRight)
        rows.addRow(say("Bucket folder"), label(str(self.form.place), copies=True))
        rows.addRow(form_label(say("&Folder"), self.folder), row_of((self.folder, 1), self.browse, spacing=HALF))
        direction = QLabel(say("Direction"))
        self.up.ensurePolished()
        direction.setFixedHeight(self.up.sizeHint().height())
        rows.addRow(direction, column_of(self.up, self.down, spacing=HALF))
        rows.addRow(form_label(say("&Compare by"), self.compare), self.compare)
        rows.addRow(form_label(say("Lin&ks"), self.links), self.links)
        rows.addRow("", row_of(self.delete, self.most, 2, spacing=HALF))
        rows.addRow(say("S&kip"), self.ignore)
        foot = row_of(self.look, 1, self.begin, self.close_button)
        column_of(rows, self.summary, (self.seen, 1), foot, inside=self, margins=2 * SPACE, spacing=SPACE)

    def _chosen(self, folders: list[Path]) -> None:
        self.folder.setText(str(folders[0]))

    def _begin(self) -> None:
        plan = self.form.state.plan
        if plan is not None and plan.transfer.removals:
            self._transfers.ask_to_remove(plan.transfer.removals, self._confirm, self.form.begin)
        else:
            self.form.begin()

    def _on_changed(self) -> None:
        state = self.form.state
        is_listed = state.plan is not None or state.stage is PlanStage.LOOKING
        if is_listed:
            self.seen.setCurrentWidget(self.table)
        if self.focusWidget() is self.look and not state.can_look:
            self.table.setFocus()  # left to itself the keyboard would go on to Close
        self.most.setEnabled(state.options.delete)
        self.look.setEnabled(state.can_look)
        self.begin.setEnabled(state.can_begin)
        if not is_listed:
            if self.focusWidget() is self.table:
                self.look.setFocus()
            self.seen.setCurrentWidget(self.empty)
        set_role(self.look, "" if state.stage is PlanStage.SHOWN else "primary")
        removes = state.plan is not None and state.plan.transfer.removals > 0
        set_role(self.begin, ("danger" if removes else "primary") if state.can_begin else "")
        set_role(self.summary, "error" if state.trouble else "strong" if state.plan else "dim")
        self.summary.setText(_summary(state))
        self._show_plan(state.plan.id if state.plan else 0)

    def _show_plan(self, number: int) -> None:
        if number == self._shown:
            return
        self._shown = number
        self._forget_files()
        plan = self.form.state.plan
        self.table.show_model(None)
        if plan is not None:
            self._files = self._transfers.files(number)
            self.table.show_model(FilesModel(self._files, plan, self.table))
            self.table.setColumnHidden(FilesModel.CONFIRMED, True)  # nothing has moved yet
            self._files.show(_CHANGES)

    def _forget_files(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None

    def _end(self, *_: int) -> None:
        self._forget_files()
        self.form.close()


def _choice(words: Mapping[Chosen, str], chosen: Chosen) -> QComboBox:
    box = QComboBox()
    for value, said in words.items():
        box.addItem(said, value)
    box.setCurrentIndex(list(words).index(chosen))
    return box


def _summary(state: SyncState) -> str:
    if state.trouble is not None:
        return state.trouble.sentence()
    if state.stage is PlanStage.LOOKING:
        return say("Scanning…")
    return plan_words(state.plan) if state.plan else say("Nothing is transferred before you have seen the preview.")
