"""The lines of a log, with the rule when to stay at the end."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QTextCursor, QTextDocument, QWheelEvent
from PySide6.QtWidgets import QAbstractSlider, QPlainTextEdit, QPushButton

from traindeck.domain.texts import say
from traindeck.ui.theme import SPACE, Theme, set_role
from traindeck.viewmodels.log_feed import MOST_LINES, LogBatch

_REBUILD_FROM = 1000
"""So many lines at once are faster set as a whole than added: adding 5,000 to a full view takes 45 ms, setting 6 ms."""

_MOVING_KEYS = {
    Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_Space,
}  # fmt: skip


class LogPane(QPlainTextEdit):
    """Read-only lines. Only a scroll of the user's changes whether the end is followed; no click does."""

    follow_wanted = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._follows = True
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(MOST_LINES + 1)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(theme.mono_font())
        self.setAccessibleName(say("Log"))
        self.setTabChangesFocus(True)
        set_role(self, "log")
        self.pill = QPushButton(self)
        self.pill.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.pill.setCursor(Qt.CursorShape.PointingHandCursor)
        set_role(self.pill, "pill")
        self.pill.hide()
        self.pill.clicked.connect(self.to_end)
        self.verticalScrollBar().actionTriggered.connect(self._on_scroll_action)

    def clear_lines(self) -> None:
        self.setPlainText("")

    def add(self, batch: LogBatch, so_far: LogBatch) -> None:
        """Show what arrived; `so_far` is all there is to show."""
        lines = [*_gap_words(batch), *batch.lines]
        if len(lines) >= _REBUILD_FROM and self._follows and not self.textCursor().hasSelection():
            self.setPlainText("\n".join([*so_far.lines, so_far.open_line]))
        else:
            self._append(lines, batch.open_line)
        if self._follows:
            self._scroll_to_end()

    def follow(self, wanted: bool, new_lines: int) -> None:
        if wanted and not self._follows:
            self._follows = True
            self._scroll_to_end()
        self._follows = wanted
        self.pill.setVisible(not wanted and new_lines > 0)
        if new_lines:
            words = say("{count} new lines", count=f"{new_lines:,}")
            self.pill.setText(say("1 new line") if new_lines == 1 else words)
            self._place_pill()

    def to_end(self) -> None:
        self._scroll_to_end()
        self.follow_wanted.emit(True)

    def find_words(self, words: str, *, backwards: bool = False) -> bool:
        """Select the next place of `words`, around the end if need be."""
        flags = QTextDocument.FindFlag.FindBackward if backwards else QTextDocument.FindFlag(0)
        found = self.document().find(words, self.textCursor(), flags)
        if found.isNull():
            edge = QTextCursor(self.document())
            edge.movePosition(QTextCursor.MoveOperation.End if backwards else QTextCursor.MoveOperation.Start)
            found = self.document().find(words, edge, flags)
        if found.isNull():
            return False
        self.setTextCursor(found)
        self.centerCursor()
        self._tell_where()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_End:
            self.to_end()
            return
        bar = self.verticalScrollBar()
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if event.key() in _MOVING_KEYS and plain:
            # Without a caret to see, these keys scroll.
            actions = {
                Qt.Key.Key_Up: QAbstractSlider.SliderAction.SliderSingleStepSub,
                Qt.Key.Key_Down: QAbstractSlider.SliderAction.SliderSingleStepAdd,
                Qt.Key.Key_PageUp: QAbstractSlider.SliderAction.SliderPageStepSub,
                Qt.Key.Key_Home: QAbstractSlider.SliderAction.SliderToMinimum,
            }
            bar.triggerAction(actions.get(Qt.Key(event.key()), QAbstractSlider.SliderAction.SliderPageStepAdd))
            return
        super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        if event.angleDelta().y() or event.pixelDelta().y():
            self._tell_where()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_pill()
        if self._follows:
            self._scroll_to_end()

    def focusInEvent(self, event: QFocusEvent) -> None:
        # The caret of a read-only log is nowhere the user put it: do not scroll to it.
        place = self.verticalScrollBar().value()
        super().focusInEvent(event)
        self.verticalScrollBar().setValue(place)

    def _append(self, lines: list[str], open_line: str) -> None:
        bar = self.verticalScrollBar()
        before, blocks = bar.value(), self.document().blockCount()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText("\n".join([*lines, open_line]))
        if not self._follows:
            # What fell off at the top must not move what is being read.
            fallen = blocks + len(lines) - self.document().blockCount()
            bar.setValue(max(0, before - fallen))

    def _scroll_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _on_scroll_action(self, _: int) -> None:
        # Sent before the value moves to where `sliderPosition` already is.
        bar = self.verticalScrollBar()
        self.follow_wanted.emit(bar.sliderPosition() >= bar.maximum())

    def _tell_where(self) -> None:
        bar = self.verticalScrollBar()
        self.follow_wanted.emit(bar.value() >= bar.maximum())

    def _place_pill(self) -> None:
        self.pill.adjustSize()
        room = self.viewport().geometry()
        self.pill.move(
            QPoint(room.center().x() - self.pill.width() // 2, room.bottom() - self.pill.height() - 2 * SPACE)
        )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._follows:
            self._scroll_to_end()


def _gap_words(batch: LogBatch) -> list[str]:
    if not batch.skipped:
        return []
    return [say("— {count} lines came too fast to be shown; all are in the file —", count=f"{batch.skipped:,}")]
