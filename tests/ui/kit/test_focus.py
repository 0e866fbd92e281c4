"""Where the keyboard is can be seen, in both themes, on everything that takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, QStringListModel, Qt
from PySide6.QtGui import QColor, QImage, QKeySequence, QShortcut, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QListView,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QTabBar,
    QTableView,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from support.frame_bench import ICONS
from support.qt_support import until
from traindeck.ui.kit.tables import FocusedView, RowList
from traindeck.ui.kit.theme import DARK_COLORS, LIGHT_COLORS, Theme, set_role

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


class Rows(FocusedView, QListView):
    """A list as the panels have it."""


class Tree(FocusedView, QTreeView):
    """A tree as the panels have it."""


class Table(FocusedView, QTableView):
    """A table as the panels have it."""


def button(role: str) -> QPushButton:
    made = QPushButton("Words")
    set_role(made, role)
    return made


def tabs() -> QTabBar:
    made = QTabBar()
    made.addTab("One")
    made.addTab("Two")
    return made


def tool() -> QToolButton:
    made = QToolButton()
    made.setText("Words")
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return made


def log() -> QPlainTextEdit:
    made = QPlainTextEdit("Words")
    set_role(made, "log")
    return made


def rows(kind: type[Rows | Tree | Table]) -> Rows | Tree | Table:
    made = kind()
    made.setModel(QStringListModel(["One", "Two", "Three", "Another"], made))
    made.setCurrentIndex(made.model().index(1, 0))
    return made


ROLES = ("", "primary", "danger", "flat", "link", "pill")
MAKERS: dict[str, Callable[[], QWidget]] = {
    **{f"button {role}": (lambda role=role: button(role)) for role in ROLES},
    "tool": tool, "tabs": tabs, "line": lambda: QLineEdit("Words"), "text": lambda: QPlainTextEdit("Words"),
    "log": log, "combo": QComboBox, "spin": QSpinBox, "check": lambda: QCheckBox("Words"),
    "radio": lambda: QRadioButton("Words"), "list": lambda: rows(Rows), "tree": lambda: rows(Tree),
    "table": lambda: rows(Table),
}  # fmt: skip


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(qapp, ICONS, request.param)
    yield theme
    theme.close()


def contrast(one: str, other: str) -> float:
    def light(name: str) -> float:
        values = [QColor(name).redF(), QColor(name).greenF(), QColor(name).blueF()]
        parts = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    brighter, darker = sorted((light(one), light(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def count(image: QImage, color: QColor) -> int:
    pixels = image.convertToFormat(QImage.Format.Format_ARGB32)
    return int((np.frombuffer(pixels.constBits(), dtype=np.uint32) == color.rgb()).sum())


async def test_every_kind_of_widget_gets_a_ring_that_can_be_seen(theme: Theme, qtbot: QtBot) -> None:
    window, made = QWidget(), {name: make() for name, make in MAKERS.items()}
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    for widget in made.values():
        column.addWidget(widget)
    other = QPushButton("elsewhere")
    column.addWidget(other)
    window.show()
    window.activateWindow()
    await until(window.isActiveWindow)
    for name, widget in made.items():
        other.setFocus()
        await until(other.hasFocus)
        before = widget.grab().toImage()
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        await until(widget.hasFocus)
        after = widget.grab().toImage()
        assert after.size() == before.size(), f"{name}: what is beside it would move"
        ring = theme.color("on_selection" if name in ("button primary", "button pill") else "link")
        assert count(after, ring) - count(before, ring) >= widget.height(), name


async def test_the_ring_of_a_button_is_the_only_one(theme: Theme, qtbot: QtBot) -> None:
    """Qt draws one of its own inside, as soon as somebody goes by the Tab key."""
    names = [name for name in MAKERS if name.split()[0] in ("button", "tool", "check", "radio")]
    window, made = QWidget(), {name: MAKERS[name]() for name in names}
    qtbot.addWidget(window)
    first = QLineEdit()
    column = QVBoxLayout(window)
    for widget in (first, *made.values()):
        column.addWidget(widget)
    window.show()
    window.activateWindow()
    await until(window.isActiveWindow)
    first.setFocus()
    before = {name: widget.grab().toImage() for name, widget in made.items()}
    for name, widget in made.items():
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        assert widget.hasFocus(), name
        inside = before[name].rect().adjusted(14, 4, -14, -4)  # without round corners
        assert widget.grab().toImage().copy(inside) == before[name].copy(inside), name


@pytest.mark.parametrize("colors", [LIGHT_COLORS, DARK_COLORS])
def test_the_ring_stands_out_from_what_is_around_it(colors: dict[str, str]) -> None:
    for ground in ("window", "surface", "sunken", "hover", "selection", "selection_idle"):
        assert contrast(colors["link"], colors[ground]) >= 3, ground
    assert contrast(colors["on_selection"], colors["accent"]) >= 3
    assert contrast(colors["text"], colors["selection_idle"]) >= 4.5


async def test_a_selection_is_paler_while_something_else_has_the_focus(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column, views, other = QVBoxLayout(window), [rows(kind) for kind in (Rows, Tree, Table)], QPushButton("elsewhere")
    for widget in (*views, other):
        column.addWidget(widget)
    window.show()
    window.activateWindow()
    await until(window.isActiveWindow)
    for view in views:
        view.setFocus()
        await until(view.hasFocus)
        assert count(view.grab().toImage(), theme.color("selection")) > 100
        other.setFocus()
        await until(other.hasFocus)
        image = view.grab().toImage()
        assert count(image, theme.color("selection")) == 0
        assert count(image, theme.color("selection_idle")) > 100


async def test_what_can_be_unfolded_is_paler_to_its_left_edge(theme: Theme, qtbot: QtBot) -> None:
    tree, other, window, model = Tree(), QPushButton("elsewhere"), QWidget(), QStandardItemModel()
    bucket = QStandardItem("bucket")
    bucket.appendRow(QStandardItem("folder"))
    model.appendRow(bucket)
    tree.setModel(model)
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(tree)
    column.addWidget(other)
    window.show()
    window.activateWindow()
    await until(window.isActiveWindow)
    tree.setCurrentIndex(model.index(0, 0))
    other.setFocus()
    await until(other.hasFocus)
    assert count(tree.grab().toImage(), theme.color("selection")) == 0


@pytest.mark.parametrize("kind", [Rows, Tree, Table])
async def test_an_arrow_selects_where_nothing_is_selected_also_the_only_row(
    theme: Theme, qtbot: QtBot, kind: type[Rows | Tree | Table]
) -> None:
    view = rows(kind)
    view.model().removeRows(1, view.model().rowCount() - 1)
    qtbot.addWidget(view)
    view.show()
    view.activateWindow()
    await until(view.isActiveWindow)
    view.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
        view.clearSelection()
        qtbot.keyClick(view, key)
        assert view.selectionModel().isRowSelected(0, QModelIndex())
    view.clearSelection()
    qtbot.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert not view.selectionModel().hasSelection(), "that moves and selects nothing"


async def test_letters_that_follow_one_another_look_for_a_row_and_are_no_command(theme: Theme, qtbot: QtBot) -> None:
    view = rows(Rows)
    qtbot.addWidget(view)
    ran: list[str] = []
    for letter in "OTH":
        QShortcut(QKeySequence(letter), view, lambda letter=letter: ran.append(letter))
    view.show()
    view.activateWindow()
    await until(view.isActiveWindow)
    view.setFocus()
    qtbot.keyClicks(view, "another")
    assert view.currentIndex().data() == "Another"
    assert ran == [], "letters of a name that is being typed"
    view.keyboardSearch("")
    QApplication.setKeyboardInputInterval(0)
    qtbot.keyClicks(view, "t")
    assert ran == ["T"], "the first letter is the command"


async def test_rows_that_were_there_before_the_list_was_seen_do_not_lie_over_each_other(
    theme: Theme, qtbot: QtBot
) -> None:
    box = QDialog()
    qtbot.addWidget(box)
    rows = RowList()
    for number in range(5):
        QListWidgetItem(f"row {number}", rows).setCheckState(Qt.CheckState.Unchecked)
    QVBoxLayout(box).addWidget(rows)
    box.open()
    await until(lambda: rows.visualItemRect(rows.item(1)).top() > rows.visualItemRect(rows.item(0)).bottom())
