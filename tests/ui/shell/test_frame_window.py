"""The frame of the window: tabs, docks, menus, layout, notices, status."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QLineEdit, QMenu, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from support.dialogs import visible_dialogs
from support.frame_bench import Frame, PressedSample, active_frame, frame, framed, texts_cut
from support.qt_support import Stalls, until
from support.waiting import fail_with
from traindeck.domain import texts
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import Unexpected, Unreachable
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.live_costs import LiveCostsState, LiveJob
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Kind
from traindeck.domain.transfers.records import TransferState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.language import speak
from traindeck.runtime.tasks import TaskScope
from traindeck.services.transfers import Transfer
from traindeck.ui.kit.dialogs import ErrorReport
from traindeck.ui.kit.theme import DARK_COLORS
from traindeck.ui.shell.bars import StatusBar
from traindeck.ui.shell.main_window import make_frame
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.journal import Answer, Subject, Topic
from traindeck.viewmodels.shell.notices import Mending, Notices
from traindeck.viewmodels.shell.window_state import WindowState


def welcome(at: Frame) -> WelcomePage:
    return WelcomePage(at.theme, PressedSample(), lambda: None)


async def test_welcome_names_the_panels_as_their_keys_lead_there(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        page = welcome(at)
        words = [label.text() for label in page.findChildren(QLabel)]
        window = make_frame(at.theme, Notices(), WindowState(tmp_path / "window.json"), lambda: None)
        titles = [title.lower() for title in window.dock_titles().values()]
        assert words[words.index(f"Ctrl+1 … {len(titles)}") + 1] == f"go to {', '.join(titles)}"
        for widget in (page, window):
            widget.deleteLater()


def lost(where: str = "The Lab does not answer.") -> Unreachable:
    return Unreachable(text(where), text("Try again in a moment."), "connect: refused")


def dock(at: Frame, panel_id: str) -> QDockWidget:
    found = at.window.findChild(QDockWidget, f"dock.{panel_id}")
    assert found is not None
    return found


def titles(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if action.text()]


async def test_pages_are_made_once_and_told_when_they_go(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        made: list[str] = []
        closed: list[str] = []
        at.window.tab_closed.connect(closed.append)

        def make(key: str) -> QWidget:
            made.append(key)
            return QLabel(key)

        for key in ("run.1", "bucket.a", "run.1"):
            at.window.open_tab(key, key.title(), lambda key=key: make(key))
        assert made == ["run.1", "bucket.a"]
        assert at.window.current_tab() == "run.1"
        assert at.window.tabs.tabText(0) == "Run.1"
        at.commands.run("view.close_tab")
        assert closed == ["run.1"]
        assert at.window.open_tabs() == ["bucket.a"]
        at.window.tabs.tabCloseRequested.emit(0)
        assert at.window.open_tabs() == []
        assert not at.commands.get("view.close_tab").enabled()


@pytest.fixture
def disk() -> Iterator[BlockingCalls]:
    with closing(BlockingCalls(1, "layout")) as calls:
        yield calls


async def test_docks_hide_show_and_come_back_where_they_were(
    qapp: QApplication, tmp_path: Path, disk: BlockingCalls
) -> None:
    state = WindowState(tmp_path / "window.json")
    async with TaskScope(fail_with) as scope:
        with frame(qapp, scope, tmp_path, state=state) as at:
            at.window.show()
            assert at.window.is_dock_shown("buckets")
            at.commands.run("view.dock.buckets")
            assert not at.window.is_dock_shown("buckets")
            at.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock(at, "runs"))
            at.window.resize(800, 720)
            at.window.save_layout()
        with frame(qapp, scope, tmp_path, state=state) as at:
            at.window.show()
            assert not at.window.is_dock_shown("buckets")
            assert at.window.dockWidgetArea(dock(at, "runs")) == Qt.DockWidgetArea.RightDockWidgetArea
            assert at.window.size().toTuple() == (800, 720)
            at.commands.run("view.reset_layout")
            assert at.window.is_dock_shown("buckets")
            assert at.window.dockWidgetArea(dock(at, "runs")) == Qt.DockWidgetArea.LeftDockWidgetArea


async def test_a_layout_saved_while_a_notice_stood_does_not_bring_it_back(
    qapp: QApplication, tmp_path: Path, disk: BlockingCalls
) -> None:
    state = WindowState(tmp_path / "window.json")
    async with TaskScope(fail_with) as scope:
        with frame(qapp, scope, tmp_path, state=state) as at:
            at.window.show()
            at.notices.hold("a", lost().title)
            assert at.window.notice_bar.isVisible()
            at.window.save_layout()
        with frame(qapp, scope, tmp_path, state=state) as at:
            at.window.show()
            assert not at.window.notice_bar.isVisible()


async def test_a_layout_that_cannot_be_used_is_left_aside(
    qapp: QApplication, tmp_path: Path, disk: BlockingCalls
) -> None:
    (tmp_path / "window.json").write_text('{"version": 1, "geometry": "AAAA", "docks": "AAAA"}', encoding="utf-8")
    state = WindowState(tmp_path / "window.json")
    state.read()
    async with framed(qapp, tmp_path, state=state) as at:
        at.window.show()
        at.window.resize(1280, 800)
        assert all(at.window.is_dock_shown(panel) for panel in at.window.dock_titles())


async def test_bottom_docks_stand_behind_each_other(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        assert at.window.tabifiedDockWidgets(dock(at, "log")) == [dock(at, "transfers")]


async def test_closing_only_asks(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        assert not at.window.close()
        assert not at.window.close()
        assert at.window.isVisible()
        assert at.asked_to_close == [1, 1]


async def test_menus_shortcuts_and_toolbar_come_from_the_commands(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        at.window.activateWindow()
        await until(at.window.isActiveWindow)
        done: list[str] = []
        may: list[int] = []
        at.commands.add(
            Command("x.now", "Do it &now", lambda: done.append("now"), shortcut="Ctrl+J", menu="run"),
            Command("x.later", "Later", lambda: done.append("later"), enabled=lambda: bool(may), shortcut="Ctrl+L"),
        )
        run_menu: Any = next(action.menu() for action in at.window.menuBar().actions() if action.text() == "&Run")
        assert titles(run_menu) == ["Run &again", "Do it &now"]
        next(action for action in run_menu.actions() if action.text() == "Do it &now").trigger()
        qtbot.keyClick(at.window, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClick(at.window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
        assert done == ["now", "now"]
        may.append(1)
        at.commands.refresh()
        qtbot.keyClick(at.window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
        assert done == ["now", "now", "later"]
        assert at.window.menus.actions["account.add"] in at.window.menus.toolbar.actions()
        at.commands.remove(["x.now"])
        run_menu = next(action.menu() for action in at.window.menuBar().actions() if action.text() == "&Run")
        assert titles(run_menu) == ["Run &again"]


async def test_an_action_shows_what_is_so_not_what_was_clicked(qapp: QApplication, tmp_path: Path) -> None:
    async with TaskScope(fail_with) as scope:
        with frame(qapp, scope, tmp_path) as at:
            light: QAction = at.window.menus.actions["view.theme.light"]
            assert light.isChecked()
            light.trigger()  # Qt unchecks it; the theme stays
            assert light.isChecked()
            at.window.menus.actions["view.theme.dark"].trigger()
            assert at.theme.colors is DARK_COLORS
            await until(lambda: (tmp_path / "settings.json").exists())
            await until(lambda: not scope.is_running("keep the preferences"))
        assert json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))["theme"] == "dark"


async def test_language_and_theme_chosen_together_are_both_kept(qapp: QApplication, tmp_path: Path) -> None:
    async with TaskScope(fail_with) as scope:
        with frame(qapp, scope, tmp_path) as at:
            rebuilt: list[int] = []
            at.preferences.language_changed.connect(lambda: rebuilt.append(1))
            at.preferences.choose_theme("dark")
            at.preferences.choose_language("zh_CN")
            at.preferences.choose_language("zh_CN")
            await until(lambda: rebuilt == [1])
            assert texts.spoken() == "zh_CN"
            await until(lambda: not scope.is_running("keep the preferences"))
        kept = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
        assert (kept["theme"], kept["language"]) == ("dark", "zh_CN")


async def test_a_condition_is_said_with_what_mends_it_and_leaves_by_itself(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        tries: list[int] = []
        error, mending = lost(), Mending(text("Start the Lab"), lambda: tries.append(1))
        at.notices.hold("lab", error.title, error.hint, "port 9 refused", mending=mending)
        bar = at.window.notice_bar
        assert bar.title.text() == "The Lab does not answer."
        assert bar.accessibleName() == "The Lab does not answer. Try again in a moment."
        assert not bar.detail.isVisible()
        qtbot.mouseClick(bar.details, Qt.MouseButton.LeftButton)
        assert bar.detail.isVisible()
        await until(lambda: bar.detail.height() >= bar.detail.heightForWidth(bar.detail.width()))
        assert texts_cut(bar) == []
        at.notices.hold("language", text("Elsewhere neither."), is_error=False)
        assert (bar.title.text(), bar.more.text()) == ("The Lab does not answer.", "1 more")
        assert bar.mending.text() == "Start the Lab"
        qtbot.mouseClick(bar.mending, Qt.MouseButton.LeftButton)
        assert tries == [1] and bar.isVisible(), "trying is not yet mending"
        at.notices.clear("lab")
        assert (bar.title.text(), bar.mending.isVisible()) == ("Elsewhere neither.", False)
        at.notices.clear("language")
        assert not bar.isVisible()


async def test_a_condition_that_asks_has_its_answers_and_leads_to_what_it_is_about(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        at.window.show_dock("runs")
        focused, said, shown = at.window.focusWidget(), list[str](), list[Topic]()
        bar = at.window.notice_bar
        bar.jump_wanted.connect(shown.append)
        for name in ("a", "b"):
            answers = tuple(
                Answer(id, text(words), partial(said.append, f"{id} {name}"))
                for id, words in (("stop", "Stop…"), ("wait", "Wait"))
            )
            title, topic = text("“{name}” may hang.", name=name), Topic(Subject.RUN, name)
            at.notices.hold(name, title, text("Stop it, or wait."), is_error=False, answers=answers, topic=topic)
        await until(bar.isVisible)
        assert at.window.focusWidget() is focused
        assert (bar.title.text(), bar.more.text()) == ("“b” may hang.", "1 more")
        await until(lambda: [button.text() for button in buttons_of(bar)] == ["Stop…", "Wait", "Show"])
        await until(lambda: texts_cut(bar) == [])
        for button in buttons_of(bar):
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert (said, shown) == (["stop b", "wait b"], [Topic(Subject.RUN, "b")])
        assert at.window.focusWidget() is focused
        at.notices.withdraw("b")
        await until(lambda: len(buttons_of(bar)) == 3)
        qtbot.mouseClick(buttons_of(bar)[0], Qt.MouseButton.LeftButton)
        assert said[-1] == "stop a"
        at.notices.hold("lab", text("The Lab does not answer."), topic=Topic(Subject.LAB))
        await until(lambda: buttons_of(bar) == [])


def buttons_of(bar: QWidget) -> list[QPushButton]:
    return [button for button in bar.findChildren(QPushButton) if button.isVisible()]


async def test_words_of_others_are_not_taken_for_markup(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.notices.hold("a", lost("<b>bucket</b>").title)
        at.notices.report("b", lost("<b>object</b>"))
        await until(lambda: at.toasts.shown)
        for title in (at.window.notice_bar.title, at.toasts.shown[0].title):
            assert title.textFormat() == Qt.TextFormat.PlainText


async def test_our_mistakes_open_one_dialog_not_many(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        for number in range(3):
            at.notices.report(f"task {number}", Unexpected(f"KeyError: {number}"))
        dialogs = visible_dialogs(at.window, ErrorReport)
        assert len(dialogs) == 1
        qtbot.mouseClick(dialogs[0].copy, Qt.MouseButton.LeftButton)
        assert "KeyError: 0" in qapp.clipboard().text()
        dialogs[0].reject()
        at.notices.report("task 4", Unexpected("KeyError: 4"))
        await until(lambda: len(visible_dialogs(at.window, ErrorReport)) == 1)
        visible_dialogs(at.window, ErrorReport)[0].reject()


def a_run(run_id: str, profile: str, state: RunState = RunState.RUNNING) -> Run:
    return Run(run_id, 1, run_id, profile, JobSpec(), state, datetime.now(UTC))


def status_of(at: Frame) -> StatusBar:
    bar = at.window.statusBar()
    assert isinstance(bar, StatusBar)
    return bar


async def test_the_status_bar_says_unknown_never_nothing(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        bar, services = status_of(at), at.services
        assert (bar.profile.text(), bar.billing.text()) == ("–", "Active jobs: – · Cost: –")
        services.profiles.append(Profile("campus", Provider.MODELARTS, "cn-north-4"))
        services.current = "campus"
        services.runs = [a_run("r1", "campus")]
        at.status.load()
        unpriced = LiveJob("mine", "campus", datetime.now(UTC) - timedelta(hours=2), None, is_ours=True)
        at.status.show_costs(LiveCostsState((unpriced,), "CNY"))
        await until(lambda: bar.billing.text().startswith("Active jobs: 1"))
        assert bar.profile.text() == "campus · CN North-Beijing4"
        assert bar.billing.text() == "Active jobs: 1 · Cost: unknown"
        assert "Longest: mine, 2:00:0" in bar.billing.toolTip()
        priced = LiveJob("other", "campus", None, 23.5, is_ours=False)
        at.status.show_costs(LiveCostsState((unpriced, priced), "CNY"))
        assert bar.billing.text() == ("Active jobs: 1 and 1 made elsewhere · Cost: 23.50 CNY per hour, 1 unknown")
        assert bar.answer.text() == "No response yet"
        services.accounts["campus"].last_answer = datetime.now(UTC) - timedelta(seconds=40)
        services.connection_state.tell("campus")
        assert bar.answer.text().startswith("Updated 4")
        services.troubles["campus"] = lost()
        services.connection_state.tell("campus")
        assert "does not answer" in bar.answer.toolTip()
        words = bar.billing.text()
        assert re.fullmatch(
            r"Active jobs 4\d s ago: 1 and 1 made elsewhere · Cost then: 23.50 CNY per hour, 1 unknown", words
        )
        at.status.show_costs(LiveCostsState((), "CNY"))
        assert bar.billing.text().endswith(" · Cost then: none")
        del services.troubles["campus"]
        services.connection_state.tell("campus")
        assert bar.billing.text() == "Active jobs: 1 · Cost: none right now"
        services.changed.tell(a_run("r1", "campus", RunState.COMPLETED))
        services.changed.tell(a_run("r2", "lab"))
        free = LiveJob("mine", "lab", None, 0.0, is_ours=True)
        at.status.show_costs(LiveCostsState((free,), "CNY"))
        assert bar.billing.text() == "Active jobs: 1 · Cost: none right now"
        services.gone.tell("r2")
        assert bar.billing.text().startswith("Active jobs: 0 ")


async def test_what_an_account_runs_that_never_answered_is_unknown(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        bar, services = status_of(at), at.services
        services.profiles.append(Profile("campus", Provider.MODELARTS, "cn-north-4"))
        services.current = "campus"
        services.troubles["campus"] = lost()
        at.status.show_costs(LiveCostsState((), "CNY", frozenset({"campus"})))
        at.status.load()
        await until(lambda: bar.billing.text() == "Active jobs: unknown · Cost: unknown")
        assert bar.answer.text() == "No response yet" and "does not answer" in bar.answer.toolTip()
        priced = LiveJob("mine", "work", None, 23.5, is_ours=True)
        services.runs = [a_run("r1", "work")]
        at.status.show_costs(LiveCostsState((priced,), "CNY", frozenset({"campus"})))
        at.status.load()
        await until(lambda: bar.billing.text() == "Active jobs: 1 or more · Cost: 23.50 CNY per hour or more")
        del services.troubles["campus"]
        at.status.show_costs(LiveCostsState((priced,), "CNY"))
        assert bar.billing.text() == "Active jobs: 1 · Cost: 23.50 CNY per hour"


async def test_the_status_bar_tells_the_rate_of_what_moves(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        bar, moved = status_of(at), at.services.moved
        assert bar.rate.text() == "No transfers"
        target = str(ObjectPath.parse("obs://bucket/key"))
        at.status.refresh()
        moved.tell(Transfer(1, Kind.UPLOAD, "a", target, TransferState.RUNNING))
        moved.tell(Transfer(1, Kind.UPLOAD, "a", target, TransferState.RUNNING, done_bytes=5_000_000))
        at.status.refresh()
        assert bar.rate.text().endswith("/s")
        moved.tell(Transfer(1, Kind.UPLOAD, "a", target, TransferState.PAUSED, done_bytes=5_000_000))
        at.status.refresh()
        assert bar.rate.text() == "Transfers: on hold"
        moved.tell(Transfer(1, Kind.UPLOAD, "a", target, TransferState.DONE, done_bytes=5_000_000))
        at.status.refresh()
        assert bar.rate.text() == "No transfers"


@pytest.mark.parametrize("language", ["en", "zh_CN"])
async def test_nothing_is_cut_and_no_letter_is_given_twice(qapp: QApplication, tmp_path: Path, language: str) -> None:
    if language == "zh_CN":
        speak(language)
    async with framed(qapp, tmp_path) as at:
        at.window.resize(1280, 800)
        at.window.open_tab("welcome", "Welcome", lambda: welcome(at))
        at.window.show()
        at.notices.hold("a", lost().title, lost().hint)
        at.notices.journal.done(text("“{name}” was moved.", name="a.txt"), undo=lambda: None)
        at.notices.report("b", lost("Elsewhere neither."))
        await until(lambda: at.window.notice_bar.height() > 20 and at.toasts.shown)
        assert texts_cut(at.window) == []
        bar: Any = at.window.menuBar()
        menus = [(bar.actions(), "menu bar"), *((top.menu().actions(), top.text()) for top in bar.actions())]
        for actions, where in menus:
            letters = [letter for action in actions if (letter := mnemonic(action.text()))]
            assert len(set(letters)) == len(letters), f"{where}: {letters}"


def mnemonic(title: str) -> str:
    at = title.replace("&&", "").find("&")
    return title.replace("&&", "")[at + 1].lower() if at >= 0 else ""


async def test_everything_can_be_reached_and_has_a_name(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        page = at.window.open_tab("welcome", "Welcome", lambda: welcome(at))
        assert isinstance(page, WelcomePage)
        at.window.show_dock("runs")
        assert dock(at, "runs").isAncestorOf(at.window.focusWidget())
        at.commands.run("view.go.buckets")
        assert dock(at, "buckets").isAncestorOf(at.window.focusWidget())
        assert page.sample.focusPolicy() & Qt.FocusPolicy.TabFocus
        at.notices.hold("lab", lost().title, mending=Mending(text("Start the Lab"), lambda: None))
        assert at.window.notice_bar.mending.text()
        at.notices.report("b", lost("Elsewhere neither."))
        await until(lambda: at.toasts.shown)
        for button in (at.toasts.shown[0].retry, at.toasts.shown[0].close_it):
            assert button.accessibleName() or button.text()
        assert status_of(at).billing.accessibleDescription()


async def test_the_first_notice_can_be_read_whatever_was_drawn_before(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        at.window.grab()  # works out every layout, that of the hidden bar as well
        at.notices.hold("a", lost().title, lost().hint)
        bar = at.window.notice_bar
        await until(lambda: bar.height() > 20)
        assert all(label.height() >= label.fontMetrics().height() for label in (bar.title, bar.hint))


async def test_the_frame_does_not_stall(qapp: QApplication, tmp_path: Path, responsive: Stalls) -> None:
    async with framed(qapp, tmp_path) as at:
        at.window.show()
        await until(at.window.isVisible)
        responsive.clear()  # building a window is allowed its time
        for number in range(200):
            at.notices.report(f"task {number % 5}", lost())
            at.notices.hold("lab", lost(f"The Lab does not answer: {number}.").title)
            at.commands.refresh()
            if number % 20 == 0:
                await until(lambda: at.window.notice_bar.isVisible())
        assert at.window.childAt(QPoint(10, 10)) is not None


async def test_a_button_that_is_half_in_sight_is_pressed_where_it_is(qapp: QApplication, tmp_path: Path) -> None:
    """Scrolled to between the press and the release of the mouse, it would be away under it."""
    pressed: list[bool] = []

    def make() -> QScrollArea:
        area, inside = QScrollArea(), QWidget()
        button = QPushButton("half", inside)
        button.clicked.connect(lambda: pressed.append(True))
        button.setGeometry(0, 40, 200, 60)
        inside.resize(300, 900)
        area.setWidget(inside)
        return area

    async with active_frame(qapp, tmp_path) as at:
        area = at.window.open_tab("page", "Page", make)
        assert isinstance(area, QScrollArea)
        button = area.findChild(QPushButton)
        assert button is not None
        await until(lambda: area.viewport().height() > 60)
        button.move(0, area.viewport().height() - 30)
        at.window.show_dock("runs")
        await until(lambda: not button.hasFocus())
        handle = at.window.windowHandle()
        QTest.mouseClick(handle, Qt.MouseButton.LeftButton, pos=button.mapTo(at.window, QPoint(20, 20)))
        assert pressed
        at.window.show_dock("runs")
        button.setFocus()
        await until(lambda: area.verticalScrollBar().value() > 0)


async def test_the_key_of_a_folded_panel_takes_the_keyboard_out_of_the_other_side(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with active_frame(qapp, tmp_path) as at:
        at.window.resize(960, 600)
        at.window.open_tab("page", "Page", QLineEdit)
        at.window.show_dock("form")
        form, runs = at.window.panel("form"), at.window.panel("runs")
        await until(lambda: form.hasFocus() and not runs.isVisible())
        at.window.show_dock("runs")
        await until(lambda: runs.isVisible() and not form.isVisible())
        for _ in range(5):  # whatever was put off has been done
            await asyncio.sleep(0)
        assert (runs.focusProxy() or runs).hasFocus()
