"""The frame: tabs in the middle, docks around them, menus, notice bar, status bar, and where all of it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QIcon, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QScrollArea, QTabWidget, QToolBar, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.tab_order import next_stop
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.arrangements import FIRST_SIZE, Arrangement, Arrangements
from traindeck.ui.shell.bars import NoticeBar
from traindeck.ui.shell.docks import Docks, Make, Panel
from traindeck.ui.shell.folding import Folding
from traindeck.ui.shell.kept_widgets import KeptWidgets
from traindeck.ui.shell.menus import SPACER, Menus
from traindeck.ui.shell.page_tabs import PageTabs
from traindeck.viewmodels.shell.commands import Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.window_state import WindowState

__all__ = ["FIRST_SIZE", "MainWindow", "Make", "Panel", "make_frame"]

SMALLEST_SIZE = (800, 500)
_SMALLEST_PAGE = (320, 176)
_NOTE_MS = 500


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
        arrangements: Sequence[Arrangement] = (),
    ) -> None:
        super().__init__()
        self.theme = theme
        self.commands = commands
        self.is_painted = False
        self.state = state
        self.report_problem: Callable[[str], None] | None = None
        """What can be done about a mistake of ours, once the rooms are there."""
        self._on_close_request = on_close_request
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
        self.tabs = PageTabs(theme)
        self.tabs.setMinimumSize(*_SMALLEST_PAGE)  # a page larger than that does not push the docks out of the window
        self.tabs.closed.connect(self.tab_closed)
        self.setCentralWidget(self.tabs)
        self.statusBar()
        self._kept = KeptWidgets(state, self)
        self.tabs.opened.connect(self._kept.take)
        self._docks = Docks(self, theme, panels)
        self._docks.made.connect(self.panel_made)
        self.menus = Menus(self, commands, theme, toolbar)
        self.panel_made.connect(self._on_panel)
        self.notice_bar = NoticeBar(notices, theme)
        self._place_for_notices()
        self._folding = Folding(self, self._docks, self.show_dock, lambda: not self.arrangements.is_whole)
        self.arrangements = Arrangements(self, self._docks, self.tabs, self._folding, state, arrangements)
        self.arrangements.load()
        self.notice_bar.refresh()
        self._noting = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._noting.timeout.connect(self.save_layout)
        self._watch_layout()
        self.painted.connect(self.arrangements.fit_on_screen)
        notices.crashed.connect(self._show_report)

    # pages

    def open_tab(self, key: str, title: str, make: Make) -> QWidget:
        """Bring the page to the front; `make` it when it is not there."""
        self._show_all()
        return self.tabs.open(key, title, make)

    def give_page_room(self) -> None:
        """In a low window, what stands below the page gives way to it."""
        self._folding.give_way()

    def rename_tab(self, key: str, title: str) -> None:
        self.tabs.rename(key, title)

    def tab_title(self, key: str) -> str:
        return self.tabs.title(key)

    def mark_tab(self, key: str, icon: QIcon, words: str) -> None:
        self.tabs.mark(key, icon, words)

    def close_tab(self, key: str) -> None:
        self.tabs.close_page(key)

    def open_tabs(self) -> list[str]:
        """The keys in the order of the tabs."""
        return self.tabs.keys()

    def pages(self, kind: type[QWidget]) -> list[str]:
        """The keys of those that are of this kind."""
        return self.tabs.of_kind(kind)

    def current_tab(self) -> str:
        return self.tabs.current_key()

    def give_page_keys(self) -> None:
        """The page in front, where nothing else has the keyboard."""
        page = self.tabs.currentWidget()
        if page is not None and page.isVisible():
            (page.focusProxy() or page).setFocus(Qt.FocusReason.OtherFocusReason)

    # docks

    def provide(self, panel_id: str, make: Make) -> None:
        """What goes into this dock: made when it is in sight, or when it is asked for. The first one counts."""
        self._docks.provide(panel_id, make)

    def prepare_panel(self, panel_id: str) -> bool:
        """A step of making what is in this dock, to be put into it in a later turn; False: none is left."""
        return self._docks.prepare(panel_id)

    def panel(self, panel_id: str) -> QWidget:
        """What is in this dock; made now if it was not in sight yet."""
        return self._docks.content(panel_id)

    def panels_made(self) -> list[str]:
        """The docks that hold what belongs into them."""
        return self._docks.with_content()

    def show_dock(self, panel_id: str) -> None:
        """Make it visible, in front of its neighbours, and give it the keyboard."""
        self._show_all()
        self._folding.open(panel_id)
        if self._docks.panels[panel_id].area == Qt.DockWidgetArea.BottomDockWidgetArea:
            self.arrangements.give_log_room()
        self._docks.show(panel_id)
        self._folding.fit()
        self.commands.refresh()

    def toggle_dock(self, panel_id: str) -> None:
        if self.is_dock_shown(panel_id):
            self._show_all()
            self._docks.all[panel_id].hide()
            self.commands.refresh()
        else:
            self.show_dock(panel_id)

    def is_dock_shown(self, panel_id: str) -> bool:
        return self._docks.is_shown(panel_id)

    def dock_titles(self) -> dict[str, str]:
        return {panel_id: panel.title for panel_id, panel in self._docks.panels.items()}

    # layout

    def save_layout(self) -> None:
        self._noting.stop()
        self.arrangements.save()

    def reset_layout(self) -> None:
        """As at the first start."""
        self.arrangements.reset()
        self.commands.refresh()

    def toggle_whole(self) -> None:
        """The panel with the keyboard gets the whole window, or gives it back; without one, the pages."""
        self._toggle_whole(self._docks.with_focus())

    # asked by Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.is_painted:
            self.is_painted = True
            QTimer.singleShot(0, self.painted.emit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._folding.fit()
        if event.size().height() < event.oldSize().height():
            self.arrangements.share_height()

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """By what is seen, not by what was made first: docks come and go, and stand wherever somebody puts them."""
        stop = next_stop(self, self.focusWidget(), is_next=is_next)
        if stop is not None:
            stop.setFocus(Qt.FocusReason.TabFocusReason if is_next else Qt.FocusReason.BacktabFocusReason)
        return stop is not None

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        self._on_close_request()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Docks and the window tell by nothing else that they are of another size, or elsewhere."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.WindowStateChange) and self.isVisible():
            self._noting.start()
        return super().eventFilter(watched, event)

    # inside

    def _watch_layout(self) -> None:
        for widget in (self, *self._docks.all.values()):
            widget.installEventFilter(self)
        self._docks.changed.connect(self._on_docks)
        self._docks.whole_wanted.connect(self._toggle_whole)
        self._docks.left_alone.connect(self.give_page_keys)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._show_focused)
        self.arrangements.changed.connect(self.commands.refresh)
        self.arrangements.changed.connect(self.notice_bar.refresh)  # its place is shown as it was kept with the docks

    def _show_focused(self, _: QWidget | None, now: QWidget | None) -> None:
        """Qt scrolls to it only if the keyboard was in the same form before."""
        if QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            return  # what is pressed is in sight, and must not be away when the button of the mouse is let go
        above = now
        while now is not None and above is not None and not above.isWindow():
            above = above.parentWidget()
            if isinstance(above, QScrollArea):
                above.ensureWidgetVisible(now)

    def _on_docks(self) -> None:
        self._folding.fit()
        if self.isVisible():
            self._noting.start()
        self.commands.refresh()

    def _on_panel(self, panel_id: str) -> None:
        """Its commands have their keys in it, and its columns are as they were."""
        panel = self.panel(panel_id)
        self.menus.give_keys(panel_id, panel)
        self._kept.take(panel)

    def _toggle_whole(self, panel_id: str) -> None:
        self.arrangements.toggle_whole(panel_id)
        self.commands.refresh()

    def _show_all(self) -> None:
        """Something is asked for that may stand behind what has the whole window."""
        self.arrangements.give_back()

    def _place_for_notices(self) -> None:
        """A toolbar of its own, because only those reach over the docks."""
        place = QToolBar(say("Notices"), self)
        place.setObjectName("notices")
        place.setMovable(False)
        place.addWidget(self.notice_bar)
        self.addToolBarBreak()
        self.addToolBar(place)
        self.notice_bar.needed.connect(place.setVisible)

    def _show_report(self, report: str) -> None:
        """One at a time: a mistake in a timer would bury the screen."""
        from traindeck.ui.kit.dialogs import ErrorReport

        if not any(before.isVisible() for before in self.findChildren(ErrorReport)):
            ErrorReport(report, self.theme, self, self.report_problem).open()


# The way to one's own account is always in sight.
_TOOLBAR = ("job.new", "run.again", "run.stop", "run.log", SPACER, "view.palette", "account.connect")


def make_frame(theme: Theme, notices: Notices, layout: WindowState, request_quit: Callable[[], None]) -> MainWindow:
    """Menus, toolbar and docks where they were; each room provides what goes into its docks."""
    left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
    bottom = Qt.DockWidgetArea.BottomDockWidgetArea
    panels = [
        Panel("runs", say("Runs"), left),
        Panel("buckets", say("Buckets"), left),
        Panel("log", say("Log"), bottom),
        Panel("transfers", say("Transfers"), bottom),
        Panel("events", say("Events"), bottom),
        Panel("job", say("Job"), right),
        Panel("charts", say("Charts"), bottom),
    ]
    # The first one is that of the first start.
    arrangements = [
        Arrangement("train", say("&Train"), hidden=("charts",)),
        Arrangement("data", say("&Data"), hidden=("runs", "job", "charts"), front=("transfers",), bottom=0.3),
        Arrangement("watch", say("&Watch"), hidden=("buckets", "job", "charts"), bottom=0.6),
    ]
    return MainWindow(
        theme=theme,
        commands=Commands(),
        notices=notices,
        state=layout,
        panels=panels,
        on_close_request=request_quit,
        toolbar=_TOOLBAR,
        arrangements=arrangements,
    )
