"""The docks: what goes into them is made when it is in sight, and what is not in sight takes no keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabBar, QWidget

from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme
from traindeck.ui.shell.dock_titles import CLOSE, FLOAT, DockTitle, TabBarButtons, dock_at

Make = Callable[[], QWidget]


@dataclass(frozen=True, slots=True)
class Panel:
    """One dock with its place; `id` is English and stable, because saved layouts name it."""

    id: str
    title: str
    area: Qt.DockWidgetArea


@runtime_checkable
class InTwoParts(Protocol):
    """A panel that is much work to make."""

    def finish(self) -> None:
        """The second part of it, if it is not there yet."""


class Skeleton(QWidget):
    """Stands in a dock until its panel is made: bars where its rows will be."""

    _WIDTHS = (0.55, 0.8, 0.65, 0.72, 0.5)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("hover"))
        for row, share in enumerate(self._WIDTHS):
            top = 2 * SPACE + row * ROW
            if top + SPACE > self.height():
                break
            painter.drawRoundedRect(SPACE, top, int((self.width() - 2 * SPACE) * share), SPACE + HALF, HALF, HALF)
        painter.end()


class Docks(QObject):
    """Holds the panels; where they stand is for the arrangements to say."""

    made = Signal(str)
    """What belongs into this dock is in it."""
    changed = Signal()
    """One came into sight or went out of it, or stands elsewhere."""
    whole_wanted = Signal(str)
    """This one is to have the whole window, or to give it back."""
    left_alone = Signal()
    """The keyboard was in one that nobody sees any more."""

    def __init__(self, window: QMainWindow, theme: Theme, panels: Sequence[Panel]) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self.panels = {panel.id: panel for panel in panels}
        self.all: dict[str, QDockWidget] = {}
        self.in_front: set[str] = set()
        self._inside: dict[str, QWidget] = {}
        self._titles: dict[str, DockTitle] = {}
        self._makes: dict[str, Make] = {}
        self._due: list[str] = []
        self._half_made: dict[str, QWidget] = {}
        self._finished: set[str] = set()
        self._lost_keys_to = ""
        self._making = QTimer(self, singleShot=True, interval=0)
        self._making.timeout.connect(self._make_next)
        self._tidying = QTimer(self, singleShot=True, interval=0)
        self._tidying.timeout.connect(self.tidy)
        for panel in panels:
            window.addDockWidget(panel.area, self._docked(panel))

    # what is in them

    def provide(self, panel_id: str, make: Make) -> None:
        """What goes into this dock: made when it is in sight, or when it is asked for. The first one counts."""
        if panel_id in self._makes or not isinstance(self._inside[panel_id], Skeleton):
            return
        self._makes[panel_id] = make
        if panel_id in self.in_front:
            self._make_soon(panel_id)

    def prepare(self, panel_id: str) -> bool:
        """A step of making what is in this dock, and no more; False: none is left, or nothing is to be made.

        To make it, to give it its parent, which styles it, and to put it into its dock, which lays it out, cost as
        much as each other: each in a turn of its own.
        """
        make = self._makes.get(panel_id)
        if make is None:
            return False
        if (widget := self._half_made.get(panel_id)) is None:
            widget = self._half_made[panel_id] = make()
            self._makes[panel_id] = lambda: widget
            self._window.destroyed.connect(widget.deleteLater)  # it may go before it has its parent
        elif widget.parent() is None:
            widget.setParent(self._window)
        elif isinstance(widget, InTwoParts) and panel_id not in self._finished:
            self._finished.add(panel_id)
            widget.finish()
        else:
            return False
        return True

    def content(self, panel_id: str) -> QWidget:
        """What is in this dock; made now if it was not in sight yet."""
        if make := self._makes.pop(panel_id, None):
            self._half_made.pop(panel_id, None)
            empty, focused = self._inside[panel_id], QApplication.focusWidget()
            self._put(panel_id, make())
            empty.deleteLater()
            if focused is not None and focused is not QApplication.focusWidget() and focused.isVisible():
                focused.setFocus(Qt.FocusReason.OtherFocusReason)
            self.made.emit(panel_id)
        return self._inside[panel_id]

    def with_content(self) -> list[str]:
        """The docks that hold what belongs into them."""
        return [panel_id for panel_id, inside in self._inside.items() if not isinstance(inside, Skeleton)]

    # which are seen

    def is_shown(self, panel_id: str) -> bool:
        return self.all[panel_id].isVisibleTo(self._window)

    def shown_in(self, area: Qt.DockWidgetArea) -> list[str]:
        """Those that take room at this side of the window."""
        return [
            panel_id
            for panel_id, dock in self.all.items()
            if self._window.dockWidgetArea(dock) == area and not dock.isFloating() and not dock.isHidden()
        ]

    def show(self, panel_id: str) -> None:
        """In front of its neighbours, with the keyboard in it."""
        dock, content = self.all[panel_id], self.content(panel_id)
        dock.show()
        dock.raise_()
        content.show()  # a dock that was never laid out does not know yet that it is in sight
        (content.focusProxy() or content).setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._lost_keys_to = ""  # the one that gave way for it may have had them

    def with_focus(self) -> str:
        """The dock the keyboard is in, if it is in one."""
        focused = QApplication.focusWidget()
        return next((panel_id for panel_id, dock in self.all.items() if _holds(dock, focused)), "")

    def tidy(self) -> None:
        """No name stands twice: where a tab says it, there is no bar, and the tabs have the buttons."""
        self._tidying.stop()
        for panel_id, dock in self.all.items():
            beside = [other for other in self._window.tabifiedDockWidgets(dock) if not other.isHidden()]
            self._titles[panel_id].need(dock.isFloating() or not beside)
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if not bar.findChildren(TabBarButtons):
                TabBarButtons(bar, self._theme, self._act_on_tab)
        if gone := self._lost_keys_to:
            self._lost_keys_to = ""
            # Itself, where it was hidden for a moment only, while docks were put where they were.
            places = [self.all[gone], *self._window.tabifiedDockWidgets(self.all[gone])]
            front = [
                inside for other, inside in self._inside.items() if other in self.in_front and self.all[other] in places
            ]
            if not front:
                self.left_alone.emit()
            elif not _holds(front[0], QApplication.focusWidget()):
                (front[0].focusProxy() or front[0]).setFocus(Qt.FocusReason.OtherFocusReason)

    # inside

    def _docked(self, panel: Panel) -> QDockWidget:
        dock = QDockWidget(panel.title, self._window)
        dock.setObjectName(f"dock.{panel.id}")
        title = DockTitle(dock, self._theme)
        title.whole_wanted.connect(partial(self.whole_wanted.emit, panel.id))
        dock.setTitleBarWidget(title)
        # One of its own, that is always there: a dock without anything in it takes no room.
        place = QWidget()
        column_of(inside=place, margins=0)
        dock.setWidget(place)
        dock.visibilityChanged.connect(partial(self._on_visibility, panel.id))
        dock.topLevelChanged.connect(self._tidy_soon)
        dock.dockLocationChanged.connect(self._tidy_soon)
        self.all[panel.id] = dock
        self._titles[panel.id] = title
        self._put(panel.id, Skeleton(self._theme))
        return dock

    def _put(self, panel_id: str, inside: QWidget) -> None:
        place = self.all[panel_id].widget().layout()
        assert place is not None
        if before := self._inside.get(panel_id):
            place.removeWidget(before)
            before.hide()
        self._inside[panel_id] = inside
        place.addWidget(inside)
        inside.setVisible(panel_id in self.in_front)

    def _act_on_tab(self, bar: QTabBar, index: int, act: str) -> None:
        dock = dock_at(bar, index, self.all.values())
        if dock is None:
            return
        if act == CLOSE:
            dock.close()
        elif act == FLOAT:
            dock.setFloating(True)
        else:
            self.whole_wanted.emit(dock.objectName().removeprefix("dock."))

    def _tidy_soon(self, *_: object) -> None:
        self._tidying.start()
        self.changed.emit()

    def _on_visibility(self, panel_id: str, is_in_front: bool) -> None:
        """Behind another tab a dock counts as visible for Qt, and keys would reach what is in it."""
        content = self._inside[panel_id]
        if is_in_front:
            self.in_front.add(panel_id)
            if panel_id in self._makes:
                self._make_soon(panel_id)
        else:
            self.in_front.discard(panel_id)
            if _holds(content, QApplication.focusWidget()):
                self._lost_keys_to = panel_id
        content.setVisible(is_in_front)
        self._tidy_soon()

    def _make_soon(self, panel_id: str) -> None:
        """One at a time, so that the window answers between two."""
        if panel_id not in self._due:
            self._due.append(panel_id)
            self._making.start()

    def _make_next(self) -> None:
        panel_id = self._due.pop(0)
        if panel_id in self.in_front:  # else once it is seen
            if self.prepare(panel_id):
                self._due.insert(0, panel_id)
            else:
                self.content(panel_id)
        if self._due:
            self._making.start()


def _holds(widget: QWidget, focused: QWidget | None) -> bool:
    return focused is not None and (widget is focused or widget.isAncestorOf(focused))
