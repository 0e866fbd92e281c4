"""The inspection finds what is wrong and lets be what is right."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QTabBar,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import dump

from end_to_end.tour.inspection import cut, folded_menu, overlapping, without_name

WORDS = "Transition to Infrequent Access after (days)"


def shown(qapp: QApplication, *widgets: QWidget, width: int = 0) -> QWidget:
    top = QWidget()
    column = QVBoxLayout(top)
    for widget in widgets:
        if width:
            widget.setFixedWidth(width)
        column.addWidget(widget)
    top.show()
    qapp.processEvents()
    return top


def wrapped(words: str) -> QLabel:
    label = QLabel(words)
    label.setWordWrap(True)
    return label


def combo() -> QComboBox:
    box = QComboBox()
    box.addItem(WORDS)
    return box


def field() -> QLineEdit:
    edit = QLineEdit()
    edit.setPlaceholderText(WORDS)
    return edit


def tabs() -> QTabBar:
    bar = QTabBar()
    for number in range(4):
        bar.addTab(f"{number} {WORDS}")
    bar.setElideMode(Qt.TextElideMode.ElideRight)
    bar.setUsesScrollButtons(False)
    return bar


@pytest.mark.parametrize("make", [lambda: QLabel(WORDS), lambda: QLabel(f"<b>{WORDS}</b>"), lambda: QPushButton(WORDS),
                                  lambda: QCheckBox(WORDS), combo, field, tabs])  # fmt: skip
def test_words_without_room_are_found(qapp: QApplication, make: type[QWidget]) -> None:
    assert cut(shown(qapp, make(), width=600)) == []
    assert len(cut(shown(qapp, make(), width=60))) >= 1


def header() -> QHeaderView:
    bar = QHeaderView(Qt.Orientation.Horizontal)
    model = QStandardItemModel(1, 1, bar)
    model.setHorizontalHeaderLabels(["Storage"])
    bar.setModel(model)
    return bar


def test_the_title_of_a_column_has_room_for_what_the_style_leaves_around_it(qapp: QApplication) -> None:
    bar = header()
    top = shown(qapp, bar)
    bar.setStyleSheet("QHeaderView::section { padding: 4px 6px; }")
    words = bar.fontMetrics().horizontalAdvance("Storage")
    bar.resizeSection(0, words + 20)
    assert cut(top) == []
    bar.resizeSection(0, words + 6)
    assert len(cut(top)) == 1


def test_a_menu_in_columns_is_found(qapp: QApplication) -> None:
    short, long = QMenu(), QMenu()
    for menu, count in ((short, 3), (long, 200)):
        for number in range(count):
            menu.addAction(f"entry {number}")
        menu.popup(QPoint())
    assert (folded_menu(short), len(folded_menu(long))) == ([], 1)
    for menu in (short, long):
        menu.close()


def test_lines_without_room_are_found(qapp: QApplication) -> None:
    fits, too_low = wrapped(WORDS * 3), wrapped(WORDS * 3)
    assert cut(shown(qapp, fits, width=200)) == []
    too_low.setFixedHeight(12)
    assert len(cut(shown(qapp, too_low, width=200))) == 1


def test_what_is_told_beside_may_be_short(qapp: QApplication) -> None:
    label = QLabel(f"{WORDS[:20]}…")
    label.setToolTip(WORDS)
    assert cut(shown(qapp, label, width=60)) == []


def test_the_place_of_qts_own_file_dialog_may_be_long(qapp: QApplication) -> None:
    box = combo()
    box.setObjectName("lookInCombo")
    assert cut(shown(qapp, box, width=60)) == []


def test_neighbours_over_each_other_are_found(qapp: QApplication) -> None:
    one, other = QPushButton("one"), QPushButton("other")
    top = shown(qapp, one, other)
    assert overlapping(top) == []
    other.move(one.pos())
    assert [line.split(":")[0] for line in overlapping(top)] == ["overlap"]
    other.move(one.pos().x(), top.height() - 4)
    assert [line.split(":")[0] for line in overlapping(top)] == ["outside"]


def test_neighbours_of_a_layout_in_another_are_found(qapp: QApplication) -> None:
    one, other, top = QPushButton("one"), QPushButton("other"), QWidget()
    row = QHBoxLayout()
    for widget in (one, other):
        row.addWidget(widget)
    QVBoxLayout(top).addLayout(row)
    top.show()
    qapp.processEvents()
    assert overlapping(top) == []
    other.move(one.pos())
    assert [line.split(":")[0] for line in overlapping(top)] == ["overlap"]


def test_it_leaves_nothing_behind_that_qt_deletes_in_silence(qapp: QApplication) -> None:
    """Python's object for an item of a layout outlives the item; what comes to that address is taken for it."""
    top = shown(qapp, QPushButton("one"), QPushButton("other"))
    layout = top.layout()
    assert layout is not None
    assert overlapping(top) == []
    assert "QWidgetItem" not in dump(layout)


def test_what_has_no_name_is_found(qapp: QApplication) -> None:
    nameless, named, labelled = QLineEdit(), QLineEdit(), QLineEdit()
    named.setAccessibleName("Name of the bucket")
    row = QWidget()
    label = QLabel("Name")
    label.setBuddy(labelled)
    for widget in (label, labelled):
        (row.layout() or QHBoxLayout(row)).addWidget(widget)
    assert len(without_name(shown(qapp, nameless, named, row))) == 1
