"""The parameters that the script reads, to choose from: below those of the form, folded away until they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from traindeck.domain.scripts.arguments import ScriptArgument
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.fields import Fold
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import FilledCell, Index, RowTable, TitledModel, plain_table
from traindeck.ui.kit.theme import ROW, SPACE, Theme
from traindeck.viewmodels.jobs.form.script_parameters import ParameterOffer, argument_words

_MOST_SHOWN = 8


class ParameterModel(TitledModel):
    """A row for each; what is set already is paler."""

    COLUMNS = 3

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._offers: list[ParameterOffer] = []

    def show(self, offers: Sequence[ParameterOffer]) -> None:
        if list(offers) == self._offers:
            return
        is_same_list = [one.argument for one in offers] == [one.argument for one in self._offers]
        if not is_same_list:
            self.beginResetModel()
        self._offers = list(offers)
        if not is_same_list:
            self.endResetModel()
        elif self._offers:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._offers) - 1, self.COLUMNS - 1))

    def argument(self, row: int) -> ScriptArgument | None:
        return self._offers[row].argument if 0 <= row < len(self._offers) else None

    def headers(self) -> Sequence[str]:
        return say("Name"), say("Default"), say("Meaning")

    def count_rows(self) -> int:
        return len(self._offers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        offer = self._offers[index.row()]
        one = offer.argument
        if role == Qt.ItemDataRole.DisplayRole:
            return (one.name, _default(one), _meaning(one))[index.column()]
        if role == Qt.ItemDataRole.ForegroundRole and offer.is_set:
            return self._theme.color("dim")
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            place = say("{file}, line {line}", file=one.file, line=one.line)
            return "\n".join((say("{label}: {value}", label=one.name, value=argument_words(one)), place))
        return None


def _default(one: ScriptArgument) -> str:
    return say("required") if one.is_required else one.default_words


def _meaning(one: ScriptArgument) -> str:
    """What it is for comes first: in a narrow form only that is in sight."""
    kind = ", ".join(one.choice_words) if one.choices else say(one.kind.words)
    return " · ".join((one.help, kind)) if one.help else kind


class _ParameterTable(RowTable):
    taken = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.taken.emit(self.currentIndex().row())
        else:
            super().keyPressEvent(event)


class ScriptParametersView(QWidget):
    """Gone while the script is not known to read anything."""

    wanted = Signal(object)
    """This one is to be set."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._fold = Fold("")
        self._model = ParameterModel(theme)
        self.table = _ParameterTable()
        self.table.setModel(self._model)
        plain_table(self.table, say("Parameters that the script reads"))
        self.table.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.table.setItemDelegate(FilledCell(self.table))
        head = self.table.horizontalHeader()
        head.resizeSection(0, 14 * SPACE)
        head.resizeSection(1, 9 * SPACE)
        head.setStretchLastSection(True)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setToolTip(say("Double-click or press Enter to set it"))
        self.table.doubleClicked.connect(self._on_double_click)
        self.table.taken.connect(self._take)
        self._more = sentence("", "small")
        self._more.setMinimumWidth(4 * SPACE)
        self._fold.column.addWidget(self.table)
        self._fold.column.addWidget(self._more)
        column_of(self._fold, inside=self, margins=0)
        self.hide()

    def show_offers(self, script: str, offers: Sequence[ParameterOffer], *, is_whole: bool) -> None:
        self.setVisible(bool(offers))
        count = len(offers)
        self._fold.show_words(
            say_count("{script} reads {count} parameter", "{script} reads {count} parameters", count, script=script)
        )
        more = say("There may be more: not all of them can be seen without running the script.")
        self._more.setText("" if is_whole else more)
        self._more.setVisible(not is_whole)
        self._model.show(offers)
        rows = min(max(count, 1), _MOST_SHOWN)
        self.table.setFixedHeight(self.table.horizontalHeader().sizeHint().height() + rows * ROW + 2)

    def _on_double_click(self, index: QModelIndex) -> None:
        self._take(index.row())

    def _take(self, row: int) -> None:
        argument = self._model.argument(row)
        if argument is not None:
            self.wanted.emit(argument)
