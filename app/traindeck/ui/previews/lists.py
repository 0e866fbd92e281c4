"""Lists of a preview: sorted and narrowed here, for they are whole and not too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QTableView,
    QWidget,
)

from traindeck.domain.previews import ArchiveMember, Fact, MemberKind, TablePage, Tensor, shape_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.layouts import column_of, on_one_line
from traindeck.ui.kit.tables import NUMBERS, FocusedView, Index, TitledModel, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, set_role

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


class ListModel(TitledModel, Generic[Row]):
    """Rows in the order they came, until a head is pressed."""

    def __init__(self, columns: Sequence[ListColumn[Row]]) -> None:
        super().__init__()
        self.columns = columns
        self.COLUMNS = len(columns)
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

    def count_rows(self) -> int:
        return len(self._shown)

    def headers(self) -> Sequence[str]:
        return [column.title for column in self.columns]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column = self.columns[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return column.words(self._shown[index.row()])
        if role == Qt.ItemDataRole.TextAlignmentRole and column.is_number:
            return NUMBERS
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return say("{label}: {value}", label=column.title, value=column.words(self._shown[index.row()]))
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


def preview_table(view: QTableView, name: str) -> None:
    """As all tables of a preview look."""
    plain_table(view, name, _ROW_HEIGHT)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.horizontalHeader().setMinimumSectionSize(5 * SPACE)


class ListTable(FocusedView, QTableView, Generic[Row]):
    """A list with heads to sort by."""

    def __init__(self, model: ListModel[Row], name: str) -> None:
        super().__init__()
        self.setModel(model)
        preview_table(self, name)
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
        ListColumn(
            say("Shape"),
            lambda tensor: shape_words(tensor.shape),
            lambda tensor: prod(tensor.shape),
            longest="64 × 64 × 3 × 3",
        ),
        ListColumn(say("Type"), lambda tensor: tensor.dtype, lambda tensor: tensor.dtype, longest="bfloat16"),
        ListColumn(say("Size"), lambda tensor: size_words(tensor.size_bytes), _bytes, True, "999.9 MB"),
    ]


def member_columns() -> list[ListColumn[ArchiveMember]]:
    return [
        ListColumn(say("Name"), _member_name, lambda member: member.name.casefold()),
        ListColumn(say("Size"), _member_size, lambda member: member.size_bytes, True, "999.9 MB"),
        ListColumn(say("Modified"), _member_time, _member_moment, longest="2026-12-30"),
    ]


def _bytes(tensor: Tensor) -> int:
    return -1 if tensor.size_bytes is None else tensor.size_bytes


def _member_name(member: ArchiveMember) -> str:
    return f"{member.name} → {member.target}" if member.target else member.name


def _member_size(member: ArchiveMember) -> str:
    return size_words(member.size_bytes) if member.kind is MemberKind.FILE else ""


def _member_time(member: ArchiveMember) -> str:
    if member.modified is None:
        return ""
    # A zip archive does not say in which zone its times are.
    return moment_words(member.modified)[:10] if member.modified.tzinfo else f"{member.modified:%Y-%m-%d}"


def _member_moment(member: ArchiveMember) -> float:
    return 0.0 if member.modified is None else member.modified.replace(tzinfo=None).toordinal()


_FACTS_HEIGHT = 14 * SPACE
_LONG_LIST = 8


class ListPane(QWidget, Generic[Row]):
    """What is known of a file, a list of what is in it, and a field to narrow that."""

    def __init__(self, columns: Sequence[ListColumn[Row]], name: str) -> None:
        super().__init__()
        self.model = ListModel(columns)
        self.table = ListTable(self.model, name)
        self.facts = QWidget()
        set_role(self.facts, "page")
        self.facts.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._form = QFormLayout(self.facts)
        self._form.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._form.setVerticalSpacing(2)
        self._form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self._about = QScrollArea()
        self._about.setWidget(self.facts)
        self._about.setWidgetResizable(True)
        self.search = QLineEdit()
        self.search.setPlaceholderText(say("Filter by name"))
        self.search.setAccessibleName(say("Filter by name"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self.model.narrow)
        self.sample = QPlainTextEdit()
        self.sample.setReadOnly(True)
        self.sample.setTabChangesFocus(True)
        self.sample.setAccessibleName(say("First values"))
        set_role(self.sample, "log")
        self._heading = QLabel(say("First values"))
        self._heading.setContentsMargins(SPACE, SPACE, SPACE, HALF)
        set_role(self._heading, "dim")
        field = column_of(self.search, margins=(SPACE, HALF, SPACE, HALF))
        column_of(
            self._about, field, (self.table, 1), self._heading, (self.sample, 1), 0, inside=self, margins=0, spacing=0
        )

    def show_page(self, facts: Sequence[Fact], rows: Sequence[Row], sample: str = "", *, is_first: bool) -> None:
        if is_first:
            self._begin(facts, sample)
        self.model.add(rows)
        # Of a single thing without a name the facts say all there is to say.
        self.table.setVisible(len(rows) != 1 or bool(self.model.columns[0].words(rows[0])))
        self.search.setVisible(self.model.count > _LONG_LIST)

    def _begin(self, facts: Sequence[Fact], sample: str) -> None:
        while self._form.rowCount():
            self._form.removeRow(0)
        for fact in facts:
            label, value = QLabel(str(fact.label)), QLabel(str(fact.value))
            for one in (label, value):
                one.setTextFormat(Qt.TextFormat.PlainText)
                one.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setWordWrap(True)
            set_role(label, "dim")
            on_one_line(label, value)
            self._form.addRow(label, value)
        self._about.setVisible(bool(facts))
        self._about.setFixedHeight(min(_FACTS_HEIGHT, self._form.totalSizeHint().height() + 2))
        self.search.clear()
        self.sample.setPlainText(sample)
        for widget in (self._heading, self.sample):
            widget.setVisible(bool(sample))
        self.model.clear()
        self.table.unsort()


_WIDEST = 40 * SPACE
_LOOKED_AT = 50


class CellsModel(TitledModel):
    """Pages of rows, one below the other; only what is on the screen is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._columns: tuple[str, ...] = ()
        self._rows: list[tuple[str, ...]] = []

    def clear(self) -> None:
        self.beginResetModel()
        self._columns, self._rows, self.COLUMNS = (), [], 0
        self.endResetModel()

    def add(self, page: TablePage) -> None:
        if len(page.columns) > self.COLUMNS:
            self.beginInsertColumns(QModelIndex(), self.COLUMNS, len(page.columns) - 1)
            self._columns, self.COLUMNS = page.columns, len(page.columns)
            self.endInsertColumns()
        if page.rows:
            self.beginInsertRows(QModelIndex(), len(self._rows), len(self._rows) + len(page.rows) - 1)
            self._rows += page.rows
            self.endInsertRows()

    def cell(self, row: int, column: int) -> str:
        cells = self._rows[row]
        return cells[column] if column < len(cells) else ""

    def count_rows(self) -> int:
        return len(self._rows)

    def headers(self) -> Sequence[str]:
        return [title or say("(other)") for title in self._columns]

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Vertical and role == Qt.ItemDataRole.DisplayRole:
            return f"{section + 1:,}"
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if index.isValid() and role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.cell(index.row(), index.column())
        return None


class CellsTable(FocusedView, QTableView):
    """Cells can be chosen and copied, as in a spreadsheet."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = CellsModel()
        self.setModel(self.cells)
        preview_table(self, say("Rows of the file"))
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setShowGrid(True)
        self.verticalHeader().show()
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_page(self, page: TablePage, *, is_first: bool) -> None:
        if is_first:
            self.cells.clear()
        known = self.cells.columnCount()
        self.cells.add(page)
        metrics = self.fontMetrics()
        for column in range(known, self.cells.columnCount()):
            words = [self.cells.cell(row, column) for row in range(min(_LOOKED_AT, self.cells.rowCount()))]
            words.append(str(self.cells.headerData(column, Qt.Orientation.Horizontal)))
            width = max(metrics.horizontalAdvance(word[:60]) for word in words)
            self.setColumnWidth(column, min(_WIDEST, width + 2 * SPACE))
