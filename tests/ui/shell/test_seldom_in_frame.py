"""What is seldom asked of the window itself, by its menus, real keys and clicks."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication, QLineEdit

from support.frame_bench import active_frame
from support.hands_here import HandsHere
from traindeck.domain.settings import RATE, STORE_MD5
from traindeck.ui.shell.arrangement_commands import ArrangementsDialog
from traindeck.ui.shell.feature import Shell
from traindeck.ui.shell.settings_feature import SettingsFeature
from traindeck.ui.shell.settings_page import SettingsPage


async def test_arrangements_are_saved_replaced_renamed_and_deleted_by_their_menu(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        hands, own = HandsHere(at.window), at.window.arrangements.own
        at.window.resize(1280, 800)  # else some docks are folded
        at.window.reset_layout()
        at.window.toggle_dock("form")
        await hands.choose("View", "Arrangement", "Save as…")
        await hands.answer("Save the arrangement", "no form")
        await hands.until(lambda: own() == ["no form"])
        at.window.toggle_dock("runs")
        await hands.choose("View", "Arrangement", "Save as…")
        await hands.answer("Save the arrangement", "no form", closes=False)
        question = await hands.dialog_saying("Replace the arrangement “no form”?")
        await hands.click(hands.button("Replace", question))
        await hands.all_closed()
        await hands.choose("View", "Arrangement", "Reset")
        await hands.until(lambda: at.window.is_dock_shown("runs") and at.window.is_dock_shown("form"))
        await hands.choose("View", "Arrangement", "no form")
        await hands.until(lambda: not at.window.is_dock_shown("runs") and not at.window.is_dock_shown("form"))

        await hands.choose("View", "Arrangement", "Manage…")
        dialog = await hands.opened(ArrangementsDialog)
        await hands.click(hands.button("Rename…", dialog))
        await hands.answer("Rename the arrangement", "wide", closes=False)
        await hands.until(lambda: own() == ["wide"] and hands.dialogs() == [dialog])
        await hands.click(hands.button("Delete…", dialog))
        question = await hands.dialog_saying("Delete the arrangement “wide”?")
        await hands.click(hands.button("Delete", question))
        await hands.until(lambda: own() == [] and hands.dialogs() == [dialog])
        await hands.click(hands.button("Close", dialog))
        await hands.all_closed()


async def test_settings_go_to_a_file_and_come_back(qapp: QApplication, tmp_path: Path) -> None:
    async with active_frame(qapp, tmp_path) as at:
        hands = HandsHere(at.window)
        SettingsFeature(Shell(at.window, at.theme, at.scope, lambda: None), at.preferences).open()
        page = at.window.tabs.currentWidget()
        assert isinstance(page, SettingsPage)
        at.preferences.choose(RATE, 2_500_000)
        at.preferences.choose(STORE_MD5, True)
        file = tmp_path / "mine.toml"
        await hands.click(page.keep)
        await hands.choose_path(file)
        await hands.until(lambda: str(file) in page.outcome.text())
        at.preferences.reset(RATE.key)
        at.preferences.reset(STORE_MD5.key)
        await hands.click(page.take)
        await hands.choose_path(file)
        await hands.until(lambda: "Settings imported: " in page.outcome.text())
        assert (at.preferences.value(RATE), at.preferences.value(STORE_MD5)) == (2_500_000, True)
        line = page.rows[RATE.key].editor
        assert isinstance(line, QLineEdit) and line.text() == "2.5"
