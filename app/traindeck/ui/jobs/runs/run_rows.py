"""The rows of the list of runs: two lines each, drawn and never built."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
    SignalInstance,
)
from PySide6.QtGui import QFont, QFontMetrics, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.readings.curves import SmallCurve
from traindeck.domain.readings.failures import RunReading
from traindeck.domain.readings.words import left_words, share_words
from traindeck.domain.texts import exact_words, say
from traindeck.ui.kit.cells import paint_chip
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import Index, KeyedView, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.runs.run_list import OtherJob, RunList, RunRow
from traindeck.viewmodels.jobs.runs.run_words import day_words, detail_words, job_words, state_words, tone_of
from traindeck.viewmodels.ports import Tone

RUN_ROLE = Qt.ItemDataRole.UserRole + 1
_SEEN = (RUN_ROLE, Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
_FEW = 20
_MARK = 3  # how wide the bar of the selected row is
_STAR = 14
_SPARK_WIDTH = 44
_DOT = 6.0


class RunRowsModel(RowsModel[str]):
    """One row for each run or job of others, by its id; a run is read when its row comes into sight."""

    COLUMNS = 1

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self.runs = runs
        runs.changed.connect(self._on_changed)
        runs.rows_changed.connect(self._on_rows)
        runs.ticked.connect(self._on_ticked)
        if runs.readings is not None:
            runs.readings.changed.connect(self._on_reading)
            runs.readings.curve_known.connect(self._on_reading)
        self._on_changed()

    def key(self, row: str) -> Hashable:
        return row

    def number_of(self, key: Hashable) -> int | None:
        return self._rows.index(key) if key in self._rows else None

    def headers(self) -> Sequence[str]:
        return (say("Name"),)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.runs.row(self.row(index.row()))
        if row is None:
            if role in _SEEN:
                self.runs.look_at(index.row())
            return None
        if role == RUN_ROLE:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return job_words(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in self._spoken(row) if part)
        return None

    def times(self, row: RunRow) -> tuple[str, str]:
        """How long it ran, and when it was made."""
        now = self.runs.clock()
        if isinstance(row, Run) and not row.state.is_over and (words := self._progress(row)):
            return words, duration_words(row.run_seconds(now))
        if isinstance(row, OtherJob):
            begun = row.job.started
            return duration_words((now - begun).total_seconds() if begun else None), day_words(row.job.created, now)
        return duration_words(row.run_seconds(now)), day_words(row.created, now)

    def curve(self, row: RunRow) -> SmallCurve | None:
        """Of a row in sight."""
        readings = self.runs.readings
        return readings.curve_of(row) if readings is not None and isinstance(row, Run) else None

    def _reading(self, row: RunRow) -> RunReading | None:
        return self.runs.readings.of(row.id) if self.runs.readings is not None else None

    def _progress(self, row: Run) -> str:
        reading = self._reading(row)
        progress = reading.values.progress if reading is not None else None
        if progress is None:
            return ""
        return " · ".join(words for words in (share_words(progress), left_words(progress)) if words)

    def found_line(self, row: RunRow) -> str:
        """Of its log, where that is what was looked for."""
        found = self.runs.search.found
        return found.lines.get(row.id, "") if found is not None else ""

    def _tip(self, row: RunRow) -> str:
        if isinstance(row, OtherJob):
            user = say("Made by {user}", user=row.job.user) if row.job.user else say("Made elsewhere")
            return "\n".join((row.name, state_words(row), user, say("Press A to adopt it.")))
        lines = [row.name, str(row.reason) or state_words(row), exact_words(row.created)]
        lines += [line for line in (" ".join(row.tags), row.note, self.found_line(row)) if line]
        return "\n".join(lines)

    def _spoken(self, row: RunRow) -> tuple[str, ...]:
        if isinstance(row, OtherJob):
            return (row.name, state_words(row), detail_words(row), *self.times(row))
        number = say("run {number}", number=row.number)
        star = say("starred") if row.starred else ""
        return (job_words(row), number, star, state_words(row), detail_words(row), *self.times(row))

    def _on_changed(self) -> None:
        self.show(self.runs.state.rows)

    def _on_rows(self, row_ids: Sequence[str]) -> None:
        places = [place for place in map(self.number_of, row_ids[:_FEW]) if place is not None]
        if len(row_ids) > _FEW:
            self.column_changed(0, 0, self.rowCount() - 1)
        elif places:
            self.column_changed(0, min(places), max(places))

    def _on_reading(self, run_id: str) -> None:
        self._on_rows([run_id])

    def _on_ticked(self) -> None:
        # While nothing is looked for, they stand on top.
        live = len(self.runs.state.live)
        self.column_changed(0, 0, self.rowCount() - 1 if self.runs.search.found is not None and live else live - 1)


class RunDelegate(QStyledItemDelegate):
    """Name, star and number; below them state, run time and date, or what matters more."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, QFontMetrics(option.font).height() + QFontMetrics(_small(option.font)).height() + 2 * SPACE + 1)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, row = index.model(), index.data(RUN_ROLE)
        if not isinstance(model, RunRowsModel):
            return
        painter.save()
        inks = self._paint_ground(painter, option)
        if not isinstance(row, Run | OtherJob):
            # It is being read.
            painter.setPen(self._theme.color(inks[1]))
            painter.drawText(_room(option.rect), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, "…")
            painter.restore()
            return
        if isinstance(row, OtherJob) and inks[0] == "text":
            inks = ("dim", "dim")
        room = _room(option.rect)
        self._paint_name(painter, option, room, row, inks)
        words = (model.found_line(row) or detail_words(row),)
        curve = None if words[0] else model.curve(row)
        right = self._paint_state(
            painter, _small(option.font), room, row, words if words[0] else model.times(row), inks[1]
        )
        if curve is not None:
            self._paint_curve(painter, right, curve.values, curve.is_bad)
        painter.restore()

    def star_place(self, rect: QRect, font: QFont, row: Run) -> QRect:
        """Where its star is, and is clicked."""
        metrics, room = QFontMetrics(font), _room(rect)
        right = room.right() - metrics.horizontalAdvance(f"{row.number}") - SPACE // 2
        return QRect(right - _STAR, room.top(), _STAR, metrics.height())

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

    def _paint_name(
        self, painter: QPainter, option: QStyleOptionViewItem, room: QRect, row: RunRow, inks: tuple[str, str]
    ) -> None:
        painter.setFont(option.font)
        metrics = painter.fontMetrics()
        line = QRect(room.left(), room.top(), room.width(), metrics.height())
        taken = 0
        if isinstance(row, Run):
            taken = metrics.horizontalAdvance(f"{row.number}") + SPACE
            painter.setPen(self._theme.color(inks[1]))
            painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{row.number}")
            if row.starred or option.state & QStyle.StateFlag.State_MouseOver:
                painter.setPen(self._theme.color("warn" if row.starred else inks[1]))
                star = self.star_place(option.rect, option.font, row)
                painter.drawText(star, Qt.AlignmentFlag.AlignCenter, "★" if row.starred else "☆")
                taken += _STAR + HALF
        painter.setPen(self._theme.color(inks[0]))
        name = metrics.elidedText(job_words(row), Qt.TextElideMode.ElideRight, line.width() - taken)
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_state(
        self, painter: QPainter, font: QFont, room: QRect, row: RunRow, words: Sequence[str], ink: str
    ) -> QRect:
        """What is left of its line."""
        painter.setFont(font)
        metrics = painter.fontMetrics()
        height = metrics.height() + HALF
        line = QRect(room.left(), room.bottom() - height + 1, room.width(), height)
        tone = Tone.QUIET if isinstance(row, OtherJob) else tone_of(row)
        chip = paint_chip(painter, self._theme, line, state_words(row), tone)
        painter.setPen(self._theme.color(ink))
        line.setLeft(line.left() + chip + SPACE)
        first = metrics.elidedText(words[0].replace("\n", " "), Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, first)
        last = words[-1] if len(words) > 1 else ""
        taken = metrics.horizontalAdvance(first) + SPACE
        if last and metrics.horizontalAdvance(f"{words[0]}  {last}") <= line.width():
            painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, last)
            line.setRight(line.right() - metrics.horizontalAdvance(last) - SPACE)
        line.setLeft(line.left() + taken)
        return line

    def _paint_curve(self, painter: QPainter, room: QRect, values: Sequence[float], is_bad: bool) -> None:
        """Where there is room for it."""
        if room.width() < _SPARK_WIDTH or (len(values) < 2 and not is_bad):
            return
        place = QRect(room.right() - _SPARK_WIDTH, room.top() + 2, _SPARK_WIDTH, room.height() - 4)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if len(values) >= 2:
            low, high = min(values), max(values)
            across, up = (place.width() - _DOT) / (len(values) - 1), place.height() / ((high - low) or 1.0)
            points = [
                QPointF(place.left() + at * across, place.bottom() - (value - low) * up)
                for at, value in enumerate(values)
            ]
            painter.setPen(QPen(self._theme.color("link"), 1.2))
            painter.drawPolyline(points)
        if is_bad:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("bad"))
            painter.drawEllipse(QPointF(place.right() - _DOT / 2, place.center().y()), _DOT / 2, _DOT / 2)


