"""Where the window is narrow, the docks at its sides fold into strips: the right ones first, then the left ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QStyle, QStyleOptionToolButton, QStylePainter, QToolBar, QToolButton

from traindeck.domain.texts import say
from traindeck.ui.shell.docks import Docks

_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
USUAL_WIDTH = {_LEFT: 300, _RIGHT: 360}
_NEEDED = {_LEFT: 200, _RIGHT: 300}
"""So much a side needs to be of use; fields and rows scroll below that, but nobody can work so."""
PAGES_NEEDED = 480


class FoldedButton(QToolButton):
    """A name that reads from top to bottom; Chinese stands upright, sign below sign."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.setText(words)
        self._is_upright = not any(sign.isascii() for sign in words)
        self.setToolTip(say("Show {panel}", panel=words))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def sizeHint(self) -> QSize:
        whole, metrics = super().sizeHint(), self.fontMetrics()
        if not self._is_upright:
            return whole.transposed()
        around = whole.width() - metrics.horizontalAdvance(self.text())
        return QSize(whole.height(), around + len(self.text()) * metrics.lineSpacing())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionToolButton()
        self.initStyleOption(option)
        painter.drawPrimitive(QStyle.PrimitiveElement.PE_PanelButtonTool, option)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect, words = self.rect(), "\n".join(self.text())
        if not self._is_upright:
            painter.translate(self.width(), 0)
            painter.rotate(90)
            rect, words = rect.transposed(), self.text()
        self.style().drawItemText(
            painter, rect, Qt.AlignmentFlag.AlignCenter, self.palette(), self.isEnabled(), words, self.foregroundRole()
        )


class Folding(QObject):
    """What is folded comes back by itself when there is room, or in place of the other side when it is asked for."""

    def __init__(
        self, window: QMainWindow, docks: Docks, show: Callable[[str], None], is_at_rest: Callable[[], bool]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._docks = docks
        self._show = show
        self._is_at_rest = is_at_rest
        self.folded: list[str] = []
        self._wanted: Qt.DockWidgetArea | None = None
        """The side that was asked for while there was no room for both."""
        self._is_fitting = False
        self._widths: dict[str, int] = {}
        self.strips: dict[Qt.DockWidgetArea, QToolBar] = {}
        for area, place, name in (
            (_LEFT, Qt.ToolBarArea.LeftToolBarArea, "left"),
            (_RIGHT, Qt.ToolBarArea.RightToolBarArea, "right"),
        ):
            strip = QToolBar(say("Folded panels"), window)
            strip.setObjectName(f"strip.{name}")
            strip.setMovable(False)
            window.addToolBar(place, strip)
            strip.hide()
            self.strips[area] = strip

    def fit(self) -> None:
        """Fold what there is no room for, and open again what there is room for."""
        if self._is_fitting or not self._is_at_rest():
            return
        self._is_fitting = True
        try:
            self._fit()
        finally:
            self._is_fitting = False
        self._fill_strips()

    def open(self, panel_id: str) -> None:
        """It was asked for: the other side gives way if need be."""
        area = self._area(panel_id)
        self._wanted = area if area in self.strips else None
        if panel_id in self.folded:
            self._unfold([panel_id])

    def take_over(self, folded: Iterable[object]) -> None:
        """They were folded when this was kept; whether they have to be is seen anew."""
        self.folded = [str(name) for name in folded if name in self._docks.all]

    def forget(self) -> None:
        self.folded = []
        self._wanted = None

    # inside

    def _fit(self) -> None:
        sides = {area: self._docks.shown_in(area) for area in self.strips}
        folded = {area: [name for name in self.folded if self._area(name) == area] for area in self.strips}
        room = self._window.width() - PAGES_NEEDED
        needed = sum(_NEEDED[area] for area in self.strips if sides[area] or folded[area])
        if needed <= room:
            self._wanted = None
        first = (_LEFT, _RIGHT) if self._wanted == _RIGHT else (_RIGHT, _LEFT)
        for area in first:
            if needed > room and area != self._wanted:
                needed -= _NEEDED[area] if sides[area] or folded[area] else 0
                self._fold(sides[area])
            elif folded[area]:
                self._unfold(folded[area])

    def _fold(self, panels: Iterable[str]) -> None:
        for panel_id in panels:
            dock = self._docks.all[panel_id]
            self._widths[panel_id] = dock.width()
            self.folded.append(panel_id)
            dock.hide()

    def _unfold(self, panels: Collection[str]) -> None:
        docks = [self._docks.all[panel_id] for panel_id in panels]
        widths = [max(self._widths.get(panel_id, 0), USUAL_WIDTH[self._area(panel_id)]) for panel_id in panels]
        self.folded = [panel_id for panel_id in self.folded if panel_id not in panels]
        for dock in docks:
            dock.show()
        self._window.resizeDocks(docks, widths, Qt.Orientation.Horizontal)

    def _area(self, panel_id: str) -> Qt.DockWidgetArea:
        return self._window.dockWidgetArea(self._docks.all[panel_id])

    def _fill_strips(self) -> None:
        # One that somebody opened in another way is folded no longer.
        self.folded = [panel_id for panel_id in self.folded if self._docks.all[panel_id].isHidden()]
        for area, strip in self.strips.items():
            names = [
                panel_id for panel_id in self._docks.all if panel_id in self.folded and self._area(panel_id) == area
            ]
            if names != [action.data() for action in strip.actions()]:
                strip.clear()
                for panel_id in names:
                    button = FoldedButton(self._docks.panels[panel_id].title)
                    button.clicked.connect(partial(self._show, panel_id))
                    strip.addWidget(button).setData(panel_id)
            strip.setVisible(bool(names))
