"""The JSON of a policy: typed, checked as it is typed, with what was found below it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QTextEdit,
    QWidget,
)

from traindeck.domain.storage.json_places import offset_of
from traindeck.domain.storage.policy_checks import Finding
from traindeck.domain.texts import say
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role

_HEIGHT = 22 * SPACE
_MOST_SHOWN = 4
# What icon and scroll bar take of the width.
_BESIDE = 7 * SPACE
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s",]+|\S')


class PolicyEditor(QWidget):
    """What is wrong is underlined; choosing a finding goes to its place."""

    edited = Signal(str)
    format_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._findings: tuple[Finding, ...] = ()
        self.text = QPlainTextEdit()
        self.text.setFont(theme.mono_font())
        self.text.setAccessibleName(say("Policy as JSON"))
        self.text.setPlaceholderText(say("No policy: choose a template, or paste one."))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(_HEIGHT)
        self.place = QLabel()
        set_role(self.place, "small")
        self.format = QPushButton(say("&Format"))
        self.format.setToolTip(say("Indent the JSON"))
        self.format.setAutoDefault(False)
        self.found = QListWidget()
        self.found.setAccessibleName(say("What was found in the policy"))
        self.found.setWordWrap(True)
        self.found.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.found.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.found.setIconSize(QSize(2 * SPACE, 2 * SPACE))
        self.found.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        foot = row_of((self.place, 1), self.format, margins=0)
        column_of(self.text, foot, self.found, inside=self, margins=0, spacing=HALF)
        self.text.textChanged.connect(self._on_typed)
        self.text.cursorPositionChanged.connect(self._on_moved)
        self.format.clicked.connect(self.format_wanted)
        self.found.itemClicked.connect(self._on_chosen)
        self.found.itemActivated.connect(self._on_chosen)
        theme.changed.connect(self._paint)
        self._on_moved()

    def show_policy(self, policy: str, findings: Sequence[Finding]) -> None:
        if self.text.toPlainText() != policy:
            self.text.setPlainText(policy)
        self.format.setEnabled(bool(policy.strip()))
        if tuple(findings) != self._findings:
            self._findings = tuple(findings)
            self.found.clear()
            for finding in self._findings:
                self.found.addItem(QListWidgetItem(say(finding.sentence)))
        self._paint()
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as what it shows: a list does not follow lines that wrap by itself."""
        room = QRect(0, 0, max(self.width() - _BESIDE, 1), 10_000)
        heights = []
        for row in range(self.found.count()):
            item = self.found.item(row)
            words = self.found.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, item.text())
            heights.append(words.height() + SPACE)
            item.setSizeHint(QSize(1, heights[-1]))
        self.found.setVisible(bool(heights))
        height = sum(heights[:_MOST_SHOWN]) + HALF
        if heights and self.found.height() != height:
            self.found.setFixedHeight(height)

    def _paint(self) -> None:
        for row, finding in enumerate(self._findings):
            icon = self._theme.icon("error", "bad") if finding.is_error else self._theme.icon("warning", "warn")
            self.found.item(row).setIcon(icon)
        content = self.text.toPlainText()
        marks = []
        for finding in self._findings:
            if finding.place is None:
                continue
            start = offset_of(content, finding.place)
            token = _TOKEN.match(content, start)
            # At the end of a line it is what stands before it.
            first, last = token.span() if token else (max(start - 1, 0), start)
            mark = QTextEdit.ExtraSelection()
            mark.cursor = self._cursor_at(content, first)
            mark.cursor.setPosition(self._position(content, last), QTextCursor.MoveMode.KeepAnchor)
            mark.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            mark.format.setUnderlineColor(self._theme.color("bad" if finding.is_error else "warn"))
            marks.append(mark)
        self.text.setExtraSelections(marks)

    def _cursor_at(self, content: str, offset: int) -> QTextCursor:
        cursor = self.text.textCursor()
        cursor.setPosition(self._position(content, offset))
        return cursor

    def _position(self, content: str, offset: int) -> int:
        """Qt counts a sign beyond the basic plane as two."""
        counted = len(content[:offset].encode("utf-16-le", "surrogatepass")) // 2
        return min(counted, self.text.document().characterCount() - 1)

    def _on_typed(self) -> None:
        self.edited.emit(self.text.toPlainText())

    def _on_moved(self) -> None:
        cursor = self.text.textCursor()
        words = say("Line {line}, column {column}", line=cursor.blockNumber() + 1, column=cursor.positionInBlock() + 1)
        self.place.setText(words)

    def _on_chosen(self, item: QListWidgetItem) -> None:
        place = self._findings[self.found.row(item)].place
        if place is not None:
            content = self.text.toPlainText()
            self.text.setTextCursor(self._cursor_at(content, offset_of(content, place)))
            self.text.setFocus(Qt.FocusReason.OtherFocusReason)
