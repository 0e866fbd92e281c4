"""What cut, copy, paste, undo, select all, find and refresh mean to the widget that has the focus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from traindeck.viewmodels.shell.commands import always

UNDO, REDO, CUT, COPY, PASTE, SELECT_ALL, FIND = "undo", "redo", "cut", "copy", "paste", "select_all", "find"
REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class Edit:
    """One of them, as one widget does it."""

    run: Callable[[], object]
    enabled: Callable[[], bool] = always


Edits = Mapping[str, Edit]


class HasEdits:
    """A panel that has something of its own for some of them, whichever of its widgets has the focus."""

    def edits(self, focused: QWidget) -> Edits:
        """While one of its widgets has the focus."""
        raise NotImplementedError


def edit_of(name: str, focused: QWidget | None = None) -> Edit | None:
    """The innermost one, from the widget with the focus outwards; what the panel of rows makes of it comes first."""
    rows: Edit | None = None
    focused = focused or QApplication.focusWidget()
    for widget in _outwards(focused):
        if isinstance(widget, QAbstractItemView):
            rows = rows or _edits_of_rows(widget).get(name)
        own = widget.edits(focused or widget) if isinstance(widget, HasEdits) else _edits_of(widget)
        if name in own:
            return own[name]
    return rows


def _outwards(widget: QWidget | None) -> Iterator[QWidget]:
    while widget is not None:
        yield widget
        widget = None if widget.isWindow() else widget.parentWidget()


def _edits_of(widget: QWidget) -> Edits:
    if isinstance(widget, QComboBox | QAbstractSpinBox):
        widget = widget.lineEdit() or widget
    match widget:
        case QLineEdit():
            return _of_line(widget)
        case QPlainTextEdit() | QTextEdit():
            return _of_text(widget)
        case QLabel():
            return {COPY: Edit(lambda: _put(widget.selectedText()), widget.hasSelectedText)}
    return {}


def _edits_of_rows(view: QAbstractItemView) -> Edits:
    return {COPY: Edit(partial(_copy_rows, view), partial(_has_rows, view)), SELECT_ALL: Edit(view.selectAll)}


def _of_line(field: QLineEdit) -> Edits:
    def can_change() -> bool:
        return not field.isReadOnly()

    def can_copy() -> bool:
        return field.hasSelectedText() and field.echoMode() == QLineEdit.EchoMode.Normal

    return {
        UNDO: Edit(field.undo, field.isUndoAvailable),
        REDO: Edit(field.redo, field.isRedoAvailable),
        CUT: Edit(field.cut, lambda: can_copy() and can_change()),
        COPY: Edit(field.copy, can_copy),
        PASTE: Edit(field.paste, lambda: can_change() and _has_words()),
        SELECT_ALL: Edit(field.selectAll, lambda: bool(field.text())),
    }


def _of_text(field: QPlainTextEdit | QTextEdit) -> Edits:
    def is_chosen() -> bool:
        return field.textCursor().hasSelection()

    edits = {COPY: Edit(field.copy, is_chosen), SELECT_ALL: Edit(field.selectAll)}
    if field.isReadOnly():
        return edits
    paper = field.document()
    return {
        **edits,
        UNDO: Edit(field.undo, paper.isUndoAvailable),
        REDO: Edit(field.redo, paper.isRedoAvailable),
        CUT: Edit(field.cut, is_chosen),
        PASTE: Edit(field.paste, field.canPaste),
    }


def _has_words() -> bool:
    data = QGuiApplication.clipboard().mimeData()
    return data is not None and data.hasText()


def _has_rows(view: QAbstractItemView) -> bool:
    chosen = view.selectionModel()
    return chosen is not None and chosen.hasSelection()


def _copy_rows(view: QAbstractItemView) -> None:
    """A line for each row, its cells as a table takes them."""
    lines: dict[tuple[object, int], list[str]] = {}
    for index in sorted(view.selectionModel().selectedIndexes()):
        lines.setdefault((index.parent(), index.row()), []).append(str(index.data() or ""))
    _put("\n".join("\t".join(cells) for cells in lines.values()))


def _put(words: str) -> None:
    QGuiApplication.clipboard().setText(words)
