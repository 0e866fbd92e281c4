"""The buckets as a panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QSize, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QProgressBar,
    QPushButton,
    QStackedLayout,
    QTreeView,
    QWidget,
)

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, show_words, tool_button
from traindeck.ui.kit.columns import Columns
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import FocusedView
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.storage.bucket_model import BucketModel
from traindeck.ui.storage.bucket_place import KeptTree
from traindeck.ui.storage.object_drag import TakesObjects
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.conditions import is_of_account
from traindeck.viewmodels.shell.contexts import BUCKET, FILE, FOLDER, NOTHING, SEVERAL
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree, Folder
from traindeck.viewmodels.storage.buckets import BucketRemovals, Removal


class ObjectTree(FocusedView, TakesObjects, QTreeView):
    """Rows that take what is dropped on them."""

    drag_wanted = Signal()

    def __init__(self, model: BucketModel) -> None:
        super().__init__()
        self.setModel(model)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.take_drops()
        self.setAutoExpandDelay(700)
        self.setAccessibleName(say("Buckets"))


class BucketView(ObjectList):
    """Shows BucketTree; `confirm` asks the user before anything is sent or deleted."""

    rows: ObjectTree
    new_wanted = Signal()
    """A bucket is to be made."""
    removal_wanted = Signal(str, object)
    """The account, and the names of buckets that are to go."""

    def __init__(self, tree: BucketTree, theme: Theme, confirm: Confirm) -> None:
        super().__init__(tree, theme, confirm)
        self.model: BucketModel = BucketModel(tree, theme)
        self.rows = ObjectTree(self.model)
        header = self.rows.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(5 * SPACE)
        header.setSectionResizeMode(BucketModel.NAME, QHeaderView.ResizeMode.Stretch)
        self.rows.setColumnWidth(BucketModel.SIZE, 9 * SPACE)
        self.rows.setColumnWidth(BucketModel.MODIFIED, 16 * SPACE)
        self.columns = Columns(header, "buckets", always=BucketModel.NAME, hidden=[BucketModel.MODIFIED])

        self.add = tool_button("plus", say("New bucket…"), self.new_wanted)
        self.fetch = tool_button("download", say("Download…"), self.download)
        self.trash = tool_button("trash", say("Delete…"), self.delete)
        self.again = tool_button("refresh", say("Refresh (F5)"), self.refresh)
        acts = (self.add, self.make, self.send, self.send_folder, self.fetch, self.trash)
        bar = row_of(*acts, 1, self.again, margins=HALF, spacing=HALF)

        self.empty = EmptyPage(say("No buckets yet."), say("Press + to create one; then drop files on it."))
        self.busy = sentence("", "small")
        self.busy.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._pages = QStackedLayout()
        layout = self._column = column_of(bar, (self._pages, 1), inside=self, margins=0, spacing=0)
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.rows)
        layout.addWidget(self.busy)

        self._followed: ObjectPath | None = None
        self._follow_rows()
        KeptTree(tree, self.rows, self.model)
        self.model.rowsInserted.connect(self._follow)
        self.rows.activated.connect(self._on_activated)
        self.rows.expanded.connect(self._on_expanded)
        self.model.rowsInserted.connect(self._on_changed)
        self.model.rowsRemoved.connect(self._on_changed)
        self.model.modelReset.connect(self._on_changed)
        tree.level_changed.connect(self._on_changed)
        tree.changed.connect(self._on_changed)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(40 * SPACE, 40 * SPACE)

    def selected(self) -> list[ObjectEntry]:
        entries = (self.model.entry(index) for index in self.rows.selectionModel().selectedRows())
        return [entry for entry in entries if entry is not None]

    @property
    def profile(self) -> str:
        return self._tree.state.profile

    @property
    def place(self) -> ObjectPath | None:
        chosen = self.selected()
        if len(chosen) != 1:
            return None
        return chosen[0].path if chosen[0].path.is_folder else chosen[0].path.parent

    def open(self) -> None:
        """The selected folder, or the one of the selected object, as a tab."""
        if target := self.place:
            self._tree.opened.emit(target)

    def can_open(self) -> bool:
        return self.place is not None

    def show_beside(self, widget: QWidget, marks: PublicMarks) -> None:
        """What goes on with buckets, below them, and which of them are public."""
        self._column.addWidget(widget)
        self.model.show_marks(marks)

    def has_chosen(self) -> bool:
        return bool(self.selected())

    def follow(self, profile: str, path: ObjectPath) -> None:
        if profile == self.profile:
            self._followed = path
            self._follow()

    def _follow(self, *_: object) -> None:
        """As soon as it is among the rows."""
        index = self.model.index_of(self._followed)
        if self._followed is not None and index.isValid():
            self._followed = None
            self.rows.setCurrentIndex(index)

    def count_chosen(self) -> int:
        return sum(not entry.path.is_bucket for entry in self.selected())

    def context(self) -> str:
        chosen = self.selected()
        if len(chosen) != 1:
            return SEVERAL if chosen else NOTHING
        path = chosen[0].path
        return BUCKET if path.is_bucket else FOLDER if path.is_folder else FILE

    def with_chosen(self, use: Callable[[list[ObjectEntry]], None]) -> None:
        use(self.selected())

    def with_folder(self, act: Callable[[ObjectPath], None]) -> None:
        if self.place is not None:
            act(self.place)

    def download(self) -> None:
        profile, chosen = self.profile, [entry.path for entry in self.selected()]

        def fetch(targets: list[Path]) -> None:
            self._tree.download(chosen, targets[0], profile)

        if chosen:
            choose_folder(self, say("Download into this folder"), fetch)

    def delete(self) -> None:
        """Buckets go in a way of their own, with all that is in them."""
        chosen = [entry.path for entry in self.selected()]
        buckets = {path.bucket for path in chosen if path.is_bucket}
        if buckets:
            self.removal_wanted.emit(self.profile, sorted(buckets))
        self._tree.remove([path for path in chosen if path.bucket not in buckets], self._confirm)

    def refresh(self) -> None:
        """The folder that is selected, or everything that is open."""
        folders: set[Folder] = {entry.path if entry.path.is_folder else entry.path.parent for entry in self.selected()}
        for folder in folders or {None}:
            self._tree.refresh(folder)

    # inside

    def _on_expanded(self, index: QModelIndex) -> None:
        # A folder that could not be read is tried again when it is opened again; and before Qt has laid out the rows
        # that came last it opens one without asking the model for what is in it.
        self.model.fetchMore(index)

    def _on_activated(self, index: QModelIndex) -> None:
        entry = self.model.entry(index)
        if entry is not None and entry.path.is_folder:
            self._tree.opened.emit(entry.path)

    def _on_changed(self, *_: object) -> None:
        chosen, level = self.selected(), self._tree.level(None)
        for button in (self.make, self.send, self.send_folder):
            button.setEnabled(self.place is not None)
        for button in (self.fetch, self.trash):
            button.setEnabled(bool(chosen))
        show_words(self.busy, str(self._tree.state.busy or ""))
        has_rows = self.model.rowCount() > 0
        self._pages.setCurrentWidget(self.rows if has_rows else self.empty)
        self.setFocusProxy(self.rows if has_rows else self.add)
        if level.trouble is not None:
            # What concerns the whole account is told in the banner; here only why there is nothing to see.
            hint = "" if is_of_account(level.trouble) else say(level.trouble.hint)
            self.empty.say(say(level.trouble.title), hint)
        elif level.is_known:
            self.empty.restore()
        else:
            self.empty.say(say("Reading the buckets…"), "")
        self.chosen_changed.emit()


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
