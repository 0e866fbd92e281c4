"""Where objects are chosen: what the tab of a bucket and the tree of all buckets have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import theme_tool_buttons
from traindeck.ui.kit.context_menu import context_menu
from traindeck.ui.kit.dialogs import choose_files, choose_folder
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import DropModel, TakesObjects
from traindeck.viewmodels.ports import Confirm
from traindeck.viewmodels.shell.commands import CONTEXT, Command, Commands, always
from traindeck.viewmodels.storage.bucket_tree import BucketTree


class ObjectList(QWidget):
    """Its `commands` are its context menu, its keys and its part of the palette; anybody may add to them."""

    rows: TakesObjects
    model: DropModel
    download: Callable[[], None]
    _refresh: Callable[[], None]
    _delete: Callable[[], None]

    def __init__(self, tree: BucketTree, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self._tree = tree
        self._theme = theme
        self._confirm = confirm
        self.commands = Commands()

    # what each of them says

    @property
    def profile(self) -> str:
        raise NotImplementedError

    @property
    def place(self) -> ObjectPath | None:
        """The folder that an upload would go to."""
        raise NotImplementedError

    def has_chosen(self) -> bool:
        """Objects, folders or buckets."""
        raise NotImplementedError

    def count_chosen(self) -> int:
        """Buckets are no objects."""
        raise NotImplementedError

    def with_chosen(self, use: Callable[[list[ObjectEntry]], None]) -> None:
        raise NotImplementedError

    def _on_changed(self, *_: object) -> None:
        raise NotImplementedError

    # what is the same

    def menu(self) -> QMenu:
        """What can be done with what is selected."""
        return context_menu(self.commands, self._theme, self)

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

    def _has_place(self) -> bool:
        return self.place is not None

    def _add_commands(self, opening: Command, before: Sequence[Command], after: Sequence[Command] = ()) -> None:
        """`before` and `after` stand around what reads the list again."""
        has_chosen, has_place, menu = self.has_chosen, self._has_place, CONTEXT
        self.commands.add(
            opening,
            Command("object.upload", say("Upload files…"), self.choose_uploads, has_place, "", menu, 1, icon="upload"),
            Command("object.upload_folder", say("Upload a folder…"), self.choose_upload_folder, has_place, "", menu, 1),
            Command("object.download", say("Download…"), self.download, has_chosen, "", menu, 1, icon="download"),
            *before,
            Command("object.refresh", say("Refresh"), self._refresh, always, "F5", menu, 3, icon="refresh"),
            *after,
            Command("object.delete", say("Delete…"), self._delete, has_chosen, "Del", menu, 4, icon="trash"),
        )

    def _follow_rows(self) -> None:
        self.rows.customContextMenuRequested.connect(self._show_menu)
        self.rows.selectionModel().selectionChanged.connect(self._on_changed)
        self.rows.refresh_wanted.connect(self._refresh)
        self.model.dropped.connect(self._on_dropped)
        self._theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self.rows.viewport().update()

    def _show_menu(self, place: QPoint) -> None:
        self.menu().popup(self.rows.viewport().mapToGlobal(place))


Extend = Callable[[ObjectList], None]
"""Adds what a room has for a new one: commands, mostly."""
