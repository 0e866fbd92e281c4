"""Buttons that may become narrower than their words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from support.panel_bench import light_theme
from traindeck.ui.kit.cards import ElidedButton, push_button
from traindeck.ui.kit.dialogs import NameDialog
from traindeck.ui.kit.layouts import column_of, level, row_of
from traindeck.ui.kit.theme import Theme, set_role

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


def test_labels_stand_on_one_line_with_what_is_first_in_their_fields(qtbot: QtBot) -> None:
    top, form = QWidget(), QFormLayout()
    qtbot.addWidget(top)
    one, under, first, browse = QLineEdit(), QLineEdit(), QRadioButton("Upload"), push_button("Browse…")
    place, ways = row_of((under, 1), browse), column_of(first, QRadioButton("Download"), spacing=4)
    for title, field, *beside in (("Name", one), ("Folder", place, under, browse), ("Direction", ways, first)):
        form.addRow(title, field)
        level(form, field, *beside)
    column_of(form, inside=top)
    top.show()
    qtbot.waitExposed(top)
    for field, editor in ((one, one), (place, under), (ways, first)):
        words = form.labelForField(field)
        assert abs(words.geometry().center().y() - editor.geometry().center().y()) <= 1


def test_words_that_have_their_room_are_not_cut(qtbot: QtBot) -> None:
    cut = []
    for number in range(40):
        button = ElidedButton(f"Use obs://digits/out-{'fi,W/' * (number % 7)}{number}/{{run}}/")
        qtbot.addWidget(button)
        set_role(button, "link")
        button.resize(button.sizeHint())
        button.grab()
        cut += [button.toolTip()] if button.toolTip() else []
        button.resize(button.width() // 2, button.height())
        button.grab()
        assert button.toolTip() == button.text(), "what is cut is all in the tool tip"
    assert cut == []


@pytest.mark.parametrize("top", [QWidget, QDialog])
def test_return_presses_the_button_that_has_the_focus_and_no_other(qtbot: QtBot, top: type[QWidget]) -> None:
    pressed: list[str] = []
    window = top()
    qtbot.addWidget(window)
    column, field = QVBoxLayout(window), QLineEdit()
    column.addWidget(field)
    buttons = {name: push_button(name, partial(pressed.append, name)) for name in ("one", "two")}
    for button in buttons.values():
        column.addWidget(button)
    window.show()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert pressed == []
    qtbot.keyClick(buttons["two"], Qt.Key.Key_Return)
    qtbot.keyClick(buttons["one"], Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    qtbot.keyClick(buttons["one"], Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert pressed == ["two", "one"]


def test_return_on_cancel_does_not_do_what_was_to_be_cancelled(qtbot: QtBot) -> None:
    dialog = NameDialog("New folder", "Name", "Create", "", str, None)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.edit.setText("new")
    cancel = next(one for one in dialog.findChildren(QPushButton) if one is not dialog.accept_button)
    assert dialog.accept_button.isDefault()
    cancel.setFocus()
    qtbot.keyClick(cancel, Qt.Key.Key_Return)
    assert not dialog.isVisible() and dialog.result() == QDialog.DialogCode.Rejected
