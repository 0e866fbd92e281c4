"""Choosing one of many: a line as long as there is room, and a list with a filter, facts, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLineEdit,
    QListView,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.kit.fields import ChoiceBox
from traindeck.ui.kit.layouts import column_of, line, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import FocusedView, Index
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.form_choices import ChoiceRow

FilteredRows = Callable[[str], Sequence[ChoiceRow]]
"""Those that hold the words of the filter."""

_ROW_ROLE = Qt.ItemDataRole.UserRole
_MOST_SHOWN = 9
_NARROWEST = 44 * SPACE
_STEPS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class ChoiceModel(QAbstractListModel):
    """The lines of the list."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[ChoiceRow] = ()

    def show(self, rows: Sequence[ChoiceRow]) -> None:
        if list(rows) == list(self.rows):
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.rows[index.row()].why_not is not None:
            return Qt.ItemFlag.NoItemFlags
        return super().flags(index)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role == _ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{row.title}\n{facts_words(row)}"
        return None


def facts_words(row: ChoiceRow) -> str:
    """What is known of it; what keeps it from being chosen comes first."""
    facts = [say(row.why_not)] if row.why_not is not None else []
    facts += [say(fact) if not isinstance(fact, str) else fact for fact in row.facts]
    if row.is_recent:
        facts.append(say("used lately"))
    return " · ".join(facts)


