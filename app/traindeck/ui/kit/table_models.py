"""Tables over tuples of records: what changed is told row by row, so that selection and scroll stay."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QModelIndex, Qt

from traindeck.ui.kit.tables import Index, TitledModel

Row = TypeVar("Row")

TONE_ROLE = Qt.ItemDataRole.UserRole + 1
"""A Tone: the cell is a chip of that meaning."""
SHARE_ROLE = Qt.ItemDataRole.UserRole + 2
"""0 to 1, or None while unknown: the cell is a progress bar."""
BADGE_ROLE = Qt.ItemDataRole.UserRole + 3
"""Whether its words are a badge."""


class RowsModel(TitledModel, Generic[Row]):
    """Rows with a key each; `show` compares with what is there and never resets."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[Row] = []
        self._next: Sequence[Row] | None = None
        self._is_changing = False

    def key(self, row: Row) -> Hashable:
        raise NotImplementedError

    def cell(self, row: Row, column: int, role: int) -> Any:
        raise NotImplementedError

    def row(self, number: int) -> Row:
        return self._rows[number]

    def number_of(self, key: Hashable) -> int | None:
        return next((number for number, row in enumerate(self._rows) if self.key(row) == key), None)

    def row_name(self, index: Index) -> str:
        return str(self.key(self._rows[index.row()]))

    def row_named(self, name: str) -> QModelIndex:
        """One that is not there is no row."""
        number = next((number for number, row in enumerate(self._rows) if str(self.key(row)) == name), None)
        return QModelIndex() if number is None else self.index(number, 0)

    def count_rows(self) -> int:
        return len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return self.cell(self._rows[index.row()], index.column(), role) if index.isValid() else None

    def show(self, rows: Sequence[Row]) -> None:
        """Become these rows. A row that goes moves the selection, which may bring us here again: then it waits."""
        self._next = rows
        if self._is_changing:
            return
        self._is_changing = True
        try:
            while self._next is not None:
                rows, self._next = self._next, None
                self._become(rows)
        finally:
            self._is_changing = False

    def _become(self, rows: Sequence[Row]) -> None:
        """What is the very same at both ends is not looked at: of thousands of rows mostly one is news."""
        head, tail = _same_ends(self._rows, rows)
        end = len(rows) - tail
        wanted = {self.key(row) for row in rows[head:end]}
        self._drop_all_but(wanted, head, len(self._rows) - tail)
        there = {self.key(row) for row in self._rows[head : len(self._rows) - tail]}
        number = head
        while number < end:
            key = self.key(rows[number])
            if key not in there:
                last = number + 1
                while last < end and self.key(rows[last]) not in there:
                    last += 1
                self.beginInsertRows(QModelIndex(), number, last - 1)
                self._rows[number:number] = rows[number:last]
                self.endInsertRows()
                number = last
                continue
            if key != self.key(self._rows[number]):
                self._bring(key, number)
            if self._rows[number] is not rows[number] and self._rows[number] != rows[number]:
                self._rows[number] = rows[number]
                self.dataChanged.emit(self.index(number, 0), self.index(number, self.columnCount() - 1))
            number += 1

    def column_changed(self, column: int, first: int, last: int) -> None:
        if last >= first:
            self.dataChanged.emit(self.index(first, column), self.index(last, column), [Qt.ItemDataRole.DisplayRole])

    def _drop_all_but(self, wanted: set[Hashable], head: int, end: int) -> None:
        last = end - 1
        while last >= head:
            if self.key(self._rows[last]) in wanted:
                last -= 1
                continue
            first = last
            while first > head and self.key(self._rows[first - 1]) not in wanted:
                first -= 1
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()
            last = first - 1

    def _bring(self, key: Hashable, number: int) -> None:
        place = next(here for here in range(number + 1, len(self._rows)) if self.key(self._rows[here]) == key)
        self.beginMoveRows(QModelIndex(), place, place, QModelIndex(), number)
        self._rows.insert(number, self._rows.pop(place))
        self.endMoveRows()


def _same_ends(before: Sequence[object], after: Sequence[object]) -> tuple[int, int]:
    """How many are the same objects from the beginning on, and how many of the others from the end."""
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] is not after[at]), most)
    tail = next((at for at in range(most - head) if before[-1 - at] is not after[-1 - at]), most - head)
    return head, tail
