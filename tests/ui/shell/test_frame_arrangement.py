"""Where docks and tabs stand, what a narrow window folds, and that keys reach only what is seen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDockWidget,
    QLabel,
    QLineEdit,
    QMenu,
    QTabBar,
    QToolBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from end_to_end.outside import outside_of_tasks
from support.frame_bench import BOTTOM, Frame, frame, framed
from support.qt_support import until
from support.waiting import fail_with
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.ui.kit.cards import EmptyPage
from traindeck.ui.shell.dock_titles import DockButtons, DockTitle
from traindeck.ui.shell.main_window import SMALLEST_SIZE
from traindeck.viewmodels.shell.window_state import WindowState


def dock(at: Frame, panel_id: str) -> QDockWidget:
    found = at.window.findChild(QDockWidget, f"dock.{panel_id}")
    assert found is not None
    return found


def dock_tabs(at: Frame) -> QTabBar:
    [bar] = [
        bar
        for bar in at.window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if at.window.rect().contains(bar.geometry())
    ]
    return bar


def has_keys(window: QWidget, asked_for: QDockWidget) -> bool:
    focused = QApplication.focusWidget()
    is_inside = window.rect().contains(asked_for.geometry())
    return is_inside and focused is not None and asked_for.isAncestorOf(focused)


def docks_now(at: Frame) -> bytes:
    return bytes(at.window.saveState().data())


@asynccontextmanager
async def arranged(qapp: QApplication, home: Path, state: WindowState | None = None) -> AsyncIterator[Frame]:
    """As at the first start, in sight, with the keyboard in it."""
    async with framed(qapp, home, state=state) as at:
        at.window.resize(1280, 800)
        at.window.reset_layout()
        at.window.show()
        at.window.activateWindow()
        await until(lambda: len(at.window.panels_made()) == 4)  # all but the one behind another
        await until(at.window.isActiveWindow)
        yield at


async def test_runs_stand_above_buckets_and_the_log_has_half_of_the_height(qapp: QApplication, tmp_path: Path) -> None:
    async with arranged(qapp, tmp_path) as at:
        assert dock(at, "runs").geometry().bottom() < dock(at, "buckets").geometry().top()
        assert dock(at, "log").height() + dock_tabs(at).height() == pytest.approx(400, abs=40)
        assert at.window.dockWidgetArea(dock(at, "log")) == BOTTOM


async def test_until_there_is_a_log_the_page_of_welcome_has_its_room(qapp: QApplication, tmp_path: Path) -> None:
    state = WindowState(tmp_path / "window.json")
    async with TaskScope(fail_with) as scope:
        for _ in range(2):
            with frame(qapp, scope, tmp_path, state=state) as at:
                at.window.show()
                await until(lambda: dock(at, "log").isVisible())
                assert at.window.tabs.height() > dock(at, "log").height() * 1.5
                at.window.save_layout()
        with frame(qapp, scope, tmp_path, state=state) as at:
            at.window.show()
            at.window.show_dock("log")
            await until(lambda: dock(at, "log").height() >= at.window.height() * 0.45)


async def test_no_title_stands_twice_and_its_buttons_can_be_hit(qapp: QApplication, tmp_path: Path) -> None:
    async with arranged(qapp, tmp_path) as at:
        bar = dock_tabs(at)
        assert [bar.tabText(number) for number in range(bar.count())] == ["Log", "Transfers"]
        titles = {title.name.text(): title for title in at.window.findChildren(DockTitle) if title.isVisible()}
        assert sorted(titles) == ["Buckets", "Job", "Runs"], "Log and Transfers are said by their tabs"
        for place in (bar, *titles.values()):
            [buttons] = [one for one in place.findChildren(DockButtons) if one.isVisible()]
            for button in buttons.findChildren(QToolButton):
                assert min(button.iconSize().toTuple()) >= 16 and not button.visibleRegion().isEmpty()
        at.window.toggle_dock("transfers")
        log = next(title for title in at.window.findChildren(DockTitle) if title.name.text() == "Log")
        await until(log.isVisible)


async def test_reset_is_exactly_the_first_arrangement(qapp: QApplication, tmp_path: Path) -> None:
    async with arranged(qapp, tmp_path) as at:
        first = docks_now(at)
        at.window.resizeDocks([dock(at, "runs")], [444], Qt.Orientation.Horizontal)
        at.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock(at, "runs"))
        dock(at, "log").setFloating(True)
        at.window.tabifyDockWidget(dock(at, "form"), dock(at, "transfers"))
        at.commands.run("view.dock.buckets")
        at.commands.run("view.maximize")
        assert docks_now(at) != first
        at.commands.run("view.reset_layout")
        await until(lambda: docks_now(at) == first)


async def test_arrangements_of_the_user_are_kept_renamed_and_deleted(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    state = WindowState(tmp_path / "window.json")
    async with arranged(qapp, tmp_path, state) as at:
        at.window.toggle_dock("form")
        at.commands.run("view.arrangement.save")
        await until(lambda: [one for one in at.window.findChildren(QDialog) if one.isVisible()])
        [dialog] = [one for one in at.window.findChildren(QDialog) if one.isVisible()]
        qtbot.keyClicks(dialog.focusWidget(), "no form")
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
        await until(lambda: at.window.arrangements.own() == ["no form"])
        at.commands.run("view.reset_layout")
        assert at.window.is_dock_shown("form")
    async with arranged(qapp, tmp_path, state) as at:
        at.commands.run("view.arrangement.own.no form")
        assert not at.window.is_dock_shown("form")
        at.window.arrangements.rename("no form", "wide")
        assert "view.arrangement.own.wide" in [command.id for command in at.commands.all()]
        at.window.arrangements.remove("wide")
        assert not [command.id for command in at.commands.all() if ".own." in command.id]
        assert not at.commands.get("view.arrangement.manage").enabled()


async def test_what_is_damaged_or_older_is_left_aside(qapp: QApplication, tmp_path: Path) -> None:
    for kept in (
        "AAAA",
        {"version": 4},
        {"version": 4, "docks": "AAAA", "folded": 7},
        {"version": 2, "docks": "ü"},
    ):
        state = WindowState(tmp_path / "window.json")
        state.put("docks", kept)
        state.put("geometry", kept)
        state.put("arrangements", kept)
        async with arranged(qapp, tmp_path, state) as at:
            assert all(at.window.is_dock_shown(panel) for panel in at.window.dock_titles())


async def test_one_panel_gets_the_whole_window_and_gives_it_back(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with arranged(qapp, tmp_path) as at:
        at.window.open_tab("page", "Page", QLineEdit)
        before = docks_now(at)
        at.window.show_dock("log")
        qtbot.keyClick(at.window, Qt.Key.Key_F11)
        log = dock(at, "log")
        await until(lambda: log.width() == at.window.width())
        assert has_keys(at.window, log), "they stay where they were"
        kept = at.window.state.get("docks")
        at.window.save_layout()
        qtbot.keyClick(at.window, Qt.Key.Key_F11)
        await until(lambda: docks_now(at) == before)
        await until(lambda: has_keys(at.window, log))
        await outside_of_tasks(QApplication.processEvents)
        assert has_keys(at.window, log), "and do so on the way back"
        assert kept is None or at.window.state.get("docks") == kept, "at the next start it is as it was before"
        bar = dock_tabs(at)
        QTest.mouseDClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(1).center())
        await until(lambda: dock(at, "transfers").width() == at.window.width())
        at.window.show_dock("runs")  # asked for: it is not hidden behind what is whole
        await until(lambda: docks_now(at) == before)
        title = next(title for title in at.window.findChildren(DockTitle) if title.name.text() == "Job")
        QTest.mouseDClick(title, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
        await until(lambda: dock(at, "form").width() == at.window.width())
        at.window.open_tab("page", "Page", QLineEdit)
        await until(lambda: at.window.tabs.isVisible())
        at.window.tabs.currentWidget().setFocus()
        qtbot.keyClick(at.window, Qt.Key.Key_F11)
        await until(lambda: at.window.tabs.width() == at.window.width())


def can_be_read(label: QLabel) -> bool:
    return bool(label.visibleRegion().boundingRect().height() >= label.fontMetrics().height())


async def test_a_banner_stands_as_long_as_its_condition_whatever_is_arranged(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    """Qt keeps with the docks whether the place of the banner is shown."""
    async with arranged(qapp, tmp_path) as at:
        place = at.window.notice_bar.parentWidget()
        assert place is not None and not place.isVisible()
        at.window.reset_layout()
        assert not place.isVisible()
        await until(lambda: not at.window.notice_bar.isVisible())
        at.notices.hold("lab", text("The Lab is stopped."))
        title = at.window.notice_bar.title
        await until(lambda: can_be_read(title))
        at.window.reset_layout()
        await until(lambda: can_be_read(title))
        qtbot.keyClick(at.window, Qt.Key.Key_F11)
        at.notices.clear("lab")
        qtbot.keyClick(at.window, Qt.Key.Key_F11)
        assert not place.isVisible()


async def test_a_banner_with_many_words_leaves_the_log_its_height(qapp: QApplication, tmp_path: Path) -> None:
    """It was as high for a moment as in the width it had while hidden; the log stayed pressed together."""
    async with arranged(qapp, tmp_path) as at:
        page = QWidget()
        page.setMinimumHeight(200)
        at.window.open_tab("page", "page", lambda: page)
        await until(page.isVisible)
        before = dock(at, "log").height()
        words = text("The language changes as soon as “Bucket settings – obs://digits/, account lab” is closed.")
        at.notices.hold("language", words, text("Your changes there are kept until you save or discard them."))
        await until(lambda: can_be_read(at.window.notice_bar.title) and can_be_read(at.window.notice_bar.hint))
        assert dock(at, "log").height() == before
        at.notices.clear("language")
        await until(lambda: not at.window.notice_bar.isVisible())
        assert dock(at, "log").height() == before


@pytest.mark.parametrize("size", [SMALLEST_SIZE, (960, 540), (1024, 600), (1280, 800)])
async def test_every_dock_can_be_reached_and_none_is_cut_off(
    qapp: QApplication, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with arranged(qapp, tmp_path) as at:
        at.window.resize(*size)
        await until(lambda: at.window.size().toTuple() == size)
        for panel_id in at.window.dock_titles():
            at.window.show_dock(panel_id)
            asked_for = dock(at, panel_id)
            await until(partial(has_keys, at.window, asked_for))
            for other in at.window.findChildren(QDockWidget):
                if other.isVisible() and other.geometry().right() >= 0:
                    assert at.window.rect().contains(other.geometry()), other.objectName()
            assert at.window.tabs.width() >= 320 and at.window.tabs.height() >= 120


async def test_the_right_dock_folds_first_and_opens_from_its_strip(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with arranged(qapp, tmp_path) as at:
        wide = dock(at, "form").width()
        at.window.resize(*SMALLEST_SIZE)
        await until(lambda: not at.window.is_dock_shown("form"))
        assert at.window.is_dock_shown("runs")
        strip = at.window.findChild(QToolBar, "strip.right")
        assert strip is not None
        [button] = [one for one in strip.findChildren(QToolButton) if one.text() == "Job"]
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: dock(at, "form").isVisible() and not strip.isVisible())
        assert not at.window.is_dock_shown("runs"), "there is no room for both sides"
        left = at.window.findChild(QToolBar, "strip.left")
        assert left is not None and left.isVisible()
        state = at.window.state
        at.window.save_layout()
        at.window.resize(1280, 800)
        await until(lambda: at.window.is_dock_shown("runs") and at.window.is_dock_shown("form"))
        await until(lambda: dock(at, "form").width() == wide and not left.isVisible())
    async with arranged(qapp, tmp_path, state) as at:
        assert at.window.is_dock_shown("runs"), "what was folded for want of room is not closed for good"


async def test_titles_of_tabs_stay_to_be_read_and_all_are_in_a_list(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with arranged(qapp, tmp_path) as at:
        names = [f"bucket-of-{number:02}-with-a-long-name" for number in range(25)]
        for name in names:
            at.window.open_tab(name, name, QLabel)
        bar, metrics = at.window.tabs.tabBar(), at.window.tabs.fontMetrics()
        for number in range(bar.count()):
            assert bar.tabRect(number).width() > metrics.horizontalAdvance("bucket…-name"), number
        assert bar.tabRect(24).right() <= bar.width(), "the one in front is scrolled to"
        menu = at.window.tabs.list.menu()
        menu.aboutToShow.emit()
        assert [action.text() for action in menu.actions()] == names
        menu.actions()[3].trigger()
        assert at.window.current_tab() == names[3] and bar.tabRect(3).left() >= 0


async def test_tabs_are_closed_by_the_middle_button_and_from_their_menu(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with arranged(qapp, tmp_path) as at:
        window, bar = at.window, at.window.tabs.tabBar()
        for name in "abcd":
            window.open_tab(name, name, QLabel)
        QTest.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=bar.tabRect(0).center())
        assert window.open_tabs() == ["b", "c", "d"]
        bar.customContextMenuRequested.emit(bar.tabRect(1).center())
        menu = qapp.activePopupWidget()
        assert isinstance(menu, QMenu)
        next(action for action in menu.actions() if action.text() == "Close &others").trigger()
        assert window.open_tabs() == ["c"]
        menu.close()
        await until(lambda: not isValid(menu))


async def test_the_keyboard_goes_from_a_page_that_is_closed_to_the_one_behind_it(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with arranged(qapp, tmp_path) as at:
        for name in "ab":
            at.window.open_tab(name, name, QLineEdit).setFocus()
        at.window.activateWindow()
        await until(lambda: at.window.isActiveWindow() and at.window.tabs.widget(1).hasFocus())
        at.window.close_tab("b")
        assert at.window.focusWidget() is at.window.tabs.widget(0)


async def test_who_closes_the_last_page_reads_what_to_do(qapp: QApplication, tmp_path: Path) -> None:
    async with arranged(qapp, tmp_path) as at:
        tabs = at.window.tabs
        [empty] = tabs.findChildren(EmptyPage, options=Qt.FindChildOption.FindDirectChildrenOnly)
        assert empty.isHidden(), "not while the window fills"
        at.window.open_tab("a", "a", QLabel)
        at.window.close_tab("a")
        await until(lambda: empty.isVisible() and empty.geometry() == tabs.rect())
        assert empty.title.text() and empty.hint.text()
        at.window.open_tab("b", "b", QLabel)
        assert empty.isHidden()
