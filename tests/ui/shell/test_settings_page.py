"""The page of the settings with a real mouse and keyboard: changed at once, refused with a reason, put back."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit, QScrollArea
from pytestqt.qtbot import QtBot

from support.frame_bench import framed, texts_cut
from support.panel_bench import light_theme
from support.qt_support import until
from support.waiting import fail_with
from traindeck.domain.settings import LAB_PYTHON, LINKS, RATE, SETTINGS, STORE_MD5, THEME
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.store.settings import SettingsFile
from traindeck.ui.shell.feature import Shell
from traindeck.ui.shell.settings_feature import SettingsFeature
from traindeck.ui.shell.settings_page import SettingRow, SettingsPage
from traindeck.viewmodels.shell.preferences import Preferences


@asynccontextmanager
async def page(qapp: QApplication, home: Path) -> AsyncIterator[tuple[SettingsPage, Preferences]]:
    file = SettingsFile(home / "settings.json")
    with closing(BlockingCalls(1, "disk")) as disk, light_theme(qapp) as theme:
        async with TaskScope(fail_with) as scope:
            preferences = Preferences(file, disk, scope, file.read())
            made = SettingsPage(preferences, theme, scope)
            made.resize(700, 500)
            made.show()
            try:
                yield made, preferences
                await until(lambda: not scope.is_running("keep the preferences"))
            finally:
                made.close()
                made.deleteLater()


async def test_every_setting_is_there_and_changes_at_once(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with page(qapp, tmp_path) as (at, preferences):
        assert list(at.rows) == [setting.key for setting in SETTINGS]
        box = at.rows["store_md5"].editor
        assert isinstance(box, QCheckBox)
        box.click()
        assert preferences.value(STORE_MD5) is True
        choice = at.rows["links"].editor
        assert isinstance(choice, QComboBox)
        choice.setFocus()
        qtbot.keyClick(choice, Qt.Key.Key_Down)
        assert preferences.value(LINKS) == "follow"
        line = at.rows["bytes_per_s"].editor
        assert isinstance(line, QLineEdit)
        qtbot.keyClicks(line, "2.5")
        qtbot.keyClick(line, Qt.Key.Key_Return)
        assert preferences.value(RATE) == 2_500_000
        reset = at.rows["bytes_per_s"].reset
        qtbot.mouseClick(reset, Qt.MouseButton.LeftButton)
        assert (preferences.value(RATE), line.text(), reset.isVisible()) == (0, "", False)
    kept = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    assert (kept["store_md5"], kept["links"], "bytes_per_s" in kept) == (True, "follow", False)


async def test_what_cannot_be_is_told_below_its_field_and_changes_nothing(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with page(qapp, tmp_path) as (at, preferences):
        row = at.rows["bytes_per_s"]
        preferences.choose(RATE, 1_000_000)
        assert isinstance(row.editor, QLineEdit)
        row.editor.selectAll()
        qtbot.keyClicks(row.editor, "fast")
        qtbot.keyClick(row.editor, Qt.Key.Key_Return)
        assert row.trouble.isVisible()
        assert "“fast” cannot be used for the setting “Rate limit”." in row.trouble.text()
        assert (preferences.value(RATE), row.editor.text()) == (1_000_000, "fast")
        row.editor.setText("1")
        qtbot.keyClick(row.editor, Qt.Key.Key_Return)
        assert not row.trouble.isVisible()


async def test_the_search_leaves_what_matches_and_a_command_goes_to_its_setting(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with page(qapp, tmp_path) as (at, _):
        qtbot.keyClicks(at.search, "python")
        assert [key for key, row in at.rows.items() if row.isVisible()] == [LAB_PYTHON.key]
        at.search.setText("no such thing")
        assert at.none.isVisible()
        at.show_setting("app_log_bytes")
        assert at.search.text() == ""
        assert at.focusWidget() is at.rows["app_log_bytes"].editor
        top = at.rows["app_log_bytes"].mapTo(at, at.rows["app_log_bytes"].rect().topLeft()).y()
        assert 0 <= top < at.height()


async def test_a_change_from_elsewhere_is_seen_and_nothing_is_cut(qapp: QApplication, tmp_path: Path) -> None:
    for language in ("en", "zh_CN"):
        speak(language)
        async with page(qapp, tmp_path) as (at, preferences):
            preferences.choose(THEME, "dark" if language == "en" else "light")
            choice = at.rows["theme"].editor
            assert isinstance(choice, QComboBox)
            assert choice.currentData() == preferences.theme
            assert at.rows["theme"].reset.isVisible()
            assert texts_cut(at) == []


def fits(area: QScrollArea) -> bool:
    return area.widget().width() <= area.viewport().width()


def is_below(row: SettingRow) -> bool:
    return row.editor.mapTo(row, row.editor.rect().topLeft()).x() < 20


async def test_where_there_is_no_room_beside_its_words_the_field_stands_below(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with page(qapp, tmp_path) as (at, _):
        row = at.rows["bytes_per_s"]
        for width in (700, 330, 700):
            at.resize(width, 500)
            await until(lambda width=width: is_below(row) is (width == 330))
            assert row.mapTo(at, row.rect().topRight()).x() <= width


async def test_no_card_ends_outside_of_the_page(qapp: QApplication, tmp_path: Path) -> None:
    """Whatever room is left between the docks, whether fields stand beside their words or below."""
    for language in ("en", "zh_CN"):
        speak(language)
        async with page(qapp, tmp_path) as (at, _):
            area = at.findChild(QScrollArea)
            assert area is not None
            for width in (360, 420, 480, 500, 520, 540, 560):
                at.resize(width, 500)
                await until(lambda width=width: is_below(at.rows["bytes_per_s"]) is (width < 540))
                await until(partial(fits, area))


async def test_each_setting_is_found_and_opens_at_its_place(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        feature = SettingsFeature(Shell(at.window, at.theme, at.scope, lambda: None), at.preferences)
        offered = {entry.id: entry for entry in feature.offers()}
        assert list(offered) == [f"settings.{setting.key}" for setting in SETTINGS]
        offered["settings.links"].act()
        shown = at.window.tabs.currentWidget()
        assert isinstance(shown, SettingsPage)
        assert shown.focusWidget() is shown.rows["links"].editor
        await until(lambda: not at.scope.is_running("read the settings"))
