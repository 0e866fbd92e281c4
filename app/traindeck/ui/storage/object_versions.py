"""The versions of an object: fetched, brought back, or removed for good."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QSpinBox, QTableView, QWidget

from traindeck.domain.storage.object_facts import (
    CLASSES,
    FROZEN_CLASSES,
    RESTORE_DAYS,
    HeadChange,
    ObjectFacts,
    RestoreSpeed,
    Restoring,
    class_words,
    restore_words,
)
from traindeck.domain.storage.objects import ObjectVersion, size_words
from traindeck.domain.texts import moment_words, say, text
from traindeck.ui.kit.cards import card, plain, push_button
from traindeck.ui.kit.dialogs import chosen_place
from traindeck.ui.kit.fields import ChoiceBox, Field, guard_wheel
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import ActingPage, boxed_row
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import NUMBERS, FocusedView, plain_table
from traindeck.ui.kit.theme import ROW, SPACE
from traindeck.viewmodels.ports import Confirm, Tasks
from traindeck.viewmodels.storage.object_sheet import ObjectSheet

_CHANGED, _SIZE, _CLASS, _VERSION = range(4)


class VersionModel(RowsModel[ObjectVersion]):
    """Four columns; the current one says so."""

    COLUMNS = 4

    def key(self, row: ObjectVersion) -> Hashable:
        return row.version, row.is_latest

    def headers(self) -> Sequence[str]:
        return (say("Modified"), say("Size"), say("Storage class"), say("Version"))

    def cell(self, row: ObjectVersion, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole and column == _SIZE:
            return NUMBERS
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        if column == _CHANGED:
            return moment_words(row.modified)
        if column == _SIZE:
            return say("deleted") if row.is_marker else size_words(row.size_bytes)
        if column == _CLASS:
            return "" if row.is_marker else class_words(row.storage_class)
        return say("current: {version}", version=row.version) if row.is_latest else row.version


class VersionTable(FocusedView, QTableView):
    """One row can be chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.versions = VersionModel()
        self.setModel(self.versions)
        plain_table(self, say("Versions"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setMinimumHeight(10 * ROW)
        header = self.horizontalHeader()
        header.setSectionResizeMode(_VERSION, QHeaderView.ResizeMode.Stretch)
        metrics = self.fontMetrics()
        for column, longest in ((_CHANGED, "2026-12-30 20:00"), (_SIZE, "999.9 MB"), (_CLASS, class_words("WARM"))):
            self.setColumnWidth(column, metrics.horizontalAdvance(longest) + 3 * SPACE)

    @property
    def chosen(self) -> ObjectVersion | None:
        rows = self.selectionModel().selectedRows()
        return self.versions.row(rows[0].row()) if rows else None


_UNVERSIONED = ("", "null")


class ObjectVersionsPage(ActingPage):
    """What is done here is done at once; what cannot be undone is asked about."""

    icon = "runs"
    is_form = False

    def __init__(self, sheet: ObjectSheet, scope: Tasks, confirm: Confirm) -> None:
        super().__init__(say("Versions"), scope)
        self._sheet = sheet
        self._confirm = confirm
        self.note = plain("dim")
        self.table = VersionTable()
        self.download = push_button(say("Download…"), self._download)
        self.restore = push_button(say("Make current"), self._make_current)
        self.delete = push_button(say("Delete version…"), self._delete, "danger")
        buttons = boxed_row(self.download, self.restore, self.delete, 1)
        self.lay_out(self.note, (self.table, 1), buttons, self.outcome)
        self.table.selectionModel().selectionChanged.connect(self.rested)
        self.rested()

    async def load(self) -> None:
        found = await self._sheet.ask(lambda objects, path: objects.versions(path))
        self.table.versions.show(found)
        words = say("Every version is kept and charged until it is deleted here or by a rule of the bucket.")
        if len(found) == 1 and found[0].version in _UNVERSIONED:
            words = say(
                "Versioning of the bucket is not enabled, so overwritten or deleted objects cannot be undeleted."
            )
        self.note.setText(words)
        self.rested()

    def rested(self) -> None:
        chosen = self.table.chosen
        is_content = chosen is not None and not chosen.is_marker
        self.download.setEnabled(is_content)
        self.restore.setEnabled(is_content and chosen is not None and not chosen.is_latest)
        self.delete.setEnabled(chosen is not None and self.table.versions.rowCount() > 1)
        hides = chosen is not None and chosen.is_marker and chosen.is_latest
        self.delete.setText(say("Undo the deletion") if hides else say("Delete version…"))

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
        await self._sheet.change(lambda objects, path: objects.make_current(path, version.version))
        await self.load()
        return say("It becomes the current version. The former one is kept as a previous version.")

    def _delete(self) -> None:
        if (chosen := self.table.chosen) is not None:
            self.act(say("Deleting…"), partial(self._deleted, chosen), self.delete)

    async def _deleted(self, version: ObjectVersion) -> str:
        of = moment_words(version.modified) if version.modified else version.version
        question = text("Delete the version of {moment}? This cannot be undone.", moment=of)
        # A mark that it was deleted holds nothing: without it the object is there as before.
        if not version.is_marker and not await self._confirm(question, text("Delete")):
            return ""
        await self._sheet.change(lambda objects, path: objects.remove_version(path, version.version))
        await self.load()
        return say("Done.")


_USUAL_DAYS = 7


class RestoreCard(QWidget):
    """`wanted` comes with days and speed."""

    wanted = Signal(int, RestoreSpeed)

    def __init__(self) -> None:
        super().__init__()
        self.state = plain("")
        self.days = QSpinBox()
        self.days.setRange(RESTORE_DAYS.start, RESTORE_DAYS.stop - 1)
        self.days.setAccessibleName(say("Valid for (days)"))
        self.days.setValue(_USUAL_DAYS)
        self.speed = ChoiceBox()
        self.speed.setAccessibleName(say("Restore speed"))
        standard = (say("Standard: some hours"), str(RestoreSpeed.STANDARD))
        expedited = (say("Expedited: minutes, at a higher price"), str(RestoreSpeed.EXPEDITED))
        self.speed.offer((standard, expedited), standard[1])
        guard_wheel(self.days, self.speed)
        days = QLabel(say("Days"))
        days.setBuddy(self.days)
        self.button = push_button(say("Restore"), self._on_clicked)
        row = boxed_row(days, self.days, (self.speed, 1), self.button)
        note = say("A readable copy is kept and charged for this time. The object stays archived.")
        column_of(card(say("Restore"), [self.state, row, plain("small", note)]), inside=self, margins=0)

    def _on_clicked(self) -> None:
        self.wanted.emit(self.days.value(), RestoreSpeed(str(self.speed.currentData())))


class ObjectStoragePage(ActingPage):
    """The class is saved like any other field; restoring is asked for at once."""

    icon = "bucket"

    def __init__(self, sheet: ObjectSheet, scope: Tasks) -> None:
        super().__init__(say("Storage"), scope)
        self._sheet = sheet
        self._facts: ObjectFacts | None = None
        self._wanted = ""
        self.classes = ChoiceBox()
        self.classes.chosen.connect(self._on_chosen)
        guard_wheel(self.classes)
        self.field = Field(say("Storage class"), self.classes)
        self.restoring = RestoreCard()
        self.restoring.wanted.connect(self._restore)
        self.lay_out(card(say("Storage class"), [self.field]), self.restoring, self.outcome, 1)

    async def load(self) -> None:
        self._show(await self._sheet.facts())

    def has_changes(self) -> bool:
        return self._facts is not None and self._wanted != self._facts.storage_class

    async def save(self) -> bool:
        assert self._facts is not None
        change, seen = HeadChange(storage_class=self._wanted), self._facts
        self._show(await self._sheet.change(lambda objects, path: objects.change(path, change, seen)))
        return True

    def _show(self, facts: ObjectFacts) -> None:
        self._facts = facts
        self._wanted = facts.storage_class
        offered = CLASSES if facts.storage_class in CLASSES else (facts.storage_class, *CLASSES)
        choices = [(class_words(name), name) for name in offered]
        self.classes.offer(choices, facts.storage_class)
        self.classes.setEnabled(not facts.is_frozen)
        self.field.label.hide()  # the card says it
        self.restoring.setVisible(facts.storage_class in FROZEN_CLASSES)
        self.restoring.state.setText(restore_words(facts))
        self._say_what_follows()

    def _on_chosen(self, name: str) -> None:
        self._wanted = name
        self._say_what_follows()
        self.edited.emit()

    def _say_what_follows(self) -> None:
        facts = self._facts
        assert facts is not None
        words = ""
        if facts.is_frozen:
            words = say("It must be restored before its class can be changed.")
        elif self._wanted != facts.storage_class and self._wanted in FROZEN_CLASSES:
            words = say("It cannot be read until it is restored. Early deletion is charged extra.")
        elif self._wanted != facts.storage_class and self._wanted == "WARM":
            words = say("Lower storage cost, higher read cost. Charged for at least 30 days.")
        self.field.show_note(words)

    def _restore(self, days: int, speed: RestoreSpeed) -> None:
        self.act(say("Requesting…"), partial(self._restored, days, speed), self.restoring)

    async def _restored(self, days: int, speed: RestoreSpeed) -> str:
        done = await self._sheet.change(lambda objects, path: objects.restore(path, days, speed))
        self._show(await self._sheet.facts())
        match done:
            case Restoring.BEGUN:
                return say("The restore has started. Reload this page to see its progress.")
            case Restoring.EXTENDED:
                return say("The object is already restored. Its validity was updated.")
            case Restoring.GOES_ON:
                return say("The object is already being restored.")
