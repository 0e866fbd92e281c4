"""Making a small copy of a dataset: how much of each class, where to, and what it comes to before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHeaderView,
    QLineEdit,
    QRadioButton,
    QStackedWidget,
    QWidget,
)

from traindeck.domain.datasets.choice import ClassShare
from traindeck.domain.storage.objects import names_a_service, size_words
from traindeck.domain.texts import say, say_count, say_list
from traindeck.ui.kit.cards import EmptyPage, push_button
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.fields import form_label
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, row_of
from traindeck.ui.kit.property_page import number_box
from traindeck.ui.kit.tables import NUMBERS, Index, RowTable, TitledModel, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, set_role
from traindeck.viewmodels.datasets.mini_form import MiniForm, MiniStage, MiniState

_MOST = 1_000_000


class ClassRows(TitledModel):
    """Classes with how many samples they have, and how many are kept where that is asked."""

    def __init__(self, classes: dict[str, ClassShare], parent: QWidget, *, with_kept: bool = True) -> None:
        super().__init__(parent)
        self.COLUMNS = 3 if with_kept else 2
        self._with_kept = with_kept
        self._rows = sorted(classes.items())

    def count_rows(self) -> int:
        return len(self._rows)

    def headers(self) -> Sequence[str]:
        return (say("Class"), say("Kept"), say("Samples")) if self._with_kept else (say("Class"), say("Samples"))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole and orientation == Qt.Orientation.Horizontal and section:
            return NUMBERS
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        name, share = self._rows[index.row()]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column():
            return NUMBERS
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            cells = [name or say("(no class)"), f"{share.samples:,}"]
            if self._with_kept:
                cells.insert(1, f"{share.kept:,}")
            return cells[index.column()]
        return None


def class_table(name: str) -> RowTable:
    table = RowTable()
    plain_table(table, name)
    return table


def show_classes(table: RowTable, model: ClassRows | None) -> None:
    table.setModel(model)
    if model is not None:
        table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, model.COLUMNS):
            table.setColumnWidth(column, table.fontMetrics().horizontalAdvance("1,000,000") + 4 * SPACE)


class MiniDialog(QDialog):
    """Binds a MiniForm."""

    def __init__(self, form: MiniForm, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Make a small copy of a dataset"))
        fit_on_screen(self, 84 * SPACE, 68 * SPACE)
        self.form = form
        self._shown: object = None
        self._before: QWidget | None = None
        self._build()
        self._lay_out()
        form.changed.connect(self._on_changed)
        self.finished.connect(lambda _: form.close())
        self._on_changed()
        (self.per_class if form.state.choice.source else self.source).setFocus()

    def _build(self) -> None:
        form, choice = self.form, self.form.state.choice
        self.source = _field(choice.source, say("Dataset"))
        self.target = _field(choice.target, say("Small copy"))
        self.browse_source = push_button(say("Browse…"), lambda: self._browse(self.source, say("The dataset")))
        self.browse_target = push_button(say("Browse…"), lambda: self._browse(self.target, say("The small copy")))
        self.by_count = QRadioButton(say("&Samples of each class"))
        self.by_share = QRadioButton(say("S&hare of each class, in percent"))
        (self.by_share if choice.is_share else self.by_count).setChecked(True)
        self.per_class = number_box(1, _MOST, say("Samples of each class"))
        self.per_class.setValue(choice.per_class)
        self.percent = number_box(1, 100, say("Share of each class, in percent"))
        self.percent.setValue(choice.percent)
        self.seed = QLineEdit(choice.seed)
        self.seed.setPlaceholderText(say("any text; another one selects other samples"))
        self.by_folder = QCheckBox(say("The &folders are the classes, also where an index file says otherwise"))
        self.by_folder.setChecked(choice.by_folder)
        self.summary = label(wraps=True)
        self.notes = label("", "dim", wraps=True)
        self.table = class_table(say("Classes"))
        self.empty = EmptyPage(say("No preview yet."), say("Select Preview to see what is kept of each class."))
        self.seen = QStackedWidget()
        self.seen.addWidget(self.empty)
        self.seen.addWidget(self.table)
        self.look = push_button(say("&Preview"), form.look)
        self.make = push_button(say("&Create"), form.make)
        self.stop = push_button(say("Stop"), form.stop)
        self.close_button = push_button(say("Close"), self.reject)
        self.source.textChanged.connect(lambda words: form.choose(source=words))
        self.target.textChanged.connect(lambda words: form.choose(target=words))
        self.by_share.toggled.connect(lambda is_share: form.choose(is_share=is_share))
        self.per_class.valueChanged.connect(lambda value: form.choose(per_class=value))
        self.percent.valueChanged.connect(lambda value: form.choose(percent=value))
        self.seed.textChanged.connect(lambda words: form.choose(seed=words))
        self.by_folder.toggled.connect(lambda wanted: form.choose(by_folder=wanted))
        for field in (self.source, self.target, self.seed, self.per_class.lineEdit(), self.percent.lineEdit()):
            field.returnPressed.connect(form.look)

    def _lay_out(self) -> None:
        rows = QFormLayout()
        rows.setSpacing(SPACE)
        rows.setLabelAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for words, field, browse in (
            (say("&Dataset"), self.source, self.browse_source),
            (say("Small &copy"), self.target, self.browse_target),
        ):
            rows.addRow(form_label(words, field), row_of((field, 1), browse, spacing=HALF))
        keep = column_of(
            row_of(self.by_count, self.per_class, 1, spacing=HALF),
            row_of(self.by_share, self.percent, 1, spacing=HALF),
            spacing=HALF,
        )
        rows.addRow(form_label(say("Keep"), self.per_class), keep)
        rows.addRow(form_label(say("S&eed"), self.seed), self.seed)
        rows.addRow("", self.by_folder)
        foot = row_of(self.look, 1, self.stop, self.make, self.close_button)
        column_of(
            rows, self.summary, self.notes, (self.seen, 1), foot, inside=self, margins=2 * SPACE, spacing=SPACE
        )  # fmt: skip

    def _browse(self, field: QLineEdit, title: str) -> None:
        words = field.text().strip()
        start = Path(words) if words and not names_a_service(words) else None
        choose_folder(self, title, lambda folders: field.setText(str(folders[0])), start)

    def _on_changed(self) -> None:
        state = self.form.state
        if state.is_busy and self._before is None:
            self._before = self.focusWidget()
        _follow(self.source, state.choice.source)
        _follow(self.target, state.choice.target)
        for field in (
            self.source, self.target, self.by_count, self.by_share, self.seed, self.by_folder, self.browse_source,
            self.browse_target,
        ):  # fmt: skip
            field.setEnabled(not state.is_busy)
        self.per_class.setEnabled(not state.is_busy and not state.choice.is_share)
        self.percent.setEnabled(not state.is_busy and state.choice.is_share)
        self.look.setEnabled(state.can_look)
        self.make.setEnabled(state.can_make)
        self.stop.setVisible(state.is_busy)
        if not state.is_busy and self._before is not None:
            # What is closed while it works loses the keyboard.
            before, self._before = self._before, None
            (before if before.isEnabled() else self.close_button).setFocus()
        set_role(self.make, "primary" if state.can_make else "")
        set_role(self.look, "" if state.stage in (MiniStage.SHOWN, MiniStage.DONE) else "primary")
        set_role(self.summary, "error" if state.trouble else "strong" if state.plan else "dim")
        self.summary.setText(_summary(state))
        self.notes.setText("\n".join(_notes(state)))
        self.notes.setVisible(bool(self.notes.text()))
        if state.plan is not self._shown:
            self._shown = state.plan
            show_classes(self.table, ClassRows(state.plan.classes, self.table) if state.plan else None)
            self.seen.setCurrentWidget(self.table if state.plan else self.empty)


def _field(words: str, name: str) -> QLineEdit:
    field = QLineEdit(words)
    field.setAccessibleName(name)
    field.setPlaceholderText(say("A folder, or obs://bucket/folder/"))
    return field


def _follow(field: QLineEdit, words: str) -> None:
    """Never under the hands of who types."""
    if field.text() != words:
        field.setText(words)


def _notes(state: MiniState) -> list[str]:
    plan = state.plan
    if plan is None:
        return []
    found = []
    if plan.layouts:
        found.append(say("Layout: {layouts}", layouts=say_list(one.title for one in plan.layouts)))
    if plan.indexes:
        found.append(say("Classes from: {files}", files=say_list(plan.indexes)))
    found += [say(note) for note in plan.notes]
    if plan.left:
        skipped = len(plan.left)
        found.append(
            say_count("{count} link or unreadable file is skipped.", "{count} links or unreadable files are skipped.",
                      skipped)
        )  # fmt: skip
    return found


def _summary(state: MiniState) -> str:
    if state.trouble is not None:
        return state.trouble.sentence()
    counted = f"{state.counted:,}"
    if state.stage is MiniStage.LOOKING:
        return say("Counting: {count} so far…", count=counted)
    if state.plan is None:
        return say("Nothing is written before you have seen the preview. The dataset itself is never changed.")
    totals = state.plan.totals
    words = say_count(
        "{kept} of {samples} samples in {classes} classes: {count} file, {size}.",
        "{kept} of {samples} samples in {classes} classes: {count} files, {size}.",
        totals.files, kept=f"{totals.kept:,}", samples=f"{totals.samples:,}", classes=f"{len(state.plan.classes):,}",
        size=size_words(totals.size_bytes),
    )  # fmt: skip
    if state.stage is MiniStage.MAKING:
        total = f"{len(state.plan.names):,}"
        way = say("Files copied: {count} of {total}", count=counted, total=total) if state.counted else say("Creating…")
        return f"{words} {way}"
    if state.stage is MiniStage.DONE:
        return f"{words} {say('Created.')}"
    return words
