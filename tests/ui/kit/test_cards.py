"""Buttons that may become narrower than their words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QApplication

from support.panel_bench import light_theme
from traindeck.ui.kit.cards import ElidedButton
from traindeck.ui.kit.theme import Theme, set_role

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


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
