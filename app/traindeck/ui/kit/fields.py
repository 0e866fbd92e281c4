"""Fields of a form: a label with room for what is wrong, rows of pairs, and a list of places to complete with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QSize, QStringListModel, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QComboBox,
    QCompleter,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QStylePainter,
    QTableView,
    QWidget,
)

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, say
from traindeck.ui.kit.cards import ElidedButton, show_words
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import FocusedView, Index, TitledModel, plain_heads
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Rows

Choice = tuple[str, str]
"""What is shown, and what it stands for."""


def name_field(editor: QWidget, words: str) -> None:
    """What it is called aloud, also by whatever is typed into."""
    editor.setAccessibleName(words)
    line = editor.lineEdit() if isinstance(editor, QComboBox) else None
    if line is not None:
        line.setAccessibleName(words)


def label_of(title: str, field: QWidget) -> QLabel:
    """The words before it, with the letter that leads to it."""
    words = QLabel(title)
    words.setBuddy(field)
    name_field(field, title.replace("&", ""))
    return words


class Field(QWidget):
    """One question of the form; the error stands below, with the way out beside it."""

    remedy_wanted = Signal()

    def __init__(self, label: str, editor: QWidget, *beside: QWidget, label_width: int = 0) -> None:
        """`label_width`: the label stands before the editor, so wide, instead of above it."""
        super().__init__()
        self.editor = editor
        self.label = QLabel(label)
        self.label.setBuddy(editor)
        if not editor.accessibleName():
            name_field(editor, label)
        self.error = sentence("", "error")
        self.note = sentence("", "small")
        self.note.setMinimumWidth(4 * SPACE)  # what cannot be parted must not decide how wide the form is
        self.remedy = ElidedButton()
        self.remedy.clicked.connect(self.remedy_wanted)
        set_role(self.remedy, "link")
        row = row_of((editor, 1), *beside, spacing=HALF)
        remedy = (self.remedy, 0, Qt.AlignmentFlag.AlignLeft)
        below = (row, self.note, self.error, remedy)
        self._below = column_of(*(below if label_width else (self.label, *below)), margins=0, spacing=HALF)
        if label_width:
            self.label.setFixedSize(label_width, ROW)
        before = ((self.label, 0, Qt.AlignmentFlag.AlignTop),) if label_width else ()
        row_of(*before, (self._below, 1), inside=self, margins=0, spacing=SPACE)
        self.show_note("")
        self.show_error("")
        self.show_remedy("")

    def show_error(self, words: str) -> None:
        show_words(self.error, words)
        self.mark_wrong(words)

    def mark_wrong(self, words: str) -> None:
        """Seen at the editor, where what is wrong with it is written elsewhere."""
        self.is_wrong = bool(words)
        self.editor.setAccessibleDescription(words)
        set_role(self.editor, "invalid" if words else "")

    def show_note(self, words: str) -> None:
        """What the value comes to."""
        show_words(self.note, words)

    def add_below(self, widget: QWidget) -> None:
        """More to say, between the note and what is wrong."""
        self._below.insertWidget(self._below.indexOf(self.note) + 1, widget)

    def show_remedy(self, words: str) -> None:
        show_words(self.remedy, words)

    def show_changed(self, changed: bool) -> None:
        """Marked when it is not as it was in the run the form was filled from."""
        if not self.is_wrong:
            set_role(self.editor, "changed" if changed else "")


class ChoiceBox(QComboBox):
    """A combo box that shows a value even when it is not among the choices."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._choices: tuple[Choice, ...] = ()
        self._value = ""
        # The longest engine must not decide how wide the panel is.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.activated.connect(self._on_activated)

    def offer(self, choices: Sequence[Choice], value: str, *, is_known: bool = True, placeholder: str = "") -> None:
        choices = tuple(choices)
        stray = value and value not in [entry for _, entry in choices]
        if stray:
            shown = say("{value} (not available)", value=value) if is_known else value
            choices = ((shown, value), *choices)
        if (choices, value) == (self._choices, self._value) and self.placeholderText() == placeholder:
            return
        self._choices, self._value = choices, value
        self.setPlaceholderText(placeholder)
        self.clear()
        for words, entry in choices:
            self.addItem(words, entry)
            self.setItemData(self.count() - 1, words, Qt.ItemDataRole.ToolTipRole)
        self.setCurrentIndex(self.findData(value) if value else -1)
        self.setToolTip(self.currentText())

    def showPopup(self) -> None:
        """As wide as what is in it: there each entry is whole."""
        view = self.view()
        room = self.screen().availableGeometry().width() - 4 * SPACE
        wanted = view.sizeHintForColumn(0) + view.verticalScrollBar().sizeHint().width() + 2 * SPACE
        view.setMinimumWidth(min(wanted, room))
        view.setTextElideMode(Qt.TextElideMode.ElideNone)
        super().showPopup()

    def paintEvent(self, event: QPaintEvent) -> None:
        """One line; what does not fit is cut with a mark, not by the edge."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        place = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, place, self).width()
        words = option.currentText or self.placeholderText()
        option.currentText = self.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, room - HALF)
        if not self.currentText():
            brush = option.palette.placeholderText()
            option.palette.setBrush(QPalette.ColorRole.ButtonText, brush)
            option.palette.setBrush(QPalette.ColorRole.Text, brush)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def _on_activated(self, number: int) -> None:
        self._value = str(self.itemData(number))
        self.chosen.emit(self._value)


class WheelGuard(QObject):
    """Keeps the wheel, meant to scroll the form, from changing the field below the mouse."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def watch(self, *widgets: QWidget) -> None:
        for widget in widgets:
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.installEventFilter(self)


