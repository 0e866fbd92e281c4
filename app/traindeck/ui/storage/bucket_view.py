"""The buckets as a panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal, SignalInstance
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QStackedLayout,
    QTreeView,
    QWidget,
)

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, theme_tool_buttons, tool_button
from traindeck.ui.kit.context_menu import Keys, context_menu
from traindeck.ui.kit.dialogs import choose_files, choose_folder
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.tables import KeyedView
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.bucket_model import BucketModel
from traindeck.ui.storage.object_drag import TakesObjects
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.commands import CONTEXT, Command, Commands, always
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree, Folder
from traindeck.viewmodels.storage.buckets import BucketRemovals, Removal

_KEYS_OF_THE_TREE = ("F5", "Del")


class ObjectTree(KeyedView, TakesObjects, QTreeView):
    """Rows that take what is dropped on them, and know the keys of the tree."""

    delete_wanted = Signal()
    refresh_wanted = Signal()
    drag_wanted = Signal()

    def __init__(self, model: BucketModel) -> None:
        super().__init__()
        self._objects = model
        self.setModel(model)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.take_drops()
        self.setAutoExpandDelay(700)
        self.setAccessibleName(say("Buckets"))

    def target_at(self, index: QModelIndex) -> ObjectPath | None:
        return self._objects.target(index)

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_Delete: self.delete_wanted, Qt.Key.Key_F5: self.refresh_wanted}


class BucketView(QWidget):
    """Shows BucketTree; `confirm` asks the user before anything is sent or deleted."""

    new_wanted = Signal()
    """A bucket is to be made."""
    removal_wanted = Signal(object)
    """The names of buckets that are to go."""

    def __init__(self, tree: BucketTree, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self._tree = tree
        self._theme = theme
        self._confirm = confirm
        self.model = BucketModel(tree, theme)
        self.rows = ObjectTree(self.model)
        self.commands = Commands()
        header = self.rows.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(5 * SPACE)
        header.setSectionResizeMode(BucketModel.NAME, QHeaderView.ResizeMode.Stretch)
        self.rows.setColumnWidth(BucketModel.SIZE, 9 * SPACE)
        self.rows.setColumnWidth(BucketModel.MODIFIED, 16 * SPACE)
        self.rows.hideColumn(BucketModel.MODIFIED)

        self.add = tool_button("plus", say("New bucket…"))
        self.send = tool_button("upload", say("Upload files…"))
        self.fetch = tool_button("download", say("Download…"))
        self.delete = tool_button("trash", say("Delete…"))
        self.refresh = tool_button("refresh", say("Refresh (F5)"))
        self._add_commands()
        bar = row_of(self.add, self.send, self.fetch, self.delete, 1, self.refresh, margins=HALF, spacing=HALF)

        self.empty = EmptyPage(say("No buckets yet."), say("Press + to create one; then drop files on it."))
        self.busy = QLabel()
        self.busy.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self.busy.setWordWrap(True)
        set_role(self.busy, "small")
        self._pages = QStackedLayout()
        layout = self._column = column_of(bar, (self._pages, 1), inside=self, margins=0, spacing=0)
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.rows)
        layout.addWidget(self.busy)

        self.add.clicked.connect(self.new_wanted)
        self.send.clicked.connect(self.choose_uploads)
        self.fetch.clicked.connect(self.choose_download)
        self.delete.clicked.connect(self._delete)
        self.refresh.clicked.connect(self._refresh)
        self.rows.delete_wanted.connect(self._delete)
        self.rows.refresh_wanted.connect(self._refresh)
        self.rows.activated.connect(self._on_activated)
        self.rows.customContextMenuRequested.connect(self._show_menu)
        self.rows.selectionModel().selectionChanged.connect(self._on_changed)
        self.rows.expanded.connect(self._on_expanded)
        self.model.dropped.connect(self._on_dropped)
        self.model.rowsInserted.connect(self._on_changed)
        self.model.rowsRemoved.connect(self._on_changed)
        self.model.modelReset.connect(self._on_changed)
        tree.level_changed.connect(self._on_changed)
        tree.changed.connect(self._on_changed)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(40 * SPACE, 40 * SPACE)

    def selected(self) -> list[ObjectEntry]:
        entries = (self.model.entry(index) for index in self.rows.selectionModel().selectedRows())
        return [entry for entry in entries if entry is not None]

    def target(self) -> ObjectPath | None:
        """The folder that an upload would go to."""
        chosen = self.selected()
        if len(chosen) != 1:
            return None
        return chosen[0].path if chosen[0].path.is_folder else chosen[0].path.parent

    def open(self) -> None:
        """The selected folder, or the one of the selected object, as a tab."""
        if target := self.target():
            self._tree.open(target)

    def show_beside(self, widget: QWidget, marks: PublicMarks) -> None:
        """What goes on with buckets, below them, and which of them are public."""
        self._column.addWidget(widget)
        self.model.show_marks(marks)

    def choose_uploads(self) -> None:
        if target := self.target():
            choose_files(
                self,
                say("Upload to {target}", target=str(target)),
                partial(self._send, self._tree.state.profile, target),
            )

    def choose_upload_folder(self) -> None:
        if target := self.target():
            choose_folder(
                self,
                say("Upload to {target}", target=str(target)),
                partial(self._send, self._tree.state.profile, target),
            )

    def choose_download(self) -> None:
        chosen = [entry.path for entry in self.selected()]
        if chosen:
            choose_folder(
                self, say("Download into this folder"), partial(self._fetch, self._tree.state.profile, chosen)
            )

    def menu(self) -> QMenu:
        """What can be done with what is selected."""
        return context_menu(self.commands, self._theme, self)

    # as an ObjectList

    @property
    def profile(self) -> str:
        return self._tree.state.profile

    @property
    def place(self) -> ObjectPath | None:
        return self.target()

    def count_chosen(self) -> int:
        """Buckets are no objects."""
        return len(self._chosen_objects())

    def with_chosen(self, use: Callable[[list[ObjectEntry]], None]) -> None:
        use(self._chosen_objects())

    # inside

    def _chosen_objects(self) -> list[ObjectEntry]:
        return [entry for entry in self.selected() if not entry.path.is_bucket]

    def _add_commands(self) -> None:
        def has_target() -> bool:
            return self.target() is not None

        def has_chosen() -> bool:
            return bool(self.selected())

        menu = CONTEXT
        self.commands.add(
            Command("object.open", say("Open"), self.open, has_target, "", menu, 0, icon="search"),
            Command("object.upload", say("Upload files…"), self.choose_uploads, has_target, "", menu, 1, icon="upload"),
            Command(
                "object.upload_folder", say("Upload a folder…"), self.choose_upload_folder, has_target, "", menu, 1
            ),
            Command("object.download", say("Download…"), self.choose_download, has_chosen, "", menu, 1,
                    icon="download"),
            Command("bucket.new", say("New bucket…"), self.new_wanted.emit, menu=menu, group=3, icon="plus"),
            Command("object.refresh", say("Refresh"), self._refresh, always, "F5", menu, 3, icon="refresh"),
            Command("object.delete", say("Delete…"), self._delete, has_chosen, "Del", menu, 4, icon="trash"),
        )  # fmt: skip
        # Only with the tree in use: elsewhere the same keys mean something else.
        self._keys = Keys(self.commands, self.rows, _KEYS_OF_THE_TREE, Qt.ShortcutContext.WidgetShortcut)

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self.rows.viewport().update()

    def _show_menu(self, place: QPoint) -> None:
        self.menu().popup(self.rows.viewport().mapToGlobal(place))

    # The account is that of the question: another may be shown when the answer comes.

    def _send(self, profile: str, target: ObjectPath, sources: list[Path]) -> None:
        self._tree.upload(sources, target, self._confirm, profile)

    def _fetch(self, profile: str, paths: list[ObjectPath], targets: list[Path]) -> None:
        self._tree.download(paths, targets[0], profile)

    def _on_dropped(self, sources: list[Path], target: ObjectPath) -> None:
        self._tree.upload(sources, target, self._confirm)

    def _delete(self) -> None:
        """Buckets go in a way of their own, with all that is in them."""
        chosen = [entry.path for entry in self.selected()]
        buckets = {path.bucket for path in chosen if path.is_bucket}
        if buckets:
            self.removal_wanted.emit(sorted(buckets))
        self._tree.remove([path for path in chosen if path.bucket not in buckets], self._confirm)

    def _refresh(self) -> None:
        """The folder that is selected, or everything that is open."""
        folders: set[Folder] = {entry.path if entry.path.is_folder else entry.path.parent for entry in self.selected()}
        for folder in folders or {None}:
            self._tree.refresh(folder)

    def _on_expanded(self, index: QModelIndex) -> None:
        # A folder that could not be read is tried again when it is opened again.
        entry = self.model.entry(index)
        if entry is not None:
            self._tree.expand(entry.path)

    def _on_activated(self, index: QModelIndex) -> None:
        entry = self.model.entry(index)
        if entry is not None and entry.path.is_folder:
            self._tree.open(entry.path)

    def _on_changed(self, *_: object) -> None:
        chosen, level = self.selected(), self._tree.level(None)
        self.send.setEnabled(self.target() is not None)
        self.fetch.setEnabled(bool(chosen))
        self.delete.setEnabled(bool(chosen))
        self.busy.setText(str(self._tree.state.busy or ""))
        self.busy.setVisible(self._tree.state.busy is not None)
        self._pages.setCurrentWidget(self.rows if self.model.rowCount() else self.empty)
        if level.trouble is not None:
            self.empty.say(say(level.trouble.title), say(level.trouble.hint))
        elif level.is_known:
            self.empty.restore()
        else:
            self.empty.say(say("Reading the buckets…"), "")


_PARTS = 1000


class RemovalRows(QWidget):
    """Below the buckets; nothing is there while none is removed."""

    def __init__(self, removals: BucketRemovals) -> None:
        super().__init__()
        self._removals = removals
        self.rows: dict[tuple[str, str], RemovalRow] = {}
        self._column = column_of(inside=self, margins=(SPACE, 0, HALF, 0), spacing=HALF)
        removals.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        running = {(one.profile, one.bucket): one for one in self._removals.running}
        for key in [key for key in self.rows if key not in running]:
            self.rows.pop(key).deleteLater()
        for key, removal in running.items():
            if key not in self.rows:
                self.rows[key] = RemovalRow(key[1])
                self.rows[key].stop.clicked.connect(partial(self._removals.stop, removal))
                self._column.addWidget(self.rows[key])
            self.rows[key].show_removal(removal)
        self.setVisible(bool(running))


class RemovalRow(QWidget):
    """One of them."""

    def __init__(self, bucket: str) -> None:
        super().__init__()
        self.words, self.bar, self.stop = ElidedLabel(), QProgressBar(), QPushButton(say("Stop"))
        set_role(self.words, "small")
        set_role(self.stop, "flat")
        self.stop.setAccessibleName(say("Stop deleting “{bucket}”", bucket=bucket))
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("Deleting “{bucket}”", bucket=bucket))
        line = row_of((self.words, 1), self.stop, margins=0)
        column_of(line, self.bar, inside=self, margins=(0, HALF, 0, HALF), spacing=2)

    def show_removal(self, removal: Removal) -> None:
        self.words.setText(say(removal.sentence))
        share = removal.share
        self.bar.setRange(0, 0 if share is None else _PARTS)
        if share is not None:
            self.bar.setValue(round(share * _PARTS))
