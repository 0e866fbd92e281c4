"""Where objects are chosen: what the tab of a bucket and the tree of all buckets have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import count_text, say
from traindeck.ui.kit.cards import EmptyPage, theme_tool_buttons, tool_button
from traindeck.ui.kit.dialogs import choose_files, choose_folder
from traindeck.ui.kit.edits import FIND, REFRESH, Edit, Edits, HasEdits
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import DropModel, TakesObjects
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.deleting import News


class ObjectList(HasEdits, QWidget):
    """The commands of the window act on the one that is in use."""

    came = Signal()
    """It is in sight."""
    chosen_changed = Signal()
    menu_wanted = Signal(QPoint)
    """At this place of the screen."""
    new_folder_wanted = Signal()

    rows: TakesObjects
    model: DropModel
    empty: EmptyPage
    can_open: Callable[[], bool]
    download: Callable[[], None]
    open: Callable[[], None]
    refresh: Callable[[], None]
    delete: Callable[[], None]

    def __init__(self, tree: BucketTree, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self._tree = tree
        self._theme = theme
        self._confirm = confirm
        self._edits: dict[str, Edit] = {REFRESH: Edit(lambda: self.refresh())}
        self.make = tool_button("folder-plus", say("New folder…"), self.new_folder_wanted)
        self.send = tool_button("upload", say("Upload files…"), self.choose_uploads)
        self.send_folder = tool_button("upload-folder", say("Upload folder…"), self.choose_upload_folder)

    # what each of them says

    @property
    def profile(self) -> str:
        raise NotImplementedError

    @property
    def place(self) -> ObjectPath | None:
        """The folder that an upload would go to."""
        raise NotImplementedError

    def context(self) -> str:
        """What is selected, as its context menu is called."""
        raise NotImplementedError

    def has_chosen(self) -> bool:
        """Objects, folders or buckets."""
        raise NotImplementedError

    def count_chosen(self) -> int:
        """Buckets are no objects."""
        raise NotImplementedError

    def with_chosen(self, use: Callable[[list[ObjectEntry]], None]) -> None:
        """Buckets, too."""
        raise NotImplementedError

    def with_folder(self, act: Callable[[ObjectPath], None]) -> None:
        """The folder that is chosen; where it is not one folder, the one that is shown."""
        raise NotImplementedError

    def follow(self, profile: str, path: ObjectPath) -> None:
        """What is called so now stays selected."""
        raise NotImplementedError

    def _on_changed(self, *_: object) -> None:
        raise NotImplementedError

    # what is the same

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.came.emit()

    def edits(self, focused: QWidget) -> Edits:
        """Its fields have their own, and what is previewed beside the rows is no object."""
        is_beside = isinstance(focused, QAbstractItemView) and focused is not self.rows
        return {name: edit for name, edit in self._edits.items() if not is_beside or name in (FIND, REFRESH)}

    def add_edits(self, edits: Edits) -> None:
        self._edits.update(edits)

    def copy_address(self) -> None:
        def copy(entries: list[ObjectEntry]) -> None:
            QGuiApplication.clipboard().setText("\n".join(str(entry.path) for entry in entries))
            self._tree.news.emit(News(count_text("Copied the OBS path.", "Copied {count} OBS paths.", len(entries))))

        self.with_chosen(copy)

    def choose_uploads(self) -> None:
        self._choose_uploads(choose_files)

    def choose_upload_folder(self) -> None:
        self._choose_uploads(choose_folder)

    def _choose_uploads(self, choose: Callable[[QWidget, str, Callable[[list[Path]], None]], object]) -> None:
        # The account is that of the question: another may be shown when the answer comes.
        if target := self.place:
            choose(self, say("Upload to {target}", target=str(target)), partial(self._send, self.profile, target))

    def _send(self, profile: str, target: ObjectPath, sources: list[Path]) -> None:
        self._tree.upload(sources, target, self._confirm, profile)

    def _on_dropped(self, sources: list[Path], target: ObjectPath) -> None:
        self._send(self.profile, target, sources)

    def _follow_rows(self) -> None:
        self.rows.customContextMenuRequested.connect(self._on_menu_of_rows)
        self.empty.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.empty.customContextMenuRequested.connect(lambda at: self.menu_wanted.emit(self.empty.mapToGlobal(at)))
        self.rows.selectionModel().selectionChanged.connect(self._on_changed)
        self.model.dropped.connect(self._on_dropped)
        self._theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self.rows.viewport().update()

    def _on_menu_of_rows(self, at: QPoint) -> None:
        self.menu_wanted.emit(self.rows.viewport().mapToGlobal(at))


Extend = Callable[[ObjectList], None]
"""Adds what a room has for a new one."""
