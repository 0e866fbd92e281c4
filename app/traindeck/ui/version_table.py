"""The versions of an object as rows, newest first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from traindeck.domain.fact_words import class_words
from traindeck.domain.object_facts import ObjectVersion
from traindeck.domain.objects import size_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.table_models import RowsModel
from traindeck.ui.theme import ROW, SPACE

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
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        if column == _CHANGED:
            return moment_words(row.modified) if row.modified else "–"
        if column == _SIZE:
            return say("deleted") if row.is_marker else size_words(row.size_bytes)
        if column == _CLASS:
            return "" if row.is_marker else class_words(row.storage_class)
        return say("current: {version}", version=row.version) if row.is_latest else row.version


class VersionTable(QTableView):
    """One row can be chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.versions = VersionModel()
        self.setModel(self.versions)
        self.setAccessibleName(say("Versions"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setMinimumHeight(10 * ROW)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(_VERSION, QHeaderView.ResizeMode.Stretch)
        metrics = self.fontMetrics()
        for column, longest in ((_CHANGED, "2026-12-30 20:00"), (_SIZE, "999.9 MB"), (_CLASS, class_words("WARM"))):
            self.setColumnWidth(column, metrics.horizontalAdvance(longest) + 3 * SPACE)

    @property
    def chosen(self) -> ObjectVersion | None:
        rows = self.selectionModel().selectedRows()
        return self.versions.row(rows[0].row()) if rows else None
