"""A bucket as a central tab: address, table, search, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
    QHideEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QWidget,
)

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, theme_tool_buttons, tool_button
from traindeck.ui.kit.context_menu import Keys, context_menu
from traindeck.ui.kit.dialogs import choose_files, choose_folder
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.address_bar import (
    AddressBar,
    MissingBar,
    empty_words,
    footing_words,
    listing_words,
)
from traindeck.ui.storage.object_drag import steer
from traindeck.ui.storage.object_table import ObjectModel, ObjectTable
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.commands import CONTEXT, Command, Commands, always
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites

_TYPING_MS = 200
_HIDDEN_MS = 3000
_KEYS_OF_THE_TABLE = ("Return", "F5", "Space")


class BrowserView(QWidget):
    """Shows ObjectBrowser; its `commands` are the context menu, and anybody may add to them."""

    def __init__(
        self, browser: ObjectBrowser, tree: BucketTree, favourites: Favourites, theme: Theme, confirm: Confirm
    ) -> None:
        super().__init__()
        self._browser = browser
        self._tree = tree
        self._favourites = favourites
        self._theme = theme
        self._confirm = confirm
        self.model = ObjectModel(browser, theme)
        self.table = ObjectTable(browser, self.model)
        self.commands = Commands()
        self.address = AddressBar()
        self.search = QLineEdit()
        self.search.setPlaceholderText(say("Search in names, here and below"))
        self.search.setAccessibleName(say("Search in names, here and below"))
        self.search.setClearButtonEnabled(True)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._leaving = QTimer(self)
        self._leaving.setSingleShot(True)
        self._leaving.setInterval(_HIDDEN_MS)
        self.address_trouble = QLabel()
        self.address_trouble.setWordWrap(True)
        self.address_trouble.setContentsMargins(SPACE, HALF, SPACE, 0)
        set_role(self.address_trouble, "error")
        self.missing = MissingBar(theme)
        self.empty = EmptyPage(say("This folder is empty."), say("Drop files here to upload them."))
        self.footing = ElidedLabel()
        self.listing = ElidedLabel()
        self.stop = QPushButton(say("Stop"))
        self.more = QPushButton(say("List all"))
        for label in (self.footing, self.listing):
            set_role(label, "small")
        for button in (self.stop, self.more):
            set_role(button, "flat")
        self._add_commands()
        self._lay_out()
        self._connect()
        self._apply_theme()
        self._on_moved()
        self._on_replaced()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._leaving.stop()
        self._browser.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # A look at another tab does not stop a listing at once.
        self._leaving.start()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.dragMoveEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Where there are no rows, as in an empty folder; the table takes what is dropped on it."""
        nowhere = QModelIndex()
        if self.model.canDropMimeData(event.mimeData(), Qt.DropAction.CopyAction, -1, -1, nowhere):
            steer(event, self._target())
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        steer(event, self._target())
        event.accept()
        self.model.dropMimeData(event.mimeData(), event.dropAction(), -1, -1, QModelIndex())

    def menu(self) -> QMenu:
        """What can be done with what is selected."""
        return context_menu(self.commands, self._theme, self)

    # as an ObjectList

    @property
    def browser(self) -> ObjectBrowser:
        return self._browser

    @property
    def rows(self) -> ObjectTable:
        return self.table

    @property
    def profile(self) -> str:
        return self._browser.profile

    @property
    def place(self) -> ObjectPath:
        return self._browser.state.place

    def count_chosen(self) -> int:
        return self.table.count_selected()

    def with_chosen(self, use: Callable[[list[ObjectEntry]], None]) -> None:
        self._browser.with_chosen(self.table.ranges(), use)

    # what the user wants

    def choose_uploads(self) -> None:
        target = self._target()
        choose_files(self, say("Upload to {target}", target=str(target)), partial(self._send, target))

    def choose_upload_folder(self) -> None:
        target = self._target()
        choose_folder(self, say("Upload to {target}", target=str(target)), partial(self._send, target))

    def download(self) -> None:
        choose_folder(self, say("Download into this folder"), self._fetch)

    def delete(self) -> None:
        self._browser.with_chosen(self.table.ranges(), self._delete_entries)

    def open(self) -> None:
        shown = self.model.shown(self.table.currentIndex())
        if shown is not None and shown.entry.path.is_folder:
            self._browser.go(shown.entry.path)
        elif shown is not None and self._browser.rows.look.search:
            self._browser.go_typed(str(shown.entry.path))

    def copy_address(self) -> None:
        self._browser.with_chosen(self.table.ranges(), _copy_addresses)

    def calculate(self) -> None:
        if self.table.ranges():
            self._browser.with_chosen(self.table.ranges(), self._calculate_entries)
        else:
            self._browser.calculate([self._browser.state.place])

    def toggle_favourite(self) -> None:
        self._favourites.toggle(self._browser.profile, self._browser.state.place)

    def go_to_address(self) -> None:
        self.address.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def go_to_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    # inside

    def _add_commands(self) -> None:
        chosen, browser, menu = self._has_chosen, self._browser, CONTEXT
        self.commands.add(
            Command("object.open", say("Open"), self.open, self._has_current, "Return", menu, 0),
            Command("object.upload", say("Upload files…"), self.choose_uploads, menu=menu, group=1, icon="upload"),
            Command("object.upload_folder", say("Upload a folder…"), self.choose_upload_folder, menu=menu, group=1),
            Command("object.download", say("Download…"), self.download, chosen, "", menu, 1, icon="download"),
            Command("object.copy_address", say("Copy address"), self.copy_address, chosen, "Ctrl+Shift+C", menu, 2),
            Command("object.size", say("Calculate size"), self.calculate, menu=menu, group=3),
            Command("object.refresh", say("Refresh"), browser.refresh, always, "F5", menu, 3, icon="refresh"),
            Command("object.list_all", say("List everything again"), browser.list_everything, menu=menu, group=3),
            Command("object.delete", say("Delete…"), self.delete, chosen, "Del", menu, 4, icon="trash"),
            # Not in the menu: each has a button or a field.
            Command("place.favourite", say("Favourite"), self.toggle_favourite, shortcut="Ctrl+D"),
            Command("place.back", say("Back"), browser.back, shortcut="Alt+Left"),
            Command("place.forward", say("Forward"), browser.forward, shortcut="Alt+Right"),
            Command("place.up", say("Up"), browser.up, shortcut="Alt+Up"),
            Command("place.address", say("Address"), self.go_to_address, shortcut="Ctrl+L"),
            Command("place.search", say("Search in names"), self.go_to_search, shortcut="Ctrl+F"),
        )

    def _lay_out(self) -> None:
        browser = self._browser
        self.back = tool_button("back", say("Back (Alt+Left)"), browser.back)
        self.forward = tool_button("forward", say("Forward (Alt+Right)"), browser.forward)
        self.up = tool_button("up", say("Up (Alt+Up)"), browser.up)
        self.star = tool_button("star", say("Favourite (Ctrl+D)"), self.toggle_favourite)
        self.star.setCheckable(True)
        self.places = tool_button("more", say("Favourites"))
        self.places.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.places.setMenu(QMenu(self))
        self.refresh = tool_button("refresh", say("Refresh (F5)"), browser.refresh)
        self.send = tool_button("upload", say("Upload files…"), self.choose_uploads)
        self.fetch = tool_button("download", say("Download…"), self.download)
        self.trash = tool_button("trash", say("Delete…"), self.delete)
        way = row_of(
            self.back,
            self.forward,
            self.up,
            (self.address, 1),
            self.star,
            self.places,
            self.refresh,
            margins=(HALF, HALF, HALF, 0),
            spacing=HALF,
        )
        acts = row_of(self.send, self.fetch, self.trash, 1, margins=HALF, spacing=HALF)
        self.search.setMinimumWidth(26 * SPACE)
        acts.addWidget(self.search, 2)
        foot = row_of(
            (self.footing, 1), self.listing, self.stop, self.more, margins=(SPACE, HALF, HALF, HALF), spacing=HALF
        )
        self._pages = QStackedLayout()
        layout = column_of(
            way, self.address_trouble, self.missing, acts, (self._pages, 1), inside=self, margins=0, spacing=0
        )
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.table)
        self._pages.addWidget(self.empty)
        layout.addLayout(foot)
        self.setFocusProxy(self.table)
        self.setAcceptDrops(True)

    def _connect(self) -> None:
        browser = self._browser
        browser.changed.connect(self._on_changed)
        browser.moved.connect(self._on_moved)
        browser.rows.replaced.connect(self._on_replaced)
        browser.completed.connect(self.address.offer)
        self.address.wanted.connect(browser.go_typed)
        self.address.typed.connect(browser.complete)
        self.missing.wanted.connect(browser.go_typed)
        self.missing.create_wanted.connect(browser.create_missing)
        browser.created.connect(self._tree.was_touched)
        self.search.textChanged.connect(self._on_search_typed)
        self.search.returnPressed.connect(self._search_now)
        self._typing.timeout.connect(self._search_now)
        self._leaving.timeout.connect(partial(browser.watch, False))
        self.stop.clicked.connect(browser.stop_listing)
        self.more.clicked.connect(browser.list_everything)
        self.table.open_wanted.connect(self.open)
        self.table.up_wanted.connect(browser.up)
        self.table.refresh_wanted.connect(browser.refresh)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.selectionModel().selectionChanged.connect(self._on_changed)
        self.model.dropped.connect(self._on_dropped)
        self._tree.touched.connect(browser.touched)
        self._tree.arrived.connect(browser.arrived)
        self._favourites.changed.connect(self._on_favourites)
        self._theme.changed.connect(self._apply_theme)
        # Wherever in the tab one is; those of the table are its own.
        self._keys = Keys(self.commands, self, _KEYS_OF_THE_TABLE)
        self._on_favourites()

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self.table.viewport().update()

    def _target(self) -> ObjectPath:
        return self._browser.state.place

    def _has_current(self) -> bool:
        return self.table.currentIndex().isValid()

    def _has_chosen(self) -> bool:
        return bool(self.table.ranges())

    def _is_favourite(self) -> bool:
        return self._favourites.has(self._browser.profile, self._browser.state.place)

    # The account is that of this tab: another may be shown in the tree when the answer comes.

    def _send(self, target: ObjectPath, sources: list[Path]) -> None:
        self._tree.upload(sources, target, self._confirm, self._browser.profile)

    def _on_dropped(self, sources: list[Path], target: ObjectPath) -> None:
        self._send(target, sources)

    def _fetch(self, targets: list[Path]) -> None:
        def fetch(entries: list[ObjectEntry]) -> None:
            self._tree.download([entry.path for entry in entries], targets[0], self._browser.profile)

        self._browser.with_chosen(self.table.ranges(), fetch)

    def _delete_entries(self, entries: list[ObjectEntry]) -> None:
        self._tree.remove([entry.path for entry in entries], self._confirm, self._browser.profile)

    def _calculate_entries(self, entries: list[ObjectEntry]) -> None:
        self._browser.calculate([entry.path for entry in entries if entry.path.is_folder])

    def _show_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))

    def _on_search_typed(self, _words: str) -> None:
        self._typing.start()

    def _search_now(self) -> None:
        self._typing.stop()
        self._browser.search(self.search.text())

    def _on_moved(self) -> None:
        state = self._browser.state
        self.address.show_place(state.place)
        self._typing.stop()
        self.search.blockSignals(True)
        self.search.clear()
        self.search.blockSignals(False)
        self._on_favourites()
        self._on_changed()

    def _on_favourites(self) -> None:
        self.star.setChecked(self._is_favourite())
        menu = self.places.menu()
        menu.clear()
        places = self._favourites.of(self._browser.profile)
        for place in places:
            menu.addAction(str(place), partial(self._browser.go, place))
        if not places:
            menu.addAction(say("No favourites yet: press the star.")).setEnabled(False)

    def _on_replaced(self) -> None:
        self._on_changed()

    def _on_changed(self, *_: object) -> None:
        state, rows = self._browser.state, self._browser.rows
        self.back.setEnabled(state.can_go_back)
        self.forward.setEnabled(state.can_go_forward)
        self.up.setEnabled(not state.place.is_bucket)
        has_chosen = self._has_chosen()
        self.fetch.setEnabled(has_chosen)
        self.trash.setEnabled(has_chosen)
        self.address_trouble.setVisible(state.address_trouble is not None)
        self.address_trouble.setText(state.address_trouble.sentence() if state.address_trouble else "")
        if self.missing.shown != state.missing:
            self.missing.show_missing(state.missing)
        is_there = rows.count > 0
        self._pages.setCurrentWidget(self.table if is_there else self.empty)
        self.empty.say(*empty_words(state, rows))
        self.footing.setText(footing_words(state, rows, self.table.count_selected()))
        self.listing.setText(listing_words(state, rows))
        set_role(self.listing, "error" if state.trouble else "small")
        self.stop.setVisible(state.swept is not None)
        self.more.setVisible(state.is_cut)


def with_folder(view: BrowserView, browser: ObjectBrowser, act: Callable[[ObjectPath], None]) -> None:
    """The folder that is chosen; where it is not one folder, the one that is shown."""

    def chosen(entries: list[ObjectEntry]) -> None:
        folders = [entry.path for entry in entries if entry.path.is_folder]
        act(folders[0] if len(folders) == 1 == len(entries) else browser.state.place)

    if view.table.ranges():
        browser.with_chosen(view.table.ranges(), chosen)
    else:
        act(browser.state.place)


def _copy_addresses(entries: list[ObjectEntry]) -> None:
    QGuiApplication.clipboard().setText("\n".join(str(entry.path) for entry in entries))
