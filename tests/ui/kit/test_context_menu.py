"""The key for context menus that Qt leaves out on X11: in every window, at what has the keyboard."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, QStringListModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QListView, QMainWindow, QWidget
from shiboken6 import delete

from support.qt_support import until
from traindeck.ui.kit.context_menu import MenuKey

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the system opens it")
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(autouse=True)
def key(qapp: QApplication) -> Iterator[None]:
    key = MenuKey(qapp)
    yield
    delete(key)


def listed(window: QWidget) -> tuple[QListView, list[QPoint]]:
    view, asked = QListView(window), list[QPoint]()
    view.setModel(QStringListModel([f"row {number}" for number in range(100)], view))
    view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    view.customContextMenuRequested.connect(asked.append)
    view.resize(200, 120)
    return view, asked


async def test_it_opens_at_the_current_row_in_the_window_and_in_a_dialog(qapp: QApplication, qtbot: QtBot) -> None:
    window, dialog = QMainWindow(), QDialog()
    for top in (window, dialog):
        qtbot.addWidget(top)
        view, asked = listed(top)
        top.show()
        top.activateWindow()
        await until(top.isActiveWindow)
        view.setFocus()
        await until(view.hasFocus)
        view.setCurrentIndex(view.model().index(60, 0))
        view.scrollToTop()
        QTest.keyClick(view, Qt.Key.Key_F10, SHIFT)
        [place] = asked
        assert view.indexAt(place).row() == 60, "it is brought into sight first"


async def test_a_field_shows_its_own_menu(qapp: QApplication, qtbot: QtBot) -> None:
    field = QLineEdit("words")
    qtbot.addWidget(field)
    field.show()
    field.activateWindow()
    field.setFocus()
    await until(field.hasFocus)
    QTest.keyClick(field, Qt.Key.Key_F10, SHIFT)
    await until(lambda: QApplication.activePopupWidget() is not None)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    menu.close()
