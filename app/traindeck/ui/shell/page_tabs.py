"""The pages in the middle: tabs with names that can be read, a list of all of them, and what can be done to a tab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QMenu, QTabBar, QTabWidget, QToolButton, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import EmptyPage, theme_tool_buttons, tool_button
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.docks import Make

SHORTEST = 12
"""So many characters of a name stay to be read, however many tabs there are; the others are scrolled to."""
LONGEST = 32


class PageTabBar(QTabBar):
    """Names give way down to a length at which they can still be told apart."""

    close_wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setUsesScrollButtons(True)
        self.setAccessibleName(say("Open pages"))
        # What is dragged may go into another tab: that comes to the front under the mouse.
        self.setAcceptDrops(True)
        self.setChangeCurrentOnDrag(True)

    def tabSizeHint(self, index: int) -> QSize:
        return self._hint(index, LONGEST)

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self._hint(index, SHORTEST)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.MiddleButton:
            self.close_wanted.emit(self.tabAt(event.position().toPoint()))
        else:
            super().mouseReleaseEvent(event)

    def _hint(self, index: int, characters: int) -> QSize:
        words, metrics = self.tabText(index), self.fontMetrics()
        whole = super().tabSizeHint(index)
        if len(words) <= characters:
            return whole
        half = characters // 2
        shown = f"{words[:half]}…{words[-half:]}"
        less = metrics.horizontalAdvance(words) - metrics.horizontalAdvance(shown)
        return QSize(whole.width() - max(0, less), whole.height())


class PageTabs(QTabWidget):
    """Each page has a key; the room that opened it knows what the key means."""

    closed = Signal(str)
    """The page of this key is about to be deleted."""
    opened = Signal(QWidget)
    """This page is new."""
    changed = Signal()
    """A page came, went, moved, or is in front now."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._pages: dict[str, QWidget] = {}
        self._opens_behind = False
        bar = PageTabBar()
        self.setTabBar(bar)
        self.setDocumentMode(True)
        self.setTabsClosable(True)
        self.setMovable(True)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.list = tool_button("more", say("List of open tabs"))
        self.list.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.list)
        menu.aboutToShow.connect(partial(self._fill_list, menu))
        self.list.setMenu(menu)
        self.list.hide()
        self.setCornerWidget(self.list, Qt.Corner.TopRightCorner)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        bar.customContextMenuRequested.connect(self._show_menu)
        bar.close_wanted.connect(self._close_at)
        bar.tabMoved.connect(self.changed)
        self.tabCloseRequested.connect(self._close_at)
        self.currentChanged.connect(self._on_current)
        self._empty = EmptyPage(say("No page is open."), say("Select a run, or open a bucket."))
        self._empty.setParent(self)
        self._empty.hide()
        theme.changed.connect(self._paint)
        self._paint()

    def open(self, key: str, title: str, make: Make) -> QWidget:
        """Bring the page to the front; `make` it when it is not there."""
        page = self._pages.get(key)
        if page is None:
            page = make()
            page.setObjectName(f"page.{key}")
            self._pages[key] = page
            self._empty.hide()
            self.addTab(page, title)
            self.opened.emit(page)
        if not self._opens_behind:
            self.setCurrentWidget(page)
        return page

    @contextmanager
    def opening_behind(self) -> Iterator[None]:
        """What is opened meanwhile does not come to the front."""
        self._opens_behind = True
        try:
            yield
        finally:
            self._opens_behind = False

    def rename(self, key: str, title: str) -> None:
        if key in self._pages:
            self.setTabText(self.indexOf(self._pages[key]), title)
            self.changed.emit()

    def title(self, key: str) -> str:
        return self.tabText(self.indexOf(self._pages[key]))

    def mark(self, key: str, icon: QIcon, words: str) -> None:
        """Show something about the page beside its title; an icon that is none and no words take it away."""
        if key in self._pages:
            at = self.indexOf(self._pages[key])
            self.setTabIcon(at, icon)
            self.setTabToolTip(at, words)
            title = self.tabText(at)
            self.tabBar().setAccessibleTabName(at, f"{title}. {words}" if words else title)

    def close_page(self, key: str) -> None:
        page = self._pages.pop(key, None)
        if page is None:
            return
        self.closed.emit(key)
        focused = QApplication.focusWidget()
        had_focus = focused is not None and (page is focused or page.isAncestorOf(focused))
        self.removeTab(self.indexOf(page))
        if had_focus and (behind := self.currentWidget()) is not None:
            behind.setFocus()  # Qt would give it to another panel
        page.close()
        page.deleteLater()
        self.say_if_empty()
        self.changed.emit()

    def say_if_empty(self) -> None:
        """Who closed the last page reads what to do; while the window fills, there is nothing to read."""
        self._empty.setVisible(not self._pages)

    def close_others(self, key: str) -> None:
        for other in self.keys():
            if other != key:
                self.close_page(other)

    def keys(self) -> list[str]:
        """In the order of the tabs."""
        return sorted(self._pages, key=lambda key: self.indexOf(self._pages[key]))

    def page(self, key: str) -> QWidget | None:
        return self._pages.get(key)

    def of_kind(self, kind: type[QWidget]) -> list[str]:
        """The keys of those that are of this kind."""
        return [key for key, page in self._pages.items() if isinstance(page, kind)]

    def current_key(self) -> str:
        return self._key_at(self.currentIndex())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._empty.setGeometry(self.rect())

    # inside

    def _key_at(self, index: int) -> str:
        page = self.widget(index)
        return next((key for key, widget in self._pages.items() if widget is page), "")

    def _close_at(self, index: int) -> None:
        self.close_page(self._key_at(index))

    def _on_current(self, _index: int) -> None:
        self.list.setVisible(bool(self._pages))
        self.changed.emit()

    def _fill_list(self, menu: QMenu) -> None:
        menu.clear()
        for key in self.keys():
            at = self.indexOf(self._pages[key])
            action = menu.addAction(self.tabIcon(at), self.tabText(at).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(at == self.currentIndex())
            action.triggered.connect(partial(self.setCurrentWidget, self._pages[key]))

    def _show_menu(self, place: QPoint) -> None:
        key = self._key_at(self.tabBar().tabAt(place))
        if not key:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(say("&Close"), partial(self.close_page, key))
        menu.addAction(say("Close &others"), partial(self.close_others, key)).setEnabled(len(self._pages) > 1)
        menu.popup(self.tabBar().mapToGlobal(place))

    def _paint(self) -> None:
        theme_tool_buttons(self, self._theme)
