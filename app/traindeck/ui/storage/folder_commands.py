"""What the tab of a bucket does with a folder: packs it, compares it, and brings back what was deleted in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import moment_words, say, say_count
from traindeck.domain.transfers.orders import Kind, Order, Rules
from traindeck.domain.transfers.packing import SHARD_BYTES
from traindeck.ui.kit.cards import EmptyPage, push_button
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, row_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import Index, RowTable, TitledModel, plain_table
from traindeck.ui.kit.theme import SPACE, set_role
from traindeck.ui.storage.active_list import PLACE, ActiveList
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.contexts import BUCKET, FOLDERS, NOTHING
from traindeck.viewmodels.storage.deleting import DeletedObjects

_MEBIBYTE = 1024 * 1024

Begin = Callable[[ObjectPath, ObjectPath], None]
"""Packs the first folder into the second."""


class PackDialog(QDialog):
    """Asks where the archives go; not into the folder itself, where the next packing would find them."""

    def __init__(
        self, source: ObjectPath, begin: Begin, run: Callable[[str], object], parent: QWidget | None = None
    ) -> None:
        """`run` carries out a command of the window."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Pack into tar shards"))
        self.setMinimumWidth(60 * SPACE)
        self._source = source
        self._begin = begin
        heading = sentence(say("Pack {place} into tar shards", place=str(source)), "heading")
        words = say(
            "The files are packed into tar files of up to {size} MiB with an index, readable by tar "
            "and WebDataset. The data passes through this computer; the files themselves are kept.",
            size=SHARD_BYTES // _MEBIBYTE,
        )
        self.target = QLineEdit(_beside(source))
        self.target.setPlaceholderText("obs://bucket/folder/")
        name = QLabel(say("The folder for the &shards"))
        name.setBuddy(self.target)
        self.trouble = sentence(" ", "error")
        self.go = QPushButton(say("Pack"))
        set_role(self.go, "primary")
        self.go.setDefault(True)
        buttons = QDialogButtonBox()
        buttons.addButton(self.go, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(say("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.loaders = [
            push_button(title, partial(run, command))
            for title, command in (
                (say("PyTorch loader…"), "dataset.loader_pytorch"),
                (say("MindSpore loader…"), "dataset.loader_mindspore"),
            )
        ]
        read = label(say("To read the shards in training, save a file of a few lines:"), wraps=True)
        offered = row_of(*self.loaders, 1, spacing=SPACE)
        parts = (heading, sentence(words, ""), name, self.target, self.trouble, read, offered, buttons)
        column_of(*parts, inside=self, margins=(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE), spacing=SPACE)
        self.target.textChanged.connect(self._on_typed)
        self._on_typed()
        self.target.setFocus()

    def accept(self) -> None:
        target = self._chosen() if self.go.isEnabled() else None
        if target is not None:
            self._begin(self._source, target)
            super().accept()

    def _on_typed(self) -> None:
        self.trouble.setText(" ")
        self.go.setEnabled(bool(self.target.text().strip()) and self._chosen() is not None)

    def _chosen(self) -> ObjectPath | None:
        try:
            target = ObjectPath.parse(self.target.text().strip()).as_folder()
        except AppError as error:
            self.trouble.setText(error.sentence())
            return None
        if target.bucket == self._source.bucket and target.key.startswith(self._source.key):
            self.trouble.setText(say("That is inside the folder itself. Select one next to it, or in another bucket."))
            return None
        return target


def pack_command(
    active: ActiveList, begin: Callable[[str, ObjectPath, ObjectPath], None], run: Callable[[str], object]
) -> Command:
    """`begin` starts what was chosen, in this account; the list of transfers shows how it goes."""

    def ask(view: ObjectList, place: ObjectPath) -> None:
        PackDialog(place.as_folder(), partial(begin, view.profile), run, view).open()

    return _of_folder(active, "object.pack", say("Pack into tar shards…"), ask, "pack")


def _beside(source: ObjectPath) -> str:
    """A whole bucket has nothing beside it."""
    return "" if source.is_bucket else str(ObjectPath(source.bucket, f"{source.key.rstrip('/')}-shards/"))


def verify_command(active: ActiveList, begin: Callable[[Order], None]) -> Command:
    """`begin` starts what was chosen; the list of transfers shows how it goes."""

    def ask(view: ObjectList, place: ObjectPath) -> None:
        profile = view.profile

        def chosen(folders: list[Path]) -> None:
            here = os.path.normpath(folders[0].absolute())
            rules = Rules(has_ignore_files=True)
            begin(Order(Kind.CHECK, profile, here, str(place.as_folder()), rules))

        choose_folder(view, say("The folder to match {place} with", place=str(place)), chosen)

    return _of_folder(active, "object.verify", say("Verify against a folder on this computer…"), ask, "shield")


def sync_command(active: ActiveList, open_form: Callable[[str, ObjectPath], None]) -> Command:
    """`open_form` asks how, for this folder of this account."""

    def ask(view: ObjectList, place: ObjectPath) -> None:
        open_form(view.profile, place)

    return _of_folder(active, "object.sync", say("Synchronize this folder…"), ask, "transfers")


def _of_folder(
    active: ActiveList, command_id: str, title: str, act: Callable[[ObjectList, ObjectPath], None], icon: str
) -> Command:
    def with_folder(view: ObjectList) -> None:
        view.with_folder(partial(act, view))

    return active.command(command_id, title, with_folder, PLACE, 3, submenu=say("&Folder"), contexts=FOLDERS, icon=icon)


class _DeletedRows(TitledModel):
    """Shows DeletedObjects.rows."""

    COLUMNS = 2

    def __init__(self, deleted: DeletedObjects) -> None:
        super().__init__()
        self._deleted = deleted
        self._count = len(deleted.rows)
        deleted.grew.connect(self._on_grew)

    def count_rows(self) -> int:
        return self._count

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("Deleted"))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        gone = self._deleted.rows[index.row()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return gone.name
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if index.column() == 0:
            return gone.name
        return moment_words(gone.deleted) if gone.deleted else ""

    def _on_grew(self, first: int) -> None:
        self.beginInsertRows(QModelIndex(), first, len(self._deleted.rows) - 1)
        self._count = len(self._deleted.rows)
        self.endInsertRows()


class DeletedDialog(QDialog):
    """Shows DeletedObjects; what is restored is a transfer like every other."""

    def __init__(self, deleted: DeletedObjects, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._deleted = deleted
        self.setWindowTitle(say("Deleted objects"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fit_on_screen(self, 72 * SPACE, 52 * SPACE)
        heading = sentence(say("Deleted in {place}", place=str(deleted.folder)), "heading")
        self.model = _DeletedRows(deleted)
        self.table = RowTable()
        self.table.setModel(self.model)
        plain_table(self.table, say("Deleted objects"))
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(1, self.fontMetrics().horizontalAdvance("2026-12-30 20:00") + 3 * SPACE)
        self.empty = EmptyPage("", "")
        self.seen = QStackedWidget()
        self.seen.addWidget(self.empty)
        self.seen.addWidget(self.table)
        self.words = sentence("", "")
        buttons = QDialogButtonBox()
        self.some = QPushButton(say("Undelete selected"))
        self.all = QPushButton(say("Undelete all"))
        set_role(self.some, "primary")
        for button in (self.some, self.all):
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(say("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        column_of(heading, (self.seen, 1), self.words, buttons, inside=self, margins=2 * SPACE, spacing=SPACE)
        self.some.clicked.connect(self._restore_some)
        self.all.clicked.connect(self._restore_all)
        self.finished.connect(deleted.close)
        deleted.changed.connect(self._refresh)
        deleted.grew.connect(self._refresh)
        self.table.selectionModel().selectionChanged.connect(self._refresh)
        self._refresh()
        deleted.read()

    def _refresh(self, *_: object) -> None:
        state, count = self._deleted.state, self.model.rowCount()
        self.some.setEnabled(self.table.selectionModel().hasSelection())
        self.all.setEnabled(count > 0)
        is_empty = not count and state.trouble is None
        self.seen.setCurrentWidget(self.empty if is_empty else self.table)
        self.words.setVisible(not is_empty)
        set_role(self.words, "error" if state.trouble else "small")
        if state.trouble is not None:
            self.words.setText(state.trouble.sentence())
        elif count:
            shown = say_count("{count} deleted object", "{count} deleted objects", count)
            more = say("More objects are not listed. “Undelete all” includes them.") if state.is_cut else ""
            self.words.setText(f"{shown}. {more}".strip() if more else shown)
        elif state.is_reading:
            self.empty.say(say("Scanning…"), "")
        elif state.keeps_versions:
            self.empty.say(say("Nothing to undelete here."), "")
        else:
            why = say("Versioning of this bucket is not enabled, so deleted objects cannot be undeleted.")
            self.empty.say(say("Nothing to undelete here."), why)

    def _restore_some(self) -> None:
        self._deleted.restore([index.row() for index in self.table.selectionModel().selectedRows()])
        self.accept()

    def _restore_all(self) -> None:
        self._deleted.restore()
        self.accept()


def deleted_command(active: ActiveList, make: Callable[[str, ObjectPath], DeletedObjects], window: QWidget) -> Command:
    def show(view: ObjectList) -> None:
        if view.place is not None:
            DeletedDialog(make(view.profile, view.place), window).open()

    return active.command(
        "object.deleted",
        say("Show deleted objects…"),
        show,
        PLACE,
        4,
        submenu=say("&Folder"),
        contexts=(NOTHING, BUCKET),
    )
