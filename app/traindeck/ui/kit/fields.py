"""Fields of a form: a label with room for what is wrong, boxes to choose from, and places to complete with."""

from __future__ import annotations

from collections.abc import Container, Sequence

from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt, Signal
from PySide6.QtGui import QHelpEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QLabel,
    QLineEdit,
    QPushButton,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedButton, show_words
from traindeck.ui.kit.completions import completion_popup
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.pair_table import PairTable
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, ROW, SPACE, set_role

Choice = tuple[str, str]
"""What is shown, and what it stands for."""


def name_field(editor: QWidget, words: str) -> None:
    """What it is called aloud, also by whatever is typed into."""
    editor.setAccessibleName(words)
    line = editor.lineEdit() if isinstance(editor, QComboBox) else None
    if line is not None:
        line.setAccessibleName(words)


def label_of(title: str, field: QWidget) -> QLabel:
    """The words before it, with the letter that leads to it."""
    words = QLabel(title)
    words.setBuddy(field)
    name_field(field, title.replace("&", ""))
    return words


def form_label(title: str, field: QWidget) -> QLabel:
    """As high as the field: else a row with a line below its field puts the words lower than what they name."""
    words = label_of(title, field)
    field.ensurePolished()
    words.setFixedHeight(max(field.sizeHint().height(), words.sizeHint().height()))
    return words


