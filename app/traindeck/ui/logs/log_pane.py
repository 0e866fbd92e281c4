"""The rows of a log, painted: what is in sight is all there is of them in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QAbstractSlider, QApplication, QPushButton

from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.logs.log_colours import LogColours
from traindeck.ui.logs.log_mouse import LogMouse
from traindeck.ui.logs.log_scroll_bar import LogScrollBar
from traindeck.ui.logs.log_selection import LogSelection, Spot
from traindeck.ui.logs.log_spoken import SpokenLines
from traindeck.ui.logs.row_layouts import LaidOut, Marked, RowLayouts, cursor_x, unit_at, units
from traindeck.ui.logs.row_painter import RowPainter
from traindeck.viewmodels.logs.log_rows import LogRow, LogRows

_NOTCH = 120
_LEAST_DIGITS, _LEAST_POINTS = 3, 5
_MOST_SELECTED = 1000
_PLAIN_KEYS = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class Position(NamedTuple):
    """The row at the top, by its place, and how many of its lines are above that."""

    place: int
    skipped: int = 0


class LogPane(QAbstractScrollArea):
    """Only a scroll of the user's changes whether the end is followed; no click and no selection does."""

    follow_wanted = Signal(bool)
    moved = Signal()
    """Other rows are in sight."""
    selection_changed = Signal()
    zoom_wanted = Signal(int)
    link_clicked = Signal(object)
    badge_clicked = Signal(object)
    """The row that stands for several."""

    def __init__(self, lines: LogRows, theme: Theme) -> None:
        super().__init__()
        self.lines, self._theme = lines, theme
        self._follows, self._wraps, self._has_news = True, False, False
        self.marks_of: Callable[[LogRow], Marked] = lambda _: ()
        """Parts of its words that look otherwise."""
        self._wanted = self._shown = Position(0)
        self._number = 0
        """The row at the top; places change with what is shown."""
        self._placeholder = ""
        self._wheel = 0.0
        self._widest = 0.0
        self._is_placing = False
        self.setVerticalScrollBar(LogScrollBar(theme))
        self.selection = LogSelection()
        self.layouts = RowLayouts(theme.mono_font(), lambda row: self.marks_of(row))
        self.painter = RowPainter(theme, self.layouts, self.selection)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(say("Log"))
        set_role(self, "lines")
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.viewport().setMouseTracking(True)
        self.spoken = SpokenLines(self.viewport())
        self.pill = QPushButton(self)
        self.pill.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.pill.setCursor(Qt.CursorShape.PointingHandCursor)
        set_role(self.pill, "pill")
        self.pill.hide()
        self.pill.clicked.connect(self.to_end)
        self._mouse = LogMouse(self)
        bar = self.verticalScrollBar()
        bar.actionTriggered.connect(self._tell_where)
        bar.valueChanged.connect(self._on_bar)
        self.horizontalScrollBar().valueChanged.connect(self.viewport().update)
        lines.changed.connect(self._on_changed)
        lines.arrived.connect(self._on_arrived)
        lines.counted.connect(self._on_counted)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    # what is told from outside

    def follow(self, wanted: bool, new_lines: int) -> None:
        if wanted and not self._follows:
            self._follows = True
            self._place()
        self._follows = wanted  # whoever scrolls away is on his way: the bar has not moved yet
        self._has_news = not wanted and new_lines > 0
        self.pill.setVisible(self._has_news and self._wanted < self._end())
        if new_lines:
            self.pill.setText(say_count("{count} new line", "{count} new lines", new_lines))
            self._place_pill()

    def clear(self) -> None:
        """Another log is shown."""
        self.selection.clear()
        self.layouts.clear()
        self._widest, self._number = 0.0, 0
        self._wanted = self._shown = Position(0)
        self.horizontalScrollBar().setValue(0)
        self._on_changed()

    def show_words_instead(self, words: str) -> None:
        """While there are no rows."""
        if words != self._placeholder:
            self._placeholder = words
            self.viewport().update()

    def look_as(self, *, wraps: bool, shows_numbers: bool, zoom: int) -> None:
        """Long lines in several, numbers in front of them, letters so many points larger than usual."""
        self._wraps, self.painter.shows_numbers = wraps, shows_numbers
        font = self._theme.mono_font()
        font.setPointSize(max(_LEAST_POINTS, font.pointSize() + zoom))
        self.layouts.use_font(font)
        self._widest = 0.0
        self._set_sideways()
        self._place()

    def show_row(self, number: int, *, at_top: bool = False) -> None:
        """Bring it into sight; the end is not followed then, unless it is there."""
        place = self.lines.place_of(number)
        if not at_top:
            if self._shown.place <= place < self._shown.place + self.visible_lines - 1 and not self._wraps:
                self._tell_where()
                return
            place = max(0, place - self.visible_lines // 3)
        self._move_to(Position(place))
        self._tell_where()

    def to_end(self) -> None:
        self._move_to(self._end())
        self.follow_wanted.emit(True)

    def mark_again(self) -> None:
        """What is marked in the rows has changed."""
        self.layouts.clear()
        self.viewport().update()

    # what is asked from outside

    @property
    def top_number(self) -> int:
        """The row at the top."""
        return self._number

    @property
    def visible_lines(self) -> int:
        """As many as fit whole."""
        return max(1, (self.viewport().height() - HALF) // self.layouts.line_height)

    @property
    def is_at_end(self) -> bool:
        return self._wanted >= self._end()

    @property
    def is_settled(self) -> bool:
        """What is to be in sight is here."""
        return self._shown == self._wanted

    def rows_in_sight(self) -> list[LogRow]:
        return [laid.row for _, laid in self._laid_out()]

    def rows_known(self, number: int) -> list[LogRow]:
        """This one, if it is in memory."""
        row = self.lines.row(number)
        return [] if row is None else [row]

    def selected_words(self) -> str:
        """Of the first rows, as far as they are in memory; without colours, without marks of ours."""
        if (ends := self.selection.ends) is None:
            return ""
        last = min(ends[1].number, ends[0].number + _MOST_SELECTED)
        rows = (self.lines.row(number) for number in range(ends[0].number, last + 1))
        return "\n".join(self.selection.words_in(row) for row in rows if row is not None and row.mark is None)

    def select_all(self) -> None:
        if self.lines.rows:
            last = self.lines.rows - 1
            row = self.lines.row(last)
            self.selection.choose(Spot(0, 0), Spot(last, units(row.words) if row is not None else 1 << 30))
            self.selected_anew()

    def select_in(self, row: LogRow, begin: int, end: int) -> None:
        """This part of its words."""
        first, last = (Spot(row.number, units(row.words[:edge])) for edge in (begin, end))
        self.selection.choose(first, last)
        self.selected_anew()
        self.show_row(row.number)
        self._show_sideways(row, last.unit)

    def select_row(self, number: int) -> None:
        """All of it, in sight."""
        row = self.lines.row(number)
        self.selection.choose(Spot(number, 0), Spot(number, units(row.words) if row is not None else 1 << 30))
        self.selected_anew()
        self.show_row(number)

    # where

    def _end(self) -> Position:
        """Where the last row is at the bottom."""
        count, room = len(self.lines), self.visible_lines
        if not self._wraps:
            return Position(max(0, count - room))
        for place in range(count - 1, max(-1, count - 1 - room), -1):
            lines = self._lines_at(place)
            if lines >= room:
                return Position(place, lines - room)
            room -= lines
        return Position(0 if count - 1 < room else max(0, count - self.visible_lines))

    def _lines_at(self, place: int) -> int:
        row = self.lines.row(self.lines.number_at(place)) if 0 <= place < len(self.lines) else None
        return 1 if row is None or not self._wraps else self.layouts.of(row).lines

    def scroll_by(self, lines: int) -> None:
        place, skipped = self._wanted
        skipped += lines
        while skipped < 0 and place > 0:
            place -= 1
            skipped += self._lines_at(place)
        while place < len(self.lines) - 1 and skipped >= (here := self._lines_at(place)):
            skipped -= here
            place += 1
        self._move_to(Position(place, max(0, skipped)))
        self._tell_where()

    def _move_to(self, to: Position) -> None:
        end = self._end()
        self._wanted = max(Position(0), min(to, end))
        self._set_bar(end)
        self._show_wanted()

    def _place(self) -> None:
        """Something about the rows or the room for them has changed: the same row stays at the top, or the last."""
        width = self.viewport().width() - self._left - SPACE
        self.layouts.wrap_at(max(10 * self.layouts.sign_width, width) if self._wraps else 0.0)
        if self._follows:
            self.lines.want(len(self.lines) - self.visible_lines - 1, self.visible_lines + 1)
            self._move_to(self._end())
        else:
            place = self.lines.place_of(self._number) if len(self.lines) else 0
            self._move_to(Position(place, self._wanted.skipped if place == self._wanted.place else 0))
        self.viewport().update()

    def _set_bar(self, end: Position) -> None:
        bar = self.verticalScrollBar()
        self._is_placing = True
        most = end.place + (end.skipped > 0)
        bar.setRange(0, most)
        bar.setPageStep(self.visible_lines)
        bar.setValue(most if self._wanted >= end else self._wanted.place)
        self._is_placing = False
        self.pill.setVisible(self._has_news and self._wanted < end)  # it leads to nothing where the end is in sight

    def _show_wanted(self) -> None:
        """As soon as its rows are here; until then what was there stays."""
        if self.lines.want(self._wanted.place - 1, self.visible_lines + 3):
            self._shown = self._wanted
            if len(self.lines):
                self._number = self.lines.number_at(min(self._shown.place, len(self.lines) - 1))
            self.viewport().update()
            self.moved.emit()

    def _on_bar(self, value: int) -> None:
        if not self._is_placing:
            bar = self.verticalScrollBar()
            self._wanted = self._end() if value >= bar.maximum() else Position(value)
            self._show_wanted()

    def _tell_where(self, *_: object) -> None:
        # An action of the bar is told of before the value moves to where this is already.
        bar = self.verticalScrollBar()
        self.follow_wanted.emit(bar.sliderPosition() >= bar.maximum())

    def _on_changed(self) -> None:
        self._place()

    def _on_arrived(self) -> None:
        if self._follows and self._wraps:
            self._place()  # only now it is known how many lines they take
        else:
            self._show_wanted()

    def _on_counted(self, rows: int) -> None:
        self._number += rows
        self.selection.move(rows)
        self.layouts.clear()

    # painting

    @property
    def _left(self) -> int:
        """Where the words begin."""
        if not self.painter.shows_numbers:
            return SPACE
        digits = max(_LEAST_DIGITS, len(str(self.lines.rows)))
        return int(digits * self.layouts.sign_width) + 2 * SPACE

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self._theme.color("sunken"))
        painter.setFont(self.layouts.font)
        painted = list(self._laid_out())
        if not painted and not len(self.lines):
            painter.setPen(self._theme.color("dim"))
            room = self.viewport().rect().adjusted(SPACE, HALF, -SPACE, -HALF)
            painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap, self._placeholder)
            return
        widest = max((laid.width for _, laid in painted), default=0.0)
        if widest > self._widest:
            self._widest = widest
            self._set_sideways()
        self.painter.is_focused = self.hasFocus()
        whole = QRectF(self.viewport().rect())
        self.painter.paint(painter, painted, self._left, self.horizontalScrollBar().value(), whole)

    def _laid_out(self) -> Iterator[tuple[float, LaidOut]]:
        height, top = self.layouts.line_height, HALF - self._shown.skipped * self.layouts.line_height
        for number in self.lines.numbers(self._shown.place, self.visible_lines + self._shown.skipped + 2):
            row = self.lines.row(number)
            if row is not None:
                laid = self.layouts.of(row)
                yield float(top), laid
                top += laid.lines * height
            else:
                top += height
            if top > self.viewport().height():
                return

    def _set_sideways(self) -> None:
        bar, room = self.horizontalScrollBar(), self.viewport().width() - self._left - SPACE
        bar.setRange(0, 0 if self._wraps else max(0, int(self._widest) - room))
        bar.setPageStep(max(1, room))
        bar.setSingleStep(int(4 * self.layouts.sign_width))

    def _show_sideways(self, row: LogRow, unit: int) -> None:
        laid = self.layouts.of(row)
        if self._wraps or not laid.layout.lineCount():
            return
        self._widest = max(self._widest, laid.width)
        self._set_sideways()
        x = cursor_x(laid, unit)
        bar, room = self.horizontalScrollBar(), self.viewport().width() - self._left - SPACE
        if not bar.value() <= x <= bar.value() + room:
            bar.setValue(int(x) - room // 2)

    # mouse and keys

    def spot_at(self, point: QPoint) -> Spot | None:
        """The nearest place between two signs."""
        x = point.x() - self._left + self.horizontalScrollBar().value()
        spot = None
        for top, laid in self._laid_out():
            if spot is not None and point.y() < top:
                break
            line = int((point.y() - top) // self.layouts.line_height)
            spot = Spot(laid.row.number, unit_at(laid, x, line))
        return spot

    def row_at(self, point: QPoint) -> LogRow | None:
        for top, laid in self._laid_out():
            if top <= point.y() < top + laid.lines * self.layouts.line_height:
                return laid.row
        return None

    def badge_at(self, point: QPoint) -> LogRow | None:
        return self.painter.badge_at(list(self._laid_out()), point, self.viewport().width())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._mouse.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mouse.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._mouse.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._mouse.double_click(event)

    def selected_anew(self) -> None:
        self.viewport().update()
        self.selection_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, page = event.key(), max(1, self.visible_lines - 1)
        steps = {
            Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page,
            Qt.Key.Key_Space: page,
        }  # fmt: skip
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if modifiers == Qt.KeyboardModifier.ShiftModifier and key != Qt.Key.Key_Space and self._extend_by(key, steps):
            return
        if modifiers not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_End:
            self.to_end()
        elif key == Qt.Key.Key_Home:
            self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderToMinimum)
        elif event.modifiers() in _PLAIN_KEYS and key in steps:
            self.scroll_by(steps[Qt.Key(key)])
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            bar = self.horizontalScrollBar()
            bar.setValue(bar.value() + (bar.singleStep() if key == Qt.Key.Key_Right else -bar.singleStep()))
        else:
            super().keyPressEvent(event)

    def _extend_by(self, key: int, steps: dict[Qt.Key, int]) -> bool:
        """From where the selection ends, or from the row at the top."""
        caret = self.selection.caret or Spot(self.top_number, 0)
        row = self.lines.row(caret.number)
        length = units(row.words) if row is not None else 0
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            to = Spot(caret.number, max(0, min(length, caret.unit + (1 if key == Qt.Key.Key_Right else -1))))
        elif key == Qt.Key.Key_Home:
            to = Spot(caret.number, 0)
        elif key == Qt.Key.Key_End:
            to = Spot(caret.number, length)
        elif key in steps:
            place = self.lines.place_of(caret.number) + steps[Qt.Key(key)]
            to = Spot(self.lines.number_at(max(0, min(place, len(self.lines) - 1))), caret.unit)
        else:
            return False
        self.selection.anchor = self.selection.anchor or caret
        self.selection.caret = to
        self.selected_anew()
        self.show_row(to.number)
        return True

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned, pixels = event.angleDelta(), event.pixelDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if turned.y():
                self.zoom_wanted.emit(1 if turned.y() > 0 else -1)
        elif turned.x() or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            bar = self.horizontalScrollBar()
            bar.setValue(bar.value() - (turned.x() or turned.y()) * bar.singleStep() // _NOTCH)
        elif turned.y() or pixels.y():
            height = self.layouts.line_height
            lines = pixels.y() / height if pixels.y() else turned.y() / _NOTCH * QApplication.wheelScrollLines()
            self._wheel -= lines
            whole = int(self._wheel)
            self._wheel -= whole
            self.scroll_by(whole)
        event.accept()

    # room and looks

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 30 * SPACE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.spoken.setGeometry(self.viewport().rect())
        self._place_pill()
        self._set_sideways()
        self._place()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "layouts"):
            self._place()

    def _apply_theme(self) -> None:
        self.layouts.colours = LogColours(self._theme)
        self.mark_again()

    def _place_pill(self) -> None:
        self.pill.adjustSize()
        room = self.viewport().geometry()
        self.pill.move(room.center().x() - self.pill.width() // 2, room.bottom() - self.pill.height() - 2 * SPACE)
