"""Where the Tab key leads: as one reads, from left to right and from above to below, panel by panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QAbstractButton, QMainWindow, QWidget

_TAB = Qt.FocusPolicy.TabFocus
_OF_A_BAR = 0.9


def tab_order(root: QWidget) -> list[QWidget]:
    """All in sight that the key stops at; what stands together in a widget comes together."""
    stops = [root] if _stops_at(root) else []
    branches = [child for child in root.children() if isinstance(child, QWidget) and _may_hold(child)]
    groups = _columns(root, branches) if isinstance(root, QMainWindow) else _rows(branches)
    for group in groups:
        for branch in group:
            stops += tab_order(branch)
    return stops


def next_stop(root: QWidget, focused: QWidget | None, *, is_next: bool) -> QWidget | None:
    """Behind the last one comes the first."""
    stops = tab_order(root)
    if not stops:
        return None
    if focused not in stops:
        return stops[0 if is_next else -1]
    return stops[(stops.index(focused) + (1 if is_next else -1)) % len(stops)]


def _stops_at(widget: QWidget) -> bool:
    if widget.focusPolicy() & _TAB != _TAB or not widget.isEnabled() or widget.focusProxy() is not None:
        return False
    # Of buttons that exclude each other, the chosen one; arrows lead to the others.
    if not isinstance(widget, QAbstractButton) or not widget.autoExclusive() or widget.isChecked():
        return True
    return not any(one.isChecked() for one in _beside(widget))


def _beside(button: QWidget) -> Iterator[QAbstractButton]:
    parent = button.parentWidget()
    for one in parent.children() if parent is not None else ():
        if isinstance(one, QAbstractButton) and one.autoExclusive():
            yield one


def _may_hold(widget: QWidget) -> bool:
    return widget.isVisible() and not widget.isWindow()


def _columns(window: QMainWindow, widgets: Sequence[QWidget]) -> Iterator[list[QWidget]]:
    """The bars above, then the panels column by column, then the bars below."""
    bars = [widget for widget in widgets if widget.width() > _OF_A_BAR * window.width()]
    middle = window.height() // 2
    yield sorted((bar for bar in bars if bar.y() < middle), key=lambda bar: bar.y())
    left = sorted((widget for widget in widgets if widget not in bars), key=lambda widget: widget.x())
    while left:
        first = left[0]
        column = [widget for widget in left if widget.x() < first.x() + first.width() // 2]
        yield sorted(column, key=lambda widget: widget.y())
        left = [widget for widget in left if widget not in column]
    yield sorted((bar for bar in bars if bar.y() >= middle), key=lambda bar: bar.y())


def _rows(widgets: Sequence[QWidget]) -> Iterator[list[QWidget]]:
    """Those that stand beside each other, from left to right."""
    left = sorted(widgets, key=lambda widget: (widget.y(), widget.x()))
    while left:
        first = left[0].geometry()
        row = [widget for widget in left if widget is left[0] or _is_beside(first, widget.geometry())]
        yield sorted(row, key=lambda widget: widget.x())
        left = [widget for widget in left if widget not in row]


def _is_beside(one: QRect, two: QRect) -> bool:
    shared = min(one.bottom(), two.bottom()) - max(one.top(), two.top())
    return shared > min(one.height(), two.height()) // 2
