"""The rows of the list of runs: two lines each, drawn and never built."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.texts import exact_words, say
from traindeck.ui.kit.cells import paint_chip
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import Index, KeyedView
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.jobs.run_page import day_words, job_words, state_words, tone_of

RUN_ROLE = Qt.ItemDataRole.UserRole + 1
_MARK = 3  # how wide the bar of the selected row is


class RunRowsModel(RowsModel[Run]):
    """One row for each run, found by typing its name."""

    COLUMNS = 1

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self.runs = runs
        runs.changed.connect(self._on_changed)
        runs.ticked.connect(self._on_ticked)
        self._on_changed()

    def key(self, row: Run) -> Hashable:
        return row.id

    def headers(self) -> Sequence[str]:
        return (say("Name"),)

    def cell(self, row: Run, column: int, role: int) -> Any:
        if role == RUN_ROLE:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return job_words(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join((row.name, str(row.reason) or state_words(row), exact_words(row.created)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            number = say("run {number}", number=row.number)
            return ", ".join((job_words(row), number, state_words(row), *self.times(row)))
        return None

    def times(self, run: Run) -> tuple[str, str]:
        """How long it ran, and when it was made."""
        now = self.runs.clock()
        return duration_words(run.run_seconds(now)), day_words(run.created, now)

    def _on_changed(self) -> None:
        self.show(self.runs.state.runs)

    def _on_ticked(self) -> None:
        live = sum(not run.state.is_over for run in self.runs.state.runs)
        self.column_changed(0, 0, live - 1)


class RunDelegate(QStyledItemDelegate):
    """Name and number; below them state, run time and date."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, QFontMetrics(option.font).height() + QFontMetrics(_small(option.font)).height() + 2 * SPACE + 1)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, run = index.model(), index.data(RUN_ROLE)
        if not isinstance(model, RunRowsModel) or not isinstance(run, Run):
            return
        painter.save()
        inks = self._paint_ground(painter, option)
        room: QRect = option.rect.adjusted(SPACE + _MARK, HALF, -SPACE, -HALF - 1)
        self._paint_name(painter, option.font, room, run, inks)
        self._paint_state(painter, _small(option.font), room, run, model.times(run), inks[1])
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem) -> tuple[str, str]:
        """The colours for what is written on it."""
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        has_keys = option.widget is not None and option.widget.hasFocus()
        ground = ""
        if is_selected:
            ground = "selection" if has_keys else "selection_idle"
        elif option.state & QStyle.StateFlag.State_MouseOver:
            ground = "hover"
        if ground:
            painter.fillRect(option.rect, self._theme.color(ground))
        if is_selected:
            bar = QRect(option.rect.left(), option.rect.top(), _MARK, option.rect.height())
            painter.fillRect(bar, self._theme.color("accent" if has_keys else "border_strong"))
        painter.setPen(self._theme.color("border"))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        if has_keys and option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(self._theme.color("link"))
            painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
        return ("on_selection", "on_selection") if ground == "selection" else ("text", "dim")

    def _paint_name(self, painter: QPainter, font: QFont, room: QRect, run: Run, inks: tuple[str, str]) -> None:
        painter.setFont(font)
        metrics = painter.fontMetrics()
        line = QRect(room.left(), room.top(), room.width(), metrics.height())
        number = f"{run.number}"
        taken = metrics.horizontalAdvance(number) + SPACE
        painter.setPen(self._theme.color(inks[1]))
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, number)
        painter.setPen(self._theme.color(inks[0]))
        name = metrics.elidedText(job_words(run), Qt.TextElideMode.ElideRight, line.width() - taken)
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_state(
        self, painter: QPainter, font: QFont, room: QRect, run: Run, times: tuple[str, str], ink: str
    ) -> None:
        painter.setFont(font)
        metrics = painter.fontMetrics()
        height = metrics.height() + HALF
        line = QRect(room.left(), room.bottom() - height + 1, room.width(), height)
        chip = paint_chip(painter, self._theme, line, state_words(run), tone_of(run))
        painter.setPen(self._theme.color(ink))
        line.setLeft(line.left() + chip + SPACE)
        took, made = times
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, took)
        if metrics.horizontalAdvance(f"{took}  {made}") <= line.width():
            painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, made)


def _small(font: QFont) -> QFont:
    small = QFont(font)
    small.setPointSizeF(max(6.0, font.pointSizeF() - 1))
    return small


class RunRows(KeyedView, QListView):
    """Knows the keys of the list."""

    again_wanted = Signal()
    edit_wanted = Signal()
    delete_wanted = Signal()
    open_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setAccessibleName(say("Runs"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setItemDelegate(RunDelegate(theme, self))
        self.doubleClicked.connect(self._on_double_click)

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {
            Qt.Key.Key_R: self.again_wanted,
            Qt.Key.Key_Delete: self.delete_wanted,
            Qt.Key.Key_Return: self.open_wanted,
        }

    def shifted_keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_R: self.edit_wanted}

    def _on_double_click(self, _: QModelIndex | QPersistentModelIndex) -> None:
        self.open_wanted.emit()
