"""The tabs of a window that show buckets: one for each bucket that is looked at."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.main_window import MainWindow
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.ui.storage.object_list import Extend
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites

Browse = Callable[[str, ObjectPath, str], ObjectBrowser]
"""Makes what a tab shows: the account, the place, and a name of its own."""

_KEY = "bucket."


@dataclass(frozen=True, slots=True)
class FolderPage:
    """What a tab shows, for a window that comes after this one."""

    place: ObjectPath
    top: str = ""
    """The object in the row at the top; empty: the first."""


@dataclass(eq=False)
class BrowserTabs:
    """Opens and closes them; `browse` makes what they show."""

    window: MainWindow
    browse: Browse
    tree: BucketTree
    favourites: Favourites
    theme: Theme
    confirm: Confirm
    marks: PublicMarks
    extend: Extend

    def __post_init__(self) -> None:
        self._browsers: dict[str, ObjectBrowser] = {}
        self._numbers = itertools.count(1)
        self.marks.changed.connect(self._on_marked)
        self.theme.changed.connect(self._mark_all)

    def show(self, profile: str, path: ObjectPath) -> None:
        """Select this in the folder it is in."""
        self.open(profile, path if path.is_bucket else path.parent)
        self.browser(path.bucket).show(path)

    def open(self, profile: str, place: ObjectPath) -> None:
        """Show a folder in the tab of its bucket."""
        for key, browser in self._browsers.items():
            if (browser.profile, browser.state.place.bucket) == (profile, place.bucket):
                self.window.open_tab(key, place.bucket, QWidget)
                self.window.give_page_room()
                browser.go(place)
                return
        key = f"{_KEY}{next(self._numbers)}"
        self.window.open_tab(key, place.bucket, partial(self._page, key, profile, place))
        self.window.give_page_room()
        self._mark(key)

    def dispose(self) -> None:
        """What tells of public buckets lives longer than this window."""
        self.marks.changed.disconnect(self._on_marked)
        self.theme.changed.disconnect(self._mark_all)

    def close_bucket(self, profile: str, bucket: str) -> None:
        """It is gone."""
        for key, browser in list(self._browsers.items()):
            if (browser.profile, browser.state.place.bucket) == (profile, bucket):
                self.window.close_tab(key)

    def browser(self, bucket: str) -> ObjectBrowser:
        """The one that shows this bucket; there must be one."""
        return next(browser for browser in self._browsers.values() if browser.state.place.bucket == bucket)

    @property
    def is_empty(self) -> bool:
        return not self._browsers

    def reopen(self, profile: str, page: FolderPage) -> None:
        """As another window left it."""
        self.open(profile, page.place)
        self.browser(page.place.bucket).rows.top_wanted = page.top

    def page_on(self, key: str) -> FolderPage | None:
        """What the tab of this key shows, if it is one of these."""
        view = self.window.tabs.page(key)
        return FolderPage(view.place, view.table.top_key()) if isinstance(view, BrowserView) else None

    def closed(self, key: str) -> None:
        if browser := self._browsers.pop(key, None):
            browser.close()

    def keep_only(self, profile: str) -> None:
        """Those of other accounts go."""
        for key, browser in list(self._browsers.items()):
            if browser.profile != profile:
                self.window.close_tab(key)

    def _page(self, key: str, profile: str, place: ObjectPath) -> QWidget:
        # Windows of two languages may be there at the same time.
        browser = self.browse(profile, place, f"{key} {id(self)}")
        browser.moved.connect(partial(self._retitle, key))
        self._browsers[key] = browser
        view = BrowserView(browser, self.tree, self.favourites, self.theme, self.confirm)
        self.extend(view)
        view.table.verticalScrollBar().valueChanged.connect(self.window.tabs.changed)
        return view

    def _retitle(self, key: str) -> None:
        self.window.rename_tab(key, self._browsers[key].state.place.bucket)
        self._mark(key)

    def _on_marked(self, bucket: str) -> None:
        for key, browser in self._browsers.items():
            if browser.state.place.bucket == bucket:
                self._mark(key)

    def _mark_all(self) -> None:
        for key in self._browsers:
            self._mark(key)

    def _mark(self, key: str) -> None:
        words = self.marks.words(self._browsers[key].state.place.bucket)
        self.window.mark_tab(key, self.theme.icon("globe", "warn") if words else QIcon(), words)