def _room(rect: QRect) -> QRect:
    return rect.adjusted(SPACE + _MARK, HALF, -SPACE, -HALF - 1)


def _small(font: QFont) -> QFont:
    small = QFont(font)
    small.setPointSizeF(max(6.0, font.pointSizeF() - 1))
    return small


class RunRows(KeyedView, QTableView):
    """Knows the keys of the list.

    A table of one column, because a list asks its model for each of ten thousand rows whenever one is news.
    """

    again_wanted = Signal()
    edit_wanted = Signal()
    delete_wanted = Signal()
    open_wanted = Signal()
    adopt_wanted = Signal()
    star_clicked = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        plain_table(self, say("Runs"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._delegate = RunDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self._fit_rows()
        self.doubleClicked.connect(self._on_double_click)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit_rows()

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Home and End are those of the rows: there is one column."""
        if action == QAbstractItemView.CursorAction.MoveHome:
            return self.model().index(0, 0)
        if action == QAbstractItemView.CursorAction.MoveEnd:
            return self.model().index(self.model().rowCount() - 1, 0)
        return super().moveCursor(action, modifiers)

    def _fit_rows(self) -> None:
        option = QStyleOptionViewItem()
        option.font = self.font()
        height = self._delegate.sizeHint(option, QModelIndex()).height()
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setDefaultSectionSize(height)

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {
            Qt.Key.Key_R: self.again_wanted,
            Qt.Key.Key_A: self.adopt_wanted,
            Qt.Key.Key_Delete: self.delete_wanted,
            Qt.Key.Key_Return: self.open_wanted,
        }

    def shifted_keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_R: self.edit_wanted}

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """On a star: that alone, and what is selected stays."""
        row = self._starred_at(event.position().toPoint())
        if row is not None and event.button() == Qt.MouseButton.LeftButton and event.type() != _DOUBLE:
            self.star_clicked.emit(row)
            event.accept()
        else:
            super().mousePressEvent(event)

    def _starred_at(self, place: QPoint) -> Run | None:
        index = self.indexAt(place)
        row = index.data(RUN_ROLE) if index.isValid() else None
        if not isinstance(row, Run):
            return None
        return row if self._delegate.star_place(self.visualRect(index), self.font(), row).contains(place) else None

    def _on_double_click(self, _: QModelIndex | QPersistentModelIndex) -> None:
        self.open_wanted.emit()


_DOUBLE = QEvent.Type.MouseButtonDblClick
