"""A job that is charged is submitted again only by someone who saw the countdown to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QWidget

from end_to_end.outside import outside_of_tasks
from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.jobs_window import JobsWindow, jobs_window
from support.waiting import until
from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.job_spec import Target
from traindeck.ui.jobs.runs.again_strip import AgainStrip
from traindeck.ui.jobs.runs.run_page_view import RunPageView
from traindeck.ui.kit.dialogs import NameDialog
from traindeck.ui.shell.command_palette import CommandPalette
from traindeck.viewmodels.jobs.runs.run_again import PAUSE_S
from traindeck.viewmodels.shell.finding import Finder
from traindeck.viewmodels.shell.recent import Recent

_NEVER_MS = 3_600_000


def paid_run(folder: Path) -> Callable[[FolderCloud], Awaitable[None]]:
    async def sent(cloud: FolderCloud) -> None:
        await cloud.add_cloud_profile("work")
        await cloud.submission.submit(digits_spec(target=Target.MODELARTS), code_folder(folder / "code"), "work")

    return sent


def strip_of(on: JobsWindow) -> AgainStrip:
    strip = on.window.findChild(AgainStrip)
    assert strip is not None
    return strip


async def key(widget: QWidget, key: Qt.Key) -> None:
    handle = widget.window().windowHandle()
    await outside_of_tasks(lambda: QTest.keyClick(handle, key))


async def click(window: QWidget, place: QPoint) -> None:
    handle, none = window.window().windowHandle(), Qt.KeyboardModifier.NoModifier
    await outside_of_tasks(lambda: QTest.mouseClick(handle, Qt.MouseButton.LeftButton, none, place))


def middle(widget: QWidget) -> QPoint:
    return widget.mapTo(widget.window(), widget.rect().center())


async def count_down(on: JobsWindow) -> AgainStrip:
    """By its key in the list; its seconds wait for the test."""
    on.room.runs.again._steps.setInterval(_NEVER_MS)
    on.window.activateWindow()
    on.runs.rows.setFocus()
    await until(on.runs.rows.hasFocus)
    await key(on.window, Qt.Key.Key_R)
    strip = strip_of(on)
    assert strip.isVisible() and "is submitted again to work in 5 s" in strip.words.text()
    return strip


async def let_time_pass(on: JobsWindow) -> None:
    """As many turns of the loop as a countdown has seconds, and more."""
    on.room.runs.again._steps.setInterval(1)
    clock, seconds = QTimer(interval=1), list[int]()
    clock.timeout.connect(lambda: seconds.append(1))
    clock.start()
    await until(lambda: len(seconds) > 2 * PAUSE_S)
    clock.stop()
    assert len(on.cloud.jobs.jobs) == 1 and not on.room.runs.state.busy


async def test_a_dialog_stops_the_countdown_and_the_strip_asks_when_it_is_closed(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with jobs_window(qapp, tmp_path, paid_run(tmp_path)) as on:
        strip = await count_down(on)
        on.do("run.tags")
        dialog = await on.dialog(NameDialog)
        assert on.room.runs.again.countdown is not None and on.room.runs.again.countdown.is_held
        await let_time_pass(on)
        await key(dialog, Qt.Key.Key_Escape)
        await until(lambda: not on.window.findChildren(NameDialog))
        assert strip.isVisible() and strip.resume.isVisible()
        assert strip.words.text() == "Run 1 · digits was not submitted to work: the countdown was stopped."
        on.room.runs.again._steps.setInterval(_NEVER_MS)
        await click(strip, middle(strip.resume))
        assert "in 5 s" in strip.words.text() and not strip.resume.isVisible(), "one click alone submits nothing"
        on.room.runs.again._steps.setInterval(1)
        await until(lambda: len(on.cloud.jobs.jobs) == 2)
        await until(lambda: not on.room.runs.state.busy)
        assert not strip.isVisible() and not on.cloud.reported


async def test_escape_after_a_dialog_gives_the_countdown_up(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, paid_run(tmp_path)) as on:
        strip = await count_down(on)
        dialog = QInputDialog(on.window)
        dialog.open()
        await until(dialog.isActiveWindow)
        await let_time_pass(on)
        await key(dialog, Qt.Key.Key_Escape)
        on.window.activateWindow()
        await until(on.window.isActiveWindow)
        assert strip.isVisible()
        await key(on.window, Qt.Key.Key_Escape)
        assert not strip.isVisible() and on.room.runs.again.countdown is None
        assert len(on.cloud.jobs.jobs) == 1


async def test_the_palette_stops_the_countdown(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, paid_run(tmp_path)) as on:
        strip = await count_down(on)
        palette = CommandPalette(Finder(on.shell.offers()), Recent(), on.shell.theme, on.window, on.shell.look_up)
        palette.open()
        await until(palette.typed.hasFocus)
        await let_time_pass(on)
        await key(on.window, Qt.Key.Key_Escape)
        await until(lambda: not on.window.findChildren(CommandPalette))
        assert strip.isVisible() and strip.resume.isVisible()


async def test_a_countdown_never_begins_behind_a_dialog(qapp: QApplication, tmp_path: Path) -> None:
    async with jobs_window(qapp, tmp_path, paid_run(tmp_path)) as on:
        dialog = QInputDialog(on.window)
        dialog.open()
        await until(dialog.isActiveWindow)
        on.room.runs.rerun(on.room.runs.state.runs[0])
        await let_time_pass(on)
        assert on.room.runs.again.countdown is not None and on.room.runs.again.countdown.is_held
        dialog.reject()


@pytest.mark.parametrize("width", [800, 1280])
async def test_a_click_meant_for_stop_never_meets_run_again(qapp: QApplication, tmp_path: Path, width: int) -> None:
    async with jobs_window(qapp, tmp_path, paid_run(tmp_path)) as on:
        on.window.resize(width, 500 if width == 800 else 800)
        on.do("run.open")
        page = on.page
        assert isinstance(page, RunPageView)
        on.cloud.jobs.move("Running", "job-1")
        on.cloud.watch_runs()
        await until(lambda: on.room.runs.state.runs[0].state is RunState.RUNNING and page.stop.isVisible())
        was = page.stop.rect().translated(page.stop.mapTo(on.window, QPoint()))
        before = {entry.text(): place for place, entry in menu_of(page)}
        page.stop.setFocus()
        on.cloud.jobs.move("Completed", "job-1", duration_ms=1000)
        on.cloud.watch_runs()
        await until(lambda: page.again.isVisible() and not page.stop.isVisible())
        await until(lambda: page.again.isEnabled())
        assert not was.intersects(page.again.rect().translated(page.again.mapTo(on.window, QPoint())))
        for place in (was.center(), was.topLeft(), was.bottomRight()):
            await click(on.window, place)
        await key(on.window, Qt.Key.Key_Space)
        await key(on.window, Qt.Key.Key_Return)
        assert on.room.runs.again.countdown is None and not on.room.runs.state.busy
        assert {entry.text(): place for place, entry in menu_of(page)} == before
        on.room.runs.again._steps.setInterval(_NEVER_MS)
        await click(on.window, middle(page.again))
        assert on.room.runs.again.countdown is not None
        on.room.runs.again.cancel()
        assert len(on.cloud.jobs.jobs) == 1


def menu_of(page: RunPageView) -> list[tuple[int, QAction]]:
    page._fill_menu()
    return [(place, entry) for place, entry in enumerate(page._menu.actions()) if entry.text()]
