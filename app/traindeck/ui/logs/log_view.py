"""The log of a run as a panel: a header that says how things stand, and the lines."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QResizeEvent,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractSlider,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.jobs.job import duration_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import EmptyPage
from traindeck.ui.kit.cells import StateChip
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.run_page import Tone, tone_of
from traindeck.viewmodels.logs.log_feed import MOST_LINES, LogBatch, LogFeed, LogState

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


class FindBar(QWidget):
    """Search in what is shown."""

    def __init__(self, pane: LogPane) -> None:
        super().__init__()
        self._pane = pane
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("Find in the lines shown"))
        self.words.setAccessibleName(say("Find in the lines shown"))
        self.words.setClearButtonEnabled(True)
        self.hits = QLabel()
        set_role(self.hits, "dim")
        self.shut = QToolButton()
        self.shut.setToolTip(say("Close the search"))
        self.shut.setAccessibleName(say("Close the search"))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE, HALF, SPACE, HALF)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.hits)
        layout.addWidget(self.shut)
        self.words.textChanged.connect(self._count)
        self.words.installEventFilter(self)
        self.shut.clicked.connect(self.close_bar)
        self.hide()

    def open_bar(self) -> None:
        self.show()
        chosen = self._pane.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
            self.words.setText(chosen)
        self.words.setFocus()
        self.words.selectAll()

    def close_bar(self) -> None:
        self.hide()
        self._pane.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                backwards = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                if self.words.text():
                    self._pane.find_words(self.words.text(), backwards=backwards)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
        return super().eventFilter(watched, event)

    def _count(self, words: str) -> None:
        if not words:
            self.hits.setText("")
            return
        count = self._pane.toPlainText().lower().count(words.lower())
        self.hits.setText(say("Hits: {count}", count=count) if count else say("Nothing found"))


class LogView(QWidget):
    """Shows LogFeed."""

    def __init__(self, feed: LogFeed, theme: Theme) -> None:
        super().__init__()
        self._feed = feed
        self._theme = theme
        self.chip = StateChip()
        self.name = QLabel()
        self.name.setTextFormat(Qt.TextFormat.PlainText)
        self.facts = QLabel()
        set_role(self.facts, "dim")
        self.reason = QLabel()
        self.reason.setTextFormat(Qt.TextFormat.PlainText)
        self.reason.setWordWrap(True)
        self.reason.setContentsMargins(SPACE, 0, SPACE, HALF)
        self.tasks = QComboBox()
        self.tasks.setAccessibleName(say("Worker"))
        self.search = QToolButton()
        self.search.setToolTip(say("Find in the log (Ctrl+F)"))
        self.search.setAccessibleName(say("Find in the log (Ctrl+F)"))
        self.pane = LogPane(theme)
        self.find_bar = FindBar(self.pane)
        self.empty = EmptyPage(say("No log is open."), say("Submit a job, or choose a run and press Show log."))

        head = QHBoxLayout()
        head.setContentsMargins(SPACE, HALF, SPACE, HALF)
        head.setSpacing(SPACE)
        head.addWidget(self.chip, 0, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self.name)
        head.addWidget(self.facts, 1)
        head.addWidget(self.tasks)
        head.addWidget(self.search)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.reason)
        column.addWidget(self.find_bar)
        column.addWidget(self.pane, 1)
        self._inside = inside
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(inside)
        self.setFocusProxy(self.pane)

        self.pane.follow_wanted.connect(feed.follow_end)
        self.search.clicked.connect(self.find_bar.open_bar)
        self.tasks.activated.connect(self._on_task)
        feed.changed.connect(self._on_changed)
        feed.cleared.connect(self.pane.clear_lines)
        feed.arrived.connect(self._on_arrived)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        so_far = feed.lines_so_far()
        self.pane.add(so_far, so_far)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 30 * SPACE)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.find_bar.open_bar()
        elif event.key() == Qt.Key.Key_Escape and self.find_bar.isVisible():
            self.find_bar.close_bar()
        else:
            super().keyPressEvent(event)

    def _apply_theme(self) -> None:
        self.search.setIcon(self._theme.icon("search"))
        self.find_bar.shut.setIcon(self._theme.icon("close"))

    def _on_arrived(self, batch: LogBatch) -> None:
        self.pane.add(batch, self._feed.lines_so_far())

    def _on_task(self, number: int) -> None:
        if run := self._feed.state.run:
            self._feed.show(run, self.tasks.itemText(number))

    def _on_changed(self) -> None:
        state = self._feed.state
        run = state.run
        self._pages.setCurrentWidget(self.empty if run is None else self._inside)
        if run is None:
            return
        self.chip.show_run(run)
        self.name.setText(run.name)
        self.facts.setText(_facts(state))
        self._show_reason(state)
        if [self.tasks.itemText(number) for number in range(self.tasks.count())] != list(run.tasks):
            self.tasks.clear()
            self.tasks.addItems(list(run.tasks))
        self.tasks.setCurrentText(state.task)
        self.tasks.setVisible(len(run.tasks) > 1)
        self.pane.setPlaceholderText(_placeholder(state))
        self.pane.follow(state.is_following, state.new_lines)

    def _show_reason(self, state: LogState) -> None:
        run, role, words = state.run, "dim", ""
        if state.trouble is not None:
            role, words = "warn", say(state.trouble.title)
            if state.next_look_s is not None:
                words = say("{trouble} Next try in {seconds} s.", trouble=words, seconds=round(state.next_look_s))
        elif run is not None and run.reason:
            role, words = "error" if tone_of(run) is Tone.BAD else "dim", run.reason
        if self.reason.property("role") != role:
            set_role(self.reason, role)
        self.reason.setText(words)
        self.reason.setVisible(bool(words))


def _facts(state: LogState) -> str:
    """Run time, bytes held, age of the last answer; what is unknown is left out or a dash."""
    facts = [duration_words(state.run_seconds), size_words(state.size_bytes if state.is_read else None)]
    if state.answer_age_s is not None and state.run is not None and not state.run.state.is_over:
        facts.append(say("last answer {seconds} s ago", seconds=round(state.answer_age_s)))
    return " · ".join(facts)


def _placeholder(state: LogState) -> str:
    if not state.is_read:
        return say("Reading the log…")
    if state.run is not None and state.run.state.is_over:
        return say("This run left no log.")
    return say("Nothing was written yet. Lines appear here as soon as the job writes them.")