def guard_wheel(*fields: QWidget) -> None:
    WheelGuard(fields[0]).watch(*fields)


class Fold(QWidget):
    """A part of the form that is folded away until it is wanted."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.button = QPushButton()
        self.button.setCheckable(True)
        set_role(self.button, "link")
        self._inside = QWidget()
        self.column = column_of(inside=self._inside, margins=0, spacing=SPACE + HALF)
        column_of((self.button, 0, Qt.AlignmentFlag.AlignLeft), self._inside, inside=self, margins=0)
        self.button.toggled.connect(self.unfold)
        self.unfold(False)

    def unfold(self, wanted: bool) -> None:
        self.button.setChecked(wanted)
        self.button.setText(("▾ " if wanted else "▸ ") + self._words)
        self._inside.setVisible(wanted)


Prepare = Callable[[QLineEdit], None]
_MOST_SHOWN = 9


class PairModel(TitledModel):
    """Rows as typed; the last one is empty and waits for the next name."""

    COLUMNS = 2

    edited = Signal(object)

    def __init__(self, theme: Theme, value_title: str) -> None:
        super().__init__()
        self._theme = theme
        self._value_title = value_title
        self._rows: list[tuple[str, str]] = []
        self._errors: Mapping[str, Text] = {}

    @property
    def rows(self) -> Rows:
        return tuple(self._rows)

    def show(self, rows: Rows, errors: Mapping[str, Text]) -> None:
        """The errors are by name of their row."""
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
        if tuple(self._rows) != rows or errors != self._errors:
            self._rows = list(rows)
            self._errors = dict(errors)
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows), 1))

    def count_rows(self) -> int:
        return len(self._rows) + 1

    def headers(self) -> Sequence[str]:
        return (say("Name"), self._value_title)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsEditable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        is_new = index.row() >= len(self._rows)
        name = "" if is_new else self._rows[index.row()][0]
        if role == Qt.ItemDataRole.DisplayRole and is_new and index.column() == 0:
            return say("Add…")
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return "" if is_new else self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.ForegroundRole and is_new:
            return self._theme.color("dim")
        if role == Qt.ItemDataRole.ForegroundRole and name.strip() in self._errors:
            return self._theme.color("bad")
        if role == Qt.ItemDataRole.ToolTipRole and not is_new:
            error = self._errors.get(name.strip())
            return say(error) if error else self._rows[index.row()][index.column()]
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        rows = list(self._rows)
        if index.row() >= len(rows):
            if not str(value).strip():
                return False
            rows.append(("", ""))
        pair = list(rows[index.row()])
        if pair[index.column()] == str(value):
            return False
        pair[index.column()] = str(value)
        rows[index.row()] = (pair[0], pair[1])
        self.edited.emit(tuple(rows))
        return True


class _PairCell(QStyledItemDelegate):
    """A cell whose text counts while it is typed, so that a job sent at this moment has it.

    Draws the lines itself: those of the view do not follow the theme.
    """

    def __init__(self, theme: Theme, parent: QObject, prepare: Prepare | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._prepare = prepare

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        painter.setPen(self._theme.color("border"))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        painter.drawLine(option.rect.topRight(), option.rect.bottomRight())

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = super().createEditor(parent, option, index)
        if isinstance(editor, QLineEdit):
            editor.setProperty("before", index.data(Qt.ItemDataRole.EditRole))
            editor.textEdited.connect(self._on_typed)
            if self._prepare is not None and index.column() == 1:
                self._prepare(editor)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        # What was just typed comes back by way of the form; setting it again would move the caret.
        if not isinstance(editor, QLineEdit) or editor.text() != index.data(Qt.ItemDataRole.EditRole):
            super().setEditorData(editor, index)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        pressed = event.key() if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress else None
        if pressed == Qt.Key.Key_Escape and isinstance(watched, QLineEdit):
            watched.setText(str(watched.property("before")))
            self.commitData.emit(watched)
        return super().eventFilter(watched, event)

    def _on_typed(self, _: str) -> None:
        editor = self.sender()
        if isinstance(editor, QWidget):
            self.commitData.emit(editor)


class PairTable(FocusedView, QTableView):
    """Type to add, Delete to remove, paste `a=1;b=2` or lines."""

    pasted = Signal(str)

    def __init__(self, theme: Theme, name: str, value_title: str, prepare: Prepare | None = None) -> None:
        """`prepare` is told of each line that a value is typed into."""
        super().__init__()
        self.pairs = PairModel(theme, value_title)
        self.rows_edited = self.pairs.edited
        self.setModel(self.pairs)
        self.setAccessibleName(name)
        plain_heads(self)
        self.setShowGrid(False)
        self.setItemDelegate(_PairCell(theme, self, prepare))
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.AnyKeyPressed
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.SelectedClicked
        )
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().setStretchLastSection(True)
        self.horizontalHeader().resizeSection(0, 15 * SPACE)
        self.pairs.rowsInserted.connect(self._fit)
        self.pairs.rowsRemoved.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.height())

    def remove_selected(self) -> None:
        chosen = {index.row() for index in self.selectedIndexes()}
        self.rows_edited.emit(tuple(row for number, row in enumerate(self.pairs.rows) if number not in chosen))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.state() == QAbstractItemView.State.EditingState:
            # What a cell being edited leaves over, its Return for one, is not meant for the table.
            event.ignore()
        elif event.matches(QKeySequence.StandardKey.Paste):
            self.pasted.emit(QGuiApplication.clipboard().text())
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
        place = here.row() * PairModel.COLUMNS + here.column() + step
        row, column = divmod(place, PairModel.COLUMNS)
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
            changed[number] = (changed[number][0], str(place))
            continue
        used = {name for name, _ in changed}
        plain = re.sub(r"\W+", "_", place.name).strip("_") or "data"
        names = (plain, *(f"{plain}_{more}" for more in range(2, len(changed) + 3)))
        changed.append((next(name for name in names if name not in used), str(place)))
    return tuple(changed)


_MOST_PLACES_SHOWN = 12


class PlaceCompletion(QObject):
    """Belongs to its line; who offers decides what fits, whatever way it is spelled."""

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._line = line
        self._offers = QStringListModel(self)
        self._completer = QCompleter(self._offers, self)
        # What is offered is spelled as we spell it, whatever way it was typed.
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setMaxVisibleItems(_MOST_PLACES_SHOWN)
        popup = QListView()
        set_role(popup, "completion")
        self._completer.setPopup(popup)
        line.setCompleter(self._completer)
        self.typed, self.chosen = line.textEdited, self._completer.activated

    def offer(self, places: list[str]) -> None:
        """Show these, if something is still being typed."""
        self._offers.setStringList(places)
        if places and self._line.hasFocus() and self._line.isModified():
            self._completer.complete()
