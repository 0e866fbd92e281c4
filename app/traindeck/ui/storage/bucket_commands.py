"""The command of a bucket's tab that packs many small objects of a folder into a few tar archives beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QPushButton, QWidget

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say
from traindeck.domain.transfers.packing import SHARD_BYTES
from traindeck.domain.transfers.records import Kind, Order, Rules
from traindeck.ui.kit.dialogs import choose_folder
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import SPACE, set_role
from traindeck.ui.storage.browser_view import BrowserView, with_folder
from traindeck.viewmodels.shell.commands import CONTEXT, Command
from traindeck.viewmodels.storage.object_browser import ObjectBrowser

_MEBIBYTE = 1024 * 1024

Begin = Callable[[ObjectPath, ObjectPath], None]
"""Packs the first folder into the second."""


class PackDialog(QDialog):
    """Asks where the archives go; not into the folder itself, where the next packing would find them."""

    def __init__(self, source: ObjectPath, begin: Begin, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Pack into tar shards"))
        self.setMinimumWidth(60 * SPACE)
        self._source = source
        self._begin = begin
        heading = QLabel(say("Pack {place} into tar shards", place=str(source)))
        set_role(heading, "heading")
        words = QLabel(
            say(
                "The files become tar files of up to {size} MiB with an index beside them, as tar and WebDataset read "
                "them. Their bytes pass through this computer; the files themselves stay where they are.",
                size=SHARD_BYTES // _MEBIBYTE,
            )
        )
        for label in (heading, words):
            label.setWordWrap(True)
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
        column_of(
            heading,
            words,
            name,
            self.target,
            self.trouble,
            buttons,
            inside=self,
            margins=(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE),
            spacing=SPACE,
        )
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
            self.trouble.setText(say("That is inside the folder itself. Choose one beside it, or in another bucket."))
            return None
        return target


def add_pack(view: BrowserView, browser: ObjectBrowser, begin: Begin) -> None:
    """`begin` starts what was chosen; the list of transfers shows how it goes."""

    def ask(place: ObjectPath) -> None:
        PackDialog(place.as_folder(), begin, view).open()

    view.commands.add(
        Command(
            "object.pack",
            say("Pack into tar shards…"),
            partial(with_folder, view, browser, ask),
            menu=CONTEXT,
            group=1,
            icon="pack",
        )
    )


def _beside(source: ObjectPath) -> str:
    """A whole bucket has nothing beside it."""
    return "" if source.is_bucket else str(ObjectPath(source.bucket, f"{source.key.rstrip('/')}-shards/"))


def add_verify(view: BrowserView, browser: ObjectBrowser, begin: Callable[[Order], None]) -> None:
    """`begin` starts what was chosen; the list of transfers shows how it goes."""

    def ask(place: ObjectPath) -> None:
        def chosen(folders: list[Path]) -> None:
            here = os.path.normpath(folders[0].absolute())
            rules = Rules(has_ignore_files=True)
            begin(Order(Kind.CHECK, browser.profile, here, str(place.as_folder()), rules))

        choose_folder(view, say("The folder that {place} should be like", place=str(place)), chosen)

    view.commands.add(
        Command(
            "object.verify",
            say("Verify against a local folder…"),
            partial(with_folder, view, browser, ask),
            menu=CONTEXT,
            group=1,
            icon="shield",
        )
    )
