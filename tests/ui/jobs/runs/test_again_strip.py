"""Where a job is charged, one key starts to count; nothing is sent before it has counted to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QMainWindow

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.panel_bench import User, light_theme
from support.waiting import until
from traindeck.domain.jobs.job_spec import Target
from traindeck.ui.jobs.runs.again_strip import AgainStrip
from traindeck.ui.jobs.runs.run_list_view import RunListView
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.jobs.runs.run_list import RunList

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    with light_theme(qapp) as theme:
        yield theme


@asynccontextmanager
async def window_of(
    folder: Path, theme: Theme, qtbot: QtBot, profile: str
) -> AsyncIterator[tuple[FolderCloud, RunList, RunListView, AgainStrip]]:
    async with FolderCloud(folder) as cloud:
        await cloud.add_cloud_profile("work")
        target = Target.LAB if profile == "lab" else Target.MODELARTS
        await cloud.submission.submit(digits_spec(target=target), code_folder(folder / "code"), profile)
        runs = cloud.run_list()
        window = QMainWindow()
        qtbot.addWidget(window)
        view = RunListView(runs, theme, User())
        window.setCentralWidget(view)
        strip = AgainStrip(runs.again, window)
        window.resize(700, 400)
        window.show()
        window.activateWindow()
        runs.refresh()
        await until(lambda: view.selected_ids() and window.isActiveWindow())
        view.setFocus()
        yield cloud, runs, view, strip
        runs.close()


async def test_five_presses_make_one_job_after_the_count(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with window_of(tmp_path, theme, qtbot, "work") as (cloud, runs, view, strip):
        for _ in range(5):
            qtbot.keyClick(view.rows, Qt.Key.Key_R)
        assert strip.isVisible() and strip.words.text() == "Run 1 · digits is submitted again to work in 5 s."
        assert strip.geometry().bottom() < 400 and strip.geometry().right() < 700
        assert len(cloud.jobs.jobs) == 1 and not runs.state.busy
        runs.again._steps.setInterval(1)
        await until(lambda: len(cloud.jobs.jobs) == 2)
        await until(lambda: not runs.state.busy)
        assert not strip.isVisible() and len(cloud.jobs.jobs) == 2


async def test_escape_cancels_from_anywhere_and_so_does_the_button(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with window_of(tmp_path, theme, qtbot, "work") as (cloud, runs, view, strip):
        elsewhere = QLineEdit(strip.window())
        elsewhere.show()
        for place in (view.rows, elsewhere):
            qtbot.keyClick(view.rows, Qt.Key.Key_R)
            assert strip.isVisible()
            place.setFocus()
            qtbot.keyClick(place, Qt.Key.Key_Escape)
            assert not strip.isVisible() and runs.again.countdown is None
        qtbot.keyClick(view.rows, Qt.Key.Key_R)
        qtbot.mouseClick(strip.cancel, Qt.MouseButton.LeftButton)
        assert not strip.isVisible() and len(cloud.jobs.jobs) == 1


async def test_the_lab_is_asked_at_once(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with window_of(tmp_path, theme, qtbot, "lab") as (cloud, runs, view, strip):
        qtbot.keyClick(view.rows, Qt.Key.Key_R)
        assert not strip.isVisible() and runs.again.countdown is None
        await until(lambda: len(cloud.jobs.jobs) == 2)
        await until(lambda: not runs.state.busy)
