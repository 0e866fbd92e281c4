"""Cards of a page, what a page says while it is empty, lines that are cut off, and buttons that are only an icon."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, SignalInstance
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QToolButton,
    QWidget,
)

from traindeck.ui.kit.layouts import LayoutItem, column_of, label, on_one_line, scrolling
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role

Pressed = Callable[..., object] | SignalInstance
"""What a button does."""


class Facts(QWidget):
    """Two columns of words that can be selected; built again only when they changed."""

    def __init__(self) -> None:
        super().__init__()
        self._facts: list[tuple[str, str]] = []
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * SPACE)
        self._grid.setVerticalSpacing(HALF)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_facts(self, facts: list[tuple[str, str]]) -> None:
        if facts == self._facts:
            return
        self._facts = facts
        while len(self._labels) < len(facts):
            pair = (plain("dim"), plain(""))
            pair[0].setWordWrap(False)
            for column, words in enumerate(pair):
                self._grid.addWidget(words, len(self._labels), column, Qt.AlignmentFlag.AlignTop)
            self._labels.append(pair)
        while len(self._labels) > len(facts):
            for words in self._labels.pop():
                words.deleteLater()
        for (name, value), (left, right) in zip(facts, self._labels, strict=True):
            left.setText(name)
            right.setText(value)
            on_one_line(left, right)
        self.setVisible(bool(facts))


def plain(role: str, words: str = "") -> QLabel:
    """Filled later mostly, and to be copied from."""
    return label(words, role, wraps=role != "title", copies=True)


def show_words(place: QLabel | QPushButton, words: str) -> None:
    """Nothing to say, nothing to see."""
    place.setText(words)
    place.setVisible(bool(words))


class _PushButton(QPushButton):
    """Return presses it where it has the focus, and nowhere else: not from a field beside it."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.setAutoDefault(False)
        self._left_as = ""

    def setEnabled(self, wanted: bool) -> None:
        """The keyboard waits beside it: Qt would carry it off, as far as into another panel."""
        holder = self.parentWidget()
        if not wanted and self.hasFocus() and holder is not None and holder.focusProxy() is None:
            self._left_as = self.text()
            holder.setFocus()
        super().setEnabled(wanted)
        if wanted and self._left_as:
            is_same, self._left_as = self._left_as == self.text(), ""
            if is_same and holder is not None and holder.hasFocus():
                self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        has_modifiers = bool(event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not has_modifiers and not event.isAutoRepeat():
            self.click()
        else:
            super().keyPressEvent(event)


def push_button(words: str, act: Pressed | None = None, role: str = "", tip: str = "") -> QPushButton:
    made = _PushButton(words)
    made.setToolTip(tip)
    if role:
        set_role(made, role)
    if act is not None:
        made.clicked.connect(act)
    return made


def card(words: str, inside: Sequence[QWidget]) -> QFrame:
    frame = QFrame()
    set_role(frame, "card")
    column = column_of(inside=frame, margins=(2 * SPACE, SPACE + HALF, 2 * SPACE, SPACE + HALF), spacing=SPACE)
    column.addWidget(label(words, "heading"))
    for widget in inside:
        align = Qt.AlignmentFlag.AlignLeft if isinstance(widget, QPushButton) else Qt.AlignmentFlag(0)
        column.addWidget(widget, 0, align)
    return frame


def fill_scrolling(page: QWidget, column: QLayout) -> None:
    """What does not fit on the page is scrolled to."""
    inside = QWidget()
    inside.setLayout(column)
    column_of(scrolling(inside), inside=page, margins=0)


def fill_with_rows(page: QWidget, head: Sequence[LayoutItem], rows: QWidget, least: int = 12 * SPACE) -> None:
    """Rows have all the room that is left; where that is less than `least`, the whole page is scrolled."""
    rows.setMinimumHeight(least)
    rows.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
    inside = QWidget()
    set_role(inside, "page")
    inside.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    column_of(*head, (rows, 1), inside=inside, margins=0, spacing=0)
    area = scrolling(inside)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    column_of(area, inside=page, margins=0)


_ANY_HEIGHT = 16_777_215  # as Qt has it for widgets without a limit


class EmptyPage(QWidget):
    """One sentence about what is, one about what to do."""

    def __init__(self, title: str, hint: str) -> None:
        super().__init__()
        self._own = (title, hint)
        self.title, self.hint = label("", "heading", wraps=True), label("", "dim", wraps=True)
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        for words in (self.title, self.hint):
            words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._column = column_of(1, self.title, self.hint, 2, inside=self, margins=2 * SPACE, spacing=HALF)
        self.restore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is little room, the sentences have all of it, and the first comes first."""
        super().resizeEvent(event)
        around, width = self._around(self.height()), self.width()
        self._column.setContentsMargins(2 * SPACE, around, 2 * SPACE, around)
        needed = sum(words.heightForWidth(width - 4 * SPACE) for words in (self.title, self.hint))
        self.hint.setMaximumHeight(_ANY_HEIGHT if needed + HALF <= self.height() - 2 * around else 0)

    def _around(self, height: int) -> int:
        return 2 * SPACE if height > 12 * SPACE else 0

    def say(self, title: str, hint: str) -> None:
        self.title.setText(title)
        show_words(self.hint, hint)

    def restore(self) -> None:
        self.say(*self._own)


class ElidedLabel(QLabel):
    """Keeps its whole text; the tool tip shows it when it was cut."""

    def __init__(self, words: str = "", role: str = "") -> None:
        super().__init__(words)
        self.setTextFormat(Qt.TextFormat.PlainText)
        set_role(self, role)

    def minimumSizeHint(self) -> QSize:
        return QSize(4 * SPACE, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        room = self.contentsRect()
        words = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        self.setToolTip(self.text() if words != self.text() else "")
        self.style().drawItemText(
            painter, room, int(self.alignment()), self.palette(), self.isEnabled(), words, self.foregroundRole()
        )


class ElidedButton(_PushButton):
    """May become narrower than its words; the tool tip has all of them."""

    def __init__(self, words: str = "") -> None:
        super().__init__(words)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(6 * SPACE, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionButton()
        self.initStyleOption(option)
        needed = self.fontMetrics().horizontalAdvance(self.text())
        room = self.width() - (self.sizeHint().width() - needed)
        if room < needed:  # words that just fit would be cut, too: they are some part of a pixel wider
            option.text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
        self.setToolTip(self.text() if option.text != self.text() else "")
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        painter.end()


_DRAWN = "drawn"


def tool_button(icon: str, words: str, act: Pressed | None = None) -> QToolButton:
    button = QToolButton()
    button.setToolTip(words)
    button.setAccessibleName(words)
    button.setProperty(_DRAWN, icon)
    if act is not None:
        button.clicked.connect(act)
    return button


def theme_tool_buttons(inside: QWidget, theme: Theme) -> None:
    """Draw their icons in the colours of the theme; again whenever it is another one."""
    for button in inside.findChildren(QToolButton):
        if icon := button.property(_DRAWN):
            button.setIcon(theme.icon(str(icon)))
