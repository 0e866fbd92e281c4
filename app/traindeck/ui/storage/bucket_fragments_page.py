"""Uploads into a bucket that were never finished: what they hold, and how to be rid of them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QLabel
from shiboken6 import isValid

from traindeck.domain.errors import AppError
from traindeck.domain.storage.bucket_settings import MOST_DAYS
from traindeck.domain.storage.buckets import Held, UnfinishedUpload
from traindeck.domain.storage.objects import count_words, size_words
from traindeck.domain.texts import moment_words, say, say_count
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import agreed
from traindeck.ui.kit.layouts import row_of
from traindeck.ui.kit.property_dialog import PropertyPage
from traindeck.ui.kit.property_page import help_label, number_box
from traindeck.ui.kit.tables import NUMBERS, Index, RowTable, TitledModel, plain_table
from traindeck.ui.kit.theme import ROW, SPACE, set_role
from traindeck.viewmodels.ports import Tasks
from traindeck.viewmodels.storage.buckets import BucketService

_numbers = itertools.count(1)


class FragmentsModel(TitledModel):
    """Grows a page at a time; sizes come later."""

    COLUMNS = 4
    NAME, BEGUN, SIZE, USE = range(COLUMNS)

    def __init__(self) -> None:
        super().__init__()
        self.uploads: list[UnfinishedUpload] = []
        self.sizes: dict[str, int] = {}
        # Kept as rows come: adding them up at each portion would take the longer the more there are.
        self.size_bytes = 0
        self.not_ours = 0
        self.oldest: datetime | None = None

    def empty(self) -> None:
        self._become([], {})

    def _become(self, uploads: list[UnfinishedUpload], sizes: dict[str, int]) -> None:
        self.beginResetModel()
        self.uploads, self.sizes, self.size_bytes = [], sizes, sum(sizes.values())
        self.not_ours, self.oldest = 0, None
        self._take(uploads)
        self.endResetModel()

    def _take(self, page: Sequence[UnfinishedUpload]) -> None:
        self.uploads += page
        others = [upload for upload in page if not upload.is_ours]
        self.not_ours += len(others)
        begun = [upload.begun for upload in others if upload.begun is not None]
        self.oldest = min([*begun, *filter(None, [self.oldest])], default=None)

    def add(self, page: Sequence[UnfinishedUpload]) -> None:
        if page:
            self.beginInsertRows(QModelIndex(), len(self.uploads), len(self.uploads) + len(page) - 1)
            self._take(page)
            self.endInsertRows()

    def drop(self, gone: Sequence[UnfinishedUpload]) -> None:
        ids = {upload.upload_id for upload in gone}
        sizes = {upload_id: size for upload_id, size in self.sizes.items() if upload_id not in ids}
        self._become([upload for upload in self.uploads if upload.upload_id not in ids], sizes)

    def measured(self, portion: Sequence[Held]) -> None:
        for held in portion:
            if held.size_bytes is None:
                continue
            self.size_bytes += held.size_bytes - self.sizes.get(held.upload.upload_id, 0)
            self.sizes[held.upload.upload_id] = held.size_bytes
        if self.uploads:
            self.dataChanged.emit(self.index(0, self.SIZE), self.index(len(self.uploads) - 1, self.SIZE))

    def count_rows(self) -> int:
        return len(self.uploads)

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("Started"), say("Size"), say("In use"))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole and section == self.SIZE:
            return NUMBERS
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        upload, column = self.uploads[index.row()], index.column()
        if role == Qt.ItemDataRole.ToolTipRole and column == self.NAME:
            return str(upload.path)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._words(upload, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column == self.SIZE:
            return NUMBERS
        return None

    def _words(self, upload: UnfinishedUpload, column: int) -> str:
        if column == self.NAME:
            return upload.path.key
        if column == self.BEGUN:
            return moment_words(upload.begun) if upload.begun else say("unknown")
        if column == self.SIZE:
            return size_words(self.sizes.get(upload.upload_id))
        return say("by a transfer on this computer") if upload.is_ours else ""


class BucketFragmentsPage(PropertyPage):
    """Lists and measures in the background; nothing is thrown away without a question."""

    icon = "fragments"
    is_form = False

    def __init__(self, service: BucketService, tasks: Tasks) -> None:
        super().__init__(say("Fragments"))
        self._service = service
        self._tasks = tasks
        self._name = f"fragments {next(_numbers)}"
        self._looks = itertools.count(1)
        self._look = ""
        self._is_whole = False
        self.model, self.table = FragmentsModel(), RowTable()
        self.summary, self.result = help_label("", "strong"), help_label("", "dim")
        self.chosen = push_button(say("Delete selected…"), self._end_chosen, "danger")
        self.older = push_button(say("Delete those older than"), self._end_older, "danger")
        self.all = push_button(say("Delete all not in use…"), self._end_all, "danger")
        self.stop = push_button(say("Stop"), self._stop)
        self.days = number_box(1, MOST_DAYS, say("Older than how many days"))
        self.days.setValue(7)
        self.table.setModel(self.model)
        plain_table(self.table, say("Fragments"))
        self.table.setMinimumHeight(8 * ROW)
        self.table.horizontalHeader().setSectionResizeMode(FragmentsModel.NAME, QHeaderView.ResizeMode.Stretch)
        for column, width in ((FragmentsModel.BEGUN, 17), (FragmentsModel.SIZE, 10), (FragmentsModel.USE, 17)):
            self.table.setColumnWidth(column, width * SPACE)
        first = row_of(self.chosen, self.all, 1, spacing=SPACE)
        second = row_of(self.older, self.days, QLabel(say("days")), 1, spacing=SPACE)
        ending = row_of((self.result, 1), (self.stop, 0, Qt.AlignmentFlag.AlignTop))
        intro = say("Fragments (unfinished multipart uploads) do not appear in listings but are charged.")
        self.lay_out(help_label(intro), self.summary, (self.table, 1), first, second, ending)
        self.stop.hide()
        self.days.valueChanged.connect(self._say)
        self.table.selectionModel().selectionChanged.connect(self._say)

    # reading

    async def load(self) -> None:
        """Comes back with the first page; the rest and the sizes come by and by."""
        self._tasks.cancel(self._look)
        self._look = f"{self._name} look {next(self._looks)}"
        self.model.empty()
        self._is_whole = False
        self.result.setText("")
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._tasks.start(self._look, partial(self._list, first)):
            await first
        self._say()

    async def _list(self, first: asyncio.Future[None]) -> None:
        def take(page: list[UnfinishedUpload]) -> None:
            if isValid(self):
                self.model.add(page)
                self._say()
            if not first.done():
                first.set_result(None)

        try:
            await self._service.each_unfinished(take)
            self._is_whole = True
            take([])
            await self._service.measure(list(self.model.uploads), self._on_measured)
        except AppError as error:
            if not first.done():
                first.set_exception(error)
            elif isValid(self):
                self._tell(error.sentence(), is_error=True)
        finally:
            if not first.done():
                first.cancel()

    def _on_measured(self, portion: list[Held]) -> None:
        if isValid(self):
            self.model.measured(portion)
            self._say()

    def leave(self) -> None:
        self._tasks.cancel(self._look)
        self._tasks.cancel(self._name)

    # words and buttons

    def _say(self, *_: object) -> None:
        uploads, oldest = self.model.uploads, self.model.oldest
        counts = {"count": count_words(len(uploads)), "size": size_words(self.model.size_bytes)}
        if not self._is_whole:
            words = say("Fragments so far: {count}", count=counts["count"])
        elif not uploads:
            words = say("There are no fragments.")
        elif len(self.model.sizes) < len(uploads):
            words = say("Fragments: {count}; calculating: {size} so far", **counts)
        else:
            words = say("Fragments: {count}, {size}", **counts)
        self.summary.setText(words)
        is_free = not self.stop.isVisibleTo(self)
        self.chosen.setEnabled(is_free and self.table.selectionModel().hasSelection())
        is_old = oldest is not None and datetime.now(UTC) - oldest >= timedelta(days=self.days.value())
        self.older.setEnabled(is_free and self._is_whole and is_old)
        self.all.setEnabled(is_free and self._is_whole and self.model.not_ours > 0)

    def _tell(self, words: str, *, is_error: bool = False) -> None:
        self.result.setText(words)
        set_role(self.result, "error" if is_error else "dim")

    # ending

    def _end_chosen(self) -> None:
        rows = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        self._end([self.model.uploads[row] for row in rows])

    def _end_older(self) -> None:
        now, age = datetime.now(UTC), timedelta(days=self.days.value())
        self._end([one for one in self.model.uploads if not one.is_ours and one.is_older(age, now)])

    def _end_all(self) -> None:
        self._end([one for one in self.model.uploads if not one.is_ours])

    def _end(self, uploads: list[UnfinishedUpload]) -> None:
        self._tasks.start(self._name, partial(self._ask_and_end, uploads))

    def _stop(self) -> None:
        self._tasks.cancel(self._name)

    async def _ask_and_end(self, uploads: list[UnfinishedUpload]) -> None:
        kept = sum(one.is_ours for one in uploads)
        doomed = [one for one in uploads if not one.is_ours]
        if not doomed:
            self._tell(say("A transfer needs them. Cancel it in the transfer list instead."))
            return
        size = sum(self.model.sizes.get(one.upload_id, 0) for one in doomed)
        question = say_count("Delete {count} fragment?", "Delete {count} fragments?", len(doomed))
        facts = [say("Known size: {size}.", size=size_words(size))]
        facts.append(say("A program that is uploading one of them has to start over."))
        if kept:
            facts.append(
                say_count(
                    "{count} fragment is kept: a transfer needs it.",
                    "{count} fragments are kept: a transfer needs them.",
                    kept,
                )
            )
        if not await agreed(self.window(), question, "\n".join(facts), say("Delete")):
            return
        self.stop.show()
        self._say()
        try:
            await self._end_them(doomed)
        except AppError as error:
            self._tell(error.sentence(), is_error=True)
        finally:
            if isValid(self):
                self.stop.hide()
                self._say()

    async def _end_them(self, doomed: list[UnfinishedUpload]) -> None:
        def progress(done: int) -> None:
            if isValid(self):
                counts = {"done": count_words(done), "all": count_words(len(doomed))}
                self._tell(say("Deleting: {done} of {all}…", **counts))

        progress(0)
        ended = await self._service.end(doomed, progress)
        if not isValid(self):
            return
        self.model.drop(ended.ended)
        words = [say_count("Deleted {count} fragment.", "Deleted {count} fragments.", len(ended.ended))]
        if ended.kept:
            words.append(
                say_count(
                    "{count} fragment is kept: a transfer needs it.",
                    "{count} fragments are kept: a transfer needs them.",
                    len(ended.kept),
                )
            )
        if ended.failed:
            upload, error = ended.failed[0]
            words.append(
                say_count(
                    "Could not delete {count} fragment, for example “{name}”: {why}",
                    "Could not delete {count} fragments, for example “{name}”: {why}",
                    len(ended.failed),
                    name=upload.path.key,
                    why=error.sentence(),
                )
            )
        self._tell(" ".join(words), is_error=bool(ended.failed))
