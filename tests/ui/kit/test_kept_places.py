"""Lists and their columns are in the next window as they were left in this one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QHeaderView, QTableView, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from end_to_end.outside import outside_of_tasks
from support.qt_support import press, until
from traindeck.ui.kit.columns import Columns, columns_with_focus
from traindeck.ui.kit.kept_place import KeptRows
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import KeyedView, plain_table
from traindeck.ui.shell.kept_widgets import KeptWidgets
from traindeck.viewmodels.shell.commands import without_mnemonic
from traindeck.viewmodels.shell.window_state import WindowState

NAME, SIZE, NOTE = range(3)


class Numbers(RowsModel[int]):
    COLUMNS = 3

    def key(self, row: int) -> Hashable:
        return row

    def headers(self) -> Sequence[str]:
        return ("Name", "Size", "Note")

    def cell(self, row: int, column: int, role: int) -> Any:
        return f"{row}.{column}" if role == Qt.ItemDataRole.DisplayRole else None


class Rows(KeyedView, QTableView):
    def keys(self) -> dict[Qt.Key, Any]:
        return {}


class Panel(QWidget):
    """A table of numbers as a panel of the window would be."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Numbers()
        self.table = Rows()
        self.table.setModel(self.model)
        plain_table(self.table, "Numbers")
        self.table.horizontalHeader().setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for column in (SIZE, NOTE):
            self.table.setColumnWidth(column, 80)
        self.columns = Columns(self.table.horizontalHeader(), "numbers", hidden=[NOTE])
        KeptRows("numbers", self.table, self.model)
        QVBoxLayout(self).addWidget(self.table)

    def top(self) -> str:
        return str(self.table.indexAt(QPoint(1, 1)).siblingAtColumn(NAME).data())

    def shown(self) -> list[str]:
        """The titles of the columns from left to right."""
        header = self.columns.header
        titles = self.model.headers()
        order = sorted(range(header.count()), key=header.visualIndex)
        return [titles[column] for column in order if not header.isSectionHidden(column)]

    def choose(self, words: str) -> None:
        menu = self.columns.menu()
        next(one for one in menu.actions() if without_mnemonic(one.text()) == words).trigger()
        menu.close()


@pytest.fixture
def state(tmp_path: Path) -> WindowState:
    return WindowState(tmp_path / "window.json")


def panel(qtbot: QtBot, state: WindowState) -> Panel:
    made = Panel()
    qtbot.addWidget(made)
    KeptWidgets(state, made).take(made)
    made.resize(500, 300)
    made.show()
    return made


async def test_a_list_is_where_it_was_by_its_row_and_not_by_its_number(qtbot: QtBot, state: WindowState) -> None:
    left = panel(qtbot, state)
    left.model.show(range(200))
    await until(lambda: left.table.verticalScrollBar().maximum() > 0)
    left.table.scrollTo(left.model.index(100, 0), QTableView.ScrollHint.PositionAtTop)
    assert left.top() == "100.0" and state.get("place.numbers") == "100"
    left.hide()  # the window goes: what is laid out anew meanwhile was moved by nobody
    left.resize(500, 900)

    found = panel(qtbot, state)
    found.model.show(range(-7, 50))  # they come late and page by page, and there are new ones above
    found.model.show(range(-7, 200))
    await until(lambda: found.top() == "100.0")
    found.model.show(range(-8, 200))
    assert state.get("place.numbers") == "100", "nobody moved"
    found.table.verticalScrollBar().setValue(0)
    assert state.get("place.numbers") is None, "at the beginning new rows are seen as they come"


async def test_a_row_whose_followers_come_late_is_at_the_top_when_they_are_there(
    qtbot: QtBot, state: WindowState
) -> None:
    """The first page ended with it: it was shown at the bottom, and stayed there."""
    state.put("place.numbers", "100")
    found = panel(qtbot, state)
    found.model.show(range(101))
    await until(lambda: found.table.verticalScrollBar().value() > 0)
    found.model.show(range(200))
    await until(lambda: found.top() == "100.0")

    selected = panel(qtbot, state)
    selected.model.show(range(101))
    await until(lambda: selected.table.verticalScrollBar().value() > 0)
    selected.table.setCurrentIndex(selected.model.index(3, 0))
    selected.model.show(range(200))
    await outside_of_tasks(QApplication.processEvents)
    assert selected.top() != "100.0", "what somebody went to stays in sight"


async def test_a_row_that_is_gone_or_a_hand_that_was_quicker_moves_nothing(qtbot: QtBot, state: WindowState) -> None:
    state.put("place.numbers", "100")
    found = panel(qtbot, state)
    found.model.show(range(90))
    await until(lambda: found.table.verticalScrollBar().maximum() > 0)
    found.table.setFocus()
    found.table.selectRow(0)
    press(found.table, Qt.Key.Key_Down)
    found.model.show(range(200))
    await outside_of_tasks(QApplication.processEvents)
    assert found.top() == "0.0"
    for damaged in (7, ["100"], {"top": "100"}):
        state.put("place.numbers", damaged)
        again = panel(qtbot, state)
        again.model.show(range(200))
        await outside_of_tasks(QApplication.processEvents)
        assert again.top() == "0.0"


async def test_columns_are_hidden_shown_moved_and_put_back_and_stay_so(qtbot: QtBot, state: WindowState) -> None:
    left = panel(qtbot, state)
    assert left.shown() == ["Name", "Size"]
    left.choose("Note")
    left.columns.header.moveSection(2, 0)
    left.columns.header.resizeSection(SIZE, 123)
    assert left.shown() == ["Note", "Name", "Size"]
    left.choose("Size")
    assert left.shown() == ["Note", "Name"]

    found = panel(qtbot, state)
    assert found.shown() == ["Note", "Name"]
    found.choose("Size")
    assert found.shown() == ["Note", "Name", "Size"] and found.columns.header.sectionSize(SIZE) == 123
    found.choose("Reset columns")
    assert found.shown() == ["Name", "Size"] and found.columns.header.sectionSize(SIZE) == 80
    again = panel(qtbot, state)
    assert again.shown() == ["Name", "Size"] and again.columns.header.sectionSize(SIZE) == 80
    for damaged in (None, 3, "x", [NAME, 99, "1"]):
        state.put("hidden.numbers.3", damaged)
        assert "Name" in panel(qtbot, state).shown(), "that by which rows are known is always there"


async def test_a_column_without_room_comes_back_and_one_that_was_hidden_does_not(
    qtbot: QtBot, state: WindowState
) -> None:
    on = panel(qtbot, state)
    on.columns.make_room({SIZE: False})
    assert on.shown() == ["Name"]
    menu = on.columns.menu()
    entries = {without_mnemonic(one.text()): one for one in menu.actions()}
    assert [entries[title].isEnabled() for title in ("Name", "Size", "Note")] == [False, False, True]
    assert entries["Size"].toolTip() == "There is no room for this column here."
    menu.close()
    on.columns.make_room({SIZE: True})
    assert on.shown() == ["Name", "Size"]
    on.choose("Size")
    on.columns.make_room({SIZE: False})
    on.columns.make_room({SIZE: True})
    assert on.shown() == ["Name"]
    on.table.setFocus()
    await until(on.table.hasFocus)
    assert columns_with_focus() is on.columns, "the keyboard reaches the menu, too"
