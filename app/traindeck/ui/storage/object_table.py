"""The table of a browser: selection that outlives another order, keys, and drops from the file manager."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from PySide6.QtCore import (
    QElapsedTimer,
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from traindeck.domain.storage.object_facts import class_name
from traindeck.domain.storage.objects import Column, ObjectPath, Shown, size_words
from traindeck.domain.texts import exact_words, moment_words, say, say_count
from traindeck.ui.kit.columns import Columns
from traindeck.ui.kit.tables import NUMBERS, FocusedView, Index, TitledModel, plain_table
from traindeck.ui.kit.theme import SPACE, Theme
from traindeck.ui.storage.object_drag import DropModel, TakesObjects
from traindeck.viewmodels.storage.object_browser import ObjectBrowser

COLUMNS = (Column.NAME, Column.SIZE, Column.MODIFIED, Column.CLASS)
NAME, SIZE, MODIFIED, CLASS = range(len(COLUMNS))


class ObjectModel(DropModel, TitledModel):
    """A window onto BrowserRows; every other order is a reset, which costs nothing while rows are not looked at."""

    COLUMNS = len(COLUMNS)

    dropped = Signal(object, object)
    carried_in = Signal(object, object, bool)

    def __init__(self, browser: ObjectBrowser, theme: Theme) -> None:
        super().__init__()
        self._browser = browser
        self._rows = browser.rows
        self._theme = theme
        self._count = self._rows.shown.count
        self._rows.read.connect(self._on_read)

    def become(self) -> None:
        """Show the order that is there now."""
        self.beginResetModel()
        self._count = self._rows.shown.count
        self.endResetModel()

    def shown(self, index: Index) -> Shown | None:
        return self._rows.row(index.row()) if index.isValid() else None

    def count_rows(self) -> int:
        return self._count

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("Size"), say("Modified"), say("Storage class"))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return NUMBERS if column == SIZE else None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(index.row(), column)
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            row = self._rows.row(index.row())
            return self._theme.icon("folder" if row.entry.path.is_folder else "file", "dim") if row else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tool_tip(index)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(index)
        if role == Qt.ItemDataRole.ForegroundRole and (column != NAME or self._is_cut(index)):
            return self._theme.color("dim")
        if role == Qt.ItemDataRole.FontRole and column == NAME and self._is_cut(index):
            font = QFont()
            font.setItalic(True)
            return font
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.ItemIsDropEnabled
        return (
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsDragEnabled
            | Qt.ItemFlag.ItemIsDropEnabled
            | Qt.ItemFlag.ItemNeverHasChildren
        )

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._browser.sort(COLUMNS[column], order == Qt.SortOrder.DescendingOrder)

    def target(self, index: Index) -> ObjectPath:
        """Where something dropped here goes: into the folder it is dropped on, else beside what is shown."""
        row = self.shown(index)
        return row.entry.path if row is not None and row.entry.path.is_folder else self._browser.state.place

    def _words(self, rank: int, column: int) -> str:
        row = self._rows.row(rank)
        if row is None:
            return "…" if column == NAME else ""
        entry = row.entry
        if column == NAME:
            # What a search found is named with the folders it lies in.
            return entry.path.key[len(self._rows.shown.look.folder) :].rstrip("/")
        if column == SIZE:
            return size_words(entry.size_bytes if row.size is None else row.size.size_bytes)
        if column == MODIFIED:
            return moment_words(entry.modified) if entry.modified else ""
        return class_name(entry.storage_class)

    def _tool_tip(self, index: Index) -> str:
        row = self.shown(index)
        if row is None:
            return ""
        if row.size is not None and index.column() == SIZE:
            return say_count(
                "{count} object with subfolders, {size}, as of {moment}",
                "{count} objects with subfolders, {size}, as of {moment}",
                row.size.count,
                size=f"{row.size.size_bytes:,} B",
                moment=exact_words(row.size.as_of),
            )
        if index.column() == SIZE:
            return say("Not counted yet") if row.entry.size_bytes is None else f"{row.entry.size_bytes:,} B"
        return str(row.entry.path)

    def _spoken(self, index: Index) -> str:
        words = self._words(index.row(), index.column())
        if index.column() != NAME:
            title = self.headerData(index.column(), Qt.Orientation.Horizontal)
            return say("{label}: {value}", label=title, value=words)
        row = self.shown(index)
        kind = say("Folder") if row is None or row.entry.path.is_folder else say("Object")
        return say("{label}: {value}", label=kind, value=words)

    def _is_cut(self, index: Index) -> bool:
        row = self.shown(index) if self._cut else None
        return bool(self._cut and row and self._cut.has(self._browser.profile, row.entry.path))

    def _on_cut(self) -> None:
        if self._count:
            self.dataChanged.emit(self.index(0, NAME), self.index(self._count - 1, NAME))

    def _on_read(self, first: int, last: int) -> None:
        if first < self._count:
            last = min(last, self._count - 1)
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))


_MOST_KEPT = 5000
_NAME_ROOM = 18 * SPACE
Ranges = list[tuple[int, int]]


class ObjectTable(FocusedView, TakesObjects, QTableView):
    """Rows of a bucket; asking for what is selected never walks over a million of them."""

    drag_wanted = Signal()
    up_wanted = Signal()

    def __init__(self, browser: ObjectBrowser, model: ObjectModel) -> None:
        super().__init__()
        self._browser = browser
        self._objects = model
        self._shown_look = browser.rows.shown.look
        self._selected_ids: tuple[int, ...] = ()
        self._current_id = 0
        self._searched = ""
        self._room: dict[int, int] = {}
        """Of each column beside the names."""
        self.setModel(model)
        plain_table(self, say("Objects"))
        self.columns = Columns(self.horizontalHeader(), "objects", always=NAME)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.take_drops()
        header = self.horizontalHeader()
        for one in (header, self.verticalHeader()):
            # To paint itself, a header that knows the selection asks for every row of it.
            one.setSelectionModel(QItemSelectionModel(model, one))
        header.setMinimumSectionSize(5 * SPACE)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        metrics = self.fontMetrics()
        widest = {SIZE: "999.9 MB", MODIFIED: "2026-12-30 20:00", CLASS: class_name("INTELLIGENT_TIERING")}
        for column, longest in widest.items():
            title = str(model.headerData(column, Qt.Orientation.Horizontal)) + "   "
            width = max(metrics.horizontalAdvance(words) for words in (longest, title))
            self._room[column] = width + 3 * SPACE
            self.setColumnWidth(column, self._room[column])
        header.setSortIndicator(NAME, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        browser.rows.replaced.connect(self._on_replaced)
        browser.rows.pointed.connect(self.select)
        browser.rows.topped.connect(self._show_at_top)
        self.verticalScrollBar().actionTriggered.connect(self._stay_here)
        header.sectionPressed.connect(self._stay_here)
        self.selectionModel().selectionChanged.connect(self._on_selection)

    def ranges(self) -> Ranges:
        """The first and last rank of each run of selected rows."""
        selection = self.selectionModel().selection()
        parts = [selection.at(number) for number in range(selection.count())]
        return _joined((part.top(), part.bottom()) for part in parts)

    def count_selected(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges())

    def select(self, rank: int) -> None:
        whole_row = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        index = self._objects.index(rank, 0)
        self.selectionModel().setCurrentIndex(index, whole_row)
        self.scrollTo(index)

    def top_key(self) -> str:
        """What the row at the top is called; empty: the list is at its beginning."""
        rank = self.rowAt(0)
        row = self._browser.rows.row(rank) if rank > 0 else None
        return self._browser.rows.top_wanted or (row.entry.path.key if row is not None else "")

    def _show_at_top(self, rank: int) -> None:
        self.executeDelayedItemsLayout()  # without it there is no room yet to scroll in
        self.scrollTo(self._objects.index(rank, 0), QAbstractItemView.ScrollHint.PositionAtTop)

    def _stay_here(self, *_: object) -> None:
        """Somebody is at work here: where the list was before does not matter any longer."""
        self._browser.rows.top_wanted = ""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is little room, names can be read."""
        super().resizeEvent(event)
        room = self.viewport().width() - _NAME_ROOM - self._room[SIZE]
        modified, both = self._room[MODIFIED], self._room[MODIFIED] + self._room[CLASS]
        self.columns.make_room({MODIFIED: room >= modified, CLASS: room >= both})

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._stay_here()
        super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        first = max(0, self.rowAt(0))
        last = self.rowAt(self.viewport().height() - 1)
        self._browser.rows.see(first, last if last >= 0 else max(0, self._objects.rowCount() - 1))
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._stay_here()
        if event.key() == Qt.Key.Key_Backspace and not event.isAutoRepeat():
            self.up_wanted.emit()
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Rows are found where they are kept: most of them are not read yet."""
        self._searched = self._searched + search if self._is_searching() else search
        self._typed = QElapsedTimer()
        self._typed.start()
        self._browser.rows.find(self._searched)

    def _on_selection(self, *_: object) -> None:
        """Note what is selected by number, for a rank means another row in another order."""
        rows, current = self._browser.rows, self.currentIndex()
        ranks: list[int] = []
        if self.count_selected() <= _MOST_KEPT:
            ranks = [rank for first, last in self.ranges() for rank in range(first, last + 1)]
        self._selected_ids = tuple(rows.id_at(rank) for rank in ranks)
        self._current_id = rows.id_at(current.row()) if current.isValid() else 0
        rows.keep([self._current_id, *self._selected_ids])

    def _on_replaced(self) -> None:
        """The rows are others now; what was selected still is, and in the same place the view stays where it was."""
        rows, selection = self._browser.rows.shown, self.selectionModel()
        was, now, ranks = self._shown_look, rows.look, rows.order.places
        is_same_place = now == was
        if (now.folder, now.search) != (was.folder, was.search):
            self._selected_ids, self._current_id = (), 0
        # Of more than are kept by number only this is known; of fewer, what has come since was not selected.
        had_all = _MOST_KEPT < self._objects.rowCount() == self.count_selected()
        place, numbers, current_id = self.verticalScrollBar().value(), self._selected_ids, self._current_id
        self._objects.become()
        chosen = QItemSelection()
        if had_all and is_same_place and rows.count:
            chosen.append(self._whole_rows(0, rows.count - 1))
        else:
            places = [ranks[number] for number in numbers if number in ranks]
            for first, last in _joined(zip(places, places, strict=True)):
                chosen.append(self._whole_rows(first, last))
        if current_id in ranks:
            current = self._objects.index(ranks[current_id], 0)
            selection.setCurrentIndex(current, QItemSelectionModel.SelectionFlag.NoUpdate)
        selection.select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.verticalScrollBar().setValue(place if is_same_place else 0)
        self._shown_look = now

    def _whole_rows(self, first: int, last: int) -> QItemSelectionRange:
        return QItemSelectionRange(self._objects.index(first, 0), self._objects.index(last, len(COLUMNS) - 1))


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Neighbours as one."""
    joined: Ranges = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
