"""The list that commands mean."""

from __future__ import annotations

from typing import cast

import shiboken6
from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from support.panel_bench import light_theme
from traindeck.ui.storage.active_list import ActiveList
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.shell.commands import Commands


class ListInUse(QWidget):
    came = Signal()
    chosen_changed = Signal()
    menu_wanted = Signal(QPoint)


def test_a_list_may_go_after_what_knows_all_lists(qapp: QApplication, qtbot: QtBot) -> None:
    """As when the program ends; an error in a slot fails the test."""
    with light_theme(qapp) as theme:
        active, view = ActiveList(Commands(), theme), ListInUse()
        active.add(cast("ObjectList", view))
        shiboken6.delete(active)
        shiboken6.delete(view)
