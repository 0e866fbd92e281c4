"""A walk through the window by mouse and keys: a picture of each place, and what an inspection finds there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hands import Hands, plain, tell
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget
from tour.inspection import faults

from traindeck.domain.jobs.job import RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.shell.menus import menu_titles
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.ui.storage.browser_view import BrowserView
from traindeck.viewmodels.shell.commands import Command, without_mnemonic

LEFT_OUT = (
    "file.quit", "job.submit", "run.again", "view.language.", "view.theme.", "help.website", "lab.stop", "lab.empty",
    "view.full_screen",
)  # fmt: skip
"""What ends the walk, leads out of the window, or is walked by a journey of its own."""
_LOOKS = 100


async def tour(hands: Hands, pictures: str, extent: str, language: str, theme: str) -> None:
    """`extent`: short or whole."""
    await hands.until(hands.window.isActiveWindow)
    walk = Walk(hands, Path(pictures))
    await hands.choose("View", "Theme", theme)
    if language != "English":
        old = hands.window
        await hands.choose("View", "Language", language)
        await hands.until(lambda: hands.window is not old and hands.window.isActiveWindow())
    await walk.sample(to_the_end=extent == "whole")
    await walk.docks()
    await walk.bucket()
    await walk.menus(entries=extent == "whole")
    await walk.palette()
    tell("over", places=walk.number)


class Walk:
    """Where it has been; each place is told with its faults."""

    def __init__(self, hands: Hands, pictures: Path) -> None:
        self._hands = hands
        self._pictures = pictures
        self._found: set[str] = set()
        self.number = 0

    async def look(self, name: str) -> None:
        """A picture of all that is in sight, when it stands still."""
        image = await self._still()
        self.number += 1
        image.save(str(self._pictures / f"{self.number:03}-{name.replace('/', '-')}.png"))
        tops = [top for top in _tops() if not isinstance(top, QMenu)]
        found = [line for top in tops for line in faults(top) if line not in self._found]
        self._found.update(found)
        tell("place", name=name, faults=found)

    async def sample(self, *, to_the_end: bool) -> None:
        hands = self._hands
        await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), WelcomePage))
        await self.look("welcome")
        welcome = hands.window.tabs.currentWidget()
        assert isinstance(welcome, WelcomePage)
        await hands.click(welcome.sample)
        rows = hands.panel("runs").model
        await hands.until(lambda: rows.rowCount() and rows.row(0).state is RunState.RUNNING)
        await self.look("running")
        if to_the_end:
            await hands.until(lambda: rows.row(0).state.is_over)
            await self.look("completed")

    async def docks(self) -> None:
        for number, panel_id in enumerate(self._hands.window.dock_titles(), start=1):
            await self._hands.press(Qt.Key(Qt.Key.Key_0 + number), Qt.KeyboardModifier.ControlModifier)
            await self.look(f"dock {panel_id}")

    async def bucket(self) -> None:
        """The sample's data: rows, the preview, and the menu over a file, a folder, several and nothing."""
        hands = self._hands
        workspace = hands.program.workspace
        workspace.storage.open_bucket(ObjectPath("digits"))
        await hands.until(lambda: isinstance(hands.window.tabs.currentWidget(), BrowserView))
        view = hands.window.tabs.currentWidget()
        assert isinstance(view, BrowserView)
        await hands.until(lambda: view.model.rowCount() > 0)
        await self.look("bucket")
        await hands.choose_cell(view.table, 0, 0)
        await hands.press(Qt.Key.Key_Space)
        await self.look("preview")
        await hands.press(Qt.Key.Key_Space)
        first = view.table.visualRect(view.model.index(0, 0))
        await self._context("a row", view.table.viewport(), first.center())
        await hands.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        # Not where the last click was: two there in a moment are a double click.
        await self._context("all rows", view.table.viewport(), first.center() - QPoint(first.width() // 4, 0))
        below = QPoint(view.table.viewport().width() // 2, view.table.viewport().height() - 4)
        await hands.click(view.table.viewport(), below)
        await self._context("nothing", view.table.viewport(), below)
        await hands.choose_cell(view.table, 0, 0)

    async def menus(self, *, entries: bool) -> None:
        hands = self._hands
        bar = hands.window.menuBar()
        for menu_id, title in menu_titles().items():
            action = next(one for one in bar.actions() if plain(one.text()) == without_mnemonic(title))
            await hands.click(bar, bar.actionGeometry(action).center())
            await hands.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
            await self.look(f"menu {menu_id}")
            await self._leave()
            for command in [one for one in hands.window.commands.all() if one.menu == menu_id and entries]:
                if not command.id.startswith(LEFT_OUT) and command.enabled():
                    await self._entry(without_mnemonic(title), command)

    async def palette(self) -> None:
        hands = self._hands
        await hands.press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        await self.look("palette")
        await hands.type("ru")
        await self.look("palette with what is typed")
        await self._leave()

    async def _entry(self, menu: str, command: Command) -> None:
        """Choose it by the mouse, look, and go back to where it was."""
        hands = self._hands
        tabs, was_on = hands.window.open_tabs(), command.checked and command.checked()
        between = [without_mnemonic(command.submenu)] if command.submenu else []
        words = plain(hands.window.menus.actions[command.id].text())
        await hands.choose(menu, *between, words)
        await self.look(f"{menu}, {words}")
        await self._leave()
        for key in hands.window.open_tabs():
            if key not in tabs:
                hands.window.close_tab(key)
        if command.checked is not None and command.checked() != was_on and command.enabled():
            await hands.choose(menu, *between, words)

    async def _context(self, over: str, viewport: QWidget, place: QPoint) -> None:
        await self._hands.click(viewport, place, right=True)
        await self._hands.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        await self.look(f"context menu over {over}")
        await self._leave()

    async def _leave(self) -> None:
        """Out of menus, dialogs and the palette, by the key that is for it."""
        hands = self._hands
        for _ in range(5):
            await hands.press(Qt.Key.Key_Escape)
            await asyncio.sleep(0)
            if QApplication.activePopupWidget() is None and hands.dialog() is None:
                break
        await hands.until(lambda: hands.dialog() is None and QApplication.activePopupWidget() is None)

    async def _still(self) -> QImage:
        """As soon as two pictures are the same; what goes on by itself is taken as it is in the end."""
        image = _picture()
        for _ in range(_LOOKS):
            await asyncio.sleep(0.05)
            image, before = _picture(), image
            if image == before:
                break
        return image


def _tops() -> list[QWidget]:
    """What is in sight, the window first."""
    tops = [top for top in QApplication.topLevelWidgets() if top.isVisible() and not isinstance(top, QLabel)]
    return sorted(tops, key=lambda top: top.windowType() != Qt.WindowType.Window)


def _picture() -> QImage:
    """All windows of the program as they lie over each other."""
    tops = _tops()
    whole = tops[0].grab().toImage()
    painter = QPainter(whole)
    for top in tops[1:]:
        painter.drawImage(top.mapToGlobal(QPoint()) - tops[0].mapToGlobal(QPoint()), top.grab().toImage())
    painter.end()
    return whole
