"""The versions of an object: fetched, brought back, or removed for good."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from traindeck.domain.object_facts import ObjectVersion
from traindeck.domain.texts import moment_words, say, text
from traindeck.ui.acting_page import ActingPage
from traindeck.ui.cards import plain
from traindeck.ui.dialogs import chosen_place
from traindeck.ui.theme import SPACE, set_role
from traindeck.ui.version_table import VersionTable
from traindeck.viewmodels.object_sheet import ObjectSheet
from traindeck.viewmodels.ports import Confirm, Tasks

_UNVERSIONED = ("", "null")


class ObjectVersionsPage(ActingPage):
    """What is done here is done at once; what cannot be undone is asked about."""

    icon = "runs"
    is_form = False

    def __init__(self, sheet: ObjectSheet, scope: Tasks, confirm: Confirm) -> None:
        super().__init__(scope)
        self.title = say("Versions")
        self._sheet = sheet
        self._confirm = confirm
        self.note = plain("dim")
        self.table = VersionTable()
        self.download = QPushButton(say("Download…"))
        self.restore = QPushButton(say("Make current"))
        self.delete = QPushButton(say("Delete version…"))
        set_role(self.delete, "danger")
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE)
        for button, act in (
            (self.download, self._download),
            (self.restore, self._make_current),
            (self.delete, self._delete),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(act)
            row.addWidget(button)
        row.addStretch(1)
        self.column.addWidget(self.note)
        self.column.addWidget(self.table, 1)
        self.column.addWidget(buttons)
        self.column.addWidget(self.outcome)
        self.table.selectionModel().selectionChanged.connect(self._on_chosen)
        self._on_chosen()

    async def load(self) -> None:
        found = await self._sheet.versions()
        self.table.versions.show(found)
        is_single = len(found) == 1 and found[0].version in _UNVERSIONED
        self.note.setText(
            say("The bucket keeps no versions: what is overwritten or deleted is gone.")
            if is_single
            else say("Every version is kept and paid for until it is deleted here or by a rule of the bucket.")
        )
        self._on_chosen()

    def _on_chosen(self) -> None:
        chosen = self.table.chosen
        is_content = chosen is not None and not chosen.is_marker
        self.download.setEnabled(is_content)
        self.restore.setEnabled(is_content and chosen is not None and not chosen.is_latest)
        self.delete.setEnabled(chosen is not None and self.table.versions.rowCount() > 1)
        hides = chosen is not None and chosen.is_marker and chosen.is_latest
        self.delete.setText(say("Undo the deletion…") if hides else say("Delete version…"))

    def rested(self) -> None:
        self._on_chosen()

    def _download(self) -> None:
        if (chosen := self.table.chosen) is not None:
            self.act(say("Downloading…"), partial(self._downloaded, chosen), self.download)

    async def _downloaded(self, version: ObjectVersion) -> str:
        target = await chosen_place(self, say("Save this version"), self._sheet.path.name)
        if target is None:
            return ""
        await self._sheet.fetch(version, target)
        return say("Saved as {path}.", path=str(target))

    def _make_current(self) -> None:
        if (chosen := self.table.chosen) is not None:
            self.act(say("Copying…"), partial(self._made_current, chosen), self.restore)

    async def _made_current(self, version: ObjectVersion) -> str:
        await self._sheet.make_current(version)
        await self.load()
        return say("It is the object again; what was current before is kept as a version.")

    def _delete(self) -> None:
        if (chosen := self.table.chosen) is not None:
            self.act(say("Deleting…"), partial(self._deleted, chosen), self.delete)

    async def _deleted(self, version: ObjectVersion) -> str:
        of = moment_words(version.modified) if version.modified else version.version
        if version.is_marker and not version.is_latest:
            question = text("Forget that it was deleted at {moment}? The object stays as it is.", moment=of)
            button = text("Delete")
        elif version.is_marker:
            question, button = text("Bring the object back as it was before {moment}?", moment=of), text("Bring back")
        else:
            question = text("Delete the version of {moment}? It cannot be brought back.", moment=of)
            button = text("Delete")
        if not await self._confirm(question, button):
            return ""
        await self._sheet.remove_version(version)
        await self.load()
        return say("Done.")
