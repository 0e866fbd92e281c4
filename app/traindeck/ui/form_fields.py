"""The parts the job form is put together from: a label, something to type into, and room for what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from traindeck.domain.texts import say
from traindeck.ui.theme import HALF, SPACE, set_role

Choice = tuple[str, str]
"""What is shown, and what it stands for."""


class Field(QWidget):
    """One question of the form; the error stands below, with the way out beside it."""

    remedy_wanted = Signal()

    def __init__(self, label: str, editor: QWidget, *beside: QWidget) -> None:
        super().__init__()
        self.editor = editor
        self.label = QLabel(label)
        self.label.setBuddy(editor)
        if not editor.accessibleName():
            editor.setAccessibleName(label)
        self.error = QLabel()
        self.error.setWordWrap(True)
        self.error.setTextFormat(Qt.TextFormat.PlainText)
        set_role(self.error, "error")
        self.note = QLabel()
        self.note.setWordWrap(True)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        set_role(self.note, "small")
        self.remedy = QPushButton()
        set_role(self.remedy, "link")
        self.remedy.clicked.connect(self.remedy_wanted)
        row = QHBoxLayout()
        row.setSpacing(HALF)
        row.addWidget(editor, 1)
        for widget in beside:
            row.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(self.label)
        layout.addLayout(row)
        layout.addWidget(self.note)
        layout.addWidget(self.error)
        layout.addWidget(self.remedy, 0, Qt.AlignmentFlag.AlignLeft)
        self.show_note("")
        self.show_error("")
        self.show_remedy("")

    def show_error(self, words: str) -> None:
        self.error.setText(words)
        self.error.setVisible(bool(words))
        self.editor.setAccessibleDescription(words)
        self._dress("invalid" if words else "")

    def show_note(self, words: str) -> None:
        """What the value comes to."""
        self.note.setText(words)
        self.note.setVisible(bool(words))

    def add_below(self, widget: QWidget) -> None:
        """More to say, between the note and what is wrong."""
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(layout.indexOf(self.note) + 1, widget)

    def show_remedy(self, words: str) -> None:
        self.remedy.setText(words)
        self.remedy.setVisible(bool(words))

    def show_changed(self, changed: bool) -> None:
        """Marked when it is not as it was in the run the form was filled from."""
        if not self.error.text():
            self._dress("changed" if changed else "")

    def _dress(self, role: str) -> None:
        if (self.editor.property("role") or "") != role:
            set_role(self.editor, role)


class ChoiceBox(QComboBox):
    """A combo box that shows a value even when it is not among the choices."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._choices: tuple[Choice, ...] = ()
        self._value = ""
        # The longest engine must not decide how wide the panel is.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.activated.connect(self._on_activated)

    def offer(self, choices: Sequence[Choice], value: str, *, is_known: bool, placeholder: str) -> None:
        choices = tuple(choices)
        stray = value and value not in [entry for _, entry in choices]
        if stray:
            shown = say("{value} (not offered)", value=value) if is_known else value
            choices = ((shown, value), *choices)
        if (choices, value) == (self._choices, self._value) and self.placeholderText() == placeholder:
            return
        self._choices, self._value = choices, value
        self.setPlaceholderText(placeholder)
        self.clear()
        for words, entry in choices:
            self.addItem(words, entry)
            self.setItemData(self.count() - 1, words, Qt.ItemDataRole.ToolTipRole)
        self.setCurrentIndex(self.findData(value) if value else -1)
        self.setToolTip(self.currentText())

    def _on_activated(self, number: int) -> None:
        self._value = str(self.itemData(number))
        self.chosen.emit(self._value)


class WheelGuard(QObject):
    """Keeps the wheel, meant to scroll the form, from changing the field below the mouse."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def watch(self, *widgets: QWidget) -> None:
        for widget in widgets:
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.installEventFilter(self)


class Fold(QWidget):
    """A part of the form that is folded away until it is wanted."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.button = QPushButton()
        self.button.setCheckable(True)
        set_role(self.button, "link")
        self._inside = QWidget()
        self.column = QVBoxLayout(self._inside)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACE + HALF)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._inside)
        self.button.toggled.connect(self.unfold)
        self.unfold(False)

    def unfold(self, wanted: bool) -> None:
        self.button.setChecked(wanted)
        self.button.setText(("▾ " if wanted else "▸ ") + self._words)
        self._inside.setVisible(wanted)


def line() -> QFrame:
    frame = QFrame()
    set_role(frame, "line")
    return frame
