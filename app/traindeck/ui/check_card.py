"""What the services said about an account, line by line."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from traindeck.domain.findings import Check, CheckUp
from traindeck.domain.texts import Text, say, text
from traindeck.ui.theme import HALF, SPACE, Theme, set_role

_MARK = QSize(18, 18)


class CheckCard(QFrame):
    """The verdict, and below it one line per check: a mark, its name, the fact and what to do."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: CheckUp | None = None
        set_role(self, "card")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(2 * SPACE, SPACE + HALF, 2 * SPACE, SPACE + HALF)
        self._grid.setHorizontalSpacing(SPACE + HALF)
        self._grid.setVerticalSpacing(HALF)
        self._grid.setColumnStretch(2, 1)
        self.setVisible(False)

    def show_findings(self, told: CheckUp | None) -> None:
        """None: nobody has been asked."""
        if told == self._shown:
            return
        self._shown = told
        while (item := self._grid.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self.setVisible(told is not None)
        if told is None:
            return
        verdict = QLabel(say("Checking…") if told.is_running and told.accepted is None else say(told.verdict))
        verdict.setWordWrap(True)
        set_role(verdict, {True: "verdict-good", False: "verdict-bad", None: "heading"}[told.accepted])
        self._grid.addWidget(verdict, 0, 0, 1, 3)
        for row, check in enumerate(told.checks, 1):
            self._add(row, check)

    def _add(self, row: int, check: Check) -> None:
        icon, color, verdict = _mark_of(check)
        mark, title, fact = QLabel(), QLabel(say(check.title)), QLabel(_words(check))
        mark.setPixmap(self._theme.icon(icon, color).pixmap(_MARK))
        mark.setAccessibleName(say(verdict))
        mark.setToolTip(say(verdict))
        set_role(title, "strong")
        if check.is_running:
            set_role(fact, "dim")
        fact.setWordWrap(True)
        fact.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        fact.setTextFormat(Qt.TextFormat.PlainText)
        for column, label in enumerate((mark, title, fact)):
            self._grid.addWidget(label, row, column, Qt.AlignmentFlag.AlignTop)


def _words(check: Check) -> str:
    return say(check.fact) if check.hint is None else f"{say(check.fact)} {say(check.hint)}"


def _mark_of(check: Check) -> tuple[str, str, Text]:
    if check.is_running:
        return "unknown", "dim", text("Checking…")
    if check.passed is None:
        return "unknown", "warn", text("Not checked")
    return ("check", "good", text("Passed")) if check.passed else ("error", "bad", text("Check failed"))
