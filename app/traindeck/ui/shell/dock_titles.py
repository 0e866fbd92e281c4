"""What stands over a dock: one bar with its name and its buttons, or the tab that says the name already."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QTabBar, QWidget
from shiboken6 import getCppPointer

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import theme_tool_buttons, tool_button
from traindeck.ui.kit.layouts import label, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme

ICON = QSize(16, 16)
_NOTHING = QSize(0, 0)


class DockButtons(QWidget):
    """Whole window, float, close: for a dock, or for whichever of several is in front."""

    whole_wanted = Signal()
    float_wanted = Signal()
    close_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.whole = tool_button("whole", say("Maximize or restore (F11)"), self.whole_wanted)
        self.float = tool_button("float", say("Float or dock"), self.float_wanted)
        self.shut = tool_button("close", say("Close"), self.close_wanted)
        for button in (self.whole, self.float, self.shut):
            button.setIconSize(ICON)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the View menu has them for the keyboard
        row_of(self.whole, self.float, self.shut, inside=self, margins=0, spacing=0)
        theme.changed.connect(self._paint)
        self._paint()

    def _paint(self) -> None:
        theme_tool_buttons(self, self._theme)


class DockTitle(QWidget):
    """The bar of one dock; where a tab says its name, there is none."""

    whole_wanted = Signal()

    def __init__(self, dock: QDockWidget, theme: Theme) -> None:
        super().__init__(dock)
        self.is_needed = True
        self.name = label(dock.windowTitle(), "strong")
        self.buttons = DockButtons(theme)
        self.buttons.whole_wanted.connect(self.whole_wanted)
        self.buttons.float_wanted.connect(lambda: dock.setFloating(not dock.isFloating()))
        self.buttons.close_wanted.connect(dock.close)
        row_of(self.name, 1, self.buttons, inside=self, margins=(SPACE, 1, HALF, 1), spacing=SPACE)

    def need(self, is_needed: bool) -> None:
        if is_needed == self.is_needed:
            return
        self.is_needed = is_needed
        self.setVisible(is_needed)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return super().sizeHint() if self.is_needed else _NOTHING

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint() if self.is_needed else _NOTHING

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # Everything else goes on to the dock, which is dragged by it.
        if event.button() == Qt.MouseButton.LeftButton:
            self.whole_wanted.emit()
            event.accept()


class TabBarButtons(QObject):
    """Gives a bar of docks that stand behind each other the buttons of the one in front."""

    def __init__(self, bar: QTabBar, theme: Theme, act: Callable[[QTabBar, int, str], None]) -> None:
        super().__init__(bar)
        self._bar = bar
        self._buttons = DockButtons(theme, bar)
        for wanted, name in (
            (self._buttons.whole_wanted, WHOLE),
            (self._buttons.float_wanted, FLOAT),
            (self._buttons.close_wanted, CLOSE),
        ):
            wanted.connect(lambda name=name: act(bar, bar.currentIndex(), name))
        bar.tabBarDoubleClicked.connect(lambda index: act(bar, index, WHOLE))
        bar.setElideMode(Qt.TextElideMode.ElideNone)
        bar.setAccessibleName(say("Panels"))
        bar.installEventFilter(self)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        size = self._buttons.sizeHint()
        self._buttons.setGeometry(
            self._bar.width() - size.width() - HALF, (self._bar.height() - size.height()) // 2, *size.toTuple()
        )
        self._buttons.show()
        self._buttons.raise_()


WHOLE, FLOAT, CLOSE = "whole", "float", "close"


def dock_at(bar: QTabBar, index: int, docks: Iterable[QDockWidget]) -> QDockWidget | None:
    """Whose name stands there; Qt keeps its address beside it."""
    place = bar.tabData(index)
    return next((dock for dock in docks if getCppPointer(dock)[0] == place), None)
