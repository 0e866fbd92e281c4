"""What a field of the form is edited with: by its kind, from its description."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPlainTextEdit, QSpinBox, QWidget

from traindeck.domain.jobs.form.form_field import FieldKind, FormField
from traindeck.domain.texts import Text, say
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.pair_table import PairTable, Prepare, RowChoice
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.form.form_values import VOLUME_ACCESS, VOLUME_KINDS, WAYS

_MOST = 1_000_000
_LINES_SHOWN = 3


def example_of(field: FormField) -> str:
    """What stands in an empty field."""
    return say("e.g. {example}", example=field.example_words) if field.example_words else ""


class LineEditor(QLineEdit):
    """Any words; a dropped folder is for the form, not for the text."""

    def __init__(self, field: FormField, *, is_known_by_end: bool = False) -> None:
        """`is_known_by_end`: where there is too little room, the last words are seen, as those of a folder."""
        super().__init__()
        self._is_known_by_end = is_known_by_end
        self.setPlaceholderText(example_of(field))
        self.setAcceptDrops(False)
        self.edited = self.textEdited

    def show_value(self, value: object) -> None:
        if self.text() != str(value):
            self.setText(str(value))
            if not self.hasFocus() and not self._is_known_by_end:
                self.setCursorPosition(0)


class NumberEditor(QSpinBox):
    """A whole number within its limits."""

    def __init__(self, field: FormField) -> None:
        super().__init__()
        lowest, highest = field.limits.lowest, field.limits.highest
        self.setRange(lowest if lowest is not None else -_MOST, highest if highest is not None else _MOST)
        self.lineEdit().setTextMargins(HALF, 0, 0, 0)
        self.edited = self.valueChanged

    def show_value(self, value: object) -> None:
        """What is beyond the limits is shown all the same: it came from a file, and is a mistake to be seen."""
        number = int(str(value))
        if self.value() == number:
            return
        if not self.minimum() <= number <= self.maximum():
            self.setRange(min(self.minimum(), number), max(self.maximum(), number))
        self.blockSignals(True)
        self.setValue(number)
        self.blockSignals(False)


class SwitchEditor(QCheckBox):
    """Yes or no."""

    def __init__(self, field: FormField) -> None:
        super().__init__()
        self.setAccessibleName(say(field.label))
        self.edited = self.toggled

    def show_value(self, value: object) -> None:
        self.blockSignals(True)
        self.setChecked(bool(value))
        self.blockSignals(False)


class LinesEditor(QPlainTextEdit):
    """A list of texts, one in each line."""

    edited = Signal(object)

    def __init__(self, field: FormField) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)
        self.setPlaceholderText(say("One in each line"))
        self.setToolTip(example_of(field))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFixedHeight(_LINES_SHOWN * self.fontMetrics().lineSpacing() + 2 * SPACE)
        self.textChanged.connect(self._on_typed)

    def show_value(self, value: Any) -> None:
        if self._values() != tuple(value):
            self.blockSignals(True)
            self.setPlainText("\n".join(value))
            self.blockSignals(False)

    def _values(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.toPlainText().splitlines() if line.strip())

    def _on_typed(self) -> None:
        self.edited.emit(self._values())


class SeveralEditor(QWidget):
    """Any of a few choices."""

    edited = Signal(object)

    def __init__(self, field: FormField) -> None:
        super().__init__()
        words = [say(one) for one in field.limits.choice_words] or field.limits.choices
        self._boxes = {choice: QCheckBox(shown) for choice, shown in zip(field.limits.choices, words, strict=True)}
        for choice, box in self._boxes.items():
            box.setToolTip(choice)
        column_of(*self._boxes.values(), inside=self, margins=0, spacing=0)
        for box in self._boxes.values():
            box.toggled.connect(self._on_toggled)
        self._others: tuple[str, ...] = ()
        self.setFocusProxy(next(iter(self._boxes.values())))

    def show_value(self, value: Any) -> None:
        self._others = tuple(one for one in value if one not in self._boxes)
        for choice, box in self._boxes.items():
            box.blockSignals(True)
            box.setChecked(choice in value)
            box.blockSignals(False)

    def _on_toggled(self) -> None:
        chosen = tuple(choice for choice, box in self._boxes.items() if box.isChecked())
        self.edited.emit((*chosen, *self._others))


class OpenEditor(QComboBox):
    """Words with some to choose from."""

    edited = Signal(str)

    def __init__(self, placeholder: str, *choices: str) -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.addItems(choices)
        self.words.setPlaceholderText(placeholder)
        self.words.setAcceptDrops(False)
        self.words.textEdited.connect(self.edited)
        self.textActivated.connect(self.edited)

    @property
    def words(self) -> QLineEdit:
        edit = self.lineEdit()
        assert edit is not None
        return edit

    def show_value(self, value: object) -> None:
        if self.words.text() != str(value):
            self.words.setText(str(value))

    def offer(self, choices: tuple[str, ...], value: str) -> None:
        if [self.itemText(number) for number in range(self.count())] != list(choices):
            self.clear()
            self.addItems(choices)
            self.setEditText(value)


ValueEditor = LineEditor | NumberEditor | SwitchEditor | LinesEditor | SeveralEditor | OpenEditor

_BY_KIND: dict[FieldKind, Callable[[FormField], ValueEditor]] = {
    FieldKind.WORDS: LineEditor,
    FieldKind.WHOLE: NumberEditor,
    FieldKind.YES_NO: SwitchEditor,
}


def value_editor(field: FormField) -> ValueEditor:
    """For a field that holds one value or a list of them."""
    if field.kind is FieldKind.LIST:
        return SeveralEditor(field) if field.limits.choices else LinesEditor(field)
    return _BY_KIND[field.kind](field)


def table_editor(field: FormField, theme: Theme, prepare: Prepare) -> PairTable:
    """For a field that is a table; `prepare` is told of the lines that places are typed into."""
    make = partial(PairTable, theme, say(field.label))
    match field.kind:
        case FieldKind.CHANNELS:
            return make(say("OBS path"), prepare, beside=[_choice(say("Passed as"), WAYS)])
        case FieldKind.VOLUMES:
            beside = [_choice(say("Kind"), VOLUME_KINDS), _choice(say("Access"), VOLUME_ACCESS)]
            return make(say("Storage"), name_title=say("Mounted at"), beside=beside)
        case FieldKind.PARAMETERS:
            return make(say("Value"), is_ordered=True)
        case _:
            return make(say("Value"))


def _choice(title: str, choices: tuple[tuple[str, Text], ...]) -> RowChoice:
    return RowChoice(title, tuple((value, say(words)) for value, words in choices))


def focus_guarded(editor: QWidget) -> bool:
    """Whether the wheel would change it."""
    return isinstance(editor, QSpinBox | QComboBox) and editor.focusPolicy() != Qt.FocusPolicy.NoFocus
