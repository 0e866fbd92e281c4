"""The palette and the sheet of keys, driven as a user drives them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QPlainTextEdit, QWidget

from support.dialogs import visible_dialogs
from support.frame_bench import Frame, active_frame, texts_cut
from support.qt_support import press, until
from traindeck.domain.texts import text
from traindeck.runtime.language import speak
from traindeck.ui.kit.theme import DARK_COLORS
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.ui.shell.shortcut_sheet import ShortcutSheet
from traindeck.viewmodels.shell.commands import Command

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def palette_of(at: Frame) -> CommandPalette:
    at.commands.run("view.palette")
    palette = visible_dialogs(at.window, CommandPalette)[-1]
    await until(palette.typed.hasFocus)
    return palette


def titles(palette: CommandPalette) -> list[str]:
    model = palette.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def on_top(window: QWidget) -> QWidget:
    return [child for child in window.children() if isinstance(child, QWidget) and child.isVisible()][-1]


def darkest(palette: CommandPalette, row: int) -> int:
    """The lightness of what is written strongest in this row."""
    view = palette.list
    place = view.visualRect(view.model().index(row, 0))
    image = view.viewport().grab(place).toImage()
    return min(image.pixelColor(x, y).lightness() for x in range(image.width()) for y in range(image.height()))


async def test_the_palette_shows_what_cannot_be_done_now_and_why(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        for name, can in (("a", True), ("b", False)):
            enabled, needs = partial(bool, can), text("Select a run first.")
            at.commands.add(Command(f"wave.{name}", "Wave", print, enabled, f"Ctrl+Alt+{name}", needs=needs))
        palette = await palette_of(at)
        qtbot.keyClicks(palette.typed, "wave")
        model = palette.list.model()
        assert titles(palette) == ["Wave", "Wave"]
        assert "Select a run first." in str(model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole))
        palette.list.clearSelection()
        faint = at.theme.color("disabled").lightness()
        assert darkest(palette, 0) < faint
        assert darkest(palette, 1) >= faint
        palette.leave()


async def test_the_palette_takes_what_is_typed_and_gives_the_focus_back(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        at.window.show_dock("form")
        before = QApplication.focusWidget()
        qtbot.keyClick(before, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        [palette] = visible_dialogs(at.window, CommandPalette)
        assert QApplication.focusWidget() is palette.typed, "at once: nothing of the window system is in between"
        assert not palette.isWindow()
        qtbot.keyClicks(QApplication.focusWidget(), "theme dark")
        assert titles(palette) == ["Theme: Dark"]
        press(palette.typed, Qt.Key.Key_Return)
        assert QApplication.focusWidget() is before
        await until(lambda: at.theme.colors is DARK_COLORS)
        await until(lambda: not at.window.findChildren(CommandPalette))
        await until(lambda: not at.scope.is_running("keep the preferences"))
        again = await palette_of(at)
        assert titles(again)[0] == "Theme: Dark", "what was used lately comes first"
        again.leave()


async def test_what_is_opened_meanwhile_neither_covers_the_palette_nor_takes_its_keys(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        at.window.show_dock("runs")
        palette = await palette_of(at)
        for panel_id in ("transfers", "log"):
            at.window.show_dock(panel_id)
            await until(at.window.panel(panel_id).isVisible)  # in front of the other tabs
        at.window.open_tab("page", "Page", QLineEdit)
        assert QApplication.focusWidget() is palette.typed
        await until(lambda: on_top(at.window) is palette)
        press(palette.typed, Qt.Key.Key_Escape)
        log = at.window.panel("log")
        assert QApplication.focusWidget() is log, "what was opened has them afterwards"


async def test_a_dialog_beside_the_window_does_not_lie_over_the_palette(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        at.window.show_dock("form")
        before = QApplication.focusWidget()
        dialog = QDialog(at.window)
        dialog.setGeometry(at.window.geometry())
        dialog.show()
        dialog.activateWindow()
        await until(dialog.isActiveWindow)
        at.window.activateWindow()
        await until(at.window.isActiveWindow)
        at.commands.run("view.palette")
        [palette] = visible_dialogs(dialog, CommandPalette)
        await until(palette.typed.hasFocus)
        qtbot.keyClicks(palette.typed, "theme dark")
        press(palette.typed, Qt.Key.Key_Return)
        await until(lambda: at.theme.colors is DARK_COLORS)
        assert dialog.isVisible()
        await until(lambda: QApplication.focusWidget() is before)
        dialog.close()
        await until(lambda: not at.scope.is_running("keep the preferences"))


async def test_arrows_choose_and_escape_or_a_click_beside_it_leaves(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        palette = await palette_of(at)
        qtbot.keyClicks(palette.typed, "show")
        first = palette.list.currentIndex().row()
        press(palette.typed, Qt.Key.Key_Down)
        assert palette.list.currentIndex().row() == first + 1
        qtbot.keyClick(palette.typed, Qt.Key.Key_Tab)
        assert palette.typed.hasFocus(), "Tab stays in it"
        assert palette.list.currentIndex().row() == first + 2
        press(palette.typed, Qt.Key.Key_Escape)
        await until(lambda: not at.window.findChildren(CommandPalette))
        palette = await palette_of(at)
        qtbot.mouseClick(palette, Qt.MouseButton.LeftButton, pos=QPoint(5, at.window.height() - 5))
        await until(lambda: not at.window.findChildren(CommandPalette))


async def test_no_command_takes_a_key_from_what_is_typed(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with active_frame(qapp, tmp_path) as at:
        ran: list[str] = []
        at.commands.add(Command("x.one", "One", lambda: ran.append("one"), shortcut="Ctrl+J"))
        palette = await palette_of(at)
        for keys in (Qt.Key.Key_J, Qt.Key.Key_A):
            qtbot.keyClick(palette.typed, keys, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClicks(palette.typed, "r")
        assert ran == []
        assert palette.typed.text() == "r"
        palette.leave()


async def test_nothing_happens_when_nothing_matches_or_may_be_done(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        palette = await palette_of(at)
        palette.typed.setText("zzz")
        press(palette.typed, Qt.Key.Key_Return)
        assert palette.isVisible()
        assert palette.nothing.text() == "No matches for “zzz”."
        palette.typed.setText("close tab")
        press(palette.typed, Qt.Key.Key_Return)
        assert palette.isVisible()
        palette.leave()


async def test_it_fits_a_narrow_window(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with active_frame(qapp, tmp_path) as at:
        at.window.resize(640, 500)
        palette = await palette_of(at)
        assert palette.width() == at.window.width()
        assert palette._frame.geometry().right() < at.window.width()
        palette.leave()


async def test_no_row_of_the_palette_is_cut(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with active_frame(qapp, tmp_path) as at:
        palette = await palette_of(at)
        view = palette.list

        def spare() -> int:
            assert view.verticalScrollBar().maximum() > 0, "there are more than there is room for"
            return view.viewport().height() % view.sizeHintForRow(0)

        assert spare() == 0
        qtbot.keyClicks(palette.typed, "zqx")
        assert not view.isVisible()
        palette.typed.setText("pasted by mistake " * 500)
        assert texts_cut(palette) == []
        at.window.resize(at.window.width(), at.window.height() - 107)
        palette.typed.clear()
        assert view.isVisible() and spare() == 0
        palette.leave()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
async def test_the_sheet_has_every_key_once_by_menu_and_is_searched(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, language: str
) -> None:
    if language == "zh_CN":
        speak(language)
    async with active_frame(qapp, tmp_path) as at:
        at.commands.run("help.shortcuts")
        [sheet] = visible_dialogs(at.window, ShortcutSheet)
        wanted = [command for command in at.commands.all() if command.shortcut]
        assert all(command.menu for command in wanted)
        assert len(sheet.lines) == len(wanted)
        assert texts_cut(sheet) == []
        qtbot.keyClicks(sheet.search, "ctrl+k")
        assert [keys for _, keys in sheet.lines] == ["Ctrl+K"]
        sheet.search.setText("zzz")
        assert sheet.lines == []
        assert sheet.none.isVisible()
        sheet.reject()


async def test_a_key_reaches_its_panel_alone(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with active_frame(qapp, tmp_path) as at:
        ran: list[str] = []
        at.commands.add(
            Command("runs.x", "X", lambda: ran.append("runs"), shortcut="X", scope="runs", menu="run"),
            Command("list.x", "X", lambda: ran.append("list"), shortcut="X", scope="list", menu="storage"),
        )
        at.window.menus.give_keys("runs", at.window.panel("runs"))
        at.window.menus.give_keys("list", at.window.panel("buckets"))
        for panel, expected in (("runs", ["runs"]), ("buckets", ["list"]), ("form", [])):
            ran.clear()
            at.window.show_dock(panel)
            focused = QApplication.focusWidget()
            assert isinstance(focused, QWidget)
            qtbot.keyClick(focused, Qt.Key.Key_X)
            assert ran == expected, panel
        at.commands.add(Command("more", "More", print))  # the menus are built anew
        at.window.show_dock("runs")
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_X)
        assert ran == ["runs"], "once, also after that"


async def test_the_menu_edit_acts_on_what_has_the_focus(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with active_frame(qapp, tmp_path) as at:
        at.window.show_dock("form")
        field = QApplication.focusWidget()
        qtbot.keyClicks(field, "some words")
        assert at.commands.run("edit.select_all")
        assert at.commands.run("edit.cut")
        assert not at.commands.run("edit.copy"), "nothing is selected any more"
        assert at.commands.run("edit.paste")
        assert field.text() == "some words"
        assert at.commands.run("edit.undo")
        assert field.text() == ""
        assert at.commands.run("edit.redo")
        assert field.text() == "some words"
        at.window.show_dock("log")
        log = QApplication.focusWidget()
        assert isinstance(log, QPlainTextEdit)
        assert not at.commands.run("edit.paste"), "it can only be read"
        assert at.commands.run("edit.select_all") and at.commands.run("edit.copy")
        assert QApplication.clipboard().text() == log.toPlainText()
        at.window.show_dock("buckets")
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)
        assert at.commands.run("edit.copy")
        assert QApplication.clipboard().text() in ("traindeck-lab", "datasets")
