"""The frame: tabs in the middle, docks around them, menus, notice bar, status bar, and where all of it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabWidget, QToolBar, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme
from traindeck.ui.shell.bars import NoticeBar
from traindeck.ui.shell.menus import SPACER, Menus
from traindeck.viewmodels.shell.commands import Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import WindowLayout, WindowState

Make = Callable[[], QWidget]


@dataclass(frozen=True, slots=True)
class Panel:
    """One dock with its place; `id` is English and stable, because saved layouts name it."""

    id: str
    title: str
    area: Qt.DockWidgetArea
    raise_: bool = False
    is_hidden: bool = False
    """Not there until somebody asks for it."""


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


LAYOUT_VERSION = 3  # raise it when docks come, go or change their names
FIRST_SIZE = (1280, 800)
SMALLEST_SIZE = (960, 600)
SIDE_WIDTH, FORM_WIDTH, BOTTOM_HEIGHT = 310, 370, 240

_SIDES = (
    (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.Orientation.Horizontal, SIDE_WIDTH),
    (Qt.DockWidgetArea.RightDockWidgetArea, Qt.Orientation.Horizontal, FORM_WIDTH),
    (Qt.DockWidgetArea.BottomDockWidgetArea, Qt.Orientation.Vertical, BOTTOM_HEIGHT),
)


class MainWindow(QMainWindow):
    """Holds panels and pages; knows nothing of what they are about."""

    tab_closed = Signal(str)
    """The key of a page that is about to be deleted."""
    painted = Signal()
    """It is in sight for the first time."""
    panel_made = Signal(str)
    """What belongs into this dock is in it."""

    def __init__(
        self,
        *,
        theme: Theme,
        commands: Commands,
        notices: Notices,
        state: WindowState,
        panels: Sequence[Panel],
        on_close_request: Callable[[], None],
        toolbar: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.theme = theme
        self.commands = commands
        self.is_painted = False
        self.report_problem: Callable[[str], None] | None = None
        """What can be done about a mistake of ours, once the rooms are there."""
        self._state = state
        self._on_close_request = on_close_request
        self._docks: dict[str, QDockWidget] = {}
        self._panels: dict[str, Panel] = {}
        self._in_front: set[str] = set()
        self._makes: dict[str, Make] = {}
        self._due: list[str] = []
        self._half_made: set[str] = set()
        self._pages: dict[str, QWidget] = {}
        self.setObjectName("main_window")
        self.setWindowTitle("TrainDeck")
        self.setWindowIcon(theme.program_icon())
        self.setMinimumSize(*SMALLEST_SIZE)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the View menu lists the docks
        self.setDockNestingEnabled(True)
        self.setDockOptions(self.dockOptions() | QMainWindow.DockOption.AllowTabbedDocks)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.tabs = QTabWidget()
        self._build_centre()
        self.statusBar()
        self._making = QTimer(self)
        self._making.setSingleShot(True)
        self._making.timeout.connect(self._make_next)
        for panel in panels:
            self.addDockWidget(panel.area, self._docked(panel))
        self.menus = Menus(self, commands, theme, toolbar)
        self.notice_bar = NoticeBar(notices, theme)
        self._place_for_notices()
        self._arrange()
        self._load_layout()
        notices.crashed.connect(self._show_report)

    # pages

    def open_tab(self, key: str, title: str, make: Callable[[], QWidget]) -> QWidget:
        """Bring the page to the front; `make` it when it is not there."""
        page = self._pages.get(key)
        if page is None:
            page = make()
            page.setObjectName(f"page.{key}")
            self._pages[key] = page
            self.tabs.addTab(page, title)
        self.tabs.setCurrentWidget(page)
        return page

    def rename_tab(self, key: str, title: str) -> None:
        if key in self._pages:
            self.tabs.setTabText(self.tabs.indexOf(self._pages[key]), title)

    def tab_title(self, key: str) -> str:
        return self.tabs.tabText(self.tabs.indexOf(self._pages[key]))

    def mark_tab(self, key: str, icon: QIcon, words: str) -> None:
        """Show something about the page beside its title; an icon that is none and no words take it away."""
        if key in self._pages:
            at = self.tabs.indexOf(self._pages[key])
            self.tabs.setTabIcon(at, icon)
            self.tabs.setTabToolTip(at, words)
            title = self.tabs.tabText(at)
            self.tabs.tabBar().setAccessibleTabName(at, f"{title}. {words}" if words else title)

    def close_tab(self, key: str) -> None:
        page = self._pages.pop(key, None)
        if page is None:
            return
        self.tab_closed.emit(key)
        self.tabs.removeTab(self.tabs.indexOf(page))
        page.close()
        page.deleteLater()

    def open_tabs(self) -> list[str]:
        """The keys in the order of the tabs."""
        return sorted(self._pages, key=lambda key: self.tabs.indexOf(self._pages[key]))

    def pages(self, kind: type[QWidget]) -> list[str]:
        """The keys of those that are of this kind."""
        return [key for key, page in self._pages.items() if isinstance(page, kind)]

    def current_tab(self) -> str:
        return self._key_of(self.tabs.currentIndex())

    # docks

    def provide(self, panel_id: str, make: Make) -> None:
        """What goes into this dock: made when it is in sight, or when it is asked for. The first one counts."""
        if panel_id in self._makes or not isinstance(self._docks[panel_id].widget(), Skeleton):
            return
        self._makes[panel_id] = make
        if panel_id in self._in_front:
            self._make_soon(panel_id)

    def panel(self, panel_id: str) -> QWidget:
        """What is in this dock; made now if it was not in sight yet."""
        if make := self._makes.pop(panel_id, None):
            dock = self._docks[panel_id]
            empty, focused = dock.widget(), QApplication.focusWidget()
            dock.setWidget(make())
            if empty is not None:
                empty.deleteLater()
            if focused is not None and focused is not QApplication.focusWidget() and focused.isVisible():
                focused.setFocus(Qt.FocusReason.OtherFocusReason)
            self.panel_made.emit(panel_id)
        return self._docks[panel_id].widget()

    def panels_made(self) -> list[str]:
        """The docks that hold what belongs into them."""
        return [panel_id for panel_id, dock in self._docks.items() if not isinstance(dock.widget(), Skeleton)]

    def show_dock(self, panel_id: str) -> None:
        """Make it visible, in front of its neighbours, and give it the keyboard."""
        dock = self._docks[panel_id]
        self.panel(panel_id)
        self._bring_in(panel_id)
        dock.show()
        dock.raise_()
        inside = dock.widget().focusProxy() or dock.widget()
        inside.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.commands.refresh()

    def toggle_dock(self, panel_id: str) -> None:
        if self.is_dock_shown(panel_id):
            self._docks[panel_id].hide()
            self.commands.refresh()
        else:
            self.show_dock(panel_id)

    def peek_dock(self, panel_id: str) -> None:
        """Bring it to the front without the keyboard; when it is in front, hide it."""
        dock = self._docks[panel_id]
        is_in_front = panel_id in self._in_front
        self._bring_in(panel_id)
        dock.setVisible(not is_in_front)
        if not is_in_front:
            dock.raise_()
        self.commands.refresh()

    def is_dock_shown(self, panel_id: str) -> bool:
        return self._docks[panel_id].isVisibleTo(self)

    def dock_titles(self) -> dict[str, str]:
        return {panel_id: panel.title for panel_id, panel in self._panels.items()}

    # layout

    def save_layout(self) -> None:
        geometry, docks = bytes(self.saveGeometry().data()), bytes(self.saveState(LAYOUT_VERSION).data())
        self._state.save(LAYOUT_VERSION, WindowLayout(geometry, docks))

    def reset_layout(self) -> None:
        """As at the first start."""
        for dock in self._docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)
        for panel_id, dock in self._docks.items():
            self.addDockWidget(self._panels[panel_id].area, dock)
            dock.setHidden(self._panels[panel_id].is_hidden)
        self._arrange()
        self.commands.refresh()

    # asked by Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.is_painted:
            self.is_painted = True
            QTimer.singleShot(0, self.painted.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        self._on_close_request()

    # inside

    def _build_centre(self) -> None:
        self.tabs.setDocumentMode(True)
        self.tabs.setTabsClosable(True)
        self.tabs.setMovable(True)
        # What is dragged may go into another tab: that comes to the front under the mouse.
        self.tabs.tabBar().setAcceptDrops(True)
        self.tabs.tabBar().setChangeCurrentOnDrag(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.tabs.tabBar().setAccessibleName(say("Open pages"))
        self.tabs.tabCloseRequested.connect(lambda index: self.close_tab(self._key_of(index)))
        self.setCentralWidget(self.tabs)

    def _place_for_notices(self) -> None:
        """A toolbar of its own, because only those reach over the docks."""
        place = QToolBar(say("Notices"), self)
        place.setObjectName("notices")
        place.setMovable(False)
        place.addWidget(self.notice_bar)
        self.addToolBarBreak()
        self.addToolBar(place)
        self.notice_bar.needed.connect(place.setVisible)

    def _key_of(self, index: int) -> str:
        page = self.tabs.widget(index)
        return next((key for key, widget in self._pages.items() if widget is page), "")

    def _docked(self, panel: Panel) -> QDockWidget:
        dock = QDockWidget(panel.title, self)
        dock.setObjectName(f"dock.{panel.id}")
        dock.setWidget(Skeleton(self.theme))
        if panel.is_hidden:
            dock.hide()
        dock.visibilityChanged.connect(partial(self._on_visibility, panel.id))
        self._docks[panel.id] = dock
        self._panels[panel.id] = panel
        return dock

    def _bring_in(self, panel_id: str) -> None:
        """The first time it comes in front of what is there, as large as that."""
        if panel_id not in self._unplaced:
            return
        self._unplaced.discard(panel_id)
        area = self._panels[panel_id].area
        there = [dock for other, dock in self._docks.items() if other != panel_id and self._panels[other].area == area]
        beside = next((dock for dock in there if dock.isVisibleTo(self) and not dock.isFloating()), None)
        if beside is not None and not self._docks[panel_id].isFloating():
            self.tabifyDockWidget(beside, self._docks[panel_id])

    def _on_visibility(self, panel_id: str, is_in_front: bool) -> None:
        """Not so while another tab is in front of it."""
        if is_in_front:
            self._in_front.add(panel_id)
            if panel_id in self._makes:
                self._make_soon(panel_id)
        else:
            self._in_front.discard(panel_id)
        self.commands.refresh()

    def _make_soon(self, panel_id: str) -> None:
        """One at a time, so that the window answers between two."""
        if panel_id not in self._due:
            self._due.append(panel_id)
            self._making.start()

    def _make_next(self) -> None:
        panel_id = self._due.pop(0)
        make = self._makes.get(panel_id) if panel_id in self._in_front else None  # else once it is seen
        if make is not None and panel_id not in self._half_made:
            # Putting it into its dock, where it is styled and laid out, costs as much again: in a turn of its own.
            widget = make()
            self._makes[panel_id] = lambda: widget
            self._half_made.add(panel_id)
            self._due.insert(0, panel_id)
        elif make is not None:
            self.panel(panel_id)
        if self._due:
            self._making.start()

    def _arrange(self) -> None:
        """Side docks under each other, bottom docks behind each other, the raised ones in front."""
        for area, direction, size in _SIDES:
            there = [panel for panel in self._panels.values() if panel.area == area]
            docks = [self._docks[panel.id] for panel in there if not panel.is_hidden]
            if area == Qt.DockWidgetArea.BottomDockWidgetArea:
                for before, after in pairwise(docks):
                    self.tabifyDockWidget(before, after)
            self.resizeDocks(docks, [size] * len(docks), direction)
        self._unplaced = {panel_id for panel_id, panel in self._panels.items() if panel.is_hidden}
        for panel_id, panel in self._panels.items():
            if panel.raise_:
                self._docks[panel_id].raise_()

    def _load_layout(self) -> None:
        layout = self._state.load(LAYOUT_VERSION)
        if layout is None or not self.restoreGeometry(QByteArray(layout.geometry)):
            room = self.screen().availableGeometry()
            self.resize(min(FIRST_SIZE[0], room.width()), min(FIRST_SIZE[1], room.height()))
        if layout is not None:
            self.restoreState(QByteArray(layout.docks), LAYOUT_VERSION)
            self._unplaced -= {panel_id for panel_id, dock in self._docks.items() if dock.isVisibleTo(self)}
        self.notice_bar.refresh()

    def _show_report(self, report: str) -> None:
        """One at a time: a mistake in a timer would bury the screen."""
        from traindeck.ui.kit.dialogs import ErrorReport

        if not any(before.isVisible() for before in self.findChildren(ErrorReport)):
            ErrorReport(report, self.theme, self, self.report_problem).open()


# The way to one's own account is always in sight.
_TOOLBAR = ("job.sample", "run.again", "run.stop", "run.log", SPACER, "view.palette", "account.connect")


def make_frame(theme: Theme, notices: Notices, layout: WindowState, request_quit: Callable[[], None]) -> MainWindow:
    """Menus, toolbar and docks where they were; each room provides what goes into its docks."""
    left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
    bottom = Qt.DockWidgetArea.BottomDockWidgetArea
    panels = [
        Panel("buckets", say("Buckets"), left),
        Panel("runs", say("Runs"), left),
        Panel("log", say("Log"), bottom, raise_=True),
        Panel("transfers", say("Transfers"), bottom),
        Panel("events", say("Events"), bottom),
        Panel("job", say("Job"), right),
        Panel("preview", say("Preview"), right, is_hidden=True),
    ]
    return MainWindow(
        theme=theme,
        commands=Commands(),
        notices=notices,
        state=layout,
        panels=panels,
        on_close_request=request_quit,
        toolbar=_TOOLBAR,
    )
