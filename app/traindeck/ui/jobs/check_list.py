"""The checks over the Submit button: always as high, whatever is in them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem

from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.tables import FocusedView
from traindeck.ui.kit.theme import HALF, Theme, set_role
from traindeck.viewmodels.jobs.form_checks import FormChecks

_LINES = 4


class CheckList(FocusedView, QListWidget):
    """What is wrong first, then how much is right; choosing a line goes to its field."""

    field_wanted = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown: tuple[FormChecks, frozenset[str]] | None = None
        self.setAccessibleName(say("Checks"))
        self.setWordWrap(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.setFixedHeight(_LINES * (self.fontMetrics().height() + 2 * HALF))
        set_role(self, "checks")
        self.itemClicked.connect(self._on_chosen)
        self.itemActivated.connect(self._on_chosen)
        theme.changed.connect(self._on_theme)

    def show_checks(self, checks: FormChecks, told: frozenset[str]) -> None:
        """`told` are the fields whose mistakes somebody made; the others are only not filled in yet."""
        if (checks, told) == self._shown:
            return
        self._shown = checks, told
        row = self.currentRow()
        self.clear()
        for problem in checks.problems:
            is_told = "*" in told or problem.field.partition(":")[0] in told
            mark, color = ("✗", "bad") if is_told else ("○", "text")
            self._add(f"{mark} {problem.words}", color, problem.field)
        if checks.open:
            self._add(f"… {say_count('1 check not run yet', '{count} checks not run yet', checks.open)}", "dim")
        if checks.passed:
            words = say_count("1 check passed", "{count} checks passed", checks.passed)
            self._add(f"✓ {words}", "dim" if checks.problems else "good")
        self.setCurrentRow(min(row, self.count() - 1))

    def _add(self, words: str, color: str, field: str = "") -> None:
        item = QListWidgetItem(words, self)
        item.setForeground(self._theme.color(color))
        item.setData(Qt.ItemDataRole.UserRole, field)
        item.setToolTip(words)
        if not field:
            item.setFlags(Qt.ItemFlag.ItemIsEnabled)

    def _on_theme(self) -> None:
        if self._shown is not None:
            checks, told = self._shown
            self._shown = None
            self.show_checks(checks, told)

    def _on_chosen(self, item: QListWidgetItem) -> None:
        if field := str(item.data(Qt.ItemDataRole.UserRole) or ""):
            self.field_wanted.emit(field)
