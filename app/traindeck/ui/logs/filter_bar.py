"""The bar that lets only some lines of a log through."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.cards import ElidedLabel, show_words, tool_button
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import HALF, SPACE, set_role
from traindeck.viewmodels.logs.log_filter import LineLevel, LogFilter

_TYPING_MS = 150


class FilterBar(QWidget):
    """Closing it shows all lines again."""

    def __init__(self, log_filter: LogFilter, pane: QWidget) -> None:
        super().__init__()
        self._filter, self._pane = log_filter, pane
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("Filter: words, /regex/, -word"))
        self.words.setAccessibleName(say("Filter"))
        self.words.setToolTip(
            say('Lines with all of these. /…/ is a regular expression, -word hides lines, "two words" belong together.')
        )
        self.words.setClearButtonEnabled(True)
        self.words.setMinimumWidth(12 * SPACE)
        self.levels = QComboBox()
        self.levels.setAccessibleName(say("Level"))
        for level, words in (
            (LineLevel.ALL, say("All levels")), (LineLevel.NO_DEBUG, say("Without debug")),
            (LineLevel.WARNINGS, say("Warnings and errors")), (LineLevel.ERRORS, say("Errors")),
        ):  # fmt: skip
            self.levels.addItem(words, level)
        self.hidden = ElidedLabel(role="dim")
        self.shut = tool_button("close", say("Show all lines"), self.close_bar)
        # Below, so that what is typed into keeps its place and its width.
        self.trouble = label("", "error", wraps=True)
        self.trouble.hide()
        row = row_of((self.words, 1), self.levels, self.hidden, self.shut, spacing=HALF)
        column_of(row, self.trouble, inside=self, margins=(SPACE, HALF, SPACE, HALF), spacing=HALF)
        self._soon = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._soon.timeout.connect(self._ask)
        self.words.textChanged.connect(self._soon.start)
        self.levels.activated.connect(self._ask)
        self.words.installEventFilter(self)
        log_filter.changed.connect(self._on_changed)
        self.words.setText(log_filter.state.typed)
        self.levels.setCurrentIndex(self.levels.findData(log_filter.state.level))
        self._on_changed()
        self.setVisible(log_filter.state.is_on)

    def open_bar(self) -> None:
        self.show()
        self.words.setFocus()
        self.words.selectAll()

    def close_bar(self) -> None:
        """All lines are shown again."""
        self.words.clear()
        self.levels.setCurrentIndex(0)
        self._ask()
        self.hide()
        self._pane.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._ask()
                self._pane.setFocus()
                return True
        return super().eventFilter(watched, event)

    def _ask(self, *_: object) -> None:
        self._soon.stop()
        self._filter.ask(self.words.text(), self.levels.currentData())

    def _on_changed(self) -> None:
        state = self._filter.state
        set_role(self.words, "invalid" if state.trouble is not None else "")
        show_words(self.trouble, say(state.trouble) if state.trouble is not None else "")
        if state.trouble is not None or not state.is_on:
            self.hidden.setText("")
        elif state.is_all:
            self.hidden.setText(say_count("{count} line hidden", "{count} lines hidden", state.hidden))
        else:
            self.hidden.setText(say_count("{count} line hidden so far", "{count} lines hidden so far", state.hidden))
