"""A bucket as a central tab: address, table, search, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QLabel, QLineEdit, QMenu, QSplitter, QStackedLayout, QToolButton, QWidget

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import moment_words, say, say_count
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, push_button, tool_button
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.edits import FIND, Edit
from traindeck.ui.kit.fields import PlaceCompletion
from traindeck.ui.kit.layouts import column_of, row_of, steady_row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.object_drag import steer
from traindeck.ui.storage.object_list import ObjectList
from traindeck.ui.storage.object_table import ObjectModel, ObjectTable
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.contexts import FILE, FOLDER, NOTHING, SEVERAL
from traindeck.viewmodels.storage.browser_rows import ArrangedRows
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.object_browser import BrowserState, ObjectBrowser
from traindeck.viewmodels.storage.places import Favourites, MissingPlace

_TYPING_MS = 200
_HIDDEN_MS = 3000


class AddressBar(QLineEdit):
    """Takes every spelling of a place; what it may become is offered while it is typed."""

    wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self.completion = PlaceCompletion(self)
        self.setAccessibleName(say("OBS path"))
        self.setPlaceholderText(say("obs://bucket/folder/, or paste a URL"))
        self.returnPressed.connect(self._on_return)
        self.completion.chosen.connect(self.wanted)

    def show_place(self, place: ObjectPath) -> None:
        self._place = str(place)
        self.setText(self._place)
        self.setToolTip(self._place)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.ShortcutFocusReason):
            self.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.setText(self._place)
            self.selectAll()
        else:
            super().keyPressEvent(event)

    def _on_return(self) -> None:
        self.wanted.emit(self.text())


class MissingBar(QWidget):
    """Shows a MissingPlace; None hides it."""

    wanted = Signal(str)
    """One of the nearest was chosen."""
    create_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.shown: MissingPlace | None = None
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.words.linkActivated.connect(self.wanted)
        self.create_button = push_button("", self.create_wanted, "flat")
        create = (self.create_button, 0, Qt.AlignmentFlag.AlignTop)
        row_of((self.words, 1), create, inside=self, margins=(SPACE, HALF, SPACE, 0), spacing=SPACE)
        theme.changed.connect(self._paint)
        self.show_missing(None)

    def show_missing(self, missing: MissingPlace | None) -> None:
        self.shown = missing
        self.setVisible(missing is not None)
        self._paint()

    def _paint(self) -> None:
        missing = self.shown
        if missing is None:
            return
        place = str(missing.path)
        if missing.has_bucket:
            words = say("{place} does not exist.", place=place)
            self.create_button.setText(say("Create this folder"))
        else:
            words = say("The bucket “{name}” does not exist.", name=missing.path.bucket)
            self.create_button.setText(say("Create this bucket"))
        words = escape(words)
        if missing.alike:
            color = self._theme.color("link").name()
            links = ", ".join(
                f'<a style="color:{color}" href="{escape(str(path), quote=True)}">{escape(str(path))}</a>'
                for path in missing.alike
            )
            # Put in last: a translation may stand anywhere around it.
            words += " " + escape(say("Did you mean {places}?", places="\0")).replace("\0", links)
        self.words.setText(words)


class BrowserView(ObjectList):
    """Shows ObjectBrowser."""

    def __init__(
        self, browser: ObjectBrowser, tree: BucketTree, favourites: Favourites, theme: Theme, confirm: Confirm
    ) -> None:
        super().__init__(tree, theme, confirm)
        self.browser = browser
        self._favourites = favourites
        self.model: ObjectModel = ObjectModel(browser, theme)
        self.rows = self.table = ObjectTable(browser, self.model)
        self.parts: QSplitter
        """The rows, and what a room puts beside them."""
        self.address = AddressBar()
        self.search = QLineEdit()
        self.search.setPlaceholderText(say("Search this folder and subfolders"))
        self.search.setAccessibleName(say("Search this folder and subfolders"))
        self.search.setClearButtonEnabled(True)
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        # What was left open behind another tab is read when somebody looks at it.
        self._starting = QTimer(self, singleShot=True, interval=0)
        self._starting.timeout.connect(self._start)
        self._leaving = QTimer(self, singleShot=True, interval=_HIDDEN_MS)
        self.address_trouble = sentence("", "error")
        self.address_trouble.setContentsMargins(SPACE, HALF, SPACE, 0)
        self.missing = MissingBar(theme)
        self.empty = EmptyPage(say("This folder is empty."), say("Drop files here to upload them."))
        self.footing = ElidedLabel()
        self.listing = ElidedLabel()
        self.stop = push_button(say("Stop"), browser.stop_listing, "flat")
        self.more = push_button(say("List all"), browser.list_everything, "flat")
        for label in (self.footing, self.listing):
            set_role(label, "small")
        self.add_edits({FIND: Edit(self.go_to_search)})
        self._lay_out()
        self._connect()
        self._on_moved()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._leaving.stop()
        self.browser.watch(True)
        self._starting.start()

    def _start(self) -> None:
        if self.isVisible():
            self.browser.start()

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
            steer(event, self.place)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        steer(event, self.place)
        event.accept()
        self.model.dropMimeData(event.mimeData(), event.dropAction(), -1, -1, QModelIndex())

    @property
    def profile(self) -> str:
        return self.browser.profile

    @property
    def place(self) -> ObjectPath:
        return self.browser.state.place

    def has_chosen(self) -> bool:
        return bool(self.table.ranges())

    def follow(self, profile: str, path: ObjectPath) -> None:
        if (profile, path.parent) == (self.profile, self.place):
            self.browser.rows.point_to(path.key)

    def count_chosen(self) -> int:
        return self.table.count_selected()

    def context(self) -> str:
        count = self.table.count_selected()
        if count != 1:
            return SEVERAL if count else NOTHING
        entry = self.only()
        return FOLDER if entry is None or entry.path.is_folder else FILE

    def only(self) -> ObjectEntry | None:
        """The one that is selected, once it is known."""
        if self.table.count_selected() != 1:
            return None
        shown = self.model.shown(self.model.index(self.table.ranges()[0][0], 0))
        return None if shown is None else shown.entry

    def with_chosen(self, use: Callable[[list[ObjectEntry]], None]) -> None:
        self.browser.with_chosen(self.table.ranges(), use)

    def with_folder(self, act: Callable[[ObjectPath], None]) -> None:
        def chosen(entries: list[ObjectEntry]) -> None:
            folders = [entry.path for entry in entries if entry.path.is_folder]
            act(folders[0] if len(folders) == 1 == len(entries) else self.place)

        if self.has_chosen():
            self.with_chosen(chosen)
        else:
            act(self.place)

    # what the user wants; the account is that of this tab: another may be in the tree when the answer comes

    def download(self) -> None:
        def fetch(targets: list[Path]) -> None:
            self.with_chosen(lambda chosen: self._tree.download(_paths(chosen), targets[0], self.profile))

        choose_folder(self, say("Download into this folder"), fetch)

    def delete(self) -> None:
        self.with_chosen(lambda chosen: self._tree.remove(_paths(chosen), self._confirm, self.profile))

    def refresh(self) -> None:
        self.browser.refresh()

    def open(self) -> None:
        shown = self.model.shown(self.table.currentIndex())
        if shown is not None and shown.entry.path.is_folder:
            self.browser.go(shown.entry.path)
        elif shown is not None and self.browser.rows.shown.look.search:
            self.browser.go_typed(str(shown.entry.path))

    def can_open(self) -> bool:
        shown = self.model.shown(self.table.currentIndex())
        is_found = bool(self.browser.rows.shown.look.search)
        return shown is not None and (is_found or shown.entry.path.is_folder)

    def calculate(self) -> None:
        def count(entries: list[ObjectEntry]) -> None:
            self.browser.calculate([path for path in _paths(entries) if path.is_folder])

        if self.has_chosen():
            self.with_chosen(count)
        else:
            self.browser.calculate([self.place])

    def toggle_favourite(self) -> None:
        self._favourites.toggle(self.profile, self.place)

    def go_to_address(self) -> None:
        self.address.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def go_to_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    # inside

    def _lay_out(self) -> None:
        browser = self.browser
        self.back = tool_button("back", say("Back (Alt+Left)"), browser.back)
        self.forward = tool_button("forward", say("Forward (Alt+Right)"), browser.forward)
        self.up = tool_button("up", say("Up (Alt+Up)"), browser.up)
        self.star = tool_button("star", say("Favorite (Ctrl+D)"), self.toggle_favourite)
        self.star.setCheckable(True)
        self.places = tool_button("more", say("Favorites"))
        self.places.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.places.setMenu(QMenu(self))
        self.again = tool_button("refresh", say("Refresh (F5)"), browser.refresh)
        self.fetch = tool_button("download", say("Download…"), self.download)
        self.trash = tool_button("trash", say("Delete…"), self.delete)
        self.search.setMinimumWidth(26 * SPACE)
        parts = (self.back, self.forward, self.up, (self.address, 1), self.star, self.places, self.again)
        way = row_of(*parts, margins=(HALF, HALF, HALF, 0), spacing=HALF)
        buttons = (self.make, self.send, self.send_folder, self.fetch, self.trash)
        acts = row_of(*buttons, 1, (self.search, 2), margins=HALF, spacing=HALF)
        listed = QWidget()
        self._pages = QStackedLayout(listed)
        self.parts = QSplitter()
        self.parts.setChildrenCollapsible(False)
        self.parts.addWidget(listed)
        rows = (way, self.address_trouble, self.missing, acts, (self.parts, 1))
        layout = column_of(*rows, inside=self, margins=0, spacing=0)
        self._pages.addWidget(self.table)
        self._pages.addWidget(self.empty)
        margins = (SPACE, HALF, HALF, HALF)
        foot = steady_row_of((self.footing, 1), self.listing, self.stop, self.more, margins=margins, spacing=HALF)
        layout.addLayout(foot)
        self.setAcceptDrops(True)

    def _connect(self) -> None:
        browser = self.browser
        browser.changed.connect(self._on_changed)
        browser.moved.connect(self._on_moved)
        browser.rows.replaced.connect(self._on_changed)
        browser.completed.connect(self.address.completion.offer)
        self.address.wanted.connect(browser.go_typed)
        self.address.completion.typed.connect(browser.complete)
        self.missing.wanted.connect(browser.go_typed)
        self.missing.create_wanted.connect(browser.create_missing)
        browser.created.connect(self._tree.was_touched)
        self.search.textChanged.connect(self._typing.start)
        self.search.returnPressed.connect(self._search_now)
        self._typing.timeout.connect(self._search_now)
        self._leaving.timeout.connect(partial(browser.watch, False))
        self._follow_rows()
        self.table.doubleClicked.connect(self.open)
        self.table.up_wanted.connect(browser.up)
        self._tree.touched.connect(browser.touched)
        self._tree.arrived.connect(browser.arrived)
        self._favourites.changed.connect(self._on_favourites)

    def _search_now(self) -> None:
        self._typing.stop()
        self.browser.search(self.search.text())

    def _on_moved(self) -> None:
        state = self.browser.state
        self.address.show_place(state.place)
        self._typing.stop()
        self.search.blockSignals(True)
        self.search.clear()
        self.search.blockSignals(False)
        self._on_favourites()
        self._on_changed()

    def _on_favourites(self) -> None:
        self.star.setChecked(self._favourites.has(self.profile, self.place))
        menu = self.places.menu()
        menu.clear()
        places = self._favourites.of(self.profile)
        for place in places:
            menu.addAction(str(place), partial(self.browser.go, place))
        if not places:
            menu.addAction(say("No favorites yet. Select the star to add one.")).setEnabled(False)

    def _on_changed(self, *_: object) -> None:
        state, rows = self.browser.state, self.browser.rows.shown
        self.back.setEnabled(state.can_go_back)
        self.forward.setEnabled(state.can_go_forward)
        self.up.setEnabled(not state.place.is_bucket)
        self.address_trouble.setVisible(state.address_trouble is not None)
        self.address_trouble.setText(state.address_trouble.sentence() if state.address_trouble else "")
        if self.missing.shown != state.missing:
            self.missing.show_missing(state.missing)
        is_there = rows.count > 0 and not state.is_gone
        if state.is_gone:
            self.table.clearSelection()  # nothing can be done with what is nowhere
        self._pages.setCurrentWidget(self.table if is_there else self.empty)
        for button in (self.fetch, self.trash):
            button.setEnabled(self.has_chosen())
        self.setFocusProxy(self.table if is_there else self.send)
        if is_there and self.send.hasFocus():  # it was given the keyboard while there were no rows
            self.table.setFocus()
        self.empty.say(*empty_words(state, rows))
        self.footing.setText(footing_words(state, rows, self.table.count_selected()))
        self.listing.setText(listing_words(state, rows))
        set_role(self.listing, "error" if state.trouble else "small")
        self.stop.setVisible(state.swept is not None)
        self.more.setVisible(state.is_cut)
        self.chosen_changed.emit()


def _paths(entries: list[ObjectEntry]) -> list[ObjectPath]:
    return [entry.path for entry in entries]


def footing_words(state: BrowserState, rows: ArrangedRows, selected: int) -> str:
    parts = list[str]()
    if state.is_gone:
        return ""
    if selected:
        parts.append(say("{count} selected", count=f"{selected:,}"))
    if rows.look.search:
        parts.append(say("{count} found", count=f"{rows.count:,}"))
    elif rows.count:
        if rows.order.folders:
            parts.append(say_count("{count} folder", "{count} folders", rows.order.folders))
        objects = rows.count - rows.order.folders
        if objects:
            parts.append(
                say_count(
                    "{count} object, {size}", "{count} objects, {size}", objects, size=size_words(rows.order.size_bytes)
                )
            )
    if rows.below is not None and rows.order.folders:
        parts.append(
            say_count(
                "including subfolders: {count} object, {size}",
                "including subfolders: {count} objects, {size}",
                rows.below.count,
                size=size_words(rows.below.size_bytes),
            )
        )
    if rows.as_of is not None:
        parts.append(say("as of {moment}", moment=moment_words(rows.as_of)[11:]))
    elif rows.count or rows.look.search:
        parts.append(say("list incomplete"))
    return " · ".join(parts)


def listing_words(state: BrowserState, rows: ArrangedRows) -> str:
    if state.is_gone:
        return ""
    if state.trouble is not None and rows.count:
        return say(state.trouble.title)
    if state.busy is not None:
        return say(state.busy)
    if rows.look != state.look:
        return say("Sorting…")
    if state.swept is not None:
        return say_count(
            "Listing all subfolders: {count} object…", "Listing all subfolders: {count} objects…", state.swept
        )
    if state.is_cut:
        return say("Subfolders are not fully listed.")
    return say("Reading…") if state.is_reading else ""


def empty_words(state: BrowserState, rows: ArrangedRows) -> tuple[str, str]:
    if state.trouble is not None and (rows.as_of is None or state.is_gone):
        return say(state.trouble.title), say(state.trouble.hint)
    if rows.look != state.look or (rows.as_of is None and (state.is_reading or state.swept is not None)):
        return say("Reading…"), ""
    if rows.look.search:
        if rows.as_of is None:
            return say("No matches yet."), say("Select List all to search subfolders too.")
        return say("No matches in this folder or its subfolders."), ""
    return say("This folder is empty."), say("Drop files here to upload them.")
