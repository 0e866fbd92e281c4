"""The job form as text: the lines of a job file, with what is wrong at its line."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QListWidgetItem, QPlainTextEdit, QTextEdit, QWidget

from traindeck.domain.texts import say
from traindeck.ui.jobs.form.check_list import COLOR_ROLE, WrappedRows, WrappedWords
from traindeck.ui.kit.layouts import column_of, line
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.form_text import FormText, TextMark

_MARK_LINES = 3
_LINE_ROLE = Qt.ItemDataRole.UserRole


class NumberedText(QPlainTextEdit):
    """Plain text with the numbers of its lines beside it; those with something to mend are marked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._marks: dict[int, str] = {}
        self._margin = _Margin(self)
        set_role(self, "log")
        self.setFont(theme.mono_font())
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.blockCountChanged.connect(self._fit)
        self.updateRequest.connect(self._on_update)
        self._fit()

    def show_marks(self, marks: dict[int, str]) -> None:
        self._marks = marks
        shown = []
        for number in marks:
            block = self.document().findBlockByNumber(number - 1)
            if block.isValid():
                place = QTextEdit.ExtraSelection()
                place.cursor = QTextCursor(block)
                form = place.format
                form.setBackground(self._theme.color("bad_soft"))
                form.setProperty(form.Property.FullWidthSelection, True)
                shown.append(place)
        self.setExtraSelections(shown)
        self._margin.update()

    def go_to_line(self, number: int) -> None:
        block = self.document().findBlockByNumber(max(0, number - 1))
        cursor = QTextCursor(block if block.isValid() else self.document().lastBlock())
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        self.setTextCursor(cursor)
        self.centerCursor()
        self.setFocus()

    def margin_width(self) -> int:
        digits = max(2, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("9") * digits + 2 * SPACE

    def paint_margin(self, event: QPaintEvent) -> None:
        painter = QPainter(self._margin)
        painter.fillRect(event.rect(), self._theme.color("sunken"))
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            number = block.blockNumber() + 1
            color: QColor = self._theme.color("bad" if number in self._marks else "dim")
            painter.setPen(color)
            place = QRect(0, int(top), self._margin.width() - SPACE, int(height))
            painter.drawText(place, Qt.AlignmentFlag.AlignRight, str(number))
            block, top = block.next(), top + height
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_margin()

    def _fit(self) -> None:
        self.setViewportMargins(self.margin_width(), 0, 0, 0)
        self._place_margin()

    def _place_margin(self) -> None:
        room = self.contentsRect()
        self._margin.setGeometry(room.left(), room.top(), self.margin_width(), room.height())

    def _on_update(self, place: QRect, scrolled: int) -> None:
        if scrolled:
            self._margin.scroll(0, scrolled)
        else:
            self._margin.update(0, place.y(), self._margin.width(), place.height())


class _Margin(QWidget):
    """Where the numbers stand."""

    def __init__(self, words: NumberedText) -> None:
        super().__init__(words)
        self._words = words

    def sizeHint(self) -> QSize:
        return QSize(self._words.margin_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._words.paint_margin(event)


class FormTextView(QWidget):
    """Typed here, the form follows as soon as it can be read."""

    def __init__(self, written: FormText, theme: Theme) -> None:
        super().__init__()
        self._written = written
        self._is_showing = False
        set_role(self, "page")
        self.text = NumberedText(theme)
        self.text.setAccessibleName(say("Job file"))
        self.marks = WrappedRows()
        self.marks.setAccessibleName(say("Mistakes in the text"))
        self.marks.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.marks.setItemDelegate(WrappedWords(theme, self.marks))
        self.marks.setResizeMode(WrappedRows.ResizeMode.Adjust)
        set_role(self.marks, "checks")
        # Always as high, whatever is in it.
        self.marks.setFixedHeight(_MARK_LINES * (self.fontMetrics().height() + 2 * HALF))
        column_of((self.text, 1), line(), self.marks, inside=self, margins=0, spacing=0)
        self.setFocusProxy(self.text)
        self.text.textChanged.connect(self._on_typed)
        self.marks.itemClicked.connect(self._on_chosen)
        self.marks.itemActivated.connect(self._on_chosen)
        theme.changed.connect(self._show_marks)
        written.changed.connect(self._show_marks)
        written.written.connect(self._show_text)
        self._show_text()
        self._show_marks()

    def _show_text(self) -> None:
        """What somebody else wrote; the caret stays where it was."""
        place = self.text.textCursor().position()
        self._is_showing = True
        self.text.setPlainText(self._written.state.source)
        self._is_showing = False
        cursor = self.text.textCursor()
        cursor.setPosition(min(place, self.text.document().characterCount() - 1))
        self.text.setTextCursor(cursor)
        self._show_marks()  # those of the text before have lost their lines

    def _on_typed(self) -> None:
        if not self._is_showing:
            self._written.edit(self.text.toPlainText())

    def _show_marks(self) -> None:
        marks = self._written.state.marks
        self.text.show_marks({mark.line: say(mark.words) for mark in marks if mark.line is not None})
        self.marks.clear()
        for mark in marks:
            item = QListWidgetItem(_words(mark), self.marks)
            item.setData(_LINE_ROLE, mark.line or 0)
            item.setToolTip(_words(mark))
            item.setData(COLOR_ROLE, "bad")
        if not marks:
            item = QListWidgetItem(say("✓ The text can be read."), self.marks)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled)
            item.setData(COLOR_ROLE, "dim")

    def _on_chosen(self, item: QListWidgetItem) -> None:
        if number := int(item.data(_LINE_ROLE) or 0):
            self.text.go_to_line(number)


def _words(mark: TextMark) -> str:
    words = say(mark.words)
    if mark.line is None or mark.is_blocking:
        return f"✗ {words}"  # it names its line itself
    return "✗ " + say("Line {line}: {words}", line=mark.line, words=words)
