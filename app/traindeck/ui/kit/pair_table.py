"""Names with values, typed into a table, and what is chosen beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemDelegate,
    QAbstractItemView,
    QComboBox,
    QCompleter,
    QLineEdit,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, say
from traindeck.ui.kit.completions import completion_popup
from traindeck.ui.kit.tables import FilledCell, FocusedView, Index, TitledModel, plain_heads
from traindeck.ui.kit.theme import ROW, SPACE, Theme
from traindeck.viewmodels.ports import Rows

Prepare = Callable[[QLineEdit], None]
"""Told of each line that a value is typed into."""

_MOST_SHOWN = 9
_CHOICE_WIDTH = 11 * SPACE


@dataclass(frozen=True, slots=True)
class RowChoice:
    """A column beside name and value: what is chosen there, and what it is called; the first is that of a new row."""

    title: str
    choices: tuple[tuple[str, str], ...]

    def words(self, value: str) -> str:
        return next((words for known, words in self.choices if known == value), value)


@dataclass(frozen=True, slots=True)
class RowAdvice:
    """What is known of the names that may stand in a table, where somebody knows them."""

    names: tuple[str, ...] = ()
    """To be offered for a name that is typed."""
    about: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """All that one of them may be."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """What is probably wrong with a row, by its name."""


class PairModel(TitledModel):
    """Rows as typed; the last one is empty and waits for the next name."""

    edited = Signal(object)

    def __init__(self, theme: Theme, name_title: str, value_title: str, beside: Sequence[RowChoice] = ()) -> None:
        super().__init__()
        self._theme = theme
        self._titles = (name_title, value_title, *(choice.title for choice in beside))
        self.beside = tuple(beside)
        self._rows: list[tuple[str, ...]] = []
        self._errors: Mapping[str, Text] = {}
        self._changed: frozenset[str] = frozenset()
        self.advice = RowAdvice()
        self.is_locked = False

    @property
    def rows(self) -> Rows:
        return tuple(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._titles)

    def show(self, rows: Rows, errors: Mapping[str, Text], changed: frozenset[str] = frozenset()) -> None:
        """The errors are by name of their row; `changed` are those that are marked as other than they were."""
        before, after = len(self._rows), len(rows)
        # It is the end that grows and shrinks: the empty row that is typed into becomes a row, a new one follows.
        if after < before:
            self.beginRemoveRows(QModelIndex(), after + 1, before)
            del self._rows[after:]
            self.endRemoveRows()
        elif after > before:
            self.beginInsertRows(QModelIndex(), before + 1, after)
            self._rows += rows[before:]
            self.endInsertRows()
        if (tuple(self._rows), self._errors, self._changed) != (rows, errors, changed):
            self._rows = list(rows)
            self._errors, self._changed = dict(errors), changed
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows), len(self._titles) - 1))

    def advise(self, advice: RowAdvice) -> None:
        """Nothing of it keeps anybody from typing something else."""
        if advice != self.advice:
            self.advice = advice
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows), len(self._titles) - 1))

    def count_rows(self) -> int:
        return len(self._rows) + 1

    def headers(self) -> Sequence[str]:
        return self._titles

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Vertical and role == Qt.ItemDataRole.DisplayRole:
            return str(section + 1) if section < len(self._rows) else ""
        return super().headerData(section, orientation, role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_late = index.row() >= len(self._rows) and index.column() > 1
        return flags if self.is_locked or is_late else flags | Qt.ItemFlag.ItemIsEditable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if index.row() >= len(self._rows):
            return self._of_new(index, role)
        row = self._rows[index.row()]
        value = self._value(row, index.column())
        name, is_wrong = row[0].strip(), row[0].strip() in self._errors
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(index.column(), value)
        if role == Qt.ItemDataRole.EditRole:
            return value
        if role == Qt.ItemDataRole.ForegroundRole and (is_wrong or name in self.advice.doubts):
            return self._theme.color("bad" if is_wrong else "warn")
        if role == Qt.ItemDataRole.BackgroundRole and row[0] in self._changed:
            return self._theme.color("warn_soft")
        if role == Qt.ItemDataRole.ToolTipRole:
            return say(self._errors[name]) if is_wrong else self._told(name, self._words(index.column(), value))
        return None

    def _told(self, name: str, words: str) -> str:
        known = (self.advice.doubts.get(name, ""), self.advice.about.get(name, ""))
        return "\n".join(part for part in known if part) or words

    def _of_new(self, index: Index, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return say("Add…") if index.column() == 0 and not self.is_locked else ""
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color("dim")
        return "" if role == Qt.ItemDataRole.EditRole else None

    def _value(self, row: tuple[str, ...], column: int) -> str:
        return row[column] if column < len(row) else self.beside[column - 2].choices[0][0]

    def _words(self, column: int, value: str) -> str:
        return value if column < 2 else self.beside[column - 2].words(value)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        rows = list(self._rows)
        if index.row() >= len(rows):
            if not str(value).strip():
                return False
            rows.append(("", "", *(choice.choices[0][0] for choice in self.beside)))
        row = [self._value(rows[index.row()], column) for column in range(len(self._titles))]
        if row[index.column()] == str(value):
            return False
        row[index.column()] = str(value)
        rows[index.row()] = tuple(row)
        self.edited.emit(tuple(rows))
        return True


class _PairCell(FilledCell):
    """A cell whose text counts while it is typed, so that a job sent at this moment has it.

    Draws the lines itself: those of the view do not follow the theme.
    """

    def __init__(self, theme: Theme, parent: QObject, pairs: PairModel, prepare: Prepare | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pairs = pairs
        self._beside = pairs.beside
        self._prepare = prepare

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        painter.setPen(self._theme.color("border"))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        painter.drawLine(option.rect.topRight(), option.rect.bottomRight())

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        if index.column() > 1:
            return self._box(parent, self._beside[index.column() - 2])
        name = str(index.sibling(index.row(), 0).data(Qt.ItemDataRole.EditRole)).strip()
        if index.column() == 1 and (values := self._pairs.advice.values.get(name)):
            return self._box(parent, RowChoice(name, tuple((value, value) for value in values)))
        editor = super().createEditor(parent, option, index)
        if isinstance(editor, QLineEdit):
            editor.setProperty("before", index.data(Qt.ItemDataRole.EditRole))
            editor.textEdited.connect(self._on_typed)
            if self._prepare is not None and index.column() == 1:
                self._prepare(editor)
            if index.column() == 0 and self._pairs.advice.names:
                self._complete(editor)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        value = index.data(Qt.ItemDataRole.EditRole)
        if isinstance(editor, QComboBox):
            if editor.findData(value) < 0:
                editor.addItem(str(index.data()), value)
            editor.setCurrentIndex(editor.findData(value))
        # What was just typed comes back by way of the form; setting it again would move the caret.
        elif not isinstance(editor, QLineEdit) or editor.text() != value:
            super().setEditorData(editor, index)

    def setModelData(self, editor: QWidget, model: Any, index: Index) -> None:
        if isinstance(editor, QComboBox):
            model.setData(index, editor.currentData())
        else:
            super().setModelData(editor, model, index)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        pressed = event.key() if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress else None
        if pressed == Qt.Key.Key_Escape and isinstance(watched, QLineEdit):
            watched.setText(str(watched.property("before")))
            self.commitData.emit(watched)
        return super().eventFilter(watched, event)

    def _complete(self, editor: QLineEdit) -> None:
        completer = QCompleter(list(self._pairs.advice.names), editor)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setPopup(completion_popup())
        editor.setCompleter(completer)
        completer.activated.connect(partial(self._on_completed, editor))

    def _on_completed(self, editor: QLineEdit, name: str) -> None:
        editor.setText(name)
        self.commitData.emit(editor)

    def _box(self, parent: QWidget, choice: RowChoice) -> QComboBox:
        box = QComboBox(parent)
        box.setAccessibleName(choice.title)
        for value, words in choice.choices:
            box.addItem(words, value)
        box.activated.connect(self._on_chosen)
        return box

    def _on_typed(self, _: str) -> None:
        editor = self.sender()
        if isinstance(editor, QWidget):
            self.commitData.emit(editor)

    def _on_chosen(self, _: int) -> None:
        editor = self.sender()
        if isinstance(editor, QWidget):
            self.commitData.emit(editor)
            self.closeEditor.emit(editor)


class PairTable(FocusedView, QTableView):
    """Type to add, Delete to remove, paste `a=1;b=2` or lines; where the order counts, Alt with an arrow moves a row.

    The number before a row can be dragged, too.
    """

    pasted = Signal(str)

    def __init__(
        self,
        theme: Theme,
        name: str,
        value_title: str,
        prepare: Prepare | None = None,
        *,
        name_title: str = "",
        beside: Sequence[RowChoice] = (),
        is_ordered: bool = False,
    ) -> None:
        super().__init__()
        self.pairs = PairModel(theme, name_title or say("Name"), value_title, beside)
        self.rows_edited = self.pairs.edited
        self._is_ordered = is_ordered
        self._widths: list[int] = []
        self.setModel(self.pairs)
        self.setAccessibleName(name)
        plain_heads(self)
        self.setShowGrid(False)
        self.setItemDelegate(_PairCell(theme, self, self.pairs, prepare))
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.AnyKeyPressed
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.SelectedClicked
        )
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._lay_out_columns()
        self.pairs.rowsInserted.connect(self._fit)
        self.pairs.rowsRemoved.connect(self._fit)
        self._fit()

    def _lay_out_columns(self) -> None:
        head = self.horizontalHeader()
        if not self.pairs.beside:
            head.resizeSection(0, 15 * SPACE)
            head.setStretchLastSection(True)
        else:
            head.setSectionResizeMode(1, head.ResizeMode.Stretch)
            self._share_width()
        if self._is_ordered:
            numbers = self.verticalHeader()
            numbers.setSectionsMovable(True)
            numbers.setSectionsClickable(True)
            numbers.setToolTip(say("Drag to change the order, or press Alt with an arrow key"))
            numbers.sectionMoved.connect(self._on_dragged)
            numbers.show()
            corner = self.findChild(QAbstractButton)
            if corner is not None:
                corner.setAccessibleName(say("Select all"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.pairs.beside:
            self._share_width()

    def _share_width(self) -> None:
        """Where there is little, the name and the choices have what their titles take, and the value the rest."""
        metrics = self.fontMetrics()
        least = [metrics.horizontalAdvance(title) + 2 * SPACE for title in self.pairs.headers()]
        usual = [max(12 * SPACE, least[0]), least[1], *(max(_CHOICE_WIDTH, one) for one in least[2:])]
        widths = usual if sum(usual) <= self.viewport().width() else least
        if widths != self._widths:  # else they stay as they were drawn
            self._widths = widths
            for column in (0, *range(2, len(widths))):
                self.horizontalHeader().resizeSection(column, widths[column])

    def lock(self, is_locked: bool) -> None:
        """What is locked is read, and not typed into."""
        self.pairs.is_locked = is_locked
        self.verticalHeader().setSectionsMovable(self._is_ordered and not is_locked)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.height())

    def remove_selected(self) -> None:
        chosen = {index.row() for index in self.selectedIndexes()}
        self.rows_edited.emit(tuple(row for number, row in enumerate(self.pairs.rows) if number not in chosen))

    def move_row(self, place: int, to: int) -> None:
        rows = list(self.pairs.rows)
        if 0 <= place < len(rows) and 0 <= to < len(rows) and place != to:
            rows.insert(to, rows.pop(place))
            self.rows_edited.emit(tuple(rows))
            self.setCurrentIndex(self.pairs.index(to, max(self.currentIndex().column(), 0)))

    def _on_dragged(self, _: int, before: int, after: int) -> None:
        numbers = self.verticalHeader()
        numbers.blockSignals(True)
        numbers.moveSection(after, before)  # it is the rows that are in another order, not their numbers
        numbers.blockSignals(False)
        self.move_row(before, min(after, len(self.pairs.rows) - 1))
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        has_alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
        if self.state() == QAbstractItemView.State.EditingState:
            # What a cell being edited leaves over, its Return for one, is not meant for the table.
            event.ignore()
        elif self.pairs.is_locked and not event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
        elif event.matches(QKeySequence.StandardKey.Paste):
            self.pasted.emit(QGuiApplication.clipboard().text())
        elif self._is_ordered and has_alt and event.key() in steps:
            row = self.currentIndex().row()
            self.move_row(row, row + steps[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_selected()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        """Tab goes on from cell to cell, and out of the table behind the last and before the first."""
        steps = {
            QAbstractItemDelegate.EndEditHint.EditNextItem: 1,
            QAbstractItemDelegate.EndEditHint.EditPreviousItem: -1,
        }
        step, here = steps.get(hint, 0), self.currentIndex()
        super().closeEditor(editor, QAbstractItemDelegate.EndEditHint.NoHint if step else hint)
        if not step:
            return
        # What is chosen beside the pair is mostly right as it comes: Tab goes from pair to pair.
        place = here.row() * 2 + min(here.column(), 1) + step
        row, column = divmod(place, 2)
        is_left_empty = step > 0 and here.row() >= len(self.pairs.rows)
        if place < 0 or is_left_empty:
            self.focusNextPrevChild(step > 0)
        else:
            self.setCurrentIndex(self.pairs.index(row, column))
            self.edit(self.currentIndex())

    def _fit(self) -> None:
        rows = min(self.pairs.rowCount(), _MOST_SHOWN)
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + rows * ROW + 2)


def with_places(rows: Rows, first: int, places: Sequence[ObjectPath]) -> Rows:
    """Places from one row on: what is there keeps its name, what is new gets one after its place."""
    changed = list(rows)
    for number, place in enumerate(places, first if 0 <= first < len(rows) else len(rows)):
        if number < len(rows):
            changed[number] = (changed[number][0], str(place), *changed[number][2:])
            continue
        used = {row[0] for row in changed}
        plain = re.sub(r"\W+", "_", place.name).strip("_") or "data"
        names = (plain, *(f"{plain}_{more}" for more in range(2, len(changed) + 3)))
        changed.append((next(name for name in names if name not in used), str(place)))
    return tuple(changed)
