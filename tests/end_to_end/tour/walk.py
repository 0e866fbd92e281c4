"""A walk through the window by mouse and keys: a picture of each place, and what an inspection finds there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from hands import Hands, plain, tell
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QImage, QPainter
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMenu, QScrollArea, QScrollBar, QWidget
from tour.inspection import faults, folded_menu
from tour.spoken import unspoken

from traindeck.ui.kit.property_dialog import PropertyDialog
from traindeck.ui.kit.property_page import PageState
from traindeck.viewmodels.shell.commands import Command, without_mnemonic

LEFT_OUT = (
    "file.quit", "job.submit", "run.again", "view.language.", "view.theme.", "help.website", "lab.stop", "lab.empty",
    "view.full_screen", "log.editor", "log.rules",
)  # fmt: skip
"""What ends the walk, leads out of the window, or is walked by a journey of its own."""
LEFT_OUT_OF_CONTEXT = ("object.paste", "edit.", "run.")
_LOOKS = 20
_ASIDE = 8
_PACKED = 80

Back = Callable[[], Awaitable[None]]


class Walk:
    """Where it has been; each place is told with its faults."""

    def __init__(self, hands: Hands, pictures: Path) -> None:
        self.hands = hands
        self._pictures = pictures
        self.files = pictures / "files"
        """What it makes of its own on this computer."""
        self._found: set[str] = set()
        self._pages_seen: set[tuple[str, str]] = set()
        self.number = 0
        self._aside = _ASIDE

    async def look(self, name: str) -> None:
        """A picture of all that is in sight, when it stands still."""
        image = await self._still()
        self.number += 1
        file = self._pictures / f"{self.number:03}-{name.replace('/', '-')}.png"
        # In a worker: packing it takes longer than the window may be silent. Packed a little it is packed quickly.
        saving = asyncio.get_running_loop().run_in_executor(None, _saved, image, file)
        found = []
        for top in _tops():
            if isinstance(top, QMenu):
                found += folded_menu(top)
                continue
            for inspect in (faults, unspoken):
                await asyncio.sleep(0)  # the window answers between two
                # Words that have just come have their room in a moment.
                QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
                found += [line for line in inspect(top) if line not in self._found]
        self._found.update(found)
        assert await saving, f"{file} cannot be written"
        tell("place", name=name, faults=found)

    async def menu(self, menu_id: str, title: str) -> None:
        hands, bar = self.hands, self.hands.window.menuBar()
        action = next(one for one in bar.actions() if plain(one.text()) == without_mnemonic(title))
        await hands.click(bar, bar.actionGeometry(action).center())
        await hands.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        await self.look(f"menu {menu_id}")
        await self.leave()

    async def entries(self, menu_id: str, title: str) -> None:
        """Each that can be chosen, by the mouse; in the end those that others made possible."""
        commands = [one for one in self.hands.window.commands.all() if one.menu == menu_id]
        left = [one for one in commands if not one.id.startswith(LEFT_OUT)]
        for _ in range(2):
            for command in [*left]:
                if command.enabled():
                    left.remove(command)
                    await self._entry(without_mnemonic(title), command)

    async def palette(self) -> None:
        hands = self.hands
        await hands.press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        await self.look("palette")
        await hands.type("ru")
        await self.look("palette with what is typed")
        await self.leave()

    async def _entry(self, menu: str, command: Command) -> None:
        """Choose it, look, and go back to where it was."""
        hands = self.hands
        tabs, was_on = hands.window.open_tabs(), command.checked and command.checked()
        between = [without_mnemonic(command.submenu)] if command.submenu else []
        words = plain(hands.window.menus.actions[command.id].text())
        await hands.choose(menu, *between, words)
        await self.look(f"{menu}, {words}")
        await self.leave()
        for key in hands.window.open_tabs():
            if key not in tabs:
                hands.window.close_tab(key)
        if command.checked is not None and command.checked() != was_on and command.enabled():
            await hands.choose(menu, *between, words)

    async def context(self, over: str, viewport: QWidget, place: QPoint) -> list[str]:
        """The menu there; what can be chosen in it."""
        menu = await self._opened(viewport, place)
        offered = [_entry_words(one) for one in menu.actions() if one.isEnabled() and not one.isSeparator()]
        await self.look(f"context menu over {over}")
        await self.leave()
        return offered

    async def context_entries(self, over: str, viewport: QWidget, at: Callable[[], QPoint], back: Back) -> None:
        """Each entry of the menu there; `back` goes to where it was."""
        commands = self.hands.window.commands.all()
        left_out = {one.plain_title for one in commands if one.id.startswith((*LEFT_OUT, *LEFT_OUT_OF_CONTEXT))}
        for words in await self.context(over, viewport, at()):
            if words.rstrip("…") in {one.rstrip("…") for one in left_out}:
                continue
            menu = await self._opened(viewport, at())
            action = next(one for one in menu.actions() if _entry_words(one) == words)
            await self.hands.click(menu, menu.actionGeometry(action).center())
            await self.hands.until(lambda: QApplication.activePopupWidget() is None)
            if words.endswith("…"):
                await self.hands.until(lambda: self.hands.dialog() is not None)
            await self.look_at_dialog(over, words)
            await self.leave()
            await back()

    async def look_at_dialog(self, over: str, words: str) -> None:
        """What opened; of properties the page that was meant, and each other one when it is met first."""
        await self._still()  # what is asked for first takes a moment to open
        hands, dialog = self.hands, self.hands.dialog()
        if isinstance(dialog, QFileDialog):  # Qt's own: once is enough
            if (seen := ("", words)) in self._pages_seen:
                return
            self._pages_seen.add(seen)
        if not isinstance(dialog, PropertyDialog):
            await self.look(f"{over}, {words}")
            return
        meant = dialog.list.currentRow()
        for row in sorted(range(dialog.list.count()), key=lambda row: row != meant):
            seen = (over, dialog.list.item(row).text())
            if row != meant and seen in self._pages_seen:
                continue
            self._pages_seen.add(seen)
            await hands.choose_cell(dialog.list, row, 0)
            await hands.until(lambda: dialog.current.state in (PageState.SHOWN, PageState.TROUBLE))
            await self.look_down(f"{over}, {words}, {dialog.current.page.title}", dialog.current)

    async def look_down(self, name: str, inside: QWidget) -> None:
        """All of what is scrolled."""
        await self.look(name)
        for area in [one for one in inside.findChildren(QScrollArea) if one.isVisible()]:
            bar = area.verticalScrollBar()
            while bar.isVisible() and bar.value() < bar.maximum():
                bar.triggerAction(QScrollBar.SliderAction.SliderPageStepAdd)
                await self.look(f"{name}, further down")

    async def leave(self) -> None:
        """Out of menus, dialogs and the palette, by the key that is for it."""
        hands = self.hands
        # One that has just come has the keyboard in a moment; until then the key would go past it.
        await hands.until(lambda: not hands.dialogs() or any(one.isActiveWindow() for one in hands.dialogs()))
        for _ in range(5):
            await hands.press(Qt.Key.Key_Escape)
            await asyncio.sleep(0)
            if QApplication.activePopupWidget() is None and hands.dialog() is None:
                break
        await hands.until(lambda: hands.dialog() is None and QApplication.activePopupWidget() is None)
        await hands.until(hands.window.isActiveWindow)

    async def _opened(self, viewport: QWidget, place: QPoint) -> QMenu:
        # Never twice in one place: that may be a double click.
        self._aside = -self._aside
        await self.hands.click(viewport, place + QPoint(self._aside, 0), right=True)
        await self.hands.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        return menu

    async def _still(self) -> QImage:
        """As soon as two pictures are the same; what goes on by itself is taken as it is in the end."""
        image = _picture()
        for _ in range(_LOOKS):
            await asyncio.sleep(0.05)
            image, before = _picture(), image
            if image == before:
                break
        return image


def _entry_words(action: QAction) -> str:
    words: str = plain(action.text().partition("\t")[0])
    return words


def _tops() -> list[QWidget]:
    """What is in sight, the window first, and last what lies over all others."""
    tops = [top for top in QApplication.topLevelWidgets() if top.isVisible() and not isinstance(top, QLabel)]
    in_front = (QApplication.activeModalWidget(), QApplication.activePopupWidget())
    return sorted(
        tops, key=lambda top: (top.windowType() != Qt.WindowType.Window, *(top is one for one in in_front[::-1]))
    )


def _saved(image: QImage, file: Path) -> bool:
    return image.save(str(file), quality=_PACKED)


def _picture() -> QImage:
    """All windows of the program as they lie over each other."""
    tops = _tops()
    whole = tops[0].grab().toImage()
    painter = QPainter(whole)
    for top in tops[1:]:
        painter.drawImage(top.mapToGlobal(QPoint()) - tops[0].mapToGlobal(QPoint()), top.grab().toImage())
    painter.end()
    return whole
