"""Tables over tuples of records: what changed is told row by row, so that selection and scroll stay."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QModelIndex, Qt

from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.tables import NUMBERS, Index, TitledModel
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.jobs.run_page import (
    Tone,
    age_words,
    all_state_words,
    moment_words,
    state_words,
    tone_of,
)
from traindeck.viewmodels.transfers.transfer_list import TransferList, TransferRow
from traindeck.viewmodels.transfers.transfer_words import (
    counts_words,
    kind_sign,
    kind_words,
    progress_words,
    rate_words,
    reason_words,
    source_words,
    transfer_tone,
    way_words,
)

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
        wanted = {self.key(row) for row in rows}
        self._drop_all_but(wanted)
        there = {self.key(row) for row in self._rows}
        number = 0
        while number < len(rows):
            key = self.key(rows[number])
            if key not in there:
                end = number + 1
                while end < len(rows) and self.key(rows[end]) not in there:
                    end += 1
                self.beginInsertRows(QModelIndex(), number, end - 1)
                self._rows[number:number] = rows[number:end]
                self.endInsertRows()
                number = end
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

    def _drop_all_but(self, wanted: set[Hashable]) -> None:
        last = len(self._rows) - 1
        while last >= 0:
            if self.key(self._rows[last]) in wanted:
                last -= 1
                continue
            first = last
            while first > 0 and self.key(self._rows[first - 1]) not in wanted:
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


class RunTableModel(RowsModel[Run]):
    """The runs as a table."""

    COLUMNS = 5
    NAME, STATE, TIME, AGE, PROFILE = range(COLUMNS)

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self._runs = runs
        runs.changed.connect(self._on_changed)
        runs.ticked.connect(self._on_ticked)
        self._on_changed()

    def key(self, row: Run) -> Hashable:
        return row.id

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("State"), say("Run time"), say("Age"), say("Profile"))

    def longest(self) -> dict[int, Sequence[str]]:
        """What a column must have room for; the name takes the rest."""
        return {
            self.STATE: all_state_words(),
            self.TIME: ("00:00:00", self.headers()[self.TIME]),
            self.PROFILE: ("my-profile", self.headers()[self.PROFILE]),
            self.AGE: (say("{count} min", count=59), say("now"), self.headers()[self.AGE]),
        }

    def cell(self, row: Run, column: int, role: int) -> Any:
        now = self._runs.clock()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(row, column, now)
        if role == TONE_ROLE and column == self.STATE:
            return tone_of(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tool_tip(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.headers()[column]}: {self._words(row, column, now)}"
        if role == Qt.ItemDataRole.TextAlignmentRole and column == self.TIME:
            return NUMBERS
        return None

    def _words(self, run: Run, column: int, now: datetime) -> str:
        if column == self.STATE:
            return state_words(run)
        if column == self.NAME:
            return run.name
        if column == self.TIME:
            return duration_words(run.run_seconds(now))
        return run.profile if column == self.PROFILE else age_words(run.created, now)

    def _tool_tip(self, run: Run, column: int) -> str:
        if column == self.STATE:
            return str(run.reason) or state_words(run)
        return moment_words(run.created) if column == self.AGE else run.name

    def _on_changed(self) -> None:
        self.show(self._runs.state.runs)

    def _on_ticked(self) -> None:
        live = sum(not run.state.is_over for run in self._runs.state.runs)
        self.column_changed(self.TIME, 0, live - 1)
        self.column_changed(self.AGE, 0, self.rowCount() - 1)


class TransferTableModel(RowsModel[TransferRow]):
    """The transfers as a table."""

    COLUMNS = 7
    DIRECTION, SOURCE, TARGET, PROGRESS, FILES, SIZE, RATE = range(COLUMNS)

    def __init__(self, transfers: TransferList) -> None:
        super().__init__()
        self._transfers = transfers
        transfers.changed.connect(self._on_changed)
        self._on_changed()

    def key(self, row: TransferRow) -> Hashable:
        return row.id

    def headers(self) -> Sequence[str]:
        return ("", say("From"), say("To"), say("Progress"), say("Files"), say("Size"), say("Rate"))

    def cell(self, row: TransferRow, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if column == self.DIRECTION:
                return kind_words(row)
            return f"{self.headers()[column]}: {self._words(row, column)}"
        if role == SHARE_ROLE and column == self.PROGRESS:
            return row.share
        if role == TONE_ROLE and column == self.PROGRESS:
            return transfer_tone(row)
        if role == BADGE_ROLE and column == self.PROGRESS:
            return row.transfer.is_verified
        if role == Qt.ItemDataRole.ToolTipRole:
            return reason_words(row) if column == self.PROGRESS else self._tip(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in (self.SIZE, self.RATE):
            return NUMBERS
        return None

    def _tip(self, row: TransferRow, column: int) -> str:
        if column == self.DIRECTION:
            return kind_words(row)
        if column in (self.SOURCE, self.TARGET):
            return way_words(row)
        return self._words(row, column)

    def _words(self, row: TransferRow, column: int) -> str:
        transfer = row.transfer
        texts = {
            self.DIRECTION: kind_sign(row),
            self.SOURCE: source_words(row),
            self.TARGET: transfer.target,
            self.PROGRESS: progress_words(row),
            self.FILES: counts_words(row),
            self.SIZE: size_words(transfer.total_bytes),
            self.RATE: rate_words(row),
        }
        return texts[column]

    def _on_changed(self) -> None:
        self.show(self._transfers.state.rows)


def tone_color(tone: Tone) -> tuple[str, str]:
    """The theme's names for the ink and the ground of a tone."""
    return {
        Tone.WAITING: ("link", "info_soft"),
        Tone.RUNNING: ("link", "info_soft"),
        Tone.GOOD: ("good", "good_soft"),
        Tone.BAD: ("bad", "bad_soft"),
        Tone.DOUBTFUL: ("warn", "warn_soft"),
        Tone.QUIET: ("dim", "hover"),
    }[tone]
