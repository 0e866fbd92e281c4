"""Rows and columns of widgets, written down as they look, and the labels in them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextLayout
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QBoxLayout,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from traindeck.ui.kit.theme import ROW, SPACE, set_role

_AROUND = 6 * SPACE
"""About so high is the title a system puts over a window, with the line below."""

LayoutItem = QWidget | QLayout | int | tuple[Any, ...]
"""What stands there; with how much of what is left it takes, and its alignment; a number alone is empty room."""
Margins = int | tuple[int, int, int, int]


def row_of(
    *parts: LayoutItem, inside: QWidget | None = None, margins: Margins | None = None, spacing: int | None = None
) -> QHBoxLayout:
    """Beside one another; `margins` are left, top, right, bottom, those of the style where none are given."""
    box = QHBoxLayout(inside) if inside is not None else QHBoxLayout()
    _fill(box, parts, margins, spacing)
    return box


def steady_row_of(*parts: LayoutItem, margins: Margins | None = None, spacing: int | None = None) -> QHBoxLayout:
    """As high as all of it, whether it is seen or not: what stands above keeps its place while buttons come and go."""
    box = row_of(*parts, margins=margins, spacing=spacing)
    shown = (part[0] if isinstance(part, tuple) else part for part in parts)
    box.addStrut(max(what.sizeHint().height() for what in shown if isinstance(what, QWidget)))
    return box


def column_of(
    *parts: LayoutItem, inside: QWidget | None = None, margins: Margins | None = None, spacing: int | None = None
) -> QVBoxLayout:
    """One below the other."""
    box = QVBoxLayout(inside) if inside is not None else QVBoxLayout()
    _fill(box, parts, margins, spacing)
    return box


def _fill(box: QBoxLayout, parts: tuple[LayoutItem, ...], margins: Margins | None, spacing: int | None) -> None:
    if margins is not None:
        box.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    if spacing is not None:
        box.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            box.addStretch(part)
            continue
        what, *place = part if isinstance(part, tuple) else (part,)
        if isinstance(what, QLayout):
            box.addLayout(what, *place)
        else:
            box.addWidget(what, *place)


def fit_on_screen(dialog: QWidget, width: int, height: int) -> None:
    """As large as this, unless the screen is too small for that and for what the system puts around it."""
    room = dialog.screen().availableGeometry()
    dialog.resize(min(width, room.width() - 2 * SPACE), min(height, room.height() - _AROUND))


def take_out(widgets: list[QWidget]) -> None:
    """They are gone from sight and from their layout at once; the list is empty then."""
    while widgets:
        widget = widgets.pop()
        widget.hide()
        parent = widget.parentWidget()
        if parent is not None and (layout := parent.layout()) is not None:
            layout.removeWidget(widget)
        widget.deleteLater()


def line(*, upright: bool = False) -> QFrame:
    frame = QFrame()
    set_role(frame, "line-upright" if upright else "line")
    return frame


def scrolling(inside: QWidget) -> QScrollArea:
    """What does not fit is scrolled to."""
    area = QScrollArea()
    area.setWidget(inside)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    return area


def on_one_line(*labels: QLabel) -> None:
    """Beside one another at the top: signs of another font, as Chinese ones, make a line begin lower."""
    ascents = [_ascent(one) for one in labels]
    for one, ascent in zip(labels, ascents, strict=True):
        one.setContentsMargins(0, round(max(ascents) - ascent), 0, 0)


def level(form: QFormLayout, field: QWidget | QLayout, *first: QWidget) -> None:
    """The words before a field on one line with what stands first in it: left to Qt they are a little higher."""
    words = form.labelForField(field)
    if words is not None:
        beside = first or ((field,) if isinstance(field, QWidget) else ())
        words.setFixedHeight(max(map(_line_height, beside)))


def _line_height(widget: QWidget) -> int:
    widget.ensurePolished()
    return ROW if isinstance(widget, QAbstractScrollArea) else widget.sizeHint().height()


def _ascent(one: QLabel) -> float:
    words = QTextLayout(one.text().partition("\n")[0] or " ", one.font())
    words.beginLayout()
    line = words.createLine()
    words.endLayout()
    ascent: float = line.ascent()
    return ascent


def label(words: str = "", role: str = "", *, wraps: bool = False, copies: bool = False) -> QLabel:
    """Words as they are; `wraps`: as high as they need to be, `copies`: they can be selected."""
    made = QLabel(words)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(wraps)
    if copies:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if role:
        set_role(made, role)
    return made