class Field(QWidget):
    """One question of the form; the error stands below, with the way out beside it."""

    remedy_wanted = Signal()

    def __init__(
        self, label: str, editor: QWidget, *beside: QWidget, label_width: int = 0, explanation: str = ""
    ) -> None:
        """`label_width`: the label stands before the editor, so wide, instead of above it."""
        super().__init__()
        self.editor = editor
        self._explanation = explanation
        self._lock = ""
        self._beside = beside
        for watched in (editor, editor.viewport() if isinstance(editor, PairTable) else editor):
            watched.installEventFilter(self)
        self.label = QLabel(label)
        self.label.setToolTip(explanation)
        self.label.setBuddy(editor)
        if not editor.accessibleName():
            name_field(editor, label)
        self.error = sentence("", "error")
        self.note = sentence("", "small")
        self.note.setMinimumWidth(4 * SPACE)  # what cannot be parted must not decide how wide the form is
        self.remedy = ElidedButton()
        self.remedy.clicked.connect(self.remedy_wanted)
        set_role(self.remedy, "link")
        row = row_of((editor, 1), *beside, spacing=HALF)
        remedy = (self.remedy, 0, Qt.AlignmentFlag.AlignLeft)
        below = (row, self.note, self.error, remedy)
        self._below = column_of(*(below if label_width else (self.label, *below)), margins=0, spacing=HALF)
        if label_width:
            self.label.setFixedSize(label_width, ROW)
        before = ((self.label, 0, Qt.AlignmentFlag.AlignTop),) if label_width else ()
        row_of(*before, (self._below, 1), inside=self, margins=0, spacing=SPACE)
        self.show_note("")
        self.show_error("")
        self.show_remedy("")

    def show_error(self, words: str) -> None:
        show_words(self.error, words)
        self.mark_wrong(words)

    def mark_wrong(self, words: str) -> None:
        """Seen at the editor, where what is wrong with it is written elsewhere."""
        self.is_wrong = bool(words)
        self.wrong_words = words
        self.editor.setAccessibleDescription(words or self._explanation)
        set_role(self.editor, "invalid" if words else "")

    def show_note(self, words: str) -> None:
        """What the value comes to."""
        show_words(self.note, words)

    def add_below(self, widget: QWidget) -> None:
        """More to say, between the note and what is wrong."""
        self._below.insertWidget(self._below.indexOf(self.note) + 1, widget)

    def show_remedy(self, words: str) -> None:
        show_words(self.remedy, words)

    def lock(self, words: str) -> None:
        """Not to be changed; `words` say why, empty: it may be."""
        self._lock = words
        self.label.setToolTip(words or self._explanation)
        for widget in self._beside:
            widget.setEnabled(not words)
        if isinstance(self.editor, PairTable):
            self.editor.lock(bool(words))
        else:
            self.editor.setEnabled(not words)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Why it is locked, in place of what its editor says of itself."""
        if self._lock and isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._lock, self.editor)
            return True
        return super().eventFilter(watched, event)

    def show_changed(self, changed: bool) -> None:
        """Marked when it is not as it was in the run the form was filled from."""
        if not self.is_wrong:
            set_role(self.editor, "changed" if changed else "")


_FLAGS_ROLE = Qt.ItemDataRole.UserRole - 1
"""As the items of a combo box keep whether they can be chosen."""


class ChoiceBox(QComboBox):
    """A combo box that shows a value even when it is not among the choices."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._choices: tuple[Choice, ...] = ()
        self._value = ""
        self._open: tuple[str, ...] = ()
        self._shorter: tuple[str, ...] = ()
        # The longest engine must not decide how wide the panel is.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.activated.connect(self._on_activated)

    def offer(
        self,
        choices: Sequence[Choice],
        value: str,
        *,
        is_known: bool = True,
        placeholder: str = "",
        shut: Container[str] = (),
    ) -> None:
        """`shut`: values that cannot be chosen now."""
        choices = tuple(choices)
        stray = value and value not in [entry for _, entry in choices]
        if stray:
            shown = say("{value} (not available)", value=value) if is_known else value
            choices = ((shown, value), *choices)
        open_ones = tuple(entry for _, entry in choices if entry not in shut)
        if (choices, value, open_ones) == (self._choices, self._value, self._open) and (
            self.placeholderText() == placeholder
        ):
            return
        self._choices, self._value, self._open = choices, value, open_ones
        self.setPlaceholderText(placeholder)
        self.clear()
        for words, entry in choices:
            self.addItem(words, entry)
            self.setItemData(self.count() - 1, words, Qt.ItemDataRole.ToolTipRole)
            if entry in shut:
                self.setItemData(self.count() - 1, 0, _FLAGS_ROLE)
        self.setCurrentIndex(self.findData(value) if value else -1)
        self.setToolTip(self.currentText())

    def call_shorter(self, forms: Sequence[str]) -> None:
        """What is chosen in fewer and fewer words, for a box that is too narrow for all of them."""
        if (forms := tuple(forms)) != self._shorter:
            self._shorter = forms
            self.update()

    def words_in(self, room: int) -> str:
        """The most that can be read whole; cut with a mark, not by the edge, only where nothing can."""
        words, metrics = self.currentText() or self.placeholderText(), self.fontMetrics()
        forms = (words, *self._shorter) if self.currentText() else (words,)
        whole = next((form for form in forms if metrics.horizontalAdvance(form) <= room), None)
        return metrics.elidedText(words, Qt.TextElideMode.ElideMiddle, room) if whole is None else whole

    def showPopup(self) -> None:
        """As wide as what is in it: there each entry is whole."""
        view = self.view()
        room = self.screen().availableGeometry().width() - 4 * SPACE
        wanted = view.sizeHintForColumn(0) + view.verticalScrollBar().sizeHint().width() + 2 * SPACE
        view.setMinimumWidth(min(wanted, room))
        view.setTextElideMode(Qt.TextElideMode.ElideNone)
        super().showPopup()

    def paintEvent(self, event: QPaintEvent) -> None:
        """One line, in the words that fit."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        place = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, place, self).width()
        option.currentText = self.words_in(room - HALF)
        if not self.currentText():
            brush = option.palette.placeholderText()
            option.palette.setBrush(QPalette.ColorRole.ButtonText, brush)
            option.palette.setBrush(QPalette.ColorRole.Text, brush)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

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


def guard_wheel(*fields: QWidget) -> None:
    WheelGuard(fields[0]).watch(*fields)


class Fold(QWidget):
    """A part of the form that is folded away until it is wanted."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.button = QPushButton()
        self.button.setCheckable(True)
        set_role(self.button, "link")
        self._inside = QWidget()
        self.column = column_of(inside=self._inside, margins=0, spacing=SPACE)
        column_of((self.button, 0, Qt.AlignmentFlag.AlignLeft), self._inside, inside=self, margins=0)
        self.button.toggled.connect(self.unfold)
        self.unfold(False)

    def show_words(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self.unfold(self.button.isChecked())

    def unfold(self, wanted: bool) -> None:
        self.button.setChecked(wanted)
        self.button.setText(("▾ " if wanted else "▸ ") + self._words)
        self._inside.setVisible(wanted)


_MOST_PLACES_SHOWN = 12


class PlaceCompletion(QObject):
    """Belongs to its line; who offers decides what fits, whatever way it is spelled."""

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._line = line
        self._offers = QStringListModel(self)
        self._completer = QCompleter(self._offers, self)
        # What is offered is spelled as we spell it, whatever way it was typed.
        self._completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self._completer.setMaxVisibleItems(_MOST_PLACES_SHOWN)
        self._completer.setPopup(completion_popup())
        line.setCompleter(self._completer)
        self.typed, self.chosen = line.textEdited, self._completer.activated

    def offer(self, places: list[str]) -> None:
        """Show these, if something is still being typed."""
        self._offers.setStringList(places)
        if places and self._line.hasFocus() and self._line.isModified():
            self._completer.complete()
