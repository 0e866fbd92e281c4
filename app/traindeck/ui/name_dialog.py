"""A dialog that asks for one line: a new name, or a place."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from traindeck.domain.errors import AppError
from traindeck.domain.texts import say
from traindeck.ui.dialogs import shown
from traindeck.ui.theme import SPACE, set_role


class NameDialog(QDialog):
    """The button opens when `check`, which raises AppError, has nothing against what was typed."""

    def __init__(
        self, title: str, label: str, action: str, value: str, check: Callable[[str], None], parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        self._check = check
        self._first = value
        self.setWindowTitle(title)
        self.setMinimumWidth(480)
        heading = QLabel(title)
        heading.setWordWrap(True)
        set_role(heading, "heading")
        self.words = QLabel(label)
        self.words.setWordWrap(True)
        self.edit = QLineEdit(value)
        self.edit.setAccessibleName(label)
        self.words.setBuddy(self.edit)
        self.trouble = QLabel()
        self.trouble.setWordWrap(True)
        # Room for what may be said, so that the buttons stay where they are.
        self.trouble.setMinimumHeight(2 * self.fontMetrics().lineSpacing() + 4)
        self.trouble.setAlignment(Qt.AlignmentFlag.AlignTop)
        set_role(self.trouble, "error")
        buttons = QDialogButtonBox()
        self.accept_button = QPushButton(action)
        set_role(self.accept_button, "primary")
        self.accept_button.setDefault(True)
        buttons.addButton(self.accept_button, QDialogButtonBox.ButtonRole.ActionRole)
        cancel = buttons.addButton(say("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        cancel.setAutoDefault(False)
        self.accept_button.clicked.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE)
        for widget in (heading, self.words, self.edit, self.trouble):
            layout.addWidget(widget)
        layout.addStretch(1)
        layout.addWidget(buttons)
        self.edit.textChanged.connect(self._on_typed)
        self._on_typed(value)
        self.edit.setFocus()
        self.edit.setSelection(0, _stem(value))

    def _on_typed(self, words: str) -> None:
        trouble = ""
        try:
            self._check(words)
        except AppError as error:
            trouble = error.sentence()
        self.accept_button.setEnabled(not trouble and words != self._first)
        # What was not typed yet is no mistake.
        self.trouble.setText(trouble if words and words != self._first else "")


async def asked_line(
    parent: QWidget | None, title: str, label: str, action: str, value: str, check: Callable[[str], None]
) -> str | None:
    """What was typed, or None."""
    dialog = NameDialog(title, label, action, value, check, parent)
    code = await shown(dialog)
    return dialog.edit.text() if code == QDialog.DialogCode.Accepted else None


def _stem(name: str) -> int:
    """So much is selected: all but the ending, which mostly stays."""
    at = name.rfind(".")
    return at if at > 0 and "/" not in name else len(name)
