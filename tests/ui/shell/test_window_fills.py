"""The frame is there first; what goes into it comes when it is in sight, from one registration for each room."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from support.dialogs import visible_dialog
from support.frame_bench import BOTTOM, ICONS, LEFT
from support.qt_support import until
from support.waiting import PATIENT_S, fail_with
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.ui.kit.dialogs import CANCEL, AnswerButton, Question, asked, asked_line
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.arrangements import Arrangement
from traindeck.ui.shell.docks import Skeleton
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.ui.shell.main_window import MainWindow, Make, Panel, make_frame
from traindeck.viewmodels.ports import Loss, Way
from traindeck.viewmodels.shell.commands import Command, Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.window_state import WindowState


class Room(Feature):
    """A room with a bit of everything."""

    class Model(QObject):
        told = Signal(str)

    def __init__(self, shell: Shell, model: Model) -> None:
        super().__init__(shell)
        self.model = model
        self.heard: list[str] = []
        self.closed: list[str] = []

    def panels(self) -> Mapping[str, Make]:
        return {"runs": lambda: QLabel("rows")}

    def commands(self) -> Iterable[Command]:
        return [Command("room.look", "&Look", lambda: self.heard.append("look"), shortcut="Ctrl+J", menu="run")]

    def news(self) -> Subscriptions:
        return [(self.model.told, self.heard.append)]

    def restore(self, page: object) -> bool:
        if page == 7:
            self.shell.window.open_tab("room.7", "Seven", QWidget)
        return page == 7

    def shown_on(self, key: str) -> object | None:
        return 7 if key == "room.7" else None

    def page_closed(self, key: str) -> None:
        self.closed.append(key)


def window_of(theme: Theme, home: Path, panels: list[Panel]) -> MainWindow:
    return MainWindow(
        theme=theme,
        commands=Commands(),
        notices=Notices(),
        state=WindowState(home / "window.json"),
        panels=panels,
        on_close_request=lambda: None,
        arrangements=[Arrangement("first", "First", hidden=("hidden",))],
    )


async def test_a_panel_is_made_when_it_is_first_in_sight(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    theme, made = Theme(qapp, ICONS, "light"), list[str]()

    def make(name: str) -> QWidget:
        made.append(name)
        return QLabel(name)

    window = window_of(
        theme,
        tmp_path,
        [
            Panel("front", "Front", BOTTOM),
            Panel("behind", "Behind", BOTTOM),
            Panel("hidden", "Hidden", LEFT),
            Panel("later", "Later", LEFT),
        ],
    )
    for name in ("front", "behind", "hidden"):
        window.provide(name, partial(make, name))
    qtbot.addWidget(window)
    assert made == [] and len(window.findChildren(Skeleton)) == 4
    window.show()
    await until(lambda: made == ["front"])
    assert window.is_painted or not window.grab().isNull()
    window.provide("later", lambda: make("later"))
    window.provide("later", lambda: make("never: the first one counts"))
    await until(lambda: made == ["front", "later"])
    window.show_dock("behind")
    assert made == ["front", "later", "behind"]
    window.toggle_dock("hidden")
    await until(lambda: made[-1] == "hidden")
    await until(lambda: window.panels_made() == ["front", "behind", "hidden", "later"])  # put in a turn after
    assert isinstance(window.panel("front"), QLabel)
    assert len(made) == 4
    theme.close()


async def test_what_is_made_for_a_window_that_goes_meanwhile_goes_with_it(qapp: QApplication, tmp_path: Path) -> None:
    async with TaskScope(fail_with) as scope:
        theme, gone = Theme(qapp, ICONS, "light"), list[str]()
        window = make_frame(theme, Notices(), WindowState(tmp_path / "window.json"), lambda: None)
        shell = Shell(window, theme, scope, lambda: None)

        def make() -> QWidget:
            label = QLabel("made while the window closes")
            label.destroyed.connect(lambda: gone.append("runs"))
            QTimer.singleShot(0, shell.dispose)  # before it is in its dock
            return label

        window.provide("runs", make)
        window.show()
        await until(lambda: gone == ["runs"])
        theme.close()


async def test_the_frame_has_its_docks_and_menus_before_anything_is_loaded(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    theme, asked = Theme(qapp, ICONS, "light"), list[int]()
    window = make_frame(theme, Notices(), WindowState(tmp_path / "window.json"), lambda: asked.append(1))
    qtbot.addWidget(window)
    window.show()
    await until(lambda: window.is_painted)
    assert [action.text() for action in window.menuBar().actions()][:3] == ["&File", "&Edit", "&Account"]
    assert list(window.dock_titles()) == ["runs", "buckets", "log", "transfers", "events", "job", "charts"]
    assert not window.is_dock_shown("charts"), "it is there for those who want it"
    assert window.panels_made() == []
    before = window.menus.toolbar.height()
    window.commands.add(
        *(Command(name, name, lambda: None, icon="key") for name in ("job.new", "run.again", "account.connect"))
    )
    assert window.menus.toolbar.actions()
    await until(lambda: window.menus.toolbar.width() == window.width())
    assert window.menus.toolbar.height() == before, "what is below it would jump"
    window.close()
    assert asked == [1]
    theme.close()


async def test_a_room_registers_once_and_leaves_with_its_window(qapp: QApplication, tmp_path: Path) -> None:
    async with TaskScope(fail_with) as scope:
        theme, model = Theme(qapp, ICONS, "light"), Room.Model()
        shell = Shell(
            make_frame(theme, Notices(), WindowState(tmp_path / "window.json"), lambda: None),
            theme,
            scope,
            lambda: None,
        )
        room = Room(shell, model)
        shell.add(room)
        shell.add_commands()
        shell.window.show()
        await until(lambda: shell.window.panels_made() == ["runs"])
        menus: dict[str, Any] = {action.text(): action.menu() for action in shell.window.menuBar().actions()}
        assert [action.text() for action in menus["&Run"].actions()] == ["&Look"]
        shell.commands.run("room.look")
        model.told.emit("news")
        assert room.heard == ["look", "news"]
        assert shell.restore(7) and not shell.restore("of nobody")
        assert shell.shown_on("room.7") == 7 and shell.shown_on("other") == "other"
        shell.dispose()
        model.told.emit("not heard")
        assert room.heard == ["look", "news"] and room.closed == ["room.7"]
        shell.show_dock("runs")  # work that ended late finds no window
        theme.close()


async def test_who_asks_after_the_window_gave_way_is_heard_in_the_next_one(qapp: QApplication, tmp_path: Path) -> None:
    """A drop is planned while the language changes; its question comes when the old window is gone."""

    async def question_in(window: MainWindow) -> Question:
        return await visible_dialog(window, Question)

    async with TaskScope(fail_with) as scope:
        theme, state = Theme(qapp, ICONS, "light"), WindowState(tmp_path / "window.json")
        old, fresh = (
            Shell(make_frame(theme, Notices(), state, lambda: None), theme, scope, lambda: None) for _ in range(2)
        )
        old.window.show()
        fresh.window.show()
        old.dispose()
        at_once = asyncio.ensure_future(old.confirm(text("Upload?"), text("Upload")))
        question = await question_in(fresh.window)
        await until(lambda: not isValid(old.window))
        assert question.isVisible() and not at_once.done(), "it does not go with the old window"
        question.findChild(QPushButton, "answer.yes").click()
        assert await at_once
        for asking in (
            old.confirm(text("Upload?"), text("Upload")),
            old.choose(text("Upload?"), [], [Way("yes", text("Upload"))]),
            old.confirm_loss(Loss(text("Remove?"), (), text("Remove"))),
            asked(old.window, "Upload?", "", AnswerButton("yes", "Upload")),
            asked_line(old.window, "Rename", "New name", "Rename", "a", lambda _: None),
        ):
            later = asyncio.ensure_future(asking)
            (await visible_dialog(fresh.window, QDialog)).reject()
            assert await later in (False, "", None, CANCEL)
        fresh.dispose()
        await until(lambda: not isValid(fresh.window))
        theme.close()


def test_nothing_but_the_frame_is_loaded_before_it_is_in_sight() -> None:
    """Whatever comes to this list is loaded while nobody sees a window yet."""
    program = (
        "import sys, traindeck.bootstrap\n"
        "late = ('traindeck.services', 'traindeck.assembly', 'traindeck.workspace', 'traindeck.viewmodels.ports',\n"
        "        'sqlite3', 'obs', 'huaweicloudsdkcore', 'requests', 'keyring', 'filelock', 'psutil', 'httptools')\n"
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


_WATCHED_START = """
import sys, threading
from argparse import Namespace

class Watch:
    elsewhere = []
    def find_spec(self, name, path=None, target=None):
        of_qt = name.startswith(("PySide6", "traindeck.ui", "traindeck.viewmodels"))
        if of_qt and threading.current_thread() is not threading.main_thread():
            self.elsewhere.append(name)

sys.meta_path.insert(0, Watch())
from traindeck.bootstrap import run_program

async def visit(program):
    print(Watch.elsewhere, "aiohttp" in sys.modules)
    return 0

sys.exit(run_program(Namespace(language="en", theme="light", opens=[]), visit))
"""


def test_classes_of_qt_are_made_on_the_thread_of_the_window(tmp_path: Path) -> None:
    """Made in a worker while the window was painted, they crashed it, once in many starts. And the Lab's server, with
    all it needs, is a program of its own."""
    environment = os.environ | {"TRAINDECK_HOME": str(tmp_path / "home"), "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-c", _WATCHED_START]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENT_S)
    assert (done.returncode, done.stdout.strip()) == (0, "[] False"), done.stderr
