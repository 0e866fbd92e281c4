"""Where the window is narrow, the docks at its sides fold into strips; where it is low, those at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QStyle, QStyleOptionToolButton, QStylePainter, QToolBar, QToolButton

from traindeck.domain.texts import say
from traindeck.ui.shell.docks import Docks

_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
_SIDES = (_LEFT, _RIGHT)
USUAL_WIDTH = {_LEFT: 300, _RIGHT: 360}
_NEEDED = {_LEFT: 200, _RIGHT: 300}
"""So much a side needs to be of use; fields and rows scroll below that, but nobody can work so."""
PAGES_NEEDED = 480
_PAGE_HEIGHT = 290
"""Of a bucket: its address, its buttons, the head of its table, five rows and what is known of them."""
_BARS = 116
"""Menu, toolbar and status bar."""
_NEEDED_BELOW = 120
"""Three lines of a log, with its head."""


def room_below(window: QMainWindow) -> int:
    """So much of the window the docks at the bottom can have, and five rows of a bucket stay."""
    return window.height() - _BARS - _PAGE_HEIGHT


class FoldedButton(QToolButton):
    """The name of a panel, to open it by."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.setText(words)
        self.setToolTip(say("Show {panel}", panel=words))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)


class UprightButton(FoldedButton):
    """Reads from top to bottom; Chinese stands upright, sign below sign."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self._is_upright = not any(sign.isascii() for sign in words)

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
        self.is_below_wanted = False
        """The docks at the bottom were asked for while there was no room for them."""
        self._is_fitting = False
        self._widths: dict[str, int] = {}
        self._front_below = ""
        self.strips: dict[Qt.DockWidgetArea, QToolBar] = {}
        for area, place, name in (
            (_LEFT, Qt.ToolBarArea.LeftToolBarArea, "left"),
            (_RIGHT, Qt.ToolBarArea.RightToolBarArea, "right"),
            (_BOTTOM, Qt.ToolBarArea.BottomToolBarArea, "bottom"),
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
            self._fit_sides()
            self._fit_below()
        finally:
            self._is_fitting = False
        self._fill_strips()

    def open(self, panel_id: str) -> None:
        """It was asked for: the other side, or the pages, give way if need be."""
        area = self._area(panel_id)
        if area == _BOTTOM:
            self.want_below()
        else:
            self._wanted = area if area in _SIDES else None
        if panel_id in self.folded:
            self._unfold([panel_id] if area in _SIDES else [name for name in self.folded if self._area(name) == area])

    def want_below(self) -> None:
        """From now on the docks at the bottom stay, however low the window is."""
        self.is_below_wanted = True

    def give_way(self) -> None:
        """A page was asked for that needs its height."""
        self.is_below_wanted = False
        self.fit()

    def take_over(self, folded: Iterable[object]) -> None:
        """They were folded when this was kept; whether they have to be is seen anew."""
        self.folded = [str(name) for name in folded if name in self._docks.all]

    def leave_out(self, panels: Collection[str]) -> None:
        """They do not come back by themselves."""
        self.folded = [panel_id for panel_id in self.folded if panel_id not in panels]

    def forget(self) -> None:
        self.folded = []
        self._wanted = None
        self.is_below_wanted = False

    # inside

    def _fit_sides(self) -> None:
        sides = {area: self._docks.shown_in(area) for area in _SIDES}
        folded = {area: [name for name in self.folded if self._area(name) == area] for area in _SIDES}
        room = self._window.width() - PAGES_NEEDED
        needed = sum(_NEEDED[area] for area in _SIDES if sides[area] or folded[area])
        if needed <= room:
            self._wanted = None
        first = (_LEFT, _RIGHT) if self._wanted == _RIGHT else (_RIGHT, _LEFT)
        for area in first:
            if needed > room and area != self._wanted:
                needed -= _NEEDED[area] if sides[area] or folded[area] else 0
                self._fold(sides[area])
            elif folded[area]:
                self._unfold(folded[area])

    def _fit_below(self) -> None:
        has_room = room_below(self._window) >= _NEEDED_BELOW
        if has_room:
            self.is_below_wanted = False
        if not has_room and not self.is_below_wanted:
            shown = self._docks.shown_in(_BOTTOM)
            self._front_below = next((name for name in shown if name in self._docks.in_front), self._front_below)
            self._fold(shown)
        elif folded := [name for name in self.folded if self._area(name) == _BOTTOM]:
            self._unfold(folded)
            if self._front_below in folded:
                self._docks.all[self._front_below].raise_()

    def _fold(self, panels: Iterable[str]) -> None:
        for panel_id in panels:
            dock = self._docks.all[panel_id]
            self._widths[panel_id] = dock.width()
            self.folded.append(panel_id)
            dock.hide()

    def _unfold(self, panels: Collection[str]) -> None:
        docks = [self._docks.all[panel_id] for panel_id in panels]
        self.leave_out(panels)
        for dock in docks:
            dock.show()
        if all(self._area(panel_id) == _BOTTOM for panel_id in panels):
            half, room = self._window.height() // 2, room_below(self._window)
            height = min(half, room) if room >= _NEEDED_BELOW else half
            self._window.resizeDocks(docks, [height] * len(docks), Qt.Orientation.Vertical)
            return
        widths = [max(self._widths.get(panel_id, 0), USUAL_WIDTH[self._area(panel_id)]) for panel_id in panels]
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
                    title = self._docks.panels[panel_id].title
                    button = UprightButton(title) if area in _SIDES else FoldedButton(title)
                    button.clicked.connect(partial(self._show, panel_id))
                    strip.addWidget(button).setData(panel_id)
            strip.setVisible(bool(names))