class _TwoLines(QStyledItemDelegate):
    """The name, and below it the facts."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row = index.data(_ROW_ROLE)
        metrics = option.fontMetrics
        width = max(metrics.horizontalAdvance(row.title), metrics.horizontalAdvance(facts_words(row)))
        return QSize(width + 4 * SPACE, 2 * metrics.lineSpacing() + SPACE + HALF)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: ChoiceRow = index.data(_ROW_ROLE)
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        is_chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        ink = "on_selection" if is_chosen else "text" if row.why_not is None else "disabled"
        place = option.rect.adjusted(SPACE, HALF, -SPACE, -HALF)
        painter.save()
        elide = option.fontMetrics.elidedText
        for words, color, top in (
            (row.title, ink, place.top()),
            (facts_words(row), ink if is_chosen or row.why_not is not None else "dim", place.center().y()),
        ):
            painter.setPen(self._theme.color(color))
            shown = elide(words, Qt.TextElideMode.ElideMiddle, place.width())
            room = place.adjusted(0, 0, 0, 0)
            room.setTop(top)
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, shown)
        painter.restore()


class _ChoiceList(FocusedView, QListView):
    """Has its keys from the line of the filter."""


class ChoicePopup(QFrame):
    """Type to filter, arrows to go, Return to choose, Esc to leave."""

    chosen = Signal(str)
    refresh_wanted = Signal()

    def __init__(self, rows: FilteredRows, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._rows = rows
        set_role(self, "toast")
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(say("Filter: any words of the list"))
        self.filter.setAccessibleName(say("Filter"))
        self.filter.setClearButtonEnabled(True)
        self.model = ChoiceModel()
        self.list = _ChoiceList()
        self.list.setAccessibleName(name)
        self.list.setModel(self.model)
        self.list.setItemDelegate(_TwoLines(theme, self.list))
        self.list.setUniformItemSizes(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.none = sentence(say("Nothing matches."), "dim")
        self.none.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.none.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self.age = sentence("", "small")
        self.refresh = QPushButton(say("Refresh"))
        set_role(self.refresh, "link")
        foot = row_of((self.age, 1), self.refresh, margins=(SPACE, 0, HALF, 0), spacing=SPACE)
        column_of(
            self.filter, self.list, self.none, line(), foot, inside=self, margins=(HALF, HALF, HALF, HALF), spacing=HALF
        )
        self.filter.textChanged.connect(self.show_rows)
        self.filter.installEventFilter(self)
        self.list.clicked.connect(self._take)
        self.refresh.clicked.connect(self.refresh_wanted)

    def open_at(self, box: QWidget, value: str) -> None:
        """Below the box, as wide as the longest line if the screen allows."""
        self.filter.clear()
        self.show_rows()
        room = self.screen().availableGeometry()
        widest = max((self._hint(number).width() for number in range(self.model.rowCount())), default=0)
        width = min(max(widest + 3 * SPACE, box.width(), _NARROWEST), room.width() - 2 * SPACE)
        height = self._hint(0).height() if self.model.rowCount() else 0
        self.list.setFixedHeight(max(1, min(self.model.rowCount(), _MOST_SHOWN)) * max(height, 1) + 4)
        self.none.setFixedHeight(self.list.height())
        self.setFixedWidth(width)
        self.adjustSize()
        corner = box.mapToGlobal(QPoint(0, box.height()))
        left = max(room.left(), min(corner.x() + box.width() - width, room.right() - width))
        top = corner.y()
        if top + self.height() > room.bottom():
            top = max(room.top(), box.mapToGlobal(QPoint()).y() - self.height())
        self.move(left, top)
        self._go_to(value)
        self.show()
        self.filter.setFocus()

    def show_rows(self) -> None:
        value = self._current()
        self.model.show(self._rows(self.filter.text()))
        has_rows = self.model.rowCount() > 0
        self.list.setVisible(has_rows)
        self.none.setVisible(not has_rows)
        self._go_to(value)

    def show_age(self, words: str) -> None:
        self.age.setText(words)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.filter and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _STEPS:
                QApplication.sendEvent(self.list, event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._take(self.list.currentIndex())
                return True
        return super().eventFilter(watched, event)

    def _hint(self, number: int) -> QSize:
        return self.list.sizeHintForIndex(self.model.index(number))

    def _current(self) -> str:
        index = self.list.currentIndex()
        return self.model.rows[index.row()].value if index.isValid() else ""

    def _go_to(self, value: str) -> None:
        """The one that is chosen, or else the first that can be."""
        can_be = [number for number, row in enumerate(self.model.rows) if row.why_not is None]
        here = next((number for number in can_be if self.model.rows[number].value == value), None)
        number = here if here is not None else next(iter(can_be), None)
        if number is not None:
            self.list.setCurrentIndex(self.model.index(number))
            self.list.scrollTo(self.model.index(number))

    def _take(self, index: Index) -> None:
        if index.isValid() and self.model.rows[index.row()].why_not is None:
            self.hide()
            self.chosen.emit(self.model.rows[index.row()].value)


class ChoicePicker(ChoiceBox):
    """A box whose list can be filtered; letters typed into the closed box choose as in any other."""

    refresh_wanted = Signal()

    def __init__(self, rows: FilteredRows, theme: Theme, name: str) -> None:
        super().__init__()
        self._rows = rows
        self._theme = theme
        self._name = name
        self._words_of_age = ""
        self.popup: ChoicePopup | None = None

    def offer_rows(
        self, rows: Sequence[ChoiceRow], value: str, *, forms: Sequence[str], is_known: bool, placeholder: str
    ) -> None:
        """`forms`: how the chosen one is called on one line, in all words and in fewer."""
        choices = [(forms[0] if row.value == value else row.title, row.value) for row in rows]
        # What is not offered any more says so, and is not made shorter.
        self.call_shorter(forms[1:] if any(row.value == value for row in rows) else ())
        shut = {row.value for row in rows if row.why_not is not None and row.value != value}
        self.offer(choices, value, is_known=is_known, placeholder=placeholder, shut=shut)
        if self.popup is not None and self.popup.isVisible():
            self.popup.show_rows()

    def show_age(self, words: str) -> None:
        self._words_of_age = words
        if self.popup is not None:
            self.popup.show_age(words)

    def showPopup(self) -> None:
        if self.popup is None:
            self.popup = ChoicePopup(self._rows, self._theme, self._name, self.window())
            self.popup.chosen.connect(self.chosen)
            self.popup.refresh_wanted.connect(self.refresh_wanted)
            self.popup.show_age(self._words_of_age)
        self.popup.open_at(self, str(self.currentData() or ""))

    def hidePopup(self) -> None:
        if self.popup is not None:
            self.popup.hide()
        super().hidePopup()
