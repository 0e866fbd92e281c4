"""The table of a browser: selection that outlives another order, keys, and drops from the file manager."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QItemSelectionRange, Qt, Signal
from PySide6.QtGui import QDragMoveEvent, QDropEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from traindeck.domain.texts import say
from traindeck.ui.object_drag import steer
from traindeck.ui.object_model import CLASS, COLUMNS, MODIFIED, NAME, SIZE, ObjectModel
from traindeck.ui.theme import ROW, SPACE
from traindeck.viewmodels.object_browser import ObjectBrowser

_MOST_KEPT = 5000
Ranges = list[tuple[int, int]]


class ObjectTable(QTableView):
    """Rows of a bucket; asking for what is selected never walks over a million of them."""

    open_wanted = Signal()
    up_wanted = Signal()
    refresh_wanted = Signal()
    drag_wanted = Signal()

    def __init__(self, browser: ObjectBrowser, model: ObjectModel) -> None:
        super().__init__()
        self._browser = browser
        self._objects = model
        self._shown_look = browser.rows.look
        self._selected_ids: tuple[int, ...] = ()
        self._current_id = 0
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDragDropOverwriteMode(True)  # on a row, never between two
        self.setAccessibleName(say("Objects"))
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        for one in (header, self.verticalHeader()):
            # To paint itself, a header that knows the selection asks for every row of it.
            one.setSelectionModel(QItemSelectionModel(model, one))
        header.setMinimumSectionSize(5 * SPACE)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        metrics = self.fontMetrics()
        for column, longest in ((SIZE, "999.9 MB"), (MODIFIED, "2026-12-30 20:00"), (CLASS, "INTELLIGENT_TIERING")):
            title = str(model.headerData(column, Qt.Orientation.Horizontal)) + "   "
            width = max(metrics.horizontalAdvance(words) for words in (longest, title))
            self.setColumnWidth(column, width + 3 * SPACE)
        header.setSortIndicator(NAME, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        browser.rows.replaced.connect(self._on_replaced)
        browser.rows.pointed.connect(self.select)
        self.selectionModel().selectionChanged.connect(self._on_selection)
        self.doubleClicked.connect(self.open_wanted)

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

    def paintEvent(self, event: QPaintEvent) -> None:
        first = max(0, self.rowAt(0))
        last = self.rowAt(self.viewport().height() - 1)
        self._browser.rows.see(first, last if last >= 0 else max(0, self._objects.rowCount() - 1))
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            self.open_wanted.emit()
        elif event.key() == Qt.Key.Key_Backspace and plain:
            self.up_wanted.emit()
        elif _is_refresh(event):
            self.refresh_wanted.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # The window has the same key for its runs; here it means this table.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and _is_refresh(event):
            event.accept()
            return True
        return super().event(event)

    def startDrag(self, actions: Qt.DropAction) -> None:
        self.drag_wanted.emit()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        if event.isAccepted():
            steer(event, self._objects.target(self.indexAt(event.position().toPoint())))
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        target = self._objects.target(self.indexAt(event.position().toPoint()))
        steer(event, target)
        super().dropEvent(event)
        if event.isAccepted():
            steer(event, target)  # Qt tells who dragged it that what was proposed was done

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
        rows, selection = self._browser.rows, self.selectionModel()
        was, now = self._shown_look, rows.look
        is_same_place = now == was
        if (now.folder, now.search) != (was.folder, was.search):
            self._selected_ids, self._current_id = (), 0
        had_all = 0 < self._objects.rowCount() == self.count_selected()
        place, numbers, current_id = self.verticalScrollBar().value(), self._selected_ids, self._current_id
        self._objects.become()
        chosen = QItemSelection()
        if had_all and is_same_place and rows.count:
            chosen.append(self._whole_rows(0, rows.count - 1))
        else:
            places = [rows.places[number] for number in numbers if number in rows.places]
            for first, last in _joined(zip(places, places, strict=True)):
                chosen.append(self._whole_rows(first, last))
        if current_id in rows.places:
            current = self._objects.index(rows.places[current_id], 0)
            selection.setCurrentIndex(current, QItemSelectionModel.SelectionFlag.NoUpdate)
        selection.select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.verticalScrollBar().setValue(place if is_same_place else 0)
        self._shown_look = rows.look

    def _whole_rows(self, first: int, last: int) -> QItemSelectionRange:
        return QItemSelectionRange(self._objects.index(first, 0), self._objects.index(last, len(COLUMNS) - 1))


def _is_refresh(event: QKeyEvent) -> bool:
    return event.key() == Qt.Key.Key_F5 and event.modifiers() == Qt.KeyboardModifier.NoModifier


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Neighbours as one."""
    joined: Ranges = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
