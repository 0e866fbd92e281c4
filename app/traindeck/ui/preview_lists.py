"""Lists of a preview: sorted and narrowed here, for they are whole and not too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from traindeck.domain.objects import size_words
from traindeck.domain.previews import Member, MemberKind, Tensor, shape_words
from traindeck.domain.texts import say
from traindeck.ui.theme import SPACE
from traindeck.viewmodels.run_words import moment_words

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")
Key = int | float | str

_ROW_HEIGHT = 24
_NARROWEST = 14 * SPACE


@dataclass(frozen=True, slots=True)
class ListColumn(Generic[Row]):
    """One column: its title, what it says of a row, and what it sorts by."""

    title: str
    words: Callable[[Row], str]
    key: Callable[[Row], Key]
    is_number: bool = False
    longest: str = ""
    """What it must have room for; empty: it takes the rest."""


class ListModel(QAbstractTableModel, Generic[Row]):
    """Rows in the order they came, until a head is pressed."""

    def __init__(self, columns: Sequence[ListColumn[Row]]) -> None:
        super().__init__()
        self.columns = columns
        self._all: list[Row] = []
        self._shown: list[Row] = []
        self._words = ""
        self._sorted_by = -1
        self._descending = False

    @property
    def count(self) -> int:
        return len(self._all)

    def clear(self) -> None:
        self.beginResetModel()
        self._all, self._shown, self._words, self._sorted_by = [], [], "", -1
        self.endResetModel()

    def add(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._all += rows
        if self._sorted_by >= 0:
            self._arrange()
            return
        new = self._fitting(rows)
        if new:
            self.beginInsertRows(QModelIndex(), len(self._shown), len(self._shown) + len(new) - 1)
            self._shown += new
            self.endInsertRows()

    def narrow(self, words: str) -> None:
        """Only rows whose first column holds all of these words."""
        self._words = words.casefold()
        self._arrange()

    def row(self, number: int) -> Row:
        return self._shown[number]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.columns[section].title
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column = self.columns[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return column.words(self._shown[index.row()])
        if role == Qt.ItemDataRole.TextAlignmentRole and column.is_number:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{column.title}: {column.words(self._shown[index.row()])}"
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted_by, self._descending = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()

    def _fitting(self, rows: list[Row]) -> list[Row]:
        words = self._words.split()
        if not words:
            return rows
        named = self.columns[0].words
        return [row for row in rows if all(word in named(row).casefold() for word in words)]

    def _arrange(self) -> None:
        self.beginResetModel()
        self._shown = self._fitting(list(self._all))
        if self._sorted_by >= 0:
            self._shown.sort(key=self.columns[self._sorted_by].key, reverse=self._descending)
        self.endResetModel()


def plain_table(view: QTableView, name: str) -> None:
    """As all tables of a preview look."""
    view.setAccessibleName(name)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.verticalHeader().hide()
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    view.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
    header = view.horizontalHeader()
    header.setHighlightSections(False)
    header.setMinimumSectionSize(5 * SPACE)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class ListTable(QTableView, Generic[Row]):
    """A list with heads to sort by."""

    def __init__(self, model: ListModel[Row], name: str) -> None:
        super().__init__()
        self.setModel(model)
        plain_table(self, name)
        self._columns = model.columns
        metrics = self.fontMetrics()
        for number, column in enumerate(model.columns):
            if column.longest:
                width = max(metrics.horizontalAdvance(words) for words in (column.longest, column.title + "   "))
                self.setColumnWidth(number, width + 2 * SPACE)
        self.unsort()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Not stretched by the head itself: in a narrow panel nothing would be left of a name.
        others = sum(self.columnWidth(number) for number in range(1, len(self._columns)))
        self.setColumnWidth(0, max(_NARROWEST, self.viewport().width() - others))

    def unsort(self) -> None:
        """As the rows come."""
        self.setSortingEnabled(False)
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)


def tensor_columns() -> list[ListColumn[Tensor]]:
    return [
        ListColumn(say("Name"), lambda tensor: tensor.name, lambda tensor: tensor.name.casefold()),
        ListColumn(say("Shape"), lambda tensor: shape_words(tensor.shape), _values, longest="64 × 64 × 3 × 3"),
        ListColumn(say("Type"), lambda tensor: tensor.dtype, lambda tensor: tensor.dtype, longest="bfloat16"),
        ListColumn(say("Size"), lambda tensor: size_words(tensor.size_bytes), _bytes, True, "999.9 MB"),
    ]


def member_columns() -> list[ListColumn[Member]]:
    return [
        ListColumn(say("Name"), _member_name, lambda member: member.name.casefold()),
        ListColumn(say("Size"), _member_size, lambda member: member.size_bytes, True, "999.9 MB"),
        ListColumn(say("Modified"), _member_time, _member_moment, longest="2026-12-30"),
    ]


def _values(tensor: Tensor) -> int:
    count = 1
    for length in tensor.shape:
        count *= length
    return count


def _bytes(tensor: Tensor) -> int:
    return -1 if tensor.size_bytes is None else tensor.size_bytes


def _member_name(member: Member) -> str:
    return f"{member.name} → {member.target}" if member.target else member.name


def _member_size(member: Member) -> str:
    return size_words(member.size_bytes) if member.kind is MemberKind.FILE else ""


def _member_time(member: Member) -> str:
    if member.modified is None:
        return ""
    # A zip archive does not say in which zone its times are.
    return moment_words(member.modified)[:10] if member.modified.tzinfo else f"{member.modified:%Y-%m-%d}"


def _member_moment(member: Member) -> float:
    return 0.0 if member.modified is None else member.modified.replace(tzinfo=None).toordinal()
