"""The field that the card of a failure, or a check, leads to has the keyboard, wherever it is folded away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from support.folder_cloud import digits_spec
from support.form_window import bench
from support.waiting import until
from traindeck.domain.readings.failure_rules import FailureAction
from traindeck.services.readings.shipped import failure_rules
from traindeck.ui.kit.theme import Theme
from traindeck.ui.readings.failure_card import form_field

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_each_field_that_a_failure_names_gets_the_keyboard(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    rules = failure_rules()
    offers = {offer for rule in rules.rules for offer in rule.actions if offer.action is FailureAction.EDIT}
    wanted = sorted({form_field(offer) for offer in offers} - {""})
    assert {"parameters", "flavor", "engine_version", "code_folder", "image"} <= set(wanted)
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.view.activateWindow()
        await until(on.view.isActiveWindow)
        missed = []
        for name in wanted:
            on.editor("name").setFocus()
            on.view.go_to_field(name)
            focused = QApplication.focusWidget()
            hidden = ("command", "image")  # they count only for a job that starts with an image
            field = on.view.page.start_field if name in hidden else on.view.page.field_at(name)
            if field is None or focused is None or not field.isAncestorOf(focused) or not focused.isVisible():
                missed.append((name, focused))
        assert not missed
