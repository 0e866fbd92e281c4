"""Another look for the whole program, in turns that are short each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

_AT_ONCE = 150  # widgets taken out of a style, or brought under one, in one turn: some 6 ms

_IS_STYLED = Qt.WidgetAttribute.WA_WState_Polished
_HAS_OWN = Qt.WidgetAttribute.WA_SetStyle  # Qt tells such a widget nothing of the style of the program

Turn = Callable[[], object]


class Restyling(QObject):
    """Takes what nobody sees out of the style in force, lets it be changed, and brings that under the new one.

    Qt styles every widget of the program when its style sheet changes, twice, in one turn of the loop; and nine of ten
    are on pages and in docks, menus and folded sections that are not in sight. With all tabs open that held the window
    up for a tenth of a second and more.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__()
        self._application = application
        self._to_undress: list[QWidget] = []
        self._bare: list[QWidget] = []
        self._acts: list[Turn] = []
        self._turns = QTimer(self, interval=0)
        self._turns.timeout.connect(self._next)

    def change(self, acts: Sequence[Turn]) -> None:
        """At once where there is little that nobody sees; else `acts` are done in turns of their own, soon."""
        self._acts = [*acts]
        self._to_undress = [widget for widget in self._application.allWidgets() if _is_put_off(widget)]
        if len(self._to_undress) <= _AT_ONCE:
            self._undress()
            while self._acts:
                self._acts.pop(0)()
        if self._to_undress or self._acts or self._bare:
            self._turns.start()

    def close(self) -> None:
        """Nothing stays without a style."""
        self._turns.stop()
        while self._bare:
            self._dress()

    def _next(self) -> None:
        if self._to_undress:
            self._undress()
        elif self._acts:
            self._acts.pop(0)()
        elif self._bare:
            self._dress()
        else:
            self._turns.stop()

    def _undress(self) -> None:
        style = self._application.style()
        for widget in _some_of(self._to_undress):
            if _is_put_off(widget):
                style.unpolish(widget)
                widget.setAttribute(_IS_STYLED, False)
                widget.setAttribute(_HAS_OWN, True)
                self._bare.append(widget)

    def _dress(self) -> None:
        """First what has come into sight meanwhile."""
        self._bare = [widget for widget in self._bare if isValid(widget)]
        self._bare.sort(key=QWidget.isVisible)
        style, changed = self._application.style(), QEvent(QEvent.Type.StyleChange)
        for widget in _some_of(self._bare):
            if isValid(widget):
                widget.setAttribute(_HAS_OWN, False)
                style.polish(widget)
                widget.setAttribute(_IS_STYLED, True)
                QApplication.sendEvent(widget, changed)


def _is_put_off(widget: QWidget) -> bool:
    if not isValid(widget) or widget.isVisible():
        return False
    return widget.testAttribute(_IS_STYLED) and not widget.testAttribute(_HAS_OWN)


def _some_of(widgets: list[QWidget]) -> list[QWidget]:
    """From the end, and no longer in the list."""
    some = widgets[-_AT_ONCE:]
    del widgets[-_AT_ONCE:]
    return some
